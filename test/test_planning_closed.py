# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Plans of closed chains: held by each other, by a grasp, by the ground."""

import numpy as np
import pytest
from closed_chains import dense_chain
from samples import difference, sample
from test_grasp import three_arms

from opspace_control import (
    Closure,
    Constraint,
    Contact,
    ControlError,
    Grasp,
    OperationalSpaceController,
    PassiveForces,
    Payload,
    Playback,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    plan_motion,
)
from opspace_control.control.planning.planned_robot import PlannedRobot
from opspace_control.spatial.rotations import vector_from_matrix
from opspace_control.tasks.trajectory import PoseTrajectory

BENT = {'l_elbow': -1.5, 'r_elbow': -1.5}
H = 2e-3


def at(model, **posture):
    """Return the state at rest with these joints, the others at zero."""
    q = model.neutral()
    for name, position in posture.items():
        q[model.q_index[model.dof_index(name)]] = position
    return RobotState(model, q, np.zeros(model.nv))


def way(start, *offset):
    """Return the trajectory from a pose (4, 4) or (7,) to one that is away by an offset, m."""
    goal = start.copy()
    if goal.shape == (7,):
        goal[:3] += offset
    else:
        goal[:3, 3] += offset
    rest = np.zeros((2, 6))
    return PoseTrajectory([0.0, 0.5], [start, goal], rest, rest)


def openings(plan, model, frame, other=None):
    """Return by how much a frame leaves its first place in another's, (k, 2), m and rad."""
    def relative(k):
        poses = model.forward_kinematics(RobotState(model, plan.q[k], plan.v[k]))
        return (np.linalg.inv(poses[other]) if other else np.eye(4)) @ poses[frame]

    first = relative(0)
    moved = [relative(k) for k in range(0, len(plan.time), 20)]
    return np.array([(np.linalg.norm(pose[:3, 3] - first[:3, 3]),
                      np.linalg.norm(vector_from_matrix(pose[:3, :3] @ first[:3, :3].T)))
                     for pose in moved])


@pytest.fixture(scope='module')
def chained():
    """Return the model, and the plan of two hands that hold each other, one joint limp."""
    model = RobotModel.from_urdf(sample('dual_arm').urdf, passive_joints=['l_elbow'])
    state = at(model, **BENT)
    held = Constraint('r_hand', 'l_hand')
    controller = OperationalSpaceController(
        model, [PoseTask('l_hand', axes='x y z')], PostureTask(kp=10.0), constraints=[held])
    held.close()
    start = model.forward_kinematics(state, 'l_hand')['l_hand']
    return model, plan_motion(controller, state, {'l_hand': way(start, 0.05, 0.0, 0.08)}, 0.7,
                              timestep=H)


def test_a_chain_stays_closed_and_arrives(chained):
    model, plan = chained
    assert plan.feasible
    assert np.linalg.norm(plan.errors[-1, 0, :3]) < 5e-4
    assert plan.poses[-1, 0, 2] - plan.poses[0, 0, 2] > 0.07
    assert openings(plan, model, 'r_hand', 'l_hand').max() < 1e-9


def test_samples_obey_the_equations_of_the_chain(chained):
    """v̇ by Pinocchio's A, b, g and J_c; the velocities respect the constraint."""
    model, plan = chained
    urdf, closure = sample('dual_arm').urdf, [Closure('r_hand', 'l_hand')]
    for k in range(0, len(plan.time), 70):
        state = RobotState(model, plan.q[k], plan.v[k])
        friction = -model.damping * state.v - model.friction * np.tanh(state.v / 0.01)
        dense = dense_chain(model, urdf, state, (), closure)
        expected, _ = dense.accelerations(plan.effort[k] + friction)
        assert difference(plan.acceleration[k], expected) < 1e-7
        assert abs(dense.J_c @ state.v).max() < 1e-7


def test_a_plan_of_a_chain_is_carried_out(chained):
    """By another controller, on the robot that planning moves: to 1e-2 rad, 5e-3 measured."""
    model, plan = chained
    held = Constraint('r_hand', 'l_hand')
    controller = OperationalSpaceController(
        model, [PoseTask('l_hand', axes='x y z')], PostureTask(kp=10.0), constraints=[held])
    held.close()
    world = PlannedRobot(controller, RobotState(model, plan.q[0], plan.v[0]), None, None)
    # The robot overcomes friction by itself.
    playback = Playback(controller, plan.joint_trajectory(), world.state,
                        joint_forces=PassiveForces(model))
    for k in range(len(plan.time)):
        assert abs(world.state.q - plan.q[k]).max() < 1e-2
        playback.move(k * H)
        effort, cut = world.drive(H)
        assert not cut
        world.step(effort, world.acceleration(effort), H)


def test_an_object_is_carried_by_two_hands():
    model = RobotModel.from_urdf(sample('dual_arm').urdf)
    state = at(model, **BENT)
    grasp = Grasp(['l_hand', 'r_hand'], name='carry', payload=Payload.of_box(3.0, (0.2, 0.4, 0.3)))
    controller = OperationalSpaceController(
        model, [PoseTask('l_hand'), PoseTask('r_hand')], PostureTask(kp=10.0), grasps=[grasp])
    grasp.engage(state)
    controller.compute_torque(state)
    goals = {'carry': way(grasp.task.pose, 0.05, 0.05, 0.1)}
    plan = plan_motion(controller, state, goals, 0.7, timestep=H)
    carried = plan.errors[:, plan.tasks.index('carry')]
    assert plan.feasible
    assert np.linalg.norm(carried[-1, :3]) < 5e-4
    assert not plan.errors[:, :2].any()  # of the hands' own tasks, which the grasp switches off
    assert openings(plan, model, 'r_hand', 'l_hand').max() < 1e-9
    Playback(controller, plan.joint_trajectory(), state).move(plan.time[-1])
    # The object's point, not that of the hand which carries it.
    np.testing.assert_allclose(grasp.task.target[:3], plan.poses[-1, plan.tasks.index('carry'), :3],
                               atol=1e-4)


def standing(**options):
    """Return the model and the plan of a robot that stands on the ground and swings its hand."""
    model = RobotModel.from_urdf(
        sample('dual_arm').urdf, floating_base=True, passive_joints=['base'])
    state = at(model, **BENT)
    foot = Contact('base_link', **options)
    controller = OperationalSpaceController(
        model, [PoseTask('l_hand', axes='x y z')], PostureTask(kp=10.0), constraints=[foot])
    foot.engage(state)
    state.update(state.q, np.r_[0.1, np.zeros(model.nv - 1)])  # the ground does not let it
    start = model.forward_kinematics(state, 'l_hand')['l_hand']
    return model, plan_motion(controller, state, {'l_hand': way(start, 0.1, 0.0, 0.1)}, 0.7,
                              timestep=H)


def test_a_robot_stands_on_the_ground():
    model, plan = standing(friction=0.7)
    assert plan.feasible
    assert np.linalg.norm(plan.errors[-1, 0, :3]) < 5e-4
    assert openings(plan, model, 'base_link').max() < 1e-9
    assert abs(plan.v[:, :6]).max() < 1e-9


def test_a_robot_topples_over_a_line():
    """The ends of the line stay where they are, whatever else moves."""
    ends = np.array([[0.05, -0.2, -0.1], [0.05, 0.1, -0.1]])
    model, plan = standing(friction=0.7, kind='line', sole=ends)
    poses = [model.forward_kinematics(RobotState(model, q, v), 'base_link')['base_link']
             for q, v in zip(plan.q, plan.v, strict=True)]
    places = np.array([ends @ pose[:3, :3].T + pose[:3, 3] for pose in poses])
    assert abs(places - places[0]).max() < 1e-9
    x, y, z = vector_from_matrix(poses[-1][:3, :3])
    assert abs(y) > 0.02
    assert max(abs(x), abs(z)) < 1e-9


def test_a_slipping_foot_makes_a_plan_unfeasible():
    _, plan = standing(friction=0.01)
    assert plan.slipping.any()
    assert not plan.feasible


def test_what_fingertips_hold_is_refused():
    model = RobotModel.from_urdf(three_arms())
    tips = [f'arm{k}_5' for k in range(3)]
    grasp = Grasp(tips, name='ball', kind='fingertips', payload=Payload(0.5, inertia=np.eye(3)))
    controller = OperationalSpaceController(model, grasps=[grasp])
    posture = {f'j{k}_{j}': x for k in range(3) for j, x in ((1, 0.3), (2, 0.8), (4, 0.5))}
    state = at(model, **posture)
    grasp.engage(state)
    with pytest.raises(ControlError, match=r"'ball'.*only fingertips"):
        plan_motion(controller, state, {}, 0.1)
