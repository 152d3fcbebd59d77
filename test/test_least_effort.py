# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Internal forces between contacts that spare the drives, held against dense least squares."""

import numpy as np
import pytest
import quadprog
from contact_optimum import Dense, contact_rows, facets
from robots import TALOS
from scipy.linalg import null_space
from test_contact_forces import (
    CASES,
    FADING,
    FEET,
    HANDS,
    random_posture,
    robot,
    set_goals,
    standing,
)

from opspace_control import Constraint, Contact, ControlError, JointLimits, RobotState
from opspace_control.control.data import SCALE
from opspace_control.tasks.arguments import AXES

REGULARISATION = 0.1  # of the effort limit, for an internal force as great as the weight


class Compared:
    """The same controller twice, without and with internal forces of least effort."""

    def __init__(self, case, activations=None, **changed):
        name, options, frames = CASES[case]
        self.name, self.pair = name, [
            standing(name, [Contact(foot, **(arguments | changed)) for foot, arguments in options],
                     frames, activations) for _ in range(2)]
        _, spared = self.pair
        spared.limits = spared.limits.changed(least_effort=1.0)

    def state(self, seed):
        """Return a state, both controllers being ready for it, with the same goals."""
        states = [random_posture(one, self.name, np.random.default_rng(seed)) for one in self.pair]
        for one, state in zip(self.pair, states, strict=True):
            set_goals(one, state, 0.02, np.random.default_rng(seed + 1))
        return states[0]

    def efforts(self, state):
        """Return the joint forces of both, (2, nv)."""
        return np.array([one.compute_torque(state) for one in self.pair])


def rows_of(contact):
    """Return which of the six axes a contact has rows of."""
    return [AXES.index(axis) for axis in contact.axes]


def told_forces(controller, state):
    """Return the forces of the ground at the rows of all contacts."""
    forces = []
    for one in controller.constraints.values():
        axes, arm, _ = contact_rows(one, state)
        wrench = one.force - one.internal_wrench
        wrench[3:] -= np.cross(arm, wrench[:3])
        forces.append((np.kron(np.eye(2), axes.T) @ wrench)[rows_of(one)])
    return np.concatenate(forces)


def scales_of(controller):
    """Return the scales of the rows of all contacts."""
    return np.concatenate([controller._rows[SCALE, 6 * k:6 * k + 6][rows_of(one)]
                           for k, one in enumerate(controller.constraints.values())])


def best_change(controller, state, tau, force):
    """
    Return the best change x of the exerted forces within bounds, for efforts and forces of both.

    By the null space of passive joints' rows, and a dense solver.
    """
    dense, limits, S = Dense.of(controller, state), controller.effort_limits, scales_of(controller)
    known = (limits > 0.0) & np.isfinite(limits)
    W = np.where(known, 1.0 / np.where(known, limits, 1.0), 0.0)
    N = S[:, None] * null_space(dense.J_c[:, :6].T @ np.diag(S))
    cost = REGULARISATION / (9.81 * np.sqrt(controller.model.nodes['mass'].sum()))
    rows = np.vstack([W[:, None] * dense.J_c.T @ N, cost * N / S[:, None]])
    D, u = facets(controller, state)
    moved = (dense.J_c.T @ N)[known]
    conditions = np.vstack([D @ N, moved, -moved])
    right = -np.concatenate([u - D @ force, (limits - tau)[known], (limits + tau)[known]])
    conditions[len(D):] *= -1.0
    z = quadprog.solve_qp(rows.T @ rows, -rows.T @ np.r_[W * tau, np.zeros(len(S))],
                          conditions.T, np.minimum(right, 0.0) - 1e-7)[0]
    return N @ z


@pytest.mark.parametrize(('case', 'activations'), [
    ('go2', None), ('go2 on two feet', None), ('talos', None), ('talos on lines', None),
    *FADING], ids=str)
def test_internal_forces_are_those_of_least_effort(case, activations):
    """They move nothing, keep bounds of forces and efforts, and spare what can be spared."""
    compared, spared, at_bounds = Compared(case, activations), [], 0
    best = compared.pair[1]
    for seed in range(10):
        state = compared.state(seed)
        tau, less = compared.efforts(state)
        before, force = (told_forces(one, state) for one in compared.pair)
        dense, limits = Dense.of(best, state), best.effort_limits
        x = best_change(best, state, tau, before)
        np.testing.assert_allclose(less, tau + dense.J_c.T @ x, atol=1e-5 * abs(tau).max())
        np.testing.assert_allclose(force, before - x, atol=1e-5 * abs(force).max())
        D, u = facets(best, state)
        assert (D @ force - np.maximum(u, D @ before)).max() < 1e-6 * abs(force).max()
        assert (abs(less) - limits)[6:].max() < 1e-6 * limits[6:].max()
        at_bounds += (u - D @ force).min() < 1e-6 * abs(force).max()
        spared.append(np.sum((less / limits)[6:] ** 2) / np.sum((tau / limits)[6:] ** 2))
    assert max(spared) <= 1.0 + 1e-9 and np.mean(spared) < 0.999
    assert at_bounds < 10 or activations or case == 'talos on lines'


def test_they_stop_at_the_bounds_of_contact_forces():
    """On slippery ground they use all of the friction, and no foot slips."""
    compared = Compared('go2', friction=0.1)
    for seed in range(10):
        compared.efforts(compared.state(seed))
        slips = [one.slip for one in compared.pair[1].constraints.values()]
        assert 0.7 < max(slips) <= 1.0 + 1e-6  # the pyramid is inside the cone


def test_they_come_gradually_with_a_contact():
    """Efforts are continuous where a contact is all but closed, and where it is all but open."""
    for pair in (((1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0 - 1e-7)),
                 ((1.0, 1.0, 1.0, 1e-4), (1.0, 1.0, 1.0, 2e-4))):
        efforts = []
        for activations in pair:
            compared = Compared('go2', activations)
            efforts.append(compared.efforts(compared.state(3))[1])
        assert abs(efforts[0] - efforts[1]).max() < 0.02


def test_commanded_internal_wrenches_stay():
    compared = Compared('talos')
    wrench = np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0])
    for one in compared.pair:
        one.constraints[next(iter(one.constraints))].internal_wrench = wrench
    state = compared.state(0)
    tau, less = compared.efforts(state)
    assert abs(tau - less).max() < 1e-6 * abs(tau).max()  # of two contacts one cannot move alone


def test_a_part_of_them():
    compared = Compared('go2')
    _, spared = compared.pair
    state = compared.state(1)
    tau, less = compared.efforts(state)
    spared.limits = spared.limits.changed(least_effort=0.25)
    np.testing.assert_allclose(
        spared.compute_torque(state), tau + 0.25 * (less - tau), atol=1e-6)
    for part in (-0.1, 1.1, np.nan):
        with pytest.raises(ControlError, match='least_effort'):
            JointLimits(spared.model, least_effort=part)


def test_they_fade_with_the_limits():
    compared = Compared('go2')
    _, spared = compared.pair
    state = compared.state(1)
    tau, less = compared.efforts(state)
    spared._cycle['keep'] = 0.25
    np.testing.assert_allclose(
        spared.compute_torque(state), tau + 0.25 * (less - tau), atol=1e-6)


def test_a_contact_that_was_never_closed_takes_no_part():
    """Its bounds have no directions yet."""
    name, options, frames = CASES['go2']
    efforts, state = [], Compared('go2').state(3)
    for opened in (False, True):
        contacts = [Contact(foot, **arguments) for foot, arguments in options]
        one = standing(name, contacts if opened else contacts[:3], frames,
                       (1.0, 1.0, 1.0, 0.0)[:4 if opened else 3])
        one.limits = one.limits.changed(least_effort=1.0)
        efforts.append(one.compute_torque(state))
    np.testing.assert_allclose(*efforts, atol=1e-6)


def test_constraints_without_bounds_take_no_part():
    """A robot whose feet are welded exerts none against them because a hand touches a wall."""
    efforts = []
    for part in (0.0, 1.0):
        one = standing(TALOS, [*map(Constraint, FEET), Contact(HANDS[0], kind='point')],
                       [('base_link', 'x y z rx ry rz')])
        one.limits = one.limits.changed(least_effort=part)
        model, _, home = robot(TALOS)
        efforts.append(one.compute_torque(RobotState(model, home, np.zeros(model.nv))))
        assert one.constraints[HANDS[0]].closed
    np.testing.assert_allclose(*efforts, atol=1e-6)


def test_a_quadruped_stands_on_a_real_floor_with_less_effort():
    pytest.importorskip('mujoco', reason='MuJoCo is not installed')
    from opspace_control.cli.showcase.legged_scene import LeggedScene
    efforts = []
    for part in (0.0, 1.0):
        scene = LeggedScene('go2')
        scene.controller.limits = scene.controller.limits.changed(least_effort=part)
        reports = scene.run(0.5)
        robot, limits = scene.robot, scene.controller.effort_limits[6:]
        efforts.append(np.sum((robot.in_order(robot.simulated.efforts) / limits) ** 2))
        assert abs(robot.simulated.base_twist).max() < 5e-3 and reports[:, 7].max() < 0.6
    assert efforts[1] < 0.7 * efforts[0]
