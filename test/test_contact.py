# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Links that stand on the ground: told, held, and watched."""

import numpy as np
import pytest
from closed_chains import consistent, dense_chain
from robots import TALOS, robot_file
from samples import difference, random_state

from opspace_control import (
    Closure,
    Contact,
    ControlError,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.dynamics.passive_forces import PassiveForces

FEET = ('left_sole_link', 'right_sole_link')
HAND = 'gripper_left_base_link'


@pytest.fixture(scope='module')
def talos():
    text = robot_file(TALOS).read_text()
    return text, RobotModel.from_urdf(text, floating_base=True, passive_joints=('base',))


def standing(model, **options):
    """Return a controller with both feet in contact, a hand to move, and the base to hold."""
    contacts = [Contact(foot, **options) for foot in FEET]
    tasks = [PoseTask(HAND, axes='x y z'), PoseTask('base_link'), *map(PoseTask, FEET)]
    return OperationalSpaceController(
        model, tasks, PostureTask(kp=10.0, kd=5.0), constraints=contacts, effort_limits=np.inf,
        passive_forces=PassiveForces(model), singularity_threshold=1e-9), contacts


def upright(model, text, speed):
    """Return a state with bent knees whose feet stand still, and move the rest if asked."""
    q = model.neutral()
    for side in ('left', 'right'):
        for number, value in ((3, -0.4), (4, 0.8), (5, -0.4)):
            q[model.q_index[model.dof_index(f'leg_{side}_{number}_joint')]] = value
        q[model.q_index[model.dof_index(f'arm_{side}_4_joint')]] = -1.2
    state = random_state(model, 0, speed)
    state.update(q, state.v)
    closures = [Closure(foot) for foot in FEET]
    return RobotState(model, q, consistent(model, text, state, closures)), closures


@pytest.mark.parametrize('speed', [0.0, 0.3])
def test_loads_are_what_the_ground_bears(talos, speed):
    """λ of the dense equations of motion; standing still they add up to the weight."""
    text, model = talos
    controller, contacts = standing(model)
    state, closures = upright(model, text, speed)
    for contact in contacts:
        contact.engage(state)
    tau = controller.compute_torque(state)
    dense = dense_chain(model, text, state, (HAND,), closures)
    _, force = dense.accelerations(tau)
    poses = model.forward_kinematics(state, FEET)
    expected = np.array([(poses[foot][:3, :3] @ wrench.reshape(2, 3).T).T.ravel()
                         for foot, wrench in zip(FEET, force.reshape(2, 6), strict=True)])
    seen = np.array([contact.force for contact in contacts])
    assert difference(seen, expected) < 1e-7
    assert all(contact.load == pytest.approx(wrench[2], rel=1e-9)
               for contact, wrench in zip(contacts, expected, strict=True))
    if speed == 0.0:
        weight = 9.81 * model.nodes['mass'].sum()
        assert sum(contact.load for contact in contacts) == pytest.approx(weight, rel=1e-6)
        assert all(0.0 <= contact.slip < 1.0 for contact in contacts)


def test_tasks_of_the_foot_give_way_and_come_back(talos):
    text, model = talos
    controller, (left, right) = standing(model)
    state, _ = upright(model, text, 0.0)
    controller.compute_torque(state)
    left.engage(state)
    assert not controller.tasks[FEET[0]].enabled
    assert controller.tasks[FEET[1]].enabled
    assert left.closed and not right.closed
    left.engage(state)  # again: nothing happens
    left.disengage()
    left.disengage()
    assert controller.tasks[FEET[0]].enabled
    assert controller.tasks[FEET[0]].target is None


def test_a_foot_that_moves_is_refused(talos):
    text, model = talos
    _, (left, _) = standing(model)
    still, _ = upright(model, text, 0.0)
    v = np.zeros(model.nv)
    v[model.dof_index('leg_left_4_joint')] = 1.0
    with pytest.raises(ControlError, match="'left_sole_link' moves against the ground") as caught:
        left.engage(RobotState(model, still.q, v))
    assert caught.value.frame == FEET[0]
    assert not left.closed
    left.engage()  # without a state nobody looks
    assert left.closed


def test_a_foot_that_turns_may_be_a_point(talos):
    text, model = talos
    state, _ = upright(model, text, 0.0)
    J = model.jacobian(state, FEET[0])
    v = np.linalg.lstsq(J, [0, 0, 0, 0.9, 0, 0], rcond=None)[0]
    turning = RobotState(model, state.q, v)
    for kind, refused in (('surface', True), ('point', False)):
        _, (left, _) = standing(model, kind=kind)
        if refused:
            with pytest.raises(ControlError, match='rad/s'):
                left.engage(turning)
        else:
            left.engage(turning)


def test_a_foot_may_roll_over_its_edge(talos):
    """About the line it may turn at any rate, about the frame it moves against the ground then."""
    text, model = talos
    state, _ = upright(model, text, 0.0)
    pose = model.forward_kinematics(state, FEET[0])[FEET[0]]
    edge = [[0.1, -0.06, -0.02], [0.1, 0.06, -0.02]]
    for about, refused in ((edge[0], False), ((0.0, 0.0, 0.0), True)):
        w = pose[:3, 1] * 3.0
        twist = np.concatenate([-np.cross(w, pose[:3, :3] @ about), w])
        v = np.linalg.lstsq(model.jacobian(state, FEET[0]), twist, rcond=None)[0]
        _, (left, _) = standing(model, kind='line', sole=edge)
        if refused:
            with pytest.raises(ControlError, match='m/s'):
                left.engage(RobotState(model, state.q, v))
        else:
            left.engage(RobotState(model, state.q, v))


@pytest.mark.parametrize('sole', [[[0.1, -0.06, -0.02], [0.1, 0.06, -0.02]],
                                  [[-0.1, -0.03, -0.02], [0.1, 0.05, -0.02]]], ids=str)
def test_forces_of_lines_are_those_of_the_dense_solution(talos, sole):
    """Without limits; on the way to full activation forces and efforts have no jump."""
    text, model = talos
    controller, (left, right) = standing(model, kind='line', sole=sole)
    state, _ = upright(model, text, 0.3)
    pose = model.forward_kinematics(state, FEET)
    R = pose[FEET[0]][:3, :3]
    closures = [Closure(foot, None, left.place, left.row_axes(R), ' '.join(left.axes))
                for foot in FEET]
    left.close()
    right.close()
    tau = controller.compute_torque(state)
    _, force = dense_chain(model, text, state, (HAND,), closures).accelerations(tau)
    wrenches = np.insert(force.reshape(2, 5), 3, 0.0, axis=1)  # none about the line
    for contact, wrench in zip((left, right), wrenches, strict=True):
        turn = pose[contact.frame][:3, :3] @ contact.row_axes(R)
        expected = (turn @ wrench.reshape(2, 3).T).T
        expected[1] += np.cross(pose[contact.frame][:3, :3] @ contact.place, expected[0])
        assert difference(contact.force, expected.ravel()) < 1e-7
    left.activation = 1.0 - 1e-9
    np.testing.assert_allclose(controller.compute_torque(state), tau, atol=1e-4 * abs(tau).max())
    left.activation = 0.5
    assert np.isfinite(controller.compute_torque(state)).all()


def test_slip_and_lift_are_told():
    contact = Contact('foot', friction=0.5)
    contact._record['force'] = [30.0, 40.0, 100.0, 0, 0, 0]
    assert contact.load == 100.0
    assert contact.slip == pytest.approx(50.0 / 50.0)
    contact._record['force'][2] = -1.0
    assert contact.load == -1.0
    assert contact.slip == np.inf
    tilted = Contact('foot', normal=(0, 3, 4))
    tilted._record['force'] = [0.0, 6.0, 8.0, 0, 0, 0]
    assert tilted.load == pytest.approx(10.0)
    assert tilted.slip == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(('arguments', 'what'), [
    ({'kind': 'glued'}, 'kind'), ({'normal': (0, 0, 0)}, 'normal'), ({'normal': (1, 0)}, 'normal'),
    ({'friction': 0.0}, 'friction'), ({'friction': 'rough'}, 'friction')])
def test_arguments_that_cannot_be_used(arguments, what):
    with pytest.raises(ControlError, match=what):
        Contact('foot', **arguments)


def test_without_a_controller():
    with pytest.raises(ControlError, match='no controller'):
        Contact('foot').engage()
