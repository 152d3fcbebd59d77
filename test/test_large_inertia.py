# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of large inertia in the controller, [WPO15] (43): first order in 1/I_c, and refusals."""

import numpy as np
import pytest
from contact_optimum import Dense, contact_rows
from robots import TALOS
from samples import sample
from test_contact_forces import FEET, HANDS, LINES, OFF_CENTRE, PAWS, robot

from opspace_control import (
    Constraint,
    Contact,
    ControlError,
    JointLimits,
    JointTask,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.dynamics.passive_forces import PassiveForces

CASES = {
    'talos on soles': (TALOS, [(foot, {'sole': OFF_CENTRE}) for foot in FEET]),
    'talos on a line': (TALOS, [(FEET[0], {'sole': LINES['across']})]),
    'go2 on two feet': ('go2.urdf', [(paw, {'kind': 'point'}) for paw in (PAWS[0], PAWS[3])]),
    'go2 on four feet': ('go2.urdf', [(paw, {'kind': 'point'}) for paw in PAWS]),
}


def controller_of(case, contact_model, softness=1e-7, **options):
    """Return a controller whose contacts are closed; tasks of base and a hand, and of joints."""
    name, contacts = CASES[case]
    model, _, home = robot(name)
    tasks = [PoseTask(model.root_link, name='trunk')]
    if name == TALOS:
        tasks += [PoseTask(HANDS[0], axes='x y z', priority=1),
                  JointTask(['arm_right_4_joint', 'head_1_joint'], name='joints', priority=1)]
    controller = OperationalSpaceController(
        model, tasks, PostureTask(target=home, kp=10.0, kd=5.0),
        constraints=[Contact(foot, **arguments) for foot, arguments in contacts],
        passive_forces=PassiveForces(model), effort_limits=np.inf, contact_model=contact_model,
        **options)
    controller._cycle['contact_softness'] = softness
    for contact in controller.constraints.values():
        contact.close()
    return controller


def state_of(controller, seed):
    """Return a state near the standing posture whose closed contacts are at rest."""
    model, rng = controller.model, np.random.default_rng(seed)
    home = robot(TALOS if 'head_1_joint' in model.dof_names else 'go2.urdf')[2]
    turn = np.concatenate([rng.uniform(-0.05, 0.05, 6), rng.uniform(-0.2, 0.2, model.nv - 6)])
    state = RobotState(model, model.integrate(home, turn, 1.0), rng.normal(0.0, 0.3, model.nv))
    J = Dense.of(controller, state).J_c
    return RobotState(model, state.q, state.v - np.linalg.pinv(J) @ (J @ state.v))


def moved(controller, state):
    """Return q̈ and contact forces, base axes, of the dense solution; goals are where it is."""
    for contact in controller.constraints.values():
        contact.move_to_present()
    controller.hold()
    tau = controller.compute_torque(state)
    a, rows = Dense.of(controller, state).motion(tau)
    contacts = list(controller.constraints.values())
    parts = np.split(rows, np.cumsum([len(one.axes) for one in contacts])[:-1])
    return a, np.array([contact_rows(one, state)[2].T @ part
                        for one, part in zip(contacts, parts, strict=True)])


@pytest.mark.parametrize('case', CASES)
def test_it_goes_to_the_exact_model(case):
    """A tenth of the softness, a tenth of the error; 1e-6 of the accelerations at the usual one."""
    exact = controller_of(case, 'exact')
    for seed in range(3):
        state = state_of(exact, seed)
        a, _ = moved(exact, state)
        errors = []
        for softness in (1e-3, 1e-4, 1e-5, 1e-7):
            near = controller_of(case, 'large_inertia', softness)
            errors.append(abs(moved(near, state)[0] - a).max() / abs(a).max())
        np.testing.assert_allclose(np.diff(np.log10(errors[:3])), -1.0, atol=0.1)
        assert errors[-1] < 2e-5 if 'line' in case else errors[-1] < 1e-6
        L = exact.inverse_inertia
        np.testing.assert_allclose(near.inverse_inertia, L, atol=1e-5 * abs(L).max())


@pytest.mark.parametrize('case', CASES)
def test_forces_are_those_of_the_dense_solution(case):
    """Predicted from the motion of the large inertias, those that are commanded as well."""
    controller = controller_of(case, 'large_inertia')
    # None about a line: it has no moment there.
    for wrench in (np.zeros(6), np.array([30.0, -20.0, 50.0, 0.0, 0.0, 0.0]))[:1 + ('go2' in case)]:
        for contact in controller.constraints.values():
            contact.internal_wrench = wrench
        state = state_of(controller, 5)
        _, forces = moved(controller, state)
        told = np.array([one.force - one.internal_wrench
                         for one in controller.constraints.values()])
        assert abs(told - forces).max() < 1e-6 * abs(forces).max()


def test_internal_wrenches_move_nothing():
    """Feet that push against each other; of what is no internal force nothing is left."""
    controller = controller_of('go2 on two feet', 'large_inertia')
    state = state_of(controller, 2)
    a, before = moved(controller, state)
    poses = controller.model.forward_kinematics(state, [PAWS[0], PAWS[3]])
    apart = poses[PAWS[0]][:3, 3] - poses[PAWS[3]][:3, 3]
    apart *= 40.0 / np.linalg.norm(apart)
    for wrench in (apart, np.array([0.0, 0.0, 30.0])):
        for sign, contact in zip((1.0, -1.0), controller.constraints.values(), strict=True):
            contact.internal_wrench = np.append(sign * wrench, np.zeros(3))
        after, forces = moved(controller, state)
        assert abs(after - a).max() < 1e-5 * abs(a).max()
        change = (before - forces)[0, :3]
        np.testing.assert_allclose(change, (wrench @ apart) / 1600.0 * apart, atol=1e-3)


def test_open_contacts_are_none():
    controller = controller_of('go2 on four feet', 'large_inertia')
    state = state_of(controller, 0)
    model = controller.model
    free = OperationalSpaceController(
        model, [PoseTask(model.root_link)], PostureTask(target=robot('go2.urdf')[2], kp=10.0,
                                                        kd=5.0),
        passive_forces=PassiveForces(model), effort_limits=np.inf)
    for contact in controller.constraints.values():
        contact.open()
    np.testing.assert_allclose(controller.compute_torque(state), free.compute_torque(state),
                               rtol=1e-12, atol=1e-12)
    assert all(not contact.force.any() for contact in controller.constraints.values())


def test_a_contact_fades_in_without_a_jump():
    controller = controller_of('go2 on four feet', 'large_inertia')
    state = state_of(controller, 1)
    foot = controller.constraints[PAWS[1]]
    efforts = []
    for activation in np.linspace(0.0, 1.0, 201):
        foot.activation = activation
        controller.hold()
        efforts.append(controller.compute_torque(state))
    steps = abs(np.diff(efforts, axis=0)).max(axis=1)
    assert np.isfinite(steps).all()
    assert steps.max() < 0.05 * abs(efforts[-1] - efforts[0]).max() + 0.05 * abs(efforts[0]).max()


def test_a_robot_on_a_table_with_a_hand_on_it():
    """Without passive joints no response is needed."""
    model = RobotModel.from_urdf(sample('dual_arm').urdf)
    state = RobotState(model, np.full(model.nq, 0.3), np.zeros(model.nv))
    efforts = []
    for contact_model in ('exact', 'large_inertia'):
        hand = Contact('r_hand', kind='point')
        controller = OperationalSpaceController(
            model, [PoseTask('l_hand')], PostureTask(kp=10.0), constraints=[hand],
            effort_limits=np.inf, contact_model=contact_model)
        hand.close()
        controller.tasks['l_hand'].set_target([0.5, 0.3, 0.4, 0.0, 0.0, 0.0, 1.0])
        efforts.append(controller.compute_torque(state))
    np.testing.assert_allclose(*efforts, atol=1e-5 * abs(efforts[0]).max())


def test_tasks_against_a_contact_give_way():
    """Forces stay bounded where a task wants what the contact prevents."""
    efforts = {}
    for contact_model in ('exact', 'large_inertia'):
        controller = controller_of('talos on soles', contact_model)
        model = controller.model
        against = PoseTask('leg_left_6_link', name='against', kp=100.0)
        controller = OperationalSpaceController(
            model, [against], PostureTask(kp=10.0, kd=5.0),
            constraints=[Contact(foot) for foot in FEET], passive_forces=PassiveForces(model),
            effort_limits=np.inf, contact_model=contact_model)
        for contact in controller.constraints.values():
            contact.close()
        state = RobotState(model, robot(TALOS)[2], np.zeros(model.nv))
        goal = model.forward_kinematics(state, 'leg_left_6_link')['leg_left_6_link']
        goal[:3, 3] += 0.1
        against.set_target(goal)
        efforts[contact_model] = controller.compute_torque(state)
    exact = efforts['exact']
    assert abs(efforts['large_inertia'] - exact).max() < 0.05 * abs(exact).max()


@pytest.mark.parametrize(('options', 'what'), [
    ({'contact_model': 'soft'}, "'soft' is unknown"),
    ({'contact_model': 'large_inertia', 'limits': True}, r'limits(?s:.*)exact'),
    ({'contact_model': 'large_inertia', 'constraints': [Constraint('l_hand', 'r_hand')]},
     r"\['l_hand'\](?s:.*)exact")])
def test_what_does_not_fit_is_refused(options, what):
    model = RobotModel.from_urdf(sample('dual_arm').urdf)
    if 'limits' in options:
        options = {**options, 'limits': JointLimits(model)}
    with pytest.raises(ControlError, match=what):
        OperationalSpaceController(model, **options)
