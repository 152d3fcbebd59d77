# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits as a controller may use them, and what is said of placeholders."""

import math

import pytest
from robots import joint, link, robot

from opspace_control.model import KinematicTree

INF = math.inf


def read(inner, kind='revolute'):
    """Return lower, upper, velocity and effort limits and the warnings of a one-joint robot."""
    tree = KinematicTree.from_urdf(robot(link('a'), link('b'), joint('j', 'a', 'b', kind, inner)))
    return (tree.lower_position_limits.tolist(), tree.upper_position_limits.tolist(),
            tree.velocity_limits.tolist(), tree.effort_limits.tolist(), tree.warnings)


def test_limits_that_are_limits():
    inner = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
    assert read(inner) == ([-1], [2], [3], [4], ())
    assert read(inner, 'prismatic') == ([-1], [2], [3], [4], ())
    assert read(inner, 'continuous') == ([-INF], [INF], [3], [4], ())


@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_no_limit_is_none_and_is_said(kind):
    *limits, warnings = read('', kind)
    assert limits == [[-INF], [INF], [INF], [INF]]
    assert len(warnings) == 1
    assert "joint 'j' has no <limit>" in warnings[0]


def test_a_continuous_joint_needs_no_limit():
    assert read('', 'continuous') == ([-INF], [INF], [INF], [INF], ())


def test_zeros_that_cannot_be_meant_are_no_limits():
    lower, upper, velocity, effort, warnings = read(
        '<limit lower="0" upper="0" velocity="0" effort="5"/>')
    assert (lower, upper, velocity, effort) == ([-INF], [INF], [INF], [5])
    assert len(warnings) == 2
    assert 'equal lower and upper limits' in warnings[0]
    assert 'velocity limit of 0' in warnings[1]


def test_a_joint_of_no_effort_gets_none_and_it_is_said():
    *_, effort, warnings = read('<limit lower="-1" upper="1" velocity="1" effort="0"/>')
    assert effort == [0.0]
    assert len(warnings) == 1
    assert "joint 'j' has an effort limit of 0" in warnings[0]


@pytest.mark.parametrize('soft, kept, said', [
    ('', (-1, 2), False),
    ('<safety_controller k_velocity="1"/>', (-1, 2), False),
    ('<safety_controller soft_lower_limit="-0.5" soft_upper_limit="1.5"/>', (-0.5, 1.5), False),
    ('<safety_controller k_velocity="1" soft_lower_limit="-9" soft_upper_limit="1"/>', (-1, 1),
     False),
    ('<safety_controller soft_lower_limit="0.5" soft_upper_limit="0.5"/>', (-1, 2), True),
    ('<safety_controller soft_lower_limit="3" soft_upper_limit="4"/>', (-1, 2), True)])
def test_soft_limits_are_those_of_the_safety_controller(soft, kept, said):
    """Where it has none, or none that leave room, they are those of position."""
    inner = f'<limit lower="-1" upper="2" velocity="3" effort="4"/>{soft}'
    tree = KinematicTree.from_urdf(robot(link('a'), link('b'), joint('j', 'a', 'b', 'revolute',
                                                                     inner)))
    assert (tree.lower_soft_limits.tolist(), tree.upper_soft_limits.tolist()) == (
        [kept[0]], [kept[1]])
    assert (tree.lower_position_limits.tolist(), tree.upper_position_limits.tolist()) == ([-1], [2])
    assert any('safety_controller' in warning for warning in tree.warnings) == said


@pytest.mark.parametrize('kind, nv', [('planar', 3), ('floating', 6)])
def test_limits_of_joints_of_mixed_units_are_not_used_and_it_is_said(kind, nv):
    *limits, warnings = read('<limit effort="1" velocity="1"/>', kind)
    assert limits == [[-INF] * nv, [INF] * nv, [INF] * nv, [INF] * nv]
    assert len(warnings) == 1
    assert f"{kind} joint 'j'" in warnings[0]
    assert read('', kind)[-1] == ()
