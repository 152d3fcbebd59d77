# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on contact forces, held against dense dynamics and a dense lexicographic optimum."""

from functools import cache

import numpy as np
import pytest
from contact_optimum import Dense, held_against_optimum
from robots import TALOS, robot_file
from scipy.optimize import linprog

from opspace_control import (
    Contact,
    ControlError,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.dynamics.passive_forces import PassiveForces

SOLE = [[-0.1, -0.06, 0.0], [0.1, 0.06, 0.0]]
OFF_CENTRE = [[-0.08, -0.06, -0.02], [0.14, 0.04, -0.02]]
LINES = {'along': [[-0.1, 0.01, -0.02], [0.12, 0.01, -0.02]],
         'across': [[0.03, -0.08, -0.02], [0.03, 0.08, -0.02]]}
FEET = ('left_sole_link', 'right_sole_link')
PAWS = ('FL_foot', 'FR_foot', 'RL_foot', 'RR_foot')
HANDS = ('gripper_left_base_link', 'gripper_right_base_link')


@cache
def robot(name):
    """Return a floating robot, its URDF and a posture to stand in."""
    text = robot_file(name).read_text()
    model = RobotModel.from_urdf(text, floating_base=True, passive_joints=('base',))
    bends = ({f'leg_{side}_{number}_joint': angle for side in ('left', 'right')
              for number, angle in ((3, -0.4), (4, 0.8), (5, -0.4))}
             | {f'arm_{side}_4_joint': -1.2 for side in ('left', 'right')} if name == TALOS else
             {f'{leg}_{joint}_joint': angle for leg in ('FL', 'FR', 'RL', 'RR')
              for joint, angle in (('thigh', 0.8), ('calf', -1.5))})
    q = model.neutral()
    for joint, angle in bends.items():
        q[model.q_index[model.dof_index(joint)]] = angle
    return model, text, q


def standing(name, contacts, frames, activations=None, **options):
    """
    Return a controller whose contacts are closed, with a task for each frame in order.

    Contacts may have activations less than 1.
    """
    model, _, home = robot(name)
    tasks = [PoseTask(frame, name=f'task {k}', axes=axes, priority=k)
             for k, (frame, axes) in enumerate(frames)]
    controller = OperationalSpaceController(
        model, tasks, PostureTask(target=home, kp=10.0, kd=5.0), constraints=contacts,
        passive_forces=PassiveForces(model), limits=JointLimits(model), **options)
    controller._limits.records['slow'] = -1.0
    controller._limits.records['gravity_torque'] = np.inf
    for contact in contacts:
        contact.close()
    if activations is not None:
        for contact, activation in zip(contacts, activations, strict=True):
            contact.activation = activation
    return controller


def random_posture(controller, name, rng):
    """Return a state near the standing posture whose feet stand still, all else moves."""
    model, _, home = robot(name)
    turn = np.concatenate([rng.uniform(-0.05, 0.05, 6), rng.uniform(-0.2, 0.2, model.nv - 6)])
    state = RobotState(model, model.integrate(home, turn, 1.0), rng.uniform(-0.05, 0.05, model.nv))
    J = Dense.of(controller, state).J_c
    v = state.v - np.linalg.pinv(J) @ (J @ state.v)
    for contact in controller.constraints.values():
        contact.move_to_present()
    records = controller._limits.records
    records['active_side'] = 0
    records['resting_share'] = 0.0
    controller._limits.memory.bound_active[:] = 0
    return RobotState(model, state.q, v)


def set_goals(controller, state, reach, rng):
    """Set a random goal for each task, up to so far away."""
    for task in controller.tasks.values():
        goal = state.model.forward_kinematics(state, task.frame)[task.frame]
        goal[:3, 3] += rng.uniform(-reach, reach, 3)
        task.set_target(goal)


CASES = {
    'talos': (TALOS, [(foot, {'friction': 0.4, 'sole': SOLE}) for foot in FEET],
              [('base_link', 'x y z rx ry rz'), (HANDS[0], 'x y z'), (HANDS[1], 'x y z')]),
    'talos off centre': (TALOS, [(foot, {'friction': 0.4, 'sole': OFF_CENTRE}) for foot in FEET],
                         [('base_link', 'x y z rx ry rz'), (HANDS[0], 'x y z'),
                          (HANDS[1], 'x y z')]),
    'talos on lines': (TALOS, [(foot, {'friction': 0.4, 'sole': line})
                               for foot, line in zip(FEET, LINES.values(), strict=True)],
                       [('base_link', 'x y z rx ry rz')]),
    'talos on a line and a sole': (TALOS, [
        (FEET[0], {'kind': 'line', 'sole': [[-0.1, -0.03, -0.02], [0.1, 0.05, -0.02]]}),
        (FEET[1], {'friction': 0.4, 'sole': OFF_CENTRE})],
        [('base_link', 'x y z rx ry rz')]),
    'go2': ('go2.urdf', [(paw, {'kind': 'point', 'friction': 0.5, 'normal_force': (2.0, 150.0)})
                         for paw in PAWS], [('base', 'x y z'), ('base', 'rx ry rz')]),
    'go2 on two feet': ('go2.urdf', [(paw, {'kind': 'point', 'friction': 0.6})
                                     for paw in (PAWS[0], PAWS[3])],
                        [(PAWS[1], 'x y z'), ('base', 'x y z')]),
}


@pytest.mark.parametrize('sole', [SOLE, OFF_CENTRE, *LINES.values(), None], ids=str)
def test_bounds_are_those_of_forces_at_the_corners(sole):
    """A wrench is within bounds just if forces in the friction pyramids of the corners make it."""
    rng, mu = np.random.default_rng(0), 0.6 / np.sqrt(2.0)
    contact = Contact(FEET[0], friction=0.6, sole=sole)
    controller = standing(TALOS, [contact], [])
    state = random_posture(controller, TALOS, rng)
    R = state.model.forward_kinematics(state, FEET[0])[FEET[0]][:3, :3]
    contact.normal = R[:, 2] if sole else [0.1, -0.2, 1.0]
    controller.compute_torque(state)
    contacts = controller._limits.scratch.contacts
    if sole:
        across, along = R[:, 1], R[:, 0]
        (x, y, z), ends = contact.place, np.transpose(sole)
        corners = [R @ (i - x, j - y, 0.0) for i in ends[0] for j in ends[1]]
        assert z == sole[0][2] == sole[1][2]
    else:
        assert np.isinf(contacts.bounds[1, 5:]).all()
        along = np.eye(3)[0] - contact.normal[0] * contact.normal
        across, corners = np.cross(contact.normal, along), [np.zeros(3)]
    along, across = along / np.linalg.norm(along), across / np.linalg.norm(across)
    edges = [contact.normal + mu * (i * along + j * across) for i in (-1, 1) for j in (-1, 1)]
    rays = np.array([np.concatenate([edge, np.cross(corner, edge)])
                     for corner in corners for edge in edges]).T
    noise, found = np.diag([1.0, 1.0, 1.0] + 3 * [0.1 if sole else 0.0]), [0, 0]
    if contact.kind == 'line':  # no moment about it
        t = corners[-1] / np.linalg.norm(corners[-1])
        noise[3:, 3:] -= 0.1 * np.outer(t, t)
    for _ in range(300):
        wrench = rays @ rng.exponential(1.0, rays.shape[1]) * rng.integers(0, 2)
        wrench = wrench + noise @ rng.normal(0.0, 1.0, 6)
        possible = linprog(np.zeros(rays.shape[1]), A_eq=rays, b_eq=wrench).status == 0
        values = contacts.direction @ wrench
        margin = min((contacts.bounds[1] - values).min(), (values - contacts.bounds[0]).min())
        assert abs(margin) < 1e-6 or (margin > 0.0) == possible
        found[possible] += 1
    assert min(found) > 20


def test_contacts_that_cannot_be_used():
    for arguments in ({'normal_force': (-1.0, 5.0)}, {'normal_force': (5.0, 5.0)},
                      {'sole': [[0, 0, 0]]}, {'sole': SOLE, 'kind': 'point'},
                      {'sole': [[0.1, 0.2, 0.0], [0.1, 0.2, 0.1]]}, {'kind': 'line'},
                      {'sole': [[0.1, 0.2, 0.3]] * 2, 'kind': 'line'}):
        with pytest.raises(ControlError, match=r"Contact 'foot': (?s:.*) cannot be used"):
            Contact('foot', **arguments)


FADING = [('go2', (0.02, 0.3, 1.0, 0.8)), ('go2', (0.5, 0.2, 0.3, 0.9)), ('talos', (0.3, 1.0)),
          ('talos', (0.05, 0.6))]


@pytest.mark.parametrize('reach', [0.02, 0.3])
@pytest.mark.parametrize(('case', 'activations'), [
    *((case, None) for case in CASES), *FADING], ids=str)
def test_forces_of_contacts_are_within_bounds(case, activations, reach):
    """
    Of the dense equations of motion, and nothing is lost: tasks miss no more than they must.

    Also while contacts fade in, as on springs. Tasks that the legs of Talos can then move only by
    these springs are not held: they miss up to 0.4 of what they want more than they must.
    """
    name, options, frames = CASES[case]
    contacts = [Contact(foot, **arguments) for foot, arguments in options]
    controller = standing(name, contacts, frames, activations)
    rng, given_way = np.random.default_rng(1), 0
    for _ in range(20):
        state = random_posture(controller, name, rng)
        set_goals(controller, state, reach, rng)
        tau = controller.compute_torque(state)
        given_way += sum(held_against_optimum(controller, state, tau, tasks=name != TALOS or (
            activations is None)))
    assert given_way > 10 or reach < 0.1 or (activations and name == TALOS)
