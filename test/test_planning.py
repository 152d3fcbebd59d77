# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Plans: they obey the equations of motion, arrive, and take another engine's robot along."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from oracles import pinocchio_oracle
from samples import difference, sample

from opspace_control import (
    ControlError,
    OperationalSpaceController,
    PassiveForces,
    Payload,
    Plan,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    StateError,
    momentum,
    plan_motion,
)
from opspace_control.errors import SimulationError
from opspace_control.tasks.trajectory import PoseTrajectory

# Robot, its base, passive joints, whether there is gravity, posture, link, axes, the way it goes.
CASES = {
    'hanging wrist': ('planar_3r', False, ['wrist'], True,
                      {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}, 'palm', 'x z',
                      [0.1, 0.0, 0.1]),
    'dead elbow': ('dual_arm', False, ['r_elbow'], True, {'l_elbow': -1.5, 'r_elbow': 0.0},
                   'l_hand', 'x y z rx ry rz', [0.1, 0.05, 0.2]),
    'free flyer': ('dual_arm', True, ['base'], False, {'l_elbow': -1.5, 'r_elbow': -1.5},
                   'l_hand', 'x y z rx ry rz', [0.1, -0.05, 0.2]),
    'all driven': ('planar_3r', False, [], True, {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6},
                   'hand', 'x z', [0.0, 0.0, 0.15]),
}
by_case = pytest.mark.parametrize('name', CASES)


def make(name, **limits):
    """Return the controller of a case, its first state, and the trajectory by task."""
    robot, floating, passive, gravity, posture, link, axes, way = CASES[name]
    model = RobotModel.from_urdf(sample(robot).urdf, floating_base=floating,
                                 passive_joints=passive)
    q = model.neutral()
    for joint, position in posture.items():
        q[model.q_index[model.dof_index(joint)]] = position
    state = RobotState(model, q, np.zeros(model.nv))
    start = model.forward_kinematics(state, link)[link]
    goal = start.copy()
    goal[:3, 3] += way
    rest = np.zeros((2, 6))
    controller = OperationalSpaceController(
        model, [PoseTask(link, axes=axes)], PostureTask(kp=1.0), gravity_compensation=gravity,
        **limits)
    return controller, state, {link: PoseTrajectory([0.0, 1.0], [start, goal], rest, rest)}


@cache
def planned(name):
    controller, state, goals = make(name)
    return controller.model, plan_motion(controller, state, goals, 1.25)


@by_case
def test_it_arrives_and_stays_on_its_way(name):
    _, plan = planned(name)
    assert plan.feasible
    assert len(plan.time) == 1251
    assert plan.time[-1] == pytest.approx(1.25)
    distance = np.linalg.norm(plan.errors[:, 0, :3], axis=1)
    assert distance[-1] < 2e-4
    assert distance.max() < 5e-4
    moved = plan.poses[-1, 0, :3] - plan.poses[0, 0, :3]
    np.testing.assert_allclose(moved[np.isin(['x', 'y', 'z'], CASES[name][6].split())],
                               np.array(CASES[name][7])[np.isin(
                                   ['x', 'y', 'z'], CASES[name][6].split())], atol=5e-4)


@by_case
def test_every_sample_obeys_the_equations_of_motion(name):
    """A q̈ + b + g = τ with Pinocchio's A, b and g; friction as the URDF has it."""
    robot, _, _, gravity, *_ = CASES[name]
    urdf = sample(robot).urdf
    model, plan = planned(name)
    passive = np.isin(plan.dof_names, plan.passive)
    assert not plan.effort[:, passive].any()
    for k in range(0, len(plan.time), 250):
        state = RobotState(model, plan.q[k], plan.v[k])
        oracle = pinocchio_oracle(model, urdf, state, model.frame_names[-1:])
        friction = -model.damping * state.v - model.friction * np.tanh(state.v / 0.01)
        taken = oracle.A @ plan.acceleration[k] + oracle.b + gravity * oracle.g
        given = plan.effort[k] + friction
        assert difference(taken, given, 1.0 / oracle.joint_units) < 1e-9


@by_case
def test_samples_follow_from_one_another(name):
    """A step of Runge and Kutta with Pinocchio's accelerations under the efforts held."""
    robot, _, _, gravity, *_ = CASES[name]
    urdf = sample(robot).urdf
    model, plan = planned(name)
    h = plan.timestep

    def acceleration(q, v, effort):
        oracle = pinocchio_oracle(model, urdf, RobotState(model, q, v), model.frame_names[-1:])
        friction = -model.damping * v - model.friction * np.tanh(v / 0.01)
        return np.linalg.solve(oracle.A, effort + friction - oracle.b - gravity * oracle.g)

    for k in range(100, len(plan.time) - 1, 300):
        q, v, effort = plan.q[k], plan.v[k], plan.effort[k]
        k1 = acceleration(q, v, effort)
        k2 = acceleration(model.integrate(q, v, h / 2), v + h / 2 * k1, effort)
        k3 = acceleration(model.integrate(q, v + h / 4 * k1, h / 2), v + h / 2 * k2, effort)
        k4 = acceleration(model.integrate(q, v + h / 2 * k2, h), v + h * k3, effort)
        scale = abs(plan.acceleration[k]).max()
        reached = v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        np.testing.assert_allclose(plan.v[k + 1], reached, atol=1e-3 * h * scale)
        moved = model.integrate(q, v + h / 6 * (k1 + k2 + k3), h)
        np.testing.assert_allclose(plan.q[k + 1], moved, atol=1e-2 * h * h * scale)


def test_halving_the_step_halves_the_distance_from_the_way():
    """Efforts are held over a step: first order."""
    controller, state, goals = make('hanging wrist')
    off = [np.linalg.norm(plan_motion(controller, state, goals, 1.25, timestep=h).errors, axis=2
                          ).max() for h in (4e-3, 2e-3, 1e-3)]
    assert off[0] / off[1] == pytest.approx(2.0, rel=0.1)
    assert off[1] / off[2] == pytest.approx(2.0, rel=0.1)


def test_a_free_flyer_keeps_its_momentum_all_along():
    model, plan = planned('free flyer')
    moments = np.array([momentum(model, RobotState(model, plan.q[k], plan.v[k]))
                        for k in range(0, len(plan.time), 50)])
    arms = np.array([np.abs(model.mass_matrix(RobotState(model, q, v))[:6, 6:] @ v[6:]).max()
                     for q, v in zip(plan.q[::50], plan.v[::50], strict=True)])
    assert abs(moments).max() < 1e-5 * arms.max()
    assert np.ptp(plan.q[:, :3], axis=0).max() > 1e-3


def replayed(name, steps, bandwidth):
    """Return where MuJoCo's robot went, (k, nq), and the robot at the end."""
    simulation = pytest.importorskip('opspace_control.simulation')
    from opspace_control.simulation.replay import replay
    robot, floating, *_ = CASES[name]
    model, plan = planned(name)
    inertia = model.mass_matrix(RobotState(model, plan.q[0], plan.v[0])).diagonal()
    w = 2.0 * np.pi * bandwidth
    simulated = simulation.SimulatedRobot(
        sample(robot).urdf, floating_base=floating, gravity=plan.gravity,
        timestep=plan.timestep / steps)
    q, effort = replay(plan, simulated, stiffness=w * w * inertia, damping=2.0 * w * inertia)
    assert not effort[:, np.isin(plan.dof_names, plan.passive)].any()
    assert simulated.time == pytest.approx(1.25)
    if not bandwidth:
        np.testing.assert_array_equal(effort, plan.effort)
    return q, simulated


@by_case
def test_the_simulated_robot_arrives_where_the_plan_does(name):
    """Its drives follow the plan, nothing touches the passive joints: they come along."""
    _, plan = planned(name)
    q, robot = replayed(name, 4, bandwidth=2.0)
    np.testing.assert_allclose(robot.frame_pose(CASES[name][5])[:3], plan.poses[-1, 0, :3],
                               atol=2e-4)
    assert abs(q - plan.q).max() < 0.02


@pytest.mark.parametrize('name', ['hanging wrist', 'free flyer'])
def test_the_efforts_alone_take_the_robot_there_as_its_time_steps_get_small(name):
    """MuJoCo errs in the first order; a quarter of its step brings it four times nearer."""
    _, plan = planned(name)
    off = [abs(replayed(name, steps, bandwidth=0.0)[0] - plan.q).max() for steps in (1, 4, 16)]
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.2)
    assert off[1] / off[2] == pytest.approx(4.0, rel=0.2)
    assert off[2] < 0.02


def test_what_drives_cannot_do_is_said():
    controller, state, goals = make('hanging wrist', effort_limits=15.0)
    plan = plan_motion(controller, state, goals, 0.5)
    assert plan.limited[0] == 1
    assert abs(plan.effort).max() == 15.0
    assert not plan.feasible
    # Two dead joints of three: the palm has one direction left of two.
    model = RobotModel.from_urdf(sample('planar_3r').urdf, passive_joints=['elbow', 'wrist'])
    stuck = OperationalSpaceController(model, [PoseTask('palm', axes='x z')])
    plan = plan_motion(stuck, RobotState(model, state.q, state.v), {}, 0.1)
    assert plan.truncated.all()
    assert not plan.feasible


def test_friction_of_driven_joints_is_overcome():
    controller, state, goals = make('all driven')
    forces = PassiveForces(controller.model, damping=3.0, friction=2.0)
    plan = plan_motion(controller, state, goals, 1.25, joint_forces=forces)
    assert np.linalg.norm(plan.errors[-1, 0, :3]) < 1e-3
    for k in range(0, len(plan.time), 200):
        moving = RobotState(controller.model, plan.q[k], plan.v[k])
        frictionless = controller.model.inverse_dynamics(moving, plan.acceleration[k])
        friction = 3.0 * plan.v[k] + 2.0 * np.tanh(plan.v[k] / 0.01)
        np.testing.assert_allclose(plan.effort[k], frictionless + friction, atol=1e-9)


def test_joints_beyond_their_limits_are_said():
    """Nothing stops a wrist in a plan."""
    model = RobotModel.from_urdf(sample('planar_3r').urdf, passive_joints=['wrist'])
    controller = OperationalSpaceController(model)
    q = [0.9, -1.2, model.lower_position_limits[2] + 0.05]
    plan = plan_motion(controller, RobotState(model, q, [0.0, 0.0, -6.0]), {}, 0.2)
    assert not plan.outside[0]
    assert plan.outside.any()
    assert not plan.feasible


def test_a_locked_joint_rests():
    controller, state, goals = make('dead elbow')
    controller.set_status(passive_joints=(), locked_joints=['r_elbow', 'torso_yaw'])
    moving = RobotState(controller.model, state.q, np.full(controller.model.nv, 0.1))
    plan = plan_motion(controller, moving, goals, 0.2)
    assert plan.locked == ('torso_yaw', 'r_elbow')
    held = np.isin(plan.dof_names, plan.locked)
    assert not plan.v[:, held].any()
    assert not plan.effort[:, held].any()
    assert not np.ptp(plan.q[:, held], axis=0).any()


@by_case
def test_a_file_has_every_digit(name, tmp_path):
    _, plan = planned(name)
    path = tmp_path / 'plan.csv'
    plan.save(path)
    again = Plan.load(path)
    for field in dataclasses.fields(Plan):
        np.testing.assert_array_equal(getattr(again, field.name), getattr(plan, field.name))
    # Anyone can read it without this package.
    with open(path) as file:
        file.readline()
        columns = file.readline().strip().split(',')
    table = np.loadtxt(path, delimiter=',', skiprows=2)
    joint = plan.dof_names[-1]
    np.testing.assert_array_equal(table[:, columns.index(f'effort:{joint}')], plan.effort[:, -1])
    np.testing.assert_array_equal(table[:, columns.index(f'position:{joint}')], plan.q[:, -1])


def test_a_plan_without_tasks_has_a_file_too(tmp_path):
    model = sample('planar_3r').model
    plan = plan_motion(OperationalSpaceController(model), RobotState(
        model, model.neutral(), np.zeros(3)), {}, 0.01)
    plan.save(tmp_path / 'plan.csv')
    assert Plan.load(tmp_path / 'plan.csv').poses.shape == (11, 0, 7)


@pytest.mark.parametrize('text', ['', '1,2,3\n', '# {"format": "opspace plan 1"}\ntime\n0\n',
                                  '# {"format": "other"}\ntime\n0\n', '# [1]\ntime\n0\n'])
def test_other_files_are_refused(text, tmp_path):
    path = tmp_path / 'plan.csv'
    path.write_text(text)
    with pytest.raises(ControlError, match='is no plan'):
        Plan.load(path)
    with pytest.raises(ControlError, match='is no plan'):
        Plan.load(tmp_path / 'missing.csv')


@pytest.mark.parametrize(('arguments', 'message'), [
    ({'goals': {'nose': None}}, "no task 'nose'"),
    ({'duration': np.inf}, 'cannot be made'),
    ({'duration': -1.0}, 'cannot be made'),
    ({'timestep': 0.0}, 'cannot be made'),
    ({'timestep': 2.0}, 'cannot be made'),
])
def test_what_is_refused(arguments, message):
    controller, state, goals = make('all driven')
    with pytest.raises(ControlError, match=message):
        plan_motion(controller, state, **{'goals': goals, 'duration': 1.0, **arguments})


def test_payloads_are_carried():
    """Known to the law and to the motion that it makes: nothing sags."""
    controller, state, _ = make('all driven')
    bare = plan_motion(controller, state, {}, 0.2)
    controller.payloads.put('box', 'hand', Payload(2.0, [0.1, 0.0, 0.0], 0.01 * np.eye(3)))
    plan = plan_motion(controller, state, {}, 0.2)
    assert np.linalg.norm(plan.errors[-1, 0, :3]) < 1e-6
    assert plan.effort[0, 0] - bare.effort[0, 0] > 5.0


def test_a_motion_that_blows_up_says_when():
    controller, state, goals = make('all driven', effort_limits=np.inf)
    controller.tasks['hand'].set_gains(kp=1e9)
    with pytest.raises(ControlError, match='blows up at'), np.errstate(all='ignore'):
        plan_motion(controller, state, goals, 2.0, timestep=0.01)


def test_state_of_another_robot():
    controller, _, goals = make('all driven')
    other = sample('dual_arm').model
    with pytest.raises(StateError, match='does not belong'):
        plan_motion(controller, RobotState(other, other.neutral(), np.zeros(other.nv)), goals, 1.0)


@pytest.mark.parametrize(('other', 'options', 'message'), [
    ('dual_arm', {}, "has no joint 'torso_yaw'"),
    ('planar_3r', {'floating_base': True}, 'a floating base'),
    ('planar_3r', {'timestep': 3e-3}, 'steps of'),
    ('planar_3r', {'gravity': (0.0, 0.0, 0.0)}, 'gravity'),
])
def test_a_plan_fits_one_robot(other, options, message):
    simulation = pytest.importorskip('opspace_control.simulation')
    from opspace_control.simulation.replay import replay
    robot = simulation.SimulatedRobot(sample(other).urdf, **options)
    with pytest.raises(SimulationError, match=message):
        replay(planned('all driven')[1], robot)
