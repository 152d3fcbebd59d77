# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Internal forces accelerate nothing, and nothing is lost between wrenches and their parts."""

import numpy as np
import pytest

from opspace_control import ModelError, VirtualLinkage

LINE = [[0.1, -0.2, 0.05], [0.0, 0.3, 0.1]]
TRIANGLE = [*LINE, [-0.2, 0.0, 0.0]]
TETRAHEDRON = [*TRIANGLE, [0.0, 0.0, 0.4]]
FIVE = [*TETRAHEDRON, [0.3, 0.2, -0.1]]
SQUARE = [[0.2, 0.2, 0.0], [-0.2, 0.2, 0.0], [-0.2, -0.2, 0.0], [0.2, -0.2, 0.0]]
ROW = [[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.3, 0.0, 0.0]]
GRASPS = {'line': LINE, 'triangle': TRIANGLE, 'tetrahedron': TETRAHEDRON, 'five': FIVE,
          'square': SQUARE, 'row': ROW}
by_grasps = pytest.mark.parametrize('name', GRASPS)
COMPLETE = pytest.mark.parametrize('name', ['line', 'triangle', 'tetrahedron', 'five'])


def parts(linkage, seed):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(6), rng.standard_normal(len(linkage.members)),
            rng.standard_normal((len(linkage.points), 3)))


@by_grasps
def test_internal_parts_have_no_resultant(name):
    linkage = VirtualLinkage(GRASPS[name])
    _, tensions, moments = parts(linkage, 1)
    wrenches = linkage.wrenches(tensions=tensions, moments=moments)
    assert abs(wrenches).max() > 0.1
    assert abs(linkage.resultant(wrenches)).max() < 1e-12


@by_grasps
def test_the_resultant_has_no_internal_parts(name):
    linkage = VirtualLinkage(GRASPS[name])
    resultant, _, _ = parts(linkage, 2)
    wrenches = linkage.wrenches(resultant)
    np.testing.assert_allclose(linkage.resultant(wrenches), resultant, atol=1e-12)
    tensions, moments = linkage.internal(wrenches)
    assert abs(tensions).max() < 1e-12
    assert abs(moments).max() < 1e-12


@COMPLETE
def test_wrenches_are_their_parts(name):
    """Six numbers a grasp, none of them lost."""
    linkage = VirtualLinkage(GRASPS[name])
    wrenches = np.random.default_rng(3).standard_normal((len(linkage.points), 6))
    back = linkage.wrenches(linkage.resultant(wrenches), *linkage.internal(wrenches))
    np.testing.assert_allclose(back, wrenches, atol=1e-12)
    np.testing.assert_allclose(linkage.distribution @ linkage.grasp_matrix,
                               np.eye(wrenches.size), atol=1e-12)


@pytest.mark.parametrize('name', ['triangle', 'tetrahedron', 'five'])
def test_grasp_matrix_is_square_and_its_inverse_the_distribution(name):
    linkage = VirtualLinkage(GRASPS[name])
    G = linkage.grasp_matrix
    assert G.shape == (6 * len(linkage.points),) * 2
    np.testing.assert_allclose(np.linalg.inv(G), linkage.distribution, atol=1e-10)


def test_two_grasps_have_a_line_and_their_moments():
    linkage = VirtualLinkage(LINE)
    assert linkage.members == ((0, 1),)
    line = np.subtract(LINE[1], LINE[0])
    line /= np.linalg.norm(line)
    wrenches = linkage.wrenches(tensions=-20.0)
    # A squeeze: the first is pushed towards the second.
    np.testing.assert_allclose(wrenches, [[*(20 * line), 0, 0, 0], [*(-20 * line), 0, 0, 0]])
    twist = linkage.internal([[0, 0, 0, *(2 * line)], [0, 0, 0, *(4 * line)]])[1]
    np.testing.assert_allclose(twist, [-line, line], atol=1e-12)
    assert np.linalg.matrix_rank(linkage.grasp_matrix) == 12


def test_tension_of_a_triangle_pulls_along_its_sides():
    linkage = VirtualLinkage(TRIANGLE)
    assert linkage.members == ((0, 1), (0, 2), (1, 2))
    for k, (i, j) in enumerate(linkage.members):
        unit = np.zeros(3)
        unit[k] = 5.0
        wrenches = linkage.wrenches(tensions=unit)
        side = linkage.points[j] - linkage.points[i]
        np.testing.assert_allclose(wrenches[j, :3], 5 * side / np.linalg.norm(side), atol=1e-12)
        np.testing.assert_allclose(wrenches[i], -wrenches[j], atol=1e-12)
        np.testing.assert_allclose(linkage.internal(wrenches)[0], unit, atol=1e-12)


def test_load_is_carried_by_the_smallest_forces():
    """A weight between two grasps is halved; nearer to one of them it takes more."""
    linkage = VirtualLinkage([[0.0, -0.5, 0.0], [0.0, 0.5, 0.0]])
    np.testing.assert_allclose(linkage.wrenches([0, 0, 30, 0, 0, 0])[:, 2], [15, 15])
    off_center = [0, 0, 30, 30 * 0.25, 0, 0]
    np.testing.assert_allclose(linkage.wrenches(off_center)[:, 2], [7.5, 22.5])
    about_line = linkage.wrenches([0, 0, 0, 0, 4.0, 0])
    np.testing.assert_allclose(about_line[:, 3:], [[0, 2, 0], [0, 2, 0]], atol=1e-12)
    assert abs(about_line[:, :3]).max() < 1e-12


def test_grasps_in_a_plane_have_a_part_that_no_member_carries():
    """Four corners pushed up and down in turn: resultant and tensions are zero, and stay so."""
    linkage = VirtualLinkage(SQUARE)
    warp = np.zeros((4, 6))
    warp[:, 2] = [1, -1, 1, -1]
    assert abs(linkage.resultant(warp)).max() < 1e-12
    assert abs(linkage.internal(warp)[0]).max() < 1e-12
    assert np.linalg.matrix_rank(linkage.grasp_matrix) == 23
    tension = linkage.internal(linkage.wrenches(tensions=-10.0))[0]
    np.testing.assert_allclose(linkage.wrenches(tensions=tension),
                               linkage.wrenches(tensions=-10.0), atol=1e-12)


@by_grasps
def test_fingertips_exert_no_moments(name):
    """What forces alone cannot turn is left to those who can; internal parts still do nothing."""
    points = GRASPS[name]
    linkage = VirtualLinkage(points, [True, *[False] * (len(points) - 1)])
    resultant, tensions, moments = parts(linkage, 4)
    wrenches = linkage.wrenches(resultant, tensions, moments)
    np.testing.assert_allclose(linkage.resultant(wrenches), resultant, atol=1e-12)
    assert not wrenches[1:, 3:].any()
    assert not linkage.internal(wrenches)[1][1:].any()
    alone = linkage.wrenches(tensions=tensions, moments=moments)
    assert abs(linkage.resultant(alone)).max() < 1e-12
    fingertips = VirtualLinkage(points, False)
    wrenches = fingertips.wrenches(resultant, tensions)
    assert not wrenches[:, 3:].any()
    missing = resultant - fingertips.resultant(wrenches)
    assert fingertips.line.any() == (name in ('line', 'row'))
    np.testing.assert_allclose(missing[:3], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.cross(missing[3:], fingertips.line)
                               if fingertips.line.any() else missing[3:], 0.0, atol=1e-12)


def test_the_printed_matrix_holds_for_forces_at_one_point_alone():
    """[RKR95] (26), G = [1 1; 1 −1], lets internal forces turn an object held at two points."""
    linkage = VirtualLinkage(LINE)
    printed = np.linalg.inv(np.block([[np.eye(6), np.eye(6)], [np.eye(6), -np.eye(6)]]))
    sideways = np.cross(np.subtract(LINE[1], LINE[0]), [1.0, 0.0, 0.0])
    internal = np.concatenate([np.zeros(6), sideways, np.zeros(3)])
    wrenches = (printed @ internal).reshape(2, 6)
    assert abs(linkage.resultant(wrenches)).max() > 0.01
    # Moved to a common point first, as it must be meant, the same internal wrench does nothing.
    moved = wrenches.copy()
    moved[:, 3:] += np.cross(-linkage.points, wrenches[:, :3])
    assert abs(linkage.resultant(moved)).max() < 1e-12


@pytest.mark.parametrize('points', [[], [[0, 0, 0]], [[0, 0], [1, 1]], [[0, 0, 0], [0, 0, np.nan]],
                                    [[0, 0, 1], [0, 0, 1]], [*TRIANGLE, TRIANGLE[1]]])
def test_points_without_a_linkage(points):
    with pytest.raises(ModelError) as caught:
        VirtualLinkage(points)
    assert caught.value.cure
