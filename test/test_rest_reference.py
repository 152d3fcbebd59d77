# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The values of bounds where no joint accelerates, which the bounds alone refer to."""

import numpy as np
import pytest
from samples import sample

from opspace_control import (
    Constraint,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotState,
)
from opspace_control.control.limits.kinds import BRAKING, EFFORT, MOTION

FAR = [1.5, 0.5, 0.7, 0.0, 0.0, 0.0, 1.0]


def moving(seed, **options):
    """Yield a controller whose goals are beyond its limits, and its states, after each cycle."""
    _, model, frames = sample('dual_arm')
    random = np.random.default_rng(seed)
    controller = OperationalSpaceController(
        model, [PoseTask(frame) for frame in frames[:2]], PostureTask(target=model.neutral()),
        limits=JointLimits(model), **options)
    for task in controller.tasks.values():
        task.set_target(FAR)
    q = model.integrate(model.neutral(), random.uniform(-0.6, 0.6, model.nv), 1.0)
    v = random.uniform(-2.0, 2.0, model.nv)
    for _ in range(30):
        state = RobotState(model, q, v)
        tau = controller.compute_torque(state, dt=1e-3)
        yield controller, state
        v = v + 1e-3 * np.clip(model.forward_dynamics(state, tau), -500.0, 500.0)
        q = model.integrate(q, 1e-3 * v, 1.0)


def rows_of(controller):
    """Return kind, joint, and values at rest and at the reference of the last problem's rows."""
    cycle, scratch = controller._arguments.cycle, controller._arguments.storage.scratch.bounded
    count = int(cycle['bound_count'][0])
    return zip(scratch.bound_rows.kind[:count].tolist(), scratch.bound_rows.dof[:count].tolist(),
               *scratch.problem.free[:, :count].tolist(), strict=True)


def test_efforts_are_those_of_the_velocity_and_weight():
    """Also while links have inertia."""
    efforts = stiffened = 0
    for seed in range(6):
        for controller, state in moving(seed):
            model = controller.model
            tau = model.bias_force(state) + model.gravity(state)
            stiffened += bool(controller._arguments.cycle['stiffened'][0])
            for kind, k, value, at_reference in rows_of(controller):
                if kind == EFFORT:
                    assert value == pytest.approx(tau[k], abs=1e-11 * abs(tau).max())
                    efforts += abs(value - at_reference) > 1.0
                elif kind in (MOTION, BRAKING):
                    assert value == 0.0
    assert efforts > 5
    assert stiffened > 30


def test_with_constraints_they_are_those_of_what_keeps_these():
    """``q̈ = A⁻¹ J_cᵀ λ`` with ``J_c q̈ + J̇_c v = 0``."""
    seen = 0
    for seed in range(6):
        closed = Constraint('r_hand', axes='x y z rx')
        closed.close()
        for controller, state in moving(seed, constraints=[closed]):
            model = controller.model
            J, A = model.jacobian(state, 'r_hand')[:4], model.mass_matrix(state)
            AJ = np.linalg.solve(A, J.T)
            a = AJ @ np.linalg.solve(J @ AJ, -model.bias_acceleration(state, 'r_hand')[:4])
            for kind, k, value, at_reference in rows_of(controller):
                if kind in (MOTION, BRAKING):
                    assert value == pytest.approx(a[k], abs=1e-8 * abs(a).max())
                    seen += abs(value - at_reference) > 0.1
    assert seen > 30


def change_by_rows(controller, state):
    """Return by how much of its limit an effort changes if all limits were active last."""
    arguments = controller._arguments
    records = [arguments.cycle, arguments.limits.joints, *arguments.storage.memory]
    before, efforts = [record.copy() for record in records], []
    for active in (0, 1):
        for record, numbers in zip(records, before, strict=True):
            record[...] = numbers
        arguments.storage.memory.bound_active[:] = active
        arguments.storage.memory.bound_state[:] = 0
        efforts.append(controller.compute_torque(state, dt=0.0) / controller.effort_limits)
        assert controller.limit_solutions > 0
    for record, numbers in zip(records, before, strict=True):
        record[...] = numbers
    return abs(efforts[1] - efforts[0]).max()


@pytest.mark.parametrize('constraints', [[], ['l_hand']], ids=['free', 'open constraint'])
def test_efforts_hardly_depend_on_which_limits_were_active_last(constraints):
    """
    At states up to a tenth beyond the limits, with and without a row of each of them.

    Where the softness of rows depends on which rows there are, efforts change by 3 % of their
    limits here.
    """
    _, model, frames = sample('dual_arm')
    random, limits = np.random.default_rng(5), JointLimits(model)
    controller = OperationalSpaceController(
        model, [PoseTask(frame) for frame in frames[:2]], PostureTask(target=model.neutral()),
        constraints=[Constraint(frame) for frame in constraints], limits=limits)
    middle, half = 0.5 * (limits.lower + limits.upper), 0.55 * (limits.upper - limits.lower)
    changes = []
    for _ in range(60):
        drawn = random.uniform(-1.0, 1.0, (2, model.nv))
        state = RobotState(model, (middle + half * drawn[0])[np.argsort(model.q_index)],
                           1.1 * limits.velocity * drawn[1])
        for task in controller.tasks.values():
            task.set_target([*random.uniform(-0.6, 0.6, 2), 1.0, 0.0, 0.0, 0.0, 1.0])
        changes.append(change_by_rows(controller, state))
    assert max(changes) < 2e-5


def test_nor_do_they_while_links_have_inertia():
    """Efforts of the bounds alone are without that inertia."""
    stiffened, changes = 0, []
    for seed in range(6):
        for controller, state in moving(seed):
            stiffened += bool(controller._arguments.cycle['stiffened'][0])
            changes.append(change_by_rows(controller, state))
    assert stiffened > 50
    assert max(changes) < 1e-5
