# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Internal forces that spare the drives, [RKR95] 3.2, against dense least squares."""

import numpy as np
import pytest
from test_grasp import BOX, bench

from opspace_control import ControlError, Grasp, GraspForce
from opspace_control.control.grasping.minimum_effort import REGULARISATION
from opspace_control.spatial.rotations import matrix_from_quaternion

STRONGEST = 2e4
LIMITS = 2e4  # N·m, of every drive but every third, which is weak
WEAK = 4e3


def made(name, seed=1, internal=(None, None), on=True, **options):
    """Return a Bench whose drives have limits that they do not reach."""
    return bench(name, seed, internal, minimum_effort=on, weak=(LIMITS, WEAK),
                 **{'maximum': STRONGEST, **options})


def effort(bench):
    """Return the efforts as parts of their limits, (nv,)."""
    return bench.tau / bench.controller.effort_limits


def columns(bench, tensions=True, moments=True):
    """Return what internal wrenches of 1 N do to the joints, (nv, k); the squeeze is the last."""
    grasp, model = bench.grasp, bench.controller.model
    linkage = grasp._linkage
    wrenches = [*linkage.internal_basis(tensions, moments), linkage.wrenches(tensions=-1.0)]
    J = [model.jacobian(bench.state, name) for name in grasp.effectors]
    turn = np.kron(np.eye(2), bench.R)
    T = np.array([sum(J_i.T @ turn @ h for J_i, h in zip(J, each, strict=True))
                  for each in wrenches]).T
    return T * model.active[:, None]


def best(idle, T, squeeze=None):
    """Return the efforts (nv,) that dense least squares find from those without internal forces."""
    W = 1.0 / idle.controller.effort_limits
    s0, temper = idle.grasp.applied_force, REGULARISATION / STRONGEST
    free = T if squeeze is None else T[:, :-1]
    asked = np.zeros(T.shape[1])
    if squeeze is not None:
        asked[-1] = squeeze - s0
    start = np.zeros(T.shape[1])
    start[-1] = s0
    rows = np.vstack([W[:, None] * T, temper * np.eye(T.shape[1])])
    left = np.concatenate([W * idle.tau, temper * start])
    y = asked.copy()
    y[:free.shape[1]] += np.linalg.lstsq(
        rows[:, :free.shape[1]], -(left + rows @ asked), rcond=None)[0]
    return idle.tau + T @ y, s0 + y[-1]


@pytest.mark.parametrize('name', ['dual_arm', 'dual_arm, free', 'talos', 'three arms'])
def test_efforts_are_the_least_and_nothing_moves(name):
    idle, eased = made(name, on=False), made(name)
    wanted, squeeze = best(idle, columns(idle))
    if squeeze < 0.0:  # hands only squeeze
        wanted, squeeze = best(idle, columns(idle), 0.0)
    np.testing.assert_allclose(eased.tau, wanted, atol=1e-8 * abs(idle.tau).max())
    assert eased.grasp.applied_force == pytest.approx(squeeze, abs=1e-8)
    assert np.linalg.norm(effort(eased)) < 0.98 * np.linalg.norm(effort(idle))
    v_dot, a = idle.motion()
    v_dot_eased, a_eased = eased.motion()
    np.testing.assert_allclose(a_eased, a, atol=1e-9 * abs(a).max())
    np.testing.assert_allclose(v_dot_eased, v_dot, atol=1e-8 * abs(v_dot).max())


@pytest.mark.parametrize('name', ['dual_arm', 'three arms'])
def test_what_is_exerted_is_what_is_told(name):
    eased = made(name, 2)
    planned = eased.grasp.wrenches
    np.testing.assert_allclose(eased.wrenches(), planned[1:], atol=1e-7 * abs(planned).max())


def test_forces_that_are_asked_for_stay():
    """Tensions are exactly as told, and the moments alone are left to spare the drives."""
    asked = (-30.0, None)
    idle, eased = made('dual_arm', 3, asked, on=False), made('dual_arm', 3, asked)
    wanted, _ = best(idle, columns(idle, tensions=False), 0.0)
    np.testing.assert_allclose(eased.tau, wanted, atol=1e-8 * abs(idle.tau).max())
    tensions, moments = eased.grasp.internal_forces
    assert tensions == pytest.approx(-30.0)
    assert abs(moments).max() > 0.1
    told = made('dual_arm', 3, (-30.0, 1.0))
    np.testing.assert_allclose(told.tau, made('dual_arm', 3, (-30.0, 1.0), on=False).tau,
                               atol=1e-9 * abs(told.tau).max())


def test_they_squeeze_at_least_as_asked():
    idle, eased = made('dual_arm', 4, on=False, minimum=60.0), made('dual_arm', 4, minimum=60.0)
    wanted, squeeze = best(idle, columns(idle))
    if squeeze < 60.0:
        wanted, squeeze = best(idle, columns(idle), 60.0)
    np.testing.assert_allclose(eased.tau, wanted, atol=1e-8 * abs(idle.tau).max())
    assert eased.grasp.applied_force >= 60.0
    assert eased.grasp.internal_forces[0] == pytest.approx(-eased.grasp.applied_force)


@pytest.mark.parametrize('name', ['dual_arm', 'three arms'])
def test_nothing_slips_for_it(name):
    eased = made(name, 8, kind='point', friction=0.6, minimum=1.0, maximum=500.0)
    force, inward = eased.grasp.wrenches[:, :3], eased.grasp._grips['inward']
    normal = (force * inward).sum(axis=1)
    tangential = np.linalg.norm(force - normal[:, None] * inward, axis=1)
    assert (0.4 * normal - tangential).min() > -1e-9
    assert not eased.grasp.slips


def test_passive_joints_are_kept_out_of_it():
    """An elbow without a drive: what is left of the internal forces spares the other drives."""
    idle, eased = made('dual_arm, limp', 6, on=False), made('dual_arm, limp', 6)
    _, a = idle.motion()
    _, a_eased = eased.motion()
    np.testing.assert_allclose(a_eased, a, atol=1e-8 * abs(a).max())
    assert np.linalg.norm(effort(eased)[3:]) < 0.9 * np.linalg.norm(effort(idle)[3:])  # the arms


def test_it_comes_in_gradually():
    eased = made('dual_arm', 2)
    grasp, controller, state = eased.grasp, eased.controller, eased.state
    full = controller.compute_torque(state)
    force, grasp.grasp_force = grasp.grasp_force, GraspForce(maximum=STRONGEST)
    without = controller.compute_torque(state)
    assert (force.minimum_effort, grasp.grasp_force.minimum_effort) == (True, False)
    controller.gradual['grasp.minimum_effort'][:] = 0.5
    np.testing.assert_allclose(controller.compute_torque(state), 0.5 * (full + without),
                               atol=1e-9 * abs(full).max())


def test_a_stretched_arm_is_not_pulled_at_without_bounds():
    """What costs nothing is bounded by its own weight in what is minimised."""
    for seed in range(5):
        eased = made('talos', seed)
        before = np.linalg.norm(effort(made('talos', seed, on=False)))
        assert np.linalg.norm(eased.grasp.internal_forces[0]) < before * STRONGEST / REGULARISATION


def test_six_rigid_effectors_are_too_many():
    names = [f'hand_{k}' for k in range(6)]
    with pytest.raises(ControlError, match='minimise the effort'):
        Grasp(names, grasp_force=GraspForce(minimum_effort=True))
    assert Grasp(names[:5], grasp_force=GraspForce(minimum_effort=True)).grasp_force.minimum_effort


def test_object_in_the_bench_has_axes_of_its_own():
    """Or the tests above would not notice that they are left out."""
    eased = made('dual_arm', 2)
    np.testing.assert_allclose(matrix_from_quaternion(eased.grasp.task.pose[3:]), eased.R)
    assert BOX.mass == 3.0
