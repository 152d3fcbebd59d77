# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The weight of a task that comes or goes: exact at one, gone at zero, continuous in between."""

import numpy as np
import pytest

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
    TaskError,
    operational_space,
)
from opspace_control.share import share_directory

MODEL = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')


def random_state(seed=0):
    rng = np.random.default_rng(seed)
    q = 0.5 * rng.uniform(-1.0, 1.0, MODEL.nq)
    q[MODEL.q_index[MODEL.dof_index('l_elbow')]] = -1.2
    q[MODEL.q_index[MODEL.dof_index('r_elbow')]] = -1.2
    return RobotState(MODEL, q, 0.3 * rng.normal(size=MODEL.nv))


def controller(*frames):
    """Return a controller with tasks that are pulled somewhere else."""
    result = OperationalSpaceController(
        MODEL, [PoseTask(frame) for frame in frames], effort_limits=np.inf)
    state = RobotState(MODEL, MODEL.neutral(), np.zeros(MODEL.nv))
    result.compute_torque(state)
    return result


def test_without_activation_it_is_as_if_there_were_no_task():
    hands, state = controller('l_hand', 'r_hand'), random_state()
    hands.tasks['r_hand'].activation = 0.0
    expected = controller('l_hand').compute_torque(state)
    np.testing.assert_allclose(hands.compute_torque(state), expected, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize('seed', range(3))
def test_continuous_from_off_to_on(seed):
    hands, state = controller('l_hand', 'r_hand'), random_state(seed)
    steps, torques = 200, []
    for activation in np.linspace(0.0, 1.0, steps + 1):
        hands.tasks['r_hand'].activation = activation
        torques.append(hands.compute_torque(state))
    torques = np.array(torques)
    whole = abs(torques[-1] - torques[0]).max()
    assert whole > 1.0
    # No step is much larger than an even share: it may be made in time without a jump.
    assert abs(np.diff(torques, axis=0)).max() < 4.0 * whole / steps


def test_is_the_law_with_an_inflated_diagonal():
    """The forces solve ``(Λ⁻¹ + diag(L_rr ((1 − a) / a)²)) f = a* − a_null``."""
    a, state = 0.3, random_state()
    hands = controller('l_hand', 'r_hand')
    exact = controller('l_hand', 'r_hand')
    hands.tasks['r_hand'].activation = a
    hands.compute_torque(state)
    exact.compute_torque(state)
    L = operational_space(MODEL, state, ['l_hand', 'r_hand']).inverse_inertia
    demand = L @ np.concatenate([task.wrench for task in exact.tasks.values()])
    L[range(6, 12), range(6, 12)] *= 1.0 + ((1.0 - a) / a) ** 2
    np.testing.assert_allclose(
        np.concatenate([task.wrench for task in hands.tasks.values()]),
        np.linalg.solve(L, demand), rtol=1e-6, atol=1e-6)


def test_enabled_is_all_or_nothing():
    task = PoseTask('l_hand')
    assert task.enabled
    assert task.activation == 1.0
    task.enabled = False
    assert task.activation == 0.0
    task.activation = 0.5
    assert task.enabled


@pytest.mark.parametrize('value', [-0.1, 1.1, np.nan, 'half', None])
def test_other_numbers_are_refused(value):
    task = PoseTask('l_hand')
    with pytest.raises(TaskError, match='activation'):
        task.activation = value
    assert task.activation == 1.0
