# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The PUMA 560 against the paper that its numbers come from, by Armstrong, Khatib and Burdick.

Its abbreviated equations give mass matrix and gravity within a few percent, signs as there.
"""

import numpy as np
import pytest
from samples import random_state

from opspace_control import RobotModel
from opspace_control.share import share_directory

MODEL = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'puma560.urdf')
MOTORS = (1.14, 4.71, 0.827, 0.200, 0.179, 0.193)  # kg m², effective, Table 6


def printed(q):
    """Return the abbreviated A (kg m²), lower triangle, and g (N m) of the paper."""
    _, c2, c3, c4, c5, _ = np.cos(q)
    _, s2, s3, s4, s5, _ = np.sin(q)
    c23, s23 = np.cos(q[1] + q[2]), np.sin(q[1] + q[2])
    A = {(0, 0): 2.57 + 1.38 * c2**2 + 0.30 * s23**2 + 0.74 * c2 * s23,
         (1, 0): 0.69 * s2 - 0.13 * c23 + 0.024 * c2, (2, 0): -0.13 * c23 - 0.004 * s23,
         (1, 1): 6.79 + 0.74 * s3, (2, 1): 0.33 + 0.37 * s3 - 0.011 * c3, (2, 2): 1.16,
         (3, 2): -0.00125 * s4 * s5, (4, 2): 0.00125 * c4 * c5,
         (3, 3): 0.20, (4, 4): 0.18, (5, 5): 0.19}
    g = [0.0, -37.2 * c2 - 8.4 * s23 + 1.02 * s2, -8.4 * s23 + 0.25 * c23,
         0.028 * s23 * s4 * s5, -0.028 * (c23 * s5 + s23 * c4 * c5), 0.0]
    return A, np.array(g)


@pytest.mark.parametrize('seed', range(10))
def test_mass_matrix_and_gravity_are_those_of_the_paper(seed):
    state = random_state(MODEL, seed)
    expected, gravity = printed(state.q)
    A = MODEL.mass_matrix(state)
    for (row, column), value in expected.items():
        # The paper's 2.57 of a11 was measured; its tables add up to 2.77.
        tolerance = 0.09 * value if row == column == 0 else 0.02 * abs(value) + 0.01
        assert A[row, column] == pytest.approx(value, abs=tolerance), (row, column)
    np.testing.assert_allclose(MODEL.gravity(state), gravity, rtol=0.02, atol=0.3)
    np.testing.assert_array_equal(A, A.T)


def test_motors_are_felt_by_their_own_joints_alone():
    """With the motors taken off only the diagonal of A is another."""
    text = (share_directory() / 'urdf' / 'puma560.urdf').read_text()
    for value in MOTORS:
        text = text.replace(f' armature="{value:g}"', '')
    assert 'armature=' not in text
    bare = RobotModel.from_urdf(text)
    state = random_state(MODEL, 3)
    other = random_state(bare, 3)
    np.testing.assert_allclose(MODEL.mass_matrix(state) - bare.mass_matrix(other),
                               np.diag(MOTORS), atol=1e-12)
    np.testing.assert_allclose(MODEL.bias_force(state), bare.bias_force(other), atol=1e-12)
