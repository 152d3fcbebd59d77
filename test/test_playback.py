# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Plans carried out: the simulated robot follows them, and what cannot be followed is refused."""

from functools import cache

import numpy as np
import pytest
from samples import URDF, sample

from opspace_control import (
    CenterOfMassTask,
    ControlError,
    JointLimits,
    JointTask,
    OperationalSpaceController,
    PassiveForces,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    TaskError,
    plan_motion,
)
from opspace_control.control.planning.playback import Playback
from opspace_control.spatial.rotations import matrix_from_quaternion, vector_from_matrix
from opspace_control.tasks.pose_kinds import RelativeTask
from opspace_control.tasks.trajectory import JointTrajectory, PoseTrajectory

simulation = pytest.importorskip('opspace_control.simulation')

H = 1e-3
# Robot, passive joints, posture, link, axes, the way it goes.
CASES = {
    'dual_arm': ([], {'l_elbow': -1.5, 'r_elbow': -1.5}, 'l_hand', 'x y z rx ry rz',
                 [0.1, 0.05, 0.1]),
    'dual_arm, limp': (['r_elbow'], {'l_elbow': -1.5}, 'l_hand', 'x y z', [0.1, 0.05, 0.2]),
    'arm_7r': ([], {}, None, 'x y z', [0.0, 0.1, -0.1]),
}


def robot_of(name):
    return name.partition(',')[0]


@cache
def bent(name):
    """Return the URDF of a robot, with friction that its planner knows, and where it begins."""
    text = (URDF / f'{robot_of(name)}.urdf').read_text()
    model = RobotModel.from_urdf(text, passive_joints=CASES[name][0])
    posture = CASES[name][1] or dict.fromkeys(model.dof_names[1::2], 0.4)
    return text, posture


def controller_of(name, tasks=None, **options):
    text, posture = bent(name)
    passive, _, link, axes, _ = CASES[name]
    model = RobotModel.from_urdf(text, passive_joints=passive)
    if options.pop('keep', False):
        options['limits'] = JointLimits(model)
    tasks = [PoseTask(link or model.frame_names[-1], axes=axes)] if tasks is None else tasks
    controller = OperationalSpaceController(model, tasks, PostureTask(kp=25.0), **options)
    q = model.neutral()
    for joint, position in posture.items():
        q[model.q_index[model.dof_index(joint)]] = position
    return controller, RobotState(model, q, np.zeros(model.nv))


@cache
def planned(name, friction=0.0):
    controller, state = controller_of(name)
    link, = controller.tasks
    start = controller.model.forward_kinematics(state, link)[link]
    goal = start.copy()
    goal[:3, 3] += CASES[name][4]
    rest = np.zeros((2, 6))
    model = controller.model
    forces = PassiveForces(model, damping=model.damping, friction=model.friction + friction)
    return plan_motion(controller, state, {link: PoseTrajectory([0.0, 0.8], [start, goal], rest,
                                                                rest)}, 0.9, joint_forces=forces)


def followed(name, friction=0.0, **options):
    """Return how far all joints were from the plan at each cycle, (k, n), on the simulator."""
    plan = planned(name, friction)
    overcome = options.pop('overcome', True)
    controller, state = controller_of(name, **options)
    model = controller.model
    text = bent(name)[0].replace('friction="0"', f'friction="{friction}"')
    robot = simulation.SimulatedRobot(text, timestep=H)
    order = [plan.dof_names.index(joint) for joint in robot.joint_names]
    robot.reset(plan.q[0, order])
    robot.set_status(passive=list(plan.passive))
    forces = PassiveForces(model, damping=model.damping, friction=model.friction + friction)
    playback = Playback(controller, plan.joint_trajectory(), state,
                        joint_forces=forces if overcome else PassiveForces(model))
    away = []
    q, v = np.zeros((2, model.nv))
    for k in range(len(plan.time)):
        q[order], v[order] = robot.positions, robot.velocities
        state.update(q, v)
        away.append(abs(state.q - plan.q[k]))
        playback.move(k * H)
        robot.set_effort(controller.compute_torque(state, dt=H)[order])
        robot.step()
    playback.stop()
    assert not controller._arguments.cycle['limited'][0]
    return np.array(away)


@pytest.mark.parametrize('keep', [False, True])
@pytest.mark.parametrize('name', CASES)
def test_the_simulated_robot_follows_the_plan(name, keep):
    """To 2e-3 rad, where it moves by 0.3 and more."""
    plan = planned(name)
    assert np.ptp(plan.q, axis=0).max() > 0.3
    away = followed(name, keep=keep)
    assert away.max() < 2e-3
    assert away[-1].max() < 1e-3


def test_friction_of_the_drives_is_overcome():
    """Of joints that move; the last one hardly does, and which way it sticks is a guess."""
    overcome = followed('arm_7r', friction=0.05)[:, :6]
    left = followed('arm_7r', friction=0.05, overcome=False)[:, :6]
    assert left.max() > 20.0 * overcome.max()
    assert overcome.max() < 3e-3


@pytest.mark.parametrize('name', CASES)
def test_few_points_are_the_whole_plan(name):
    plan = planned(name)
    trajectory = plan.joint_trajectory()
    assert len(trajectory.times) < 0.2 * len(plan.time)
    q, v, _ = trajectory.sample(plan.time[:-1])
    scalar = [plan.coordinate_names.index(joint) for joint in trajectory.joints]
    assert abs(q - plan.q[:-1, scalar]).max() <= 1e-5
    assert abs(v - plan.v[:-1, scalar]).max() < 5e-3


def test_all_goals_move_as_the_planned_joints_do():
    """Feed-forward is the derivative of the goals, by differences: in the base, and in a link."""
    tasks = [PoseTask('l_hand'), RelativeTask('r_hand', 'l_palm', name='between'),
             JointTask(['torso_yaw'], name='trunk', priority=1)]
    controller, state = controller_of('dual_arm', tasks)
    playback = Playback(controller, planned('dual_arm').joint_trajectory(), state)
    seen, h = [], 1e-5
    for time in (0.41 - h, 0.41, 0.41 + h):
        playback.move(time)
        seen.append([task.target for task in tasks])
    playback.move(0.41)
    trunk = tasks[2]._record[0]
    joint, = (row for row in seen[1][2:])
    assert trunk['target_velocity'][0] == pytest.approx(
        ((seen[2][2] - seen[0][2]) / (2 * h))[0], rel=1e-5, abs=1e-7)
    assert joint.shape == (1,)
    moved = controller.model.forward_kinematics(playback._state)
    np.testing.assert_allclose(tasks[0].target[:3], moved['l_hand'][:3, 3], atol=1e-12)
    between = np.linalg.inv(moved['l_palm']) @ moved['r_hand']
    np.testing.assert_allclose(tasks[1].target[:3], between[:3, 3], atol=1e-12)
    for i, task in enumerate(tasks[:2]):
        before, now, after = (row[i] for row in seen)
        twist, acceleration = task._record['target_twist'], task._record['target_acceleration']
        assert np.linalg.norm(twist) > 0.05
        np.testing.assert_allclose(twist[:3], (after - before)[:3] / (2 * h), atol=1e-6)
        np.testing.assert_allclose(acceleration[:3], (after - 2 * now + before)[:3] / h**2,
                                   atol=1e-4)
        turned = [matrix_from_quaternion(pose[3:]) for pose in (before, now, after)]
        np.testing.assert_allclose(twist[3:], vector_from_matrix(turned[2] @ turned[0].T) / (2 * h),
                                   atol=1e-6)
        rates = []
        for time in (0.41 - h, 0.41 + h):
            playback.move(time)
            rates.append(task._record['target_twist'][3:].copy())
        playback.move(0.41)
        np.testing.assert_allclose(task._record['target_acceleration'][3:],
                                   (rates[1] - rates[0]) / (2 * h), atol=1e-4)


def test_a_stop_leaves_the_goals_where_they_are():
    controller, state = controller_of('dual_arm')
    playback = Playback(controller, planned('dual_arm').joint_trajectory(), state)
    playback.move(0.4)
    goal, posture = controller.tasks['l_hand'].target, controller.posture.target
    playback.stop()
    np.testing.assert_array_equal(controller.tasks['l_hand'].target, goal)
    np.testing.assert_array_equal(controller.posture.target, posture)
    assert not controller.tasks['l_hand']._record['target_twist'].any()
    assert not controller.posture.feed_forward_effort.any()
    assert not controller.posture._dofs['velocity'].any()


def test_a_plan_that_begins_later_begins_where_the_robot_is():
    controller, state = controller_of('dual_arm')
    joints = ['torso_yaw']
    playback = Playback(controller, JointTrajectory(joints, [1.0], [[0.3]], [[0.0]]), state)
    assert playback.trajectory.times.tolist() == [0.0, 1.0]
    playback.move(0.5)
    assert controller.posture.target[0] == pytest.approx(0.15)
    playback.move(2.0)
    assert controller.posture.target[0] == pytest.approx(0.3)


def test_a_turning_joint_may_have_turned():
    text = (URDF / 'arm_7r.urdf').read_text()
    model = RobotModel.from_urdf(text.replace('type="revolute"', 'type="continuous"'))
    controller = OperationalSpaceController(model)
    state = RobotState(model, np.full(model.nq, 2.0 * np.pi), np.zeros(model.nv))
    still = JointTrajectory(model.dof_names, [0.0, 1.0], np.zeros((2, model.nv)))
    assert not Playback(controller, still, state).outside(state, (0.005, 0.05))
    later = JointTrajectory(model.dof_names, [1.0, 2.0], np.full((2, model.nv), 0.1))
    playback = Playback(controller, later, state)
    playback.move(0.5)
    assert controller.posture.target == pytest.approx(np.full(model.nv, 0.05))


def test_numbers_that_are_far_off_between_the_points_are_refused():
    text = (URDF / 'arm_7r.urdf').read_text()
    model = RobotModel.from_urdf(text.replace('type="revolute"', 'type="continuous"'))
    controller = OperationalSpaceController(model)
    state = RobotState(model, np.zeros(model.nq), np.zeros(model.nv))
    positions = np.zeros((3, model.nv))
    positions[1, 2] = 9e29
    rest = np.zeros_like(positions)
    with pytest.raises(ControlError, match=model.dof_names[2]):
        Playback(controller, JointTrajectory(model.dof_names, [0.0, 1.0, 2.0], positions, rest,
                                             rest), state)


def line(**moves):
    """Return the arguments of a trajectory of dual_arm in which these joints move in 1 s."""
    begin = dict.fromkeys(moves, 0.0) | {
        joint: -1.5 for joint in moves if joint.endswith('elbow')}
    first = list(begin.values())
    rows = np.array([first, [x + by for x, by in zip(first, moves.values(), strict=True)]])
    return {'joints': list(moves), 'times': [0.0, 1.0], 'positions': rows,
            'velocities': np.zeros_like(rows)}


@pytest.mark.parametrize(('change', 'message'), [
    ({'joints': ['torso_yah']}, "no joint 'torso_yah' of one coordinate. Did you mean 'torso_yaw'"),
    ({'positions': [[0.2], [0.3]]}, "'torso_yaw' is 0.2 rad or m away .* at 0.000 s. Bring"),
    ({'positions': [[0.0], [9.0]]}, "'torso_yaw' is at .* beyond its limits, at 0.* Plan within"),
    ({'times': [0.0, 0.05]}, "'torso_yaw' moves at .* faster than it may, at 0.0.* more time"),
    ({'efforts': [[0.0], [1e4]]}, "'torso_yaw' takes 1e.04 N m .* drive has, at 1.000 s"),
    ({'velocities': [[0.0], [0.9]]}, "'torso_yaw' still moves at 0.9 .* at 1.000 s. End"),
    ({'velocities': [[0.9], [0.0]]}, "'torso_yaw' begins 0.9 .* at 0.000 s. Begin"),
])
def test_a_plan_that_cannot_be_followed_is_refused(change, message):
    controller, state = controller_of('dual_arm')
    controller.compute_torque(state)
    before = controller.posture.target
    trajectory = JointTrajectory(**line(torso_yaw=0.3) | change)
    with pytest.raises(ControlError, match=message) as refused:
        Playback(controller, trajectory, state)
    assert refused.value.joint in ('torso_yaw', 'torso_yah')
    np.testing.assert_array_equal(controller.posture.target, before)


def test_limits_of_motion_that_are_kept_count():
    controller, state = controller_of('dual_arm', keep=True)
    limit = float(controller.model.velocity_limits[0])
    peak = 0.9 * limit / 1.5  # rad in 1 s, a cubic's speed being 1.5 times the mean
    fast = JointTrajectory(**line(torso_yaw=min(peak, 1.0)) | {
        'times': [0.0, min(peak, 1.0) / peak]})
    Playback(controller, fast, state)
    controller.limits = controller.limits.changed(velocity_kept=0.5)
    with pytest.raises(ControlError, match='faster than it may'):
        Playback(controller, fast, state)


def test_passive_locked_floating_and_centres_are_told():
    controller, state = controller_of('dual_arm, limp')
    with pytest.raises(ControlError, match="leaves out 'r_elbow', which no drive holds"):
        Playback(controller, JointTrajectory(**line(torso_yaw=0.1)), state)
    controller.set_status(passive_joints=(), locked_joints=['torso_yaw'])
    with pytest.raises(ControlError, match="moves 'torso_yaw', which is locked"):
        Playback(controller, JointTrajectory(**line(torso_yaw=0.1)), state)
    controller, state = controller_of('dual_arm', [CenterOfMassTask()])
    with pytest.raises(ControlError, match="'center_of_mass' cannot follow it"):
        Playback(controller, JointTrajectory(**line(torso_yaw=0.1)), state)
    model = RobotModel.from_urdf(sample('dual_arm').urdf, floating_base=True)
    floating = OperationalSpaceController(model)
    with pytest.raises(ControlError, match='the base floats'):
        Playback(floating, JointTrajectory(**line(torso_yaw=0.1)), RobotState(
            model, model.neutral(), np.zeros(model.nv)))


@pytest.mark.parametrize(('change', 'message'), [
    ({'joints': []}, 'Name one or more'),
    ({'joints': ['a', 'a']}, 'each once'),
    ({'times': [0.0, 0.0]}, 'Point 1 of the trajectory has the time 0.0 s'),
    ({'times': [-1.0, 1.0]}, 'Point 0 of the trajectory has the time -1.0 s'),
    ({'times': [0.0, np.nan]}, 'Point 1 of the trajectory has the time nan s'),
    ({'times': []}, 'no points'),
    ({'positions': [[0.0], [0.0]]}, 'not one position for each joint'),
    ({'positions': [[0.0, 0.0], [0.0, np.nan]]}, "position of 'b' at 1.000 s is nan"),
    ({'efforts': [[0.0, np.inf], [0.0, 0.0]]}, "effort of 'b' at 0.000 s is inf"),
    ({'accelerations': np.zeros((2, 2)), 'velocities': None}, 'accelerations without velocities'),
])
def test_malformed_trajectories_are_refused(change, message):
    good = {'joints': ['a', 'b'], 'times': [0.0, 1.0], 'positions': np.zeros((2, 2)),
            'velocities': np.zeros((2, 2))}
    JointTrajectory(**good)
    with pytest.raises(TaskError, match=message):
        JointTrajectory(**good | change)


def test_polynomials_meet_their_points():
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.uniform(0.1, 0.5, 5))
    q, v, a = rng.normal(size=(3, 5, 2))
    for parts in ((q,), (q, v), (q, v, a)):
        trajectory = JointTrajectory(['a', 'b'], times, *parts)
        for side in (1e-11, -1e-11):
            inner = slice(0, -1) if side > 0 else slice(1, None)
            for got, wanted in zip(trajectory.sample(times[inner] + side), parts, strict=False):
                np.testing.assert_allclose(got, wanted[inner], atol=1e-6)
        at_rest = trajectory.sample(times[-1] + 1.0)
        np.testing.assert_array_equal(at_rest[0], q[-1])
        assert not at_rest[1].any()
        assert not at_rest[2].any()


def test_a_floating_plan_is_no_trajectory_of_joints():
    model = RobotModel.from_urdf(sample('dual_arm').urdf, floating_base=True,
                                 passive_joints=['base'])
    controller = OperationalSpaceController(model, gravity_compensation=False)
    plan = plan_motion(controller, RobotState(model, model.neutral(), np.zeros(model.nv)), {}, 0.01)
    with pytest.raises(ControlError, match='a floating base'):
        plan.joint_trajectory()
