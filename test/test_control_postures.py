# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Postures: random ones are within limits, and what gravity takes of efforts there."""

import numpy as np
import pytest
import random_robots
import robots

from opspace_control import ModelError, RobotModel
from opspace_control.control.planning.postures import (
    gravity_forces,
    largest_gravity_forces,
    limit_margins,
    middle_posture,
    named_posture,
    random_postures,
)


class TestPostures:

    def test_random_ones_stay_within_limits_and_can_be_had_again(self):
        model = RobotModel.from_urdf(random_robots.random_urdf(
            0, 12, ('revolute', 'continuous', 'prismatic')), locked_joints=['joint_3'])
        home = middle_posture(model)
        first = list(random_postures(model, home, 50))
        for q, again in zip(first, random_postures(model, home, 50), strict=True):
            np.testing.assert_array_equal(q, again)
            assert (limit_margins(model, q) >= 0.0).all()
        moved = np.ptp(first, axis=0) > 0.0
        assert (moved == ~model.locked).all()

    def test_a_floating_base_and_unbounded_slides_stay(self):
        model = RobotModel.from_urdf(robots.chain('continuous', 'floating'), floating_base=True)
        home = model.neutral()
        home[:3] = 1.0, 2.0, 3.0
        for q in random_postures(model, home, 5):
            assert abs(q[7]) <= np.pi
            q[7] = 0.0
            np.testing.assert_array_equal(q, home)

    def test_middle(self):
        inner = '<limit lower="-1" upper="3" effort="1" velocity="1"/>'
        model = RobotModel.from_urdf(robots.chain('revolute', 'continuous', inner=inner))
        np.testing.assert_array_equal(middle_posture(model), [1.0, 0.0])

    def test_named_and_the_rest_at_the_limit_nearest_to_zero(self):
        inner = '<limit lower="0.5" upper="3" effort="1" velocity="1"/>'
        model = RobotModel.from_urdf(robots.chain('revolute', 'revolute', inner=inner))
        np.testing.assert_array_equal(named_posture(model, {'j2': 9.0}), [0.5, 9.0])
        with pytest.raises(ModelError, match="'j2'"):
            named_posture(model, {'j': 0.0})

    def test_margins(self):
        inner = '<limit lower="-1" upper="3" effort="1" velocity="1"/>'
        model = RobotModel.from_urdf(
            robots.chain('revolute', 'continuous', 'revolute', inner=inner))
        np.testing.assert_allclose(limit_margins(model, [0.5, 100.0, 3.5]),
                                   [1.5, np.inf, -0.5])


def pendulum(axis):
    """Return a model of 2 kg that turn about an axis, 0.5 m away from it along x."""
    return RobotModel.from_urdf(robots.robot(
        robots.link('l0'), robots.link('l1', mass=2.0, inner='<origin xyz="0.5 0 0"/>'),
        robots.joint('j', 'l0', 'l1', 'continuous', f'<axis xyz="{axis}"/>')))


def test_largest_gravity_is_the_largest_of_all_postures():
    upright, lying = pendulum('0 1 0'), pendulum('0 0 1')
    assert gravity_forces(upright, upright.neutral()) == pytest.approx([-2.0 * 9.81 * 0.5])
    angles = [[angle] for angle in (0.3, 1.0, -0.2)]
    assert largest_gravity_forces(upright, angles) == pytest.approx([9.81 * np.cos(0.2)])
    np.testing.assert_allclose(largest_gravity_forces(lying, angles), 0.0, atol=1e-12)
