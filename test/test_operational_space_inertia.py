# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The inverse inertia of several points, and why [RKR95] (12) must not be taken literally."""

import numpy as np
import pytest
from samples import by_sample, by_spatial_sample, difference, random_state, sample

from opspace_control import RobotState, operational_space


@by_sample
def test_it_is_what_the_joint_space_says(name, floating_base):
    _, model, frames = sample(name, floating_base)
    state = random_state(model, 1)
    osd = operational_space(model, state, frames)
    J, A = osd.jacobian, model.mass_matrix(state)
    assert difference(osd.inverse_inertia, J @ np.linalg.solve(A, J.T)) < 1e-10


@by_spatial_sample
def test_inertia_is_symmetric_and_positive_definite(name, floating_base):
    _, model, frames = sample(name, floating_base)
    osd = operational_space(model, random_state(model, 2), frames)
    for matrix in (osd.inverse_inertia, osd.inertia):
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-13 * abs(matrix).max())
        assert np.linalg.eigvalsh(matrix)[0] > 0.0
    np.testing.assert_allclose(osd.inverse_inertia @ osd.inertia, np.eye(12), atol=1e-8)


def test_order_of_the_points_permutes_the_blocks():
    _, model, (left, right) = sample('talos')
    state = random_state(model, 3)
    swap = np.r_[6:12, 0:6]
    np.testing.assert_allclose(
        operational_space(model, state, [right, left]).inverse_inertia,
        operational_space(model, state, [left, right]).inverse_inertia[np.ix_(swap, swap)],
        rtol=1e-12, atol=1e-15)


def test_block_of_a_point_does_not_depend_on_the_others():
    _, model, frames = sample('humanoid')
    state = random_state(model, 4)
    both = operational_space(model, state, frames).inverse_inertia
    for e, frame in enumerate(frames):
        alone = operational_space(model, state, frame).inverse_inertia
        block = slice(6 * e, 6 * e + 6)
        np.testing.assert_allclose(both[block, block], alone, rtol=1e-14, atol=1e-16)


class TestRussakow12:
    """
    [RKR95] (12) writes the blocks of Λ as ``(J_i A⁻¹ J_jᵀ)⁻¹``; they are the blocks of Λ⁻¹.

    [CK00] (30) is the right statement: Λ is the inverse of the whole.
    """

    @staticmethod
    def posture(bend):
        """Return Talos with both arms in front of it, the elbows bent by ``bend`` rad."""
        model = sample('talos').model
        q = model.neutral()
        for side, sign in (('left', 1.0), ('right', -1.0)):
            for number, angle in ((1, 0.25 * sign), (2, 0.2 * sign), (4, -bend)):
                q[model.q_index[model.dof_index(f'arm_{side}_{number}_joint')]] = angle
        return model, RobotState(model, q, np.zeros(model.nv))

    @pytest.mark.parametrize('bend', [0.2, 0.3, 0.4, 0.6, 0.8])
    def test_diagonal_blocks_taken_literally_are_wrong(self, bend):
        model, state = self.posture(bend)
        osd = operational_space(model, state, sample('talos').frames)
        literal = np.zeros((12, 12))
        for block in (slice(0, 6), slice(6, 12)):
            literal[block, block] = np.linalg.inv(osd.inverse_inertia[block, block])
            error = abs(literal - osd.inertia)[block, block].max() / abs(osd.inertia).max()
            assert 2e-3 < error < 0.1
        # Accelerations asked for would be missed by 5% of 1 m/s² and more; inverted whole, not.
        J, A = osd.jacobian, model.mass_matrix(state)
        gained = J @ np.linalg.solve(A, J.T)
        assert abs(gained @ literal - np.eye(12)).max() > 0.05
        np.testing.assert_allclose(gained @ osd.inertia, np.eye(12), atol=1e-9)

    @pytest.mark.parametrize(('floating_base', 'rank'), [(False, 2), (True, 5)])
    def test_inverse_of_the_coupling_block_does_not_exist(self, floating_base, rank):
        """
        Two hands with two joints in common: at most two directions couple.

        With six freedoms more, a floating base, it is five at most, since no force crosses the
        first free joint of an arm along that joint's axis.
        """
        _, model, frames = sample('talos', floating_base)
        for seed in range(5):
            L = operational_space(model, random_state(model, seed), frames).inverse_inertia
            values = np.linalg.svd(L[:6, 6:], compute_uv=False)
            assert values[0] > 1e-3
            assert (values[rank:] < 1e-14 * values[0]).all()
