# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The part of the ros2_control plug-in without ROS: a saved servo by the names of joints."""

import math
import subprocess

import numpy as np
import pytest
from native_programs import compile_program

from opspace_control import (
    ForceControl,
    ForceSensor,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    library,
)
from opspace_control.safety.servo import Servo
from opspace_control.safety.servo_data import BRAKED, CONTROL, RESUME
from opspace_control.safety.supervisor import NO_TRIP, NUMBER_OF, STATE_INVALID
from opspace_control.share import share_directory
from opspace_control.spatial.rotations import matrix_from_quaternion

pytestmark = pytest.mark.skipif(not library.is_there(), reason='the library is not built')
LOCKED = 'torso_roll'


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    return compile_program(tmp_path_factory.mktemp('native'), 'ros2_control/src/joint_servo.cpp',
                           'ros2_control/test/joint_servo.cpp')


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')


@pytest.fixture
def servo(model):
    left = PoseTask('l_hand', force=ForceControl(sensor=ForceSensor('l_hand', name='left')))
    controller = OperationalSpaceController(
        model, [left, PoseTask('r_hand')], PostureTask(kp=25.0), limits=JointLimits(model))
    controller.set_status(locked_joints=[LOCKED])
    servo = Servo(controller)
    servo.set(effort_rate=20.0, velocity_scale=1.0, position_jump=0.1)
    return servo


@pytest.fixture
def run(program, tmp_path):
    """Return a function that saves a servo, runs lines, and returns what the program prints."""
    def run_lines(servo, make_lines=lambda: [], joints=()):
        servo.controller.save(tmp_path / 'robot.block', servo)
        (tmp_path / 'inputs').write_text('\n'.join(make_lines()))
        done = subprocess.run(
            [program, tmp_path / 'robot.block', library.library_path(), tmp_path / 'inputs',
             *joints], check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    return run_lines


def words(numbers):
    return ' '.join(float(number).hex() if math.isfinite(number) else str(number)
                    for number in numbers)


def go_through(servo, calls):
    """Do calls with a Python servo; return their lines, the efforts, and results and trips."""
    model, tasks = servo.controller.model, [*servo.controller.tasks.values()]
    lines, efforts, marks = [], [], []
    for k, (what, *arguments) in enumerate(calls):
        now, words_of_call = 1.0 + 1e-3 * k, []
        if what == 'restart':
            servo.restart(now)
            servo.hold()
            words_of_call = [now.hex()]
        elif what == 'hold':
            servo.hold()
        elif what == 'goal':
            index, pose, twist, good = arguments
            if good:
                tasks[index].set_target(pose, np.nan_to_num(twist))
            marks.append(good)
            words_of_call = [str(index), words(np.r_[pose, twist])]
        elif what == 'wrench':
            if np.isfinite(arguments[0]).all():
                servo.controller.sensors['left'].update(arguments[0])
            words_of_call = ['0', words(arguments[0])]
        else:
            q = np.array([1e-2 * math.sin(3e-3 * k + joint) for joint in range(model.nv)])
            q[[*arguments]] = math.nan
            v = np.full(model.nv, 1e-2)
            marks += [servo.cycle(round(1e9 * now), q, v, now), servo.supervisor.records[0]['trip']]
            efforts.append(servo.tau.copy())
            words_of_call = [now.hex(), words(np.c_[q, v].reshape(-1))]
        lines.append(' '.join([what, *words_of_call]))
    return lines, np.array(efforts), [int(mark) for mark in marks]


def test_does_what_python_does(run, servo):
    """Goals, wrenches, holds and lost states: the efforts and the trips are those of Python."""
    turn = np.array([0.0, 0.0, math.sin(0.1), math.cos(0.1)])
    pose, rest, unknown = np.r_[0.45, 0.3, 1.1, turn], np.zeros(6), np.full(7, math.nan)
    twist = np.array([0.02, math.nan, 0.0, math.nan, 0.1, math.nan])
    cycles, names = [('cycle',)] * 20, servo.controller.model.dof_names
    calls = [
        ('restart',), *cycles, ('goal', 0, pose, twist, True), *cycles,
        ('wrench', np.array([0.0, 0.0, -5.0, 0.1, 0.0, 0.0])), *cycles,
        ('wrench', np.full(6, math.nan)), *cycles, ('cycle', 3), ('cycle', 3), *cycles,
        ('hold',), *cycles,
        ('goal', 1, np.r_[0.45, -0.3, 1.1, 1.005 * turn], rest, True), *cycles,
        ('goal', 1, np.r_[0.45, math.nan, 1.1, turn], rest, False),
        ('goal', 0, np.r_[0.45, 0.3, 1.1, 1.1 * turn], rest, False),
        ('goal', 0, unknown, rest, False), *cycles, ('restart',), *cycles]
    done = {}

    def make_lines():
        lines, done['efforts'], done['marks'] = go_through(servo, calls)
        return lines
    joints = [name for name in names if name != LOCKED][::-1]
    printed = run(servo, make_lines, joints)
    assert printed['driven'] == joints
    assert printed['measured'] == list(names)
    assert (printed['tasks'], printed['sensors']) == (['l_hand', 'r_hand'], ['left'])
    assert list(map(int, printed['marks'])) == done['marks']
    assert {*done['marks'][1:]} > {BRAKED, RESUME, CONTROL}
    wanted = done['efforts'][:, [names.index(joint) for joint in joints]]
    found = np.array([*map(float.fromhex, printed['efforts'])]).reshape(wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-9)
    assert np.ptp(wanted, axis=0).min() > 0.0
    assert printed['allocations'] == printed['locks'] == ['0']
    assert int(printed['allocations_seen'][0]) > 0


def test_mailbox(run, servo):
    assert run(servo)['mailbox'] == ['whole']


@pytest.mark.parametrize(('joints', 'says'), [
    (['l_elbow', 'l_elbow'], "'l_elbow' is there twice. Name it once."),
    (['l_elbow'], "drives 'torso_yaw', too. Add it, or export again"),
    (['elbow'], "has no joint 'elbow'. Take some of: torso_yaw"),
    ([LOCKED], f"'{LOCKED}' is passive or locked in .*robot.block. Leave it out"),
])
def test_refuses_other_joints(run, servo, joints, says):
    with pytest.raises(RuntimeError, match=says):
        run(servo, joints=joints)


def test_a_floating_base(run):
    """Its twist comes in its own axes; a pose that is none trips."""
    model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf',
                                      floating_base=True)
    controller = OperationalSpaceController(model, [PoseTask('l_hand')], limits=JointLimits(model))
    servo = Servo(controller)
    servo.set(effort_rate=20.0, velocity_scale=1.0, position_jump=0.1)
    lines, efforts, marks = ['restart 1.0'], [], []

    def make_lines():
        servo.restart(1.0)
        servo.hold()
        for k in range(200):
            now = 1.0 + 1e-3 * (k + 1)
            turn = np.r_[0.6, 0.0, 0.0, 0.8] * (2.0 if 100 <= k < 120 else 1.0)
            pose = np.r_[0.1 + 1e-3 * math.sin(0.05 * k), -0.2, 0.9, turn]
            twist = np.r_[0.05 * math.cos(0.05 * k), 0.02, -0.03, 0.1, 0.2, -0.1]
            q = np.array([1e-2 * math.sin(3e-3 * k + joint) for joint in range(model.nv - 6)])
            v = np.full(model.nv - 6, 1e-2)
            world = (twist.reshape(2, 3) @ matrix_from_quaternion(turn / math.hypot(*turn)).T)
            turned = np.r_[pose[:3], turn if math.hypot(*turn) < 1.1 else np.full(4, math.nan)]
            marks.extend([servo.cycle(round(1e9 * now), np.r_[turned, q],
                                      np.r_[world.reshape(6), v], now),
                          servo.supervisor.records[0]['trip']])
            efforts.append(servo.tau[6:].copy())
            lines.append(f'cycle {now.hex()} {words(np.c_[q, v].reshape(-1))} '
                         f'{words(np.r_[pose, twist])}')
        return lines
    said = run(servo, make_lines)
    assert said['measured'] == said['driven'] == [*model.dof_names[6:]]
    there = np.array([*map(float.fromhex, said['efforts'])]).reshape(-1, model.nv - 6)
    np.testing.assert_allclose(there, efforts, rtol=0.0, atol=1e-9)
    assert [*map(int, said['marks'])] == marks
    assert {int(trip) for trip in marks[1::2]} == {NO_TRIP, NUMBER_OF[STATE_INVALID]}
    assert np.ptp(efforts, axis=0).max() > 0.1
    assert said['allocations'] == said['locks'] == ['0']
