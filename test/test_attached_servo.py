# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A servo in a process of its own, in C++, and the Python objects that are attached to it."""

import contextlib
import math
import signal
import subprocess
import time

import numpy as np
import pytest
from native_programs import compile_program

from opspace_control import (
    CollisionModel,
    Contact,
    ControlError,
    DistanceLimits,
    Grasp,
    JerkLimits,
    JointLimits,
    OperationalSpaceController,
    Payload,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    Shape,
    library,
)
from opspace_control.safety.attached_servo import AttachedServo
from opspace_control.safety.servo import Servo
from opspace_control.safety.servo_data import BRAKED, CONTROL
from opspace_control.safety.shared_memory import Mode, Request
from opspace_control.safety.supervisor import COLLISION_STOP, NO_TRIP, NUMBER_OF
from opspace_control.share import share_directory

pytestmark = pytest.mark.skipif(not library.is_there(), reason='the library is not built')
TURN = np.array([0.0, 0.0, math.sin(0.1), math.cos(0.1)])
POSE = np.r_[0.45, 0.3, 1.1, TURN]


def compile_loop(folder):
    """Compile the program of a `Loop`."""
    return compile_program(folder, *(f'ros2_control/{source}.cpp' for source in (
        'src/joint_servo', 'src/node_link', 'test/node_link')))


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    return compile_loop(tmp_path_factory.mktemp('native'))


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')


def make_servo(model, names=('l_hand', 'r_hand'), distances=None, grasps=(), **task):
    controller = OperationalSpaceController(
        model, [PoseTask(name, **task) for name in names], PostureTask(kp=25.0),
        limits=JointLimits(model), distances=distances, grasps=grasps)
    servo = Servo(controller)
    servo.set(effort_rate=20.0, velocity_scale=1.0, position_jump=0.1)
    servo.restart(0.0)
    return servo


class Loop:
    """The process of the servo, cycle by cycle."""

    def __init__(self, program, folder, servo):
        self.memory = folder / 'memory'
        (folder / 'robot.block').write_bytes(AttachedServo(servo).block())
        self.process = subprocess.Popen(
            [program, folder / 'robot.block', library.library_path(), self.memory],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.error = '' if self._read() == 'ready' else self.process.stderr.read()

    def _read(self):
        return self.process.stdout.readline().strip()

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self._read()

    def cycle(self, now, q, v, base=()):
        """Return result, trip, whether the node is lost and gone, refusals, and the efforts."""
        numbers = map(float, [now, *np.c_[q, v].reshape(-1), *base])
        words = self.ask('cycle', *map(float.hex, numbers)).split()
        return *map(int, words[:5]), np.array([*map(float.fromhex, words[5:])])

    def end(self):
        if self.process.poll() is None:
            with contextlib.suppress(BrokenPipeError):
                print('end', file=self.process.stdin, flush=True)
        self.process.wait(10)


@pytest.fixture
def start(program, tmp_path):
    with contextlib.ExitStack() as stack:
        def start_loop(servo):
            loop = Loop(program, tmp_path, servo)
            stack.callback(loop.end)
            return loop
        yield start_loop


def state(model, k):
    q = np.array([1e-2 * math.sin(3e-3 * k + joint) for joint in range(model.nv)])
    return q, np.full(model.nv, 1e-2)


def attached(loop, servo):
    link = AttachedServo(servo)
    link.attach(loop.memory)
    return link


@pytest.fixture
def connected(start, model):
    """Return a servo, the loop that runs it, and the link of its node."""
    servo = make_servo(model)
    loop = start(servo)
    return servo, loop, attached(loop, servo)


def change(servo, k):
    """Do to a servo what a node does in its cycle k."""
    tasks, posture = servo.controller.tasks, servo.controller.posture
    if k == 20:
        tasks['l_hand'].set_target(POSE, [0.02, 0.0, 0.0, 0.0, 0.1, 0.0])
    if k == 60:
        with servo.ramps.smoothly():
            tasks['l_hand'].set_gains(150.0)
            posture.set_gains(40.0)
    if k == 100:
        tasks['r_hand'].set_target(POSE * [1, -1, 1, 1, 1, 1, 1])
    if k == 140:  # while the ramp moves
        with servo.ramps.smoothly():
            tasks['l_hand'].set_gains(60.0)
    if k == 200:
        tasks['l_hand'].set_target(POSE + np.eye(7)[0] * 0.02)
    for task in tasks.values():
        task.plan_target(1e-3)


@pytest.mark.parametrize('trajectory', [None, JerkLimits()])
def test_changes_act_as_in_one_process(start, model, trajectory):
    """Goals, trajectories and ramps, a change in a cycle: the efforts are those of Python."""
    here, there = (make_servo(model, trajectory=trajectory) for _ in range(2))
    loop = start(there)
    link = attached(loop, there)
    assert link.send_changes()
    assert loop.ask('activate', (1.0).hex()) == 'active'
    here.restart(1.0)
    here.hold()
    efforts, kinds = [], set()
    for k in range(400):
        now = 1.0 + 1e-3 * (k + 1)
        link.synchronise(now)
        if k:  # the first cycle makes the goals
            change(there, k)
            change(here, k)
        assert link.send_changes()
        q, v = state(model, k)
        result, trip, lost, ended, refused, tau = loop.cycle(now, q, v)
        assert result == here.cycle(round(1e9 * now), q, v, now)
        assert (trip, lost, ended, refused) == (NO_TRIP, 0, 0, 0)
        np.testing.assert_allclose(tau, here.tau, rtol=0.0, atol=1e-9)
        efforts.append(tau)
        kinds.add(result)
    assert kinds == {CONTROL}
    assert np.median(np.ptp(efforts, axis=0)) > 0.1
    # What the cycles know has come back.
    assert link.synchronise(1.5)
    np.testing.assert_array_equal(there.tau, here.tau)
    np.testing.assert_array_equal(there.state.state.q, here.state.state.q)
    for mine, his in zip(there.controller.tasks.values(), here.controller.tasks.values(),
                         strict=True):
        np.testing.assert_allclose(mine.error, his.error, atol=1e-12)
        assert abs(mine.error).max() > 1e-3


def test_a_node_that_looks_seldom(start, model):
    """Goals that come every 7 cycles, from what was known before, end where they should."""
    there, here = make_servo(model, trajectory=JerkLimits()), make_servo(model)
    loop = start(there)
    link = attached(loop, there)
    loop.ask('activate', (1.0).hex())
    q, v = state(model, 0)
    for k in range(3000):
        now = 1.0 + 1e-3 * (k + 1)
        if k % 7 == 3:
            link.synchronise(now)
            if k == 14 * 7 + 3:
                there.controller.tasks['l_hand'].set_target(POSE)
            if k == 200 * 7 + 3:
                with there.ramps.smoothly():
                    there.controller.tasks['l_hand'].set_gains(300.0)
            for task in there.controller.tasks.values():
                task.plan_target(1e-3)
            link.send_changes()
        tau = loop.cycle(now, q, v)[-1]
    here.restart(1.0)
    here.hold()
    here.cycle(round(1e9), q, v, 1.0)
    task = here.controller.tasks['l_hand']
    task.set_target(POSE)
    task.set_gains(300.0)
    for k in range(1, 1000):
        here.cycle(round(1e9 * (1.0 + 1e-3 * k)), q, v, 1.0 + 1e-3 * k)
    np.testing.assert_allclose(tau, here.tau, atol=1e-9)


def test_a_hold_and_a_trip(connected, model):
    """A trip of the node brakes the robot, and stays until it is held again."""
    servo, loop, link = connected
    loop.ask('activate', (1.0).hex())
    q, v = state(model, 0)

    def cycles(first, last):
        return [loop.cycle(1.0 + 1e-3 * k, q, v) for k in range(first, last)][-1]
    result, _, _, _, _, rest = cycles(1, 700)  # after all ramps
    assert result == CONTROL
    link.synchronise(1.7)
    servo.controller.tasks['l_hand'].set_target(POSE)
    link.send_changes()
    moving = cycles(700, 730)[-1]
    assert np.abs(moving - rest).max() > 1.0
    link.tell(Request.TRIP, NUMBER_OF[COLLISION_STOP])
    assert cycles(730, 770)[:2] == (BRAKED, NUMBER_OF[COLLISION_STOP])
    assert link.synchronise(1.77)
    assert servo.supervisor.trip is COLLISION_STOP
    link.tell(Request.HOLD)
    result, trip, *_, tau = cycles(770, 1500)
    assert (result, trip) == (CONTROL, NO_TRIP)
    np.testing.assert_allclose(tau, rest, atol=1e-6)


def test_feedback_while_there_is_no_room_for_messages(connected, model):
    """What cannot be sent yet is not forgotten with what was computed for feedback alone."""
    servo, loop, link = connected
    loop.ask('activate', (1.0).hex())
    q, v = state(model, 0)
    loop.cycle(1.001, q, v)
    assert link.synchronise(1.001)
    while link.memory.send(Request.TRIP, -1):  # is refused: it changes nothing
        pass
    task = servo.controller.tasks['l_hand']
    task.set_gains(123.0)
    assert not link.send_changes()
    before = servo.controller._arguments.storage.results.stack.copy()
    servo.controller.compute_torque(RobotState(model, q + 0.1, v))
    assert (servo.controller._arguments.storage.results.stack != before).any()
    link.forget()
    np.testing.assert_array_equal(servo.controller._arguments.storage.results.stack, before)
    assert (task.kp == 123.0).all()
    loop.cycle(1.002, q, v)
    assert link.send_changes()
    loop.cycle(1.003, q, v)
    assert link.synchronise(1.003)
    assert (task.kp == 123.0).all()


@pytest.mark.parametrize(('mode', 'done'), [(Mode.RUN, CONTROL), (Mode.GRAVITY_HOLD, BRAKED)])
def test_the_node_dies(connected, model, mode, done):
    """Goals are held for the time-out; then the robot is damped, and released with no effort."""
    _, loop, link = connected
    link.memory.frame['timeout'][0] = 100_000_000
    loop.ask('activate', (1.0).hex())
    q, v = state(model, 0)
    link.synchronise(1.0)
    link.tell(Request.MODE, mode)
    seen = {}
    for k in range(1, 1000):
        result, _, lost, ended, _, tau = loop.cycle(1.0 + 1e-3 * k, q, v)
        seen.setdefault((lost, ended), (k, result, tau))
    assert [*seen] == [(0, 0), (1, 0), (1, 1)]
    assert 100 <= seen[1, 0][0] <= 102
    assert seen[0, 0][1] == done
    released = seen[1, 1]
    assert 400 <= released[0] <= 405  # safety.release_time is 0.3 s
    assert not released[2].any()
    # A new one attaches, and control goes on with the present pose.
    link.memory.close()
    other = make_servo(model)
    again = AttachedServo(other)
    assert again.attach(loop.memory)
    again.memory.beat(2.0)
    again.tell(Request.HOLD)
    again.tell(Request.MODE, Mode.RUN)
    result, trip, lost, ended, _, tau = [
        loop.cycle(2.0 + 1e-3 * k, q, v) for k in range(1, 90)][-1]
    assert (result, trip, lost, ended) == (CONTROL, NO_TRIP, 0, 0)
    assert np.abs(tau).max() > 1.0


def test_a_new_node_takes_over(start, model):
    """What runs is taken as it is, to the bit: no effort jumps, though the new one has defaults."""
    servo = make_servo(model, kp=80.0)
    loop = start(servo)
    link = attached(loop, servo)
    loop.ask('activate', (1.0).hex())
    q, v = state(model, 0)
    for k in range(1, 800):  # until after all ramps
        link.synchronise(1.0 + 1e-3 * k)
        if k == 30:
            servo.controller.tasks['l_hand'].set_target(POSE)
        before = loop.cycle(1.0 + 1e-3 * k, q, v)[-1]
    link.memory.close()
    other = make_servo(model, kp=200.0)
    link = AttachedServo(other)
    assert link.attach(loop.memory)
    assert (other.controller.tasks['l_hand'].kp == 80.0).all()
    np.testing.assert_allclose(other.controller.tasks['l_hand'].target, POSE, atol=1e-12)
    assert link.synchronise(1.8)
    assert link.memory.frame['bytes_written'] == link.memory.frame['bytes_read']
    after = loop.cycle(1.8, q, v)[-1]
    np.testing.assert_allclose(after, before, atol=1e-6)


def with_grasp(model):
    return make_servo(model, distances=DistanceLimits(CollisionModel(model, ()), further=1),
                      grasps=[Grasp(('r_hand', 'l_hand'), payload=Payload(2.0))])


def test_a_new_node_takes_over_a_grasp(start, model):
    """It knows where the object is, and whose tasks the grasp replaces; no effort jumps."""
    servo, (q, _) = with_grasp(model), state(model, 0)
    loop, v = start(servo), np.zeros(model.nv)
    link, grasp = attached(loop, servo), servo.controller.grasps['grasp']
    loop.ask('activate', (1.0).hex())
    for k in range(1, 1200):  # until after all ramps
        link.synchronise(1.0 + 1e-3 * k)
        if k == 30:
            with servo.ramps.smoothly():
                grasp.engage(RobotState(model, q, v))
            grasp.set_shapes([Shape('crate', None, 'box', [0.2, 0.2, 0.2])])
        before = loop.cycle(1.0 + 1e-3 * k, q, v)[-1]
    assert link.synchronise(2.2)
    link.memory.close()
    other = with_grasp(model)
    link, again = AttachedServo(other), other.controller.grasps['grasp']
    assert link.attach(loop.memory)
    assert again.engaged
    np.testing.assert_allclose(again.pose_in_carrier, grasp.pose_in_carrier, atol=1e-12)
    assert not other.controller.shapes  # the new one knows no shape of it
    link.synchronise(2.2)
    np.testing.assert_allclose(loop.cycle(2.2, q, v)[-1], before, atol=1e-6)
    assert link.synchronise(2.2)
    np.testing.assert_allclose(again.internal_forces[0], grasp.internal_forces[0], atol=1e-9)
    again.set_shapes([Shape('crate', None, 'box', [0.2, 0.2, 0.2])])
    np.testing.assert_allclose(other.controller.shapes[0].position,
                               grasp.pose_in_carrier[:3, 3], atol=1e-12)
    with other.ramps.smoothly():
        again.disengage()
    assert not other.controller.shapes
    for k in range(1, 1200):
        link.synchronise(2.2 + 1e-3 * k)
        after = loop.cycle(2.2 + 1e-3 * k, q, v)[-1]
    assert [task.name for task in other.controller.tasks.values() if task.enabled] == [
        'l_hand', 'r_hand']
    bare = make_servo(model).controller
    np.testing.assert_allclose(after, bare.compute_torque(RobotState(model, q, v)), atol=1e-6)


@pytest.mark.parametrize('kind', ['grasp', 'contact'])
def test_a_new_node_leaves_disabled_what_was_disabled_before(start, model, kind):
    """A task of a hand that a user has disabled stays so when the hand is released."""
    def make():
        tasks = [PoseTask('l_hand'), PoseTask('r_hand'), PoseTask('r_hand', name='extra', axes='x')]
        servo = Servo(OperationalSpaceController(
            model, tasks, PostureTask(kp=25.0), limits=JointLimits(model),
            constraints=[Contact('r_hand', name='contact', kind='point')],
            grasps=[Grasp(('r_hand', 'l_hand'))]))
        servo.restart(0.0)
        controller = servo.controller
        return servo, controller, {**controller.grasps, **controller.constraints}[kind]

    (servo, controller, switched), (q, _) = make(), state(model, 0)
    loop, v = start(servo), np.zeros(model.nv)
    link = attached(loop, servo)
    loop.ask('activate', (1.0).hex())
    with servo.ramps.smoothly():
        controller.tasks['extra'].enabled = False
    for k in range(1, 20):
        link.synchronise(1.0 + 1e-3 * k)
        loop.cycle(1.0 + 1e-3 * k, q, v)
    with servo.ramps.smoothly():
        switched.engage(RobotState(model, q, v))
    for k in range(20, 1200):  # until after all ramps
        link.synchronise(1.0 + 1e-3 * k)
        loop.cycle(1.0 + 1e-3 * k, q, v)
    assert link.synchronise(2.2)
    link.memory.close()
    other, controller, switched = make()
    link = AttachedServo(other)
    assert link.attach(loop.memory)
    with other.ramps.smoothly():
        switched.disengage()
        enabled = {name for name, task in controller.tasks.items() if task.enabled}
    assert enabled == {'l_hand', 'r_hand'}


HANDS = [Shape(hand, hand, 'sphere', [0.05]) for hand in ('l_hand', 'r_hand')]
FAR, NEAR = (Shape(f'ball {x}', None, 'sphere', [0.1], (x, 0.3, 1.0)) for x in (5.0, 0.55))


def with_distances(model, further):
    return make_servo(model, distances=DistanceLimits(CollisionModel(model, HANDS),
                                                      further=further))


def keep(servo, *shapes):
    """Have a servo keep distances from these shapes, besides those of the hands."""
    distances = servo.controller.distances
    servo.controller.distances = distances.changed(
        collision=CollisionModel(distances.model, HANDS).with_shapes(shapes))


def test_shapes_come_and_go(start, model):
    """The efforts are those of Python, whatever cycles have found of other shapes before."""
    here, there = with_distances(model, 0), with_distances(model, 2)
    keep(here, FAR)
    keep(there, FAR)
    loop = start(there)
    link = attached(loop, there)
    loop.ask('activate', (1.0).hex())
    here.restart(1.0)
    here.hold()
    q, v = state(model, 0)
    pose = model.forward_kinematics(RobotState(model, q, v), ['l_hand'])['l_hand'][:3, 3]
    near = Shape('near', None, 'sphere', [0.1], pose + 0.152 * np.eye(3)[0])
    box = Shape('box', None, 'box', [0.1, 0.1, 0.1], pose + 0.105 * np.eye(3)[1])
    urgent = []
    for k in range(900):
        now = 1.0 + 1e-3 * (k + 1)
        # What the cycles find out is not known here when the shapes change first and last.
        link.memory.beat(now)
        for servo in (here, there):
            if k == 750:
                keep(servo, near)
            if k == 790:
                servo.controller.move_shape('near', twist=[-0.05, 0, 0, 0, 0, 0])
            if k == 820:
                keep(servo, near, box)
            if k == 860:
                keep(servo, FAR)
        assert link.send_changes()
        *_, refused, tau = loop.cycle(now, q, v)
        here.cycle(round(1e9 * now), q, v, now)
        assert not refused
        if k in (789, 819):  # a shape that moves goes on from where it was seen last
            assert link.synchronise(now)
        np.testing.assert_allclose(tau, here.tau, rtol=0.0, atol=1e-9)
        urgent.append({pair.second for pair in here.controller.urgent_pairs})
    assert urgent[749] == urgent[899] == set()
    assert urgent[789] == {'near'}
    assert urgent[859] == {'near', 'box'}
    assert link.synchronise(2.0)
    assert there.controller.shapes == here.controller.shapes


def test_a_new_node_has_its_own_shapes(start, model):
    """Those of an earlier node are gone; what is more than there is room for is refused."""
    here, there = with_distances(model, 2), with_distances(model, 2)
    loop = start(there)
    link = attached(loop, there)
    loop.ask('activate', (1.0).hex())
    q, v = state(model, 0)
    keep(there, FAR, NEAR)
    assert link.send_changes()
    loop.cycle(1.001, q, v)
    link.memory.close()
    link = attached(loop, here)
    assert here.controller.shapes == tuple(HANDS)
    assert link.synchronise(1.002) is False  # until the cycle has taken this
    loop.cycle(1.002, q, v)
    assert link.synchronise(1.003)
    assert here.controller.shapes == tuple(HANDS)
    assert here.controller._limits.collision.counts['shapes'] == 2
    keep(here, FAR, NEAR, Shape('third', None, 'sphere', [0.1], (3.0, 3.0, 3.0)))
    with pytest.raises(ControlError, match='This change needs other memory'):
        link.send_changes()


def test_refusals(start, model, tmp_path):
    """Two nodes, another controller, another file, messages that fit no block."""
    servo = make_servo(model)
    with pytest.raises(ControlError, match='is no memory of a servo: No such file'):
        AttachedServo(servo).attach(tmp_path / 'nothing')
    (tmp_path / 'text').write_text('text' * 100)
    with pytest.raises(ControlError, match='is no memory of a servo, or one of another version'):
        AttachedServo(servo).attach(tmp_path / 'text')
    loop = start(servo)
    link = attached(loop, servo)
    with pytest.raises(ControlError, match='Another process is attached'):
        AttachedServo(make_servo(model)).attach(loop.memory)
    link.detach()
    with pytest.raises(ControlError, match='is the memory of another controller'):
        AttachedServo(make_servo(model, ['l_hand'])).attach(loop.memory)
    link = attached(loop, servo)
    q, v = state(model, 0)
    loop.ask('activate', (1.0).hex())
    before = [loop.cycle(1.0 + 1e-3 * k, q, v)[-1] for k in range(700)][-1]
    size = link.memory.frame['block_size'].item()
    for wrong in ((0, bytes(8)), (size - 8, bytes(16)), (-8, bytes(8))):
        good = link._image.block.nbytes // 2, bytes(8)
        link.memory.send(Request.NUMBERS, changes=[good, wrong])
    link.memory.send(Request.TRIP, 99)
    link.memory.send(7)
    *_, refused, after = loop.cycle(1.7, q, v)
    assert refused == 5
    np.testing.assert_allclose(after, before, atol=1e-6)


def test_a_path_that_is_in_use(program, start, model, tmp_path):
    """A second servo leaves the memory of the first one alone; that of a dead one is replaced."""
    servo = make_servo(model)
    loop = start(servo)
    assert f'process {loop.process.pid} uses it. End that one first.' in start(servo).error
    link = attached(loop, servo)
    assert link.memory.is_there()
    loop.process.send_signal(signal.SIGKILL)
    loop.process.wait(10)
    assert not link.memory.is_there()
    assert not start(servo).error
    assert not link.memory.is_there()


def test_no_reader_sees_half_a_cycle(connected):
    """While cycles and messages go on, what is read is of one cycle, and nothing waits or locks."""
    servo, loop, link = connected
    loop.ask('activate', (9.9).hex())
    print('spin 4000', file=loop.process.stdin, flush=True)
    seen, end = [], time.monotonic() + 60.0
    while not (seen and link.memory.frame['cycles'] >= 4000) and time.monotonic() < end:
        servo.controller.posture.set_gains(20.0 + len(seen) % 50)
        if link.synchronise(10.0):
            q = servo.state.state.q
            assert np.ptp(q) == 0.0
            seen.append(q[0])
    allocations, locks = map(int, loop._read().split())
    assert (allocations, locks) == (0, 0)
    assert len({*seen}) > 100
    assert np.diff(seen).min() >= 0.0
    assert link.memory.frame['refused'] == 0
