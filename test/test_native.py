# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Saved controllers in C++: what Python computes, bit by bit, and nothing but the arithmetic."""

import shutil
import subprocess
from functools import cache, partial

import numpy as np
import pytest
from native_programs import NATIVE, compile_program, has_compiler, link_library

from opspace_control import (
    ControlError,
    ForceControl,
    ForceSensor,
    JointLimits,
    JointTask,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    library,
)
from opspace_control.cli.main import main
from opspace_control.control.saved import FIELD, HEADER, SPAN, block_of
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.parameter_file import ParameterFile
from opspace_control.ros.parameters.robot import make_controller, set_envelope
from opspace_control.safety.servo import Servo
from opspace_control.safety.servo_data import BRAKED, EARLY, RESUME
from opspace_control.safety.supervisor import NO_TRIP, TRIPS
from opspace_control.share import share_directory
from opspace_control.tasks.jerk_limited import JerkLimits

pytest.importorskip('ruckig', reason='ruckig is not installed')

CYCLES = 10_000
needs_library = pytest.mark.skipif(not library.is_there(), reason='the library is not built')


@pytest.fixture(scope='module')
def compiled(tmp_path_factory):
    """Return a function that compiles a file of native/ once, and returns the program."""
    return cache(partial(compile_program, tmp_path_factory.mktemp('native')))


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')


def controller_of(model, limited):
    return OperationalSpaceController(
        model, [PoseTask('l_hand', trajectory=JerkLimits(velocity=0.3)),
                PoseTask('r_hand', force_axes=['z']),
                JointTask(model.dof_names[:1], name='trunk', priority=1)],
        PostureTask(kp=25.0), limits=JointLimits(model) if limited else None)


def changes_between(before, after):
    """Return what makes one block the other: (offset, bytes), whole numbers of 64 bits."""
    places = np.flatnonzero(before.view(np.int64) != after.view(np.int64))
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if places.size else []
    return [(8 * int(run[0]), after.view(np.int64)[run].tobytes()) for run in runs]


def change_goals(controller, random, k):
    """
    Change what users change: goals, gains, axes, switches, wrenches, postures.

    A trajectory to a goal begins at the present target, which there is after a cycle.
    """
    left, right = (controller.tasks[name] for name in ('l_hand', 'r_hand'))
    position = np.array([0.45, 0.3, 1.1]) + 0.1 * random.normal(size=3)
    quaternion = random.normal(size=4)
    (lambda: left.set_target((position, quaternion / np.linalg.norm(quaternion)),
                             0.1 * random.normal(size=6)),
     lambda: left.set_gains(random.uniform(20.0, 400.0)),
     lambda: right.set_axes(axes='x y', force_axes=['z', 'rx'][:1 + k % 2]),
     lambda: right.force.set_target(np.r_[0.0, 0.0, random.uniform(-9.0, 9.0), 0.0, 0.0, 0.0]),
     lambda: setattr(left, 'activation', random.uniform()),
     lambda: controller.tasks['trunk'].set_target(random.uniform(-0.5, 0.5, 1)),
     lambda: controller.posture.set_target(random.uniform(-0.3, 0.3, controller.model.nq)),
     lambda: controller.set_status(locked_joints=[[], controller.model.dof_names[-1:]][k % 2]),
     controller.hold)[random.integers(left.target is None, 9)]()


def drive(controller, inputs, cycles=CYCLES):
    """Return the torques of cycles with goals that change, (cycles, nv); write what C++ needs."""
    random, model, torques = np.random.default_rng(4), controller.model, []
    state = RobotState(model, model.neutral(), np.zeros(model.nv))
    changed, amplitude, rate = 0, random.uniform(
        0.1, 0.6, model.nv), random.uniform(0.5, 3.0, model.nv)
    with open(inputs, 'wb') as file:
        for k in range(cycles):
            changes = []
            if k % 50 == 49:
                before = block_of(controller)
                change_goals(controller, random, k // 50)
                changes = changes_between(before, block_of(controller))
                changed += bool(changes)
            dt = random.uniform(5e-4, 2e-3)
            state.update(amplitude * np.sin(rate * 1e-3 * k),
                         amplitude * rate * np.cos(rate * 1e-3 * k))
            file.write(np.float64(dt).tobytes() + np.int64(len(changes)).tobytes())
            for offset, content in changes:
                file.write(np.array([offset, len(content)]).tobytes() + content)
            file.write(state.q.tobytes() + state.v.tobytes())
            torques.append(controller.compute_torque(state, dt=dt))
    assert changed > 0.8 * (cycles // 50)  # some were that already
    return np.array(torques)


# What a step of a servo's replay is, as in native/test/replay.cpp.
STATE, WATCH, HOLD, RESTART = range(4)


class Faults:
    """A robot that moves at 1 kHz, and what goes wrong with its states, goals and efforts."""

    def __init__(self, servo, seed):
        self.servo, self.random = servo, np.random.default_rng(seed)
        model = servo.controller.model
        self._amplitude, self._rate = (self.random.uniform(low, high, model.nv) for low, high in (
            (0.1, 0.4), (0.5, 3.0)))
        self.now, self.stamp, self._kind, self.left = 10.0, 10**9, None, 200

    def step(self, k):
        """Return the next step: what it is, stamp, time, fault, q and v."""
        self.now += self.random.uniform(5e-4, 1.5e-3)
        self.stamp += 10**6
        t = 1e-3 * k
        q, v = self._amplitude * np.sin(self._rate * t), (
            self._amplitude * self._rate * np.cos(self._rate * t))
        self.left -= 1
        if self.left == 0:
            self._change()
        call, fault = STATE, NO_TRIP
        j = self.random.integers(v.size)
        if self._kind == 'nan':
            (q, v)[k % 2][j] = np.nan
        elif self._kind == 'unreadable':
            fault = [trip.name for trip in TRIPS].index('odom_timeout')
        elif self._kind == 'jump':
            q[3] += 0.5
        elif self._kind == 'backwards':
            self.stamp -= 10**9
            self._kind = None
        elif self._kind == 'overspeed':
            v[4] *= 100.0
        elif self._kind == 'stopped':  # states come, their stamps stop
            self.stamp -= 10**6
            call = STATE if k % 2 else WATCH
        elif self._kind == 'silent':
            call, self.now = WATCH, self.now + 4e-3
        elif self._kind == 'leap':
            self.stamp += 3 * 10**8
            self._kind = None
        elif k % 100 == 99:
            call = HOLD
        elif k % 10 == 9:
            call = WATCH
        if k % 3331 == 3330:
            call = RESTART
        return call, self.stamp, self.now, fault, q, v

    def _change(self):
        """Begin or end a fault; efforts are not finite until the goal of a joint is a number."""
        dofs = self.servo.controller.posture._dofs
        dofs['effort'] = 0.0
        if self._kind is None:
            self._kind = ('nan', 'unreadable', 'jump', 'backwards', 'overspeed', 'stopped',
                          'silent', 'leap', 'effort')[self.random.integers(9)]
            self.left = int(self.random.integers(2, 250))
            if self._kind == 'effort':
                dofs['effort'][-1] = np.nan
        else:
            self._kind, self.left = None, int(self.random.integers(20, 200))

    def run(self, step):
        """Return what the servo did: result, trip, fault, news, dof, efforts."""
        call, stamp, now, fault, q, v = step
        servo, done = self.servo, EARLY
        if call == STATE:
            done = servo.cycle(stamp, q, v, now, fault)
        elif call == WATCH:
            done = servo.watch(now)
        elif call == HOLD:
            servo.hold()
        else:
            servo.restart(now)
        numbers = servo.numbers[0]
        return np.r_[done, servo.supervisor.records['trip'], numbers['fault'], numbers['news'],
                     numbers['dof'], servo.tau]


def drive_servo(servo, inputs, cycles=CYCLES):
    """Return what a servo did with faulty states and goals that change; write what C++ needs."""
    faults, random, outputs = Faults(servo, 7), np.random.default_rng(5), []
    controller = servo.controller
    with open(inputs, 'wb') as file:
        for k in range(cycles):
            changes, before = k % 50 == 49 or faults.left == 1, None
            if changes:
                before = block_of(controller, servo)
            step = call, stamp, now, fault, q, v = faults.step(k)
            if k % 50 == 49:
                change_goals(controller, random, k // 50)
            changes = changes_between(before, block_of(controller, servo)) if changes else []
            file.write(np.float64(call).tobytes() + np.int64(len(changes)).tobytes())
            for offset, content in changes:
                file.write(np.array([offset, len(content)]).tobytes() + content)
            file.write(np.int64(stamp).tobytes() + np.array([now, fault]).tobytes()
                       + q.tobytes() + v.tobytes())
            outputs.append(faults.run(step))
    return np.array(outputs)


def run(program, *arguments):
    return subprocess.run([program, *arguments], check=False, capture_output=True, text=True)


@needs_library
class TestReplay:

    @pytest.mark.parametrize('limited', [False, True])
    def test_gives_the_torques_of_python_bit_by_bit(self, compiled, model, tmp_path, limited):
        controller = controller_of(model, limited)
        controller.save(tmp_path / 'block')
        wanted = drive(controller, tmp_path / 'inputs')
        assert np.isfinite(wanted).all()
        done = run(compiled('test/replay.cpp'), tmp_path / 'block', library.library_path(),
                   tmp_path / 'inputs', tmp_path / 'outputs')
        assert done.returncode == 0, done.stderr
        facts = dict(line.split() for line in done.stdout.splitlines())
        assert (tmp_path / 'outputs').read_bytes() == wanted.tobytes()
        assert facts['cycles'] == str(CYCLES)
        assert facts['changes'] == 'applied'
        assert facts['allocations'] == facts['locks'] == '0'
        assert facts['python'] == 'no'
        assert int(facts['allocations_seen']) > 0  # outside of the loop: they are counted

    def test_goes_on_where_python_was(self, compiled, model, tmp_path):
        """What cycles remember is saved, too."""
        controller = controller_of(model, True)
        drive(controller, tmp_path / 'unused', 500)
        controller.save(tmp_path / 'block')
        wanted = drive(controller, tmp_path / 'inputs', 500)
        run(compiled('test/replay.cpp'), tmp_path / 'block', library.library_path(),
            tmp_path / 'inputs', tmp_path / 'outputs')
        assert (tmp_path / 'outputs').read_bytes() == wanted.tobytes()


@needs_library
def test_a_servo_trips_and_recovers_as_in_python(compiled, model, tmp_path):
    """Whole cycles: states that jump, stop, go back or are none, efforts that are not finite."""
    servo = Servo(controller_of(model, True))
    servo.set(effort_rate=20.0, velocity_scale=1.0, position_jump=0.1, release_time=0.1)
    servo.restart(9.0)
    servo.controller.save(tmp_path / 'block', servo)
    wanted = drive_servo(servo, tmp_path / 'inputs')
    done = run(compiled('test/replay.cpp'), tmp_path / 'block', library.library_path(),
               tmp_path / 'inputs', tmp_path / 'outputs', 'servo')
    assert done.returncode == 0, done.stderr
    facts = dict(line.split() for line in done.stdout.splitlines())
    assert (tmp_path / 'outputs').read_bytes() == wanted.tobytes()
    assert np.isfinite(wanted).all()
    assert facts['cycles'] == str(CYCLES)
    assert facts['changes'] == 'applied'
    assert facts['allocations'] == facts['locks'] == '0'
    assert {TRIPS[int(number)].name for number in set(wanted[:, 1]) - {NO_TRIP}} == {
        'state_timeout', 'state_invalid', 'time_stopped', 'time_backwards', 'odom_timeout',
        'position_jump', 'velocity_limit', 'effort_not_finite'}
    results, trips = wanted[:, 0], wanted[:, 1] != NO_TRIP
    assert (results == RESUME).sum() > 10
    assert (results[trips] == BRAKED).mean() > 0.5
    assert (wanted[:, 3] == 1.0).sum() > 20  # faults to be reported


@needs_library
class TestRefusal:

    @pytest.fixture
    def refused(self, compiled, model, tmp_path):
        """Return a function that runs a changed block, and returns what the program says."""
        block = block_of(controller_of(model, False))
        (tmp_path / 'inputs').write_bytes(b'')
        program = compiled('test/replay.cpp')

        def run_changed(change, path=None):
            changed = block.copy()
            header = changed[:HEADER.itemsize].view(HEADER)[0]
            changed = change(header, changed)
            (tmp_path / 'block').write_bytes(changed.tobytes())
            done = run(program, tmp_path / 'block', path or library.library_path(),
                       tmp_path / 'inputs', tmp_path / 'outputs')
            assert done.returncode == 1
            return done.stderr

        return run_changed

    @pytest.mark.parametrize(('field', 'value'), [
        ('sources', b'0123456789abcdef'), ('law', b'opspace_0123456789abcdef01234567')])
    def test_of_other_kernels_or_layouts(self, refused, field, value):
        def change(header, block):
            header[field] = value
            return block
        said = refused(change)
        assert 'layouts of memory may differ. Save the controller again' in said
        assert library.sources_digest() in said

    def test_of_another_file(self, refused):
        assert 'is no controller for this header. Save' in refused(lambda _, block: block[8:])
        assert 'is no controller for this header' in refused(lambda _, block: block[:0])

    def test_of_a_part_of_it(self, refused):
        assert 'is damaged. Save the controller again.' in refused(lambda _, block: block[:-64])

    @pytest.mark.parametrize('place', [-1, 10**9])
    def test_of_addresses_elsewhere(self, refused, place):
        def change(header, block):
            block[header['spans']:][:SPAN.itemsize].view(SPAN)['offset'] = place
            return block
        assert 'is damaged' in refused(change)

    def test_of_what_is_no_library(self, refused, tmp_path):
        (tmp_path / 'no.so').write_bytes(b'')
        assert 'no.so cannot be loaded' in refused(lambda _, block: block, tmp_path / 'no.so')

    def test_of_a_library_for_another_processor(self, refused, tmp_path):
        """It needs a feature that no processor has."""
        link_library(tmp_path / 'other.so', 'none')
        said = refused(lambda _, block: block, tmp_path / 'other.so')
        assert 'other.so needs a processor with none. Build it on this one' in said


def test_a_trajectory_begins_somewhere(model):
    task = PoseTask('l_hand', trajectory=JerkLimits())
    controller = OperationalSpaceController(model, [task])
    task.set_target(np.eye(4))
    with pytest.raises(ControlError, match=r"task 'l_hand' has no beginning.*Compute a cycle"):
        block_of(controller)
    controller.compute_torque(RobotState(model, model.neutral(), np.zeros(model.nv)))
    block_of(controller)


def test_names_numbers(model):
    controller = controller_of(model, True)
    controller.tasks['r_hand'].set_target(np.eye(4))
    block = block_of(controller)
    header = block[:HEADER.itemsize].view(HEADER)[0]
    fields = {field['name'].decode(): field for field in block[header['fields']:][
        :header['field_count'] * FIELD.itemsize].view(FIELD)}
    assert {'l_hand.target_p', 'r_hand.force.target', 'trunk.0.target', 'posture',
            f'q.{model.dof_names[0]}', f'tau.{model.dof_names[-1]}', 'cycle.limited'} <= {*fields}
    found = fields['r_hand.target_R']
    assert block[found['offset']:][:72].view(float).tolist() == np.eye(3).reshape(-1).tolist()
    assert (found['count'], found['type']) == (9, b'<f8')


def test_a_name_that_is_too_long(model):
    """It would be the name of other numbers, too."""
    controller = OperationalSpaceController(model, [PoseTask('l_hand', name='h' * 70)])
    block_of(controller)
    controller = OperationalSpaceController(model, [PoseTask('l_hand', name='h' * 95)])
    with pytest.raises(ControlError, match=r"'h+\.\w+' has more than the 103 bytes.*shorter name"):
        block_of(controller)


def named_fields(controller):
    block = block_of(controller)
    header = block[:HEADER.itemsize].view(HEADER)[0]
    names = [field['name'].decode() for field in block[header['fields']:][
        :header['field_count'] * FIELD.itemsize].view(FIELD)]
    assert len({*names}) == len(names)
    return names


def test_a_task_and_its_sensor_have_names_of_their_own(model):
    """Both are named like the link by default, and both have axes R and a wrench."""
    names = named_fields(OperationalSpaceController(model, [
        PoseTask('l_hand', force_axes=['z'], force=ForceControl(sensor=ForceSensor('l_hand')))]))
    assert {'l_hand.R', 'l_hand.wrench', 'sensor.l_hand.R', 'sensor.l_hand.wrench',
            'sensor.l_hand.reading', 'sensor.l_hand.age'} <= {*names}


def test_a_name_of_two_arrays_is_refused(model):
    """A task can be named such that its numbers are called like those of a sensor."""
    controller = OperationalSpaceController(model, [
        PoseTask('l_hand', force_axes=['z'], force=ForceControl(sensor=ForceSensor('l_hand'))),
        PoseTask('r_hand', name='sensor.l_hand')])
    with pytest.raises(ControlError, match=r"'sensor.l_hand.\w+' would be that of two.*another"):
        block_of(controller)


def efforts_of(said):
    """Return the efforts that the example has printed."""
    return [float(line.split()[1]) for line in said.splitlines() if line.startswith('effort ')]


def first_efforts(servo):
    """Return the efforts of the first cycle, as the example begins."""
    model = servo.controller.model
    servo.restart(1.0)
    servo.hold()
    servo.cycle(0, model.neutral(), np.zeros(model.nv), 1.0)
    return servo.tau.tolist()


@needs_library
def test_example(compiled, model, tmp_path):
    """It has at most 100 lines, prints the efforts of Python, and reaches the end of its loop."""
    assert len((NATIVE / 'example/main.cpp').read_text().splitlines()) <= 100
    servo = Servo(controller_of(model, True))
    servo.set(effort_rate=20.0)
    servo.controller.save(tmp_path / 'block', servo)
    done = run(compiled('example/main.cpp'), tmp_path / 'block', library.library_path(), 'l_hand')
    assert done.returncode == 0, done.stderr
    assert efforts_of(done.stdout) == first_efforts(servo)
    assert 'trip' not in done.stdout
    assert 'cycle, us: median' in done.stdout


@needs_library
def test_export(model, tmp_path, capsys):
    """The commands that it prints build a program, which gives the node's first efforts."""
    if shutil.which('cmake') is None or not has_compiler():
        pytest.skip('there is no cmake, or no C++ compiler')
    urdf, parameters = (share_directory() / name for name in (
        'urdf/dual_arm.urdf', 'config/dual_arm.yaml'))
    out = tmp_path / 'out'
    assert main(['export', str(urdf), str(parameters), '-o', str(out)]) == 0
    said = capsys.readouterr().out
    assert 'tasks: left_hand, right_hand' in said
    assert {path.name for path in out.iterdir()} == {
        'robot.block', 'libopspace_kernels.so', 'opspace.h', 'main.cpp', 'CMakeLists.txt'}
    steps = [line for line in said.splitlines() if line.startswith('  ')]
    done = run('sh', '-ec', '\n'.join(steps))
    assert done.returncode == 0, done.stderr
    given = ParameterFile(parameters).of_node('opspace_controller')
    values = {row.name: row.default for row in table_of(given)} | given
    servo = Servo(make_controller(urdf.read_text(), values)[0])
    set_envelope(servo, values)
    assert efforts_of(done.stdout) == first_efforts(servo)


@needs_library
def test_export_refuses_what_the_node_refuses(tmp_path, capsys):
    (tmp_path / 'bad.yaml').write_text(
        'opspace_controller:\n  ros__parameters: {tasks: [hand], hand: {frame: no_such_link}}')
    urdf = str(share_directory() / 'urdf/dual_arm.urdf')
    assert main(['export', urdf, str(tmp_path / 'bad.yaml'), '-o', str(tmp_path / 'out')]) == 1
    assert 'no_such_link' in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()
