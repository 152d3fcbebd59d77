# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits as a controller may use them, and what is said of placeholders."""

import math

import pytest
from robots import joint, link, robot

from opspace_control.errors import ModelError
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


OWN = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def with_mimics(*inners, own=OWN, kinds=('revolute', 'revolute', 'revolute')):
    """Return a robot whose joint j is mimicked by m0, m1 ..., the elements of which are given."""
    joints = [joint('j', 'l0', 'l1', kinds[0], own)]
    joints += [joint(f'm{k}', f'l{k + 1}', f'l{k + 2}', kinds[k + 1], inner)
               for k, inner in enumerate(inners)]
    return KinematicTree.from_urdf(robot(*(link(f'l{k}') for k in range(len(joints) + 1)), *joints))


def mimic(lower, upper, velocity=INF, effort=1.0, multiplier=1.0, offset=0.0, soft=''):
    """Return the elements of a joint that mimics j."""
    return (f'<limit lower="{lower}" upper="{upper}" velocity="{velocity}" effort="{effort}"/>'
            f'<mimic joint="j" multiplier="{multiplier}" offset="{offset}"/>{soft}').replace(
                ' velocity="inf"', '')


def position(tree):
    return tree.lower_position_limits[0], tree.upper_position_limits[0]


@pytest.mark.parametrize('numbers, wanted', [
    ({'multiplier': 2.0, 'offset': 0.5}, (-0.75, 0.5)),
    ({'multiplier': -2.0, 'offset': 0.5}, (-0.5, 0.75)),
    ({'multiplier': 0.5, 'offset': 0.0}, (-1.0, 2.0)),
    ({'multiplier': 0.0, 'offset': 0.0}, (-1.0, 2.0))])
def test_a_mimic_joint_bounds_the_one_that_it_mimics(numbers, wanted):
    """Its coordinate m q + o is from -1 to 1.5: positions of j that both allow."""
    tree = with_mimics(mimic(-1.0, 1.5, **numbers))
    assert position(tree) == pytest.approx(wanted)
    assert (tree.lower_soft_limits[0], tree.upper_soft_limits[0]) == position(tree)
    assert tree.warnings == ()


def test_a_mimic_joint_is_no_faster_than_it_may_be():
    assert with_mimics(mimic(-9, 9, velocity=1.0, multiplier=-2.0)).velocity_limits == [0.5]
    assert with_mimics(mimic(-9, 9, velocity=1.0, multiplier=0.1)).velocity_limits == [3.0]
    assert with_mimics(mimic(-9, 9, velocity=1.0, multiplier=0.0)).velocity_limits == [3.0]


def test_a_mimic_joint_has_no_drive_to_bound():
    assert with_mimics(mimic(-9, 9, effort=0.1)).effort_limits == [4.0]
    assert with_mimics(mimic(-9, 9, effort=0.0)).warnings == ()


def test_mimics_of_mimics_and_several():
    second = mimic(-0.9, 0.9, multiplier=3.0).replace('joint="j"', 'joint="m0"')
    tree = with_mimics(mimic(-2.0, 1.0, multiplier=-1.0), second)
    assert position(tree) == pytest.approx((-0.3, 0.3))
    # A continuous mimic joint turns on, and zeros are placeholders.
    assert position(with_mimics(mimic(-0.1, 0.1), kinds=('revolute', 'continuous'))) == (-1.0, 2.0)
    tree = with_mimics(mimic(0, 0, velocity=0.0))
    assert (position(tree), tree.velocity_limits, tree.warnings) == ((-1.0, 2.0), [3.0], ())


def test_soft_limits_of_mimic_joints():
    soft = '<safety_controller soft_lower_limit="{}" soft_upper_limit="{}"/>'
    tree = with_mimics(mimic(-1, 1, multiplier=2.0, soft=soft.format(-0.5, 0.5)))
    assert position(tree) == (-0.5, 0.5)
    assert (tree.lower_soft_limits, tree.upper_soft_limits) == ([-0.25], [0.25])
    tree = with_mimics(mimic(-1, 1, soft=soft.format(-0.5, 0.5)), own=OWN + soft.format(0.6, 1.0))
    assert position(tree) == (tree.lower_soft_limits, tree.upper_soft_limits) == (-1.0, 1.0)
    assert "'m0' mimics 'j', and their soft limits leave no room" in tree.warnings[0]


def test_limits_that_contradict_each_other_are_refused():
    with pytest.raises(ModelError, match=(
            r"'m0' mimics 'j', and its limits allow this joint -5 to -3, while 'j' allows it -1 to "
            r"2: no position is within both\. Correct the <limit> of one of them, or multiplier")):
        with_mimics(mimic(3, 5, multiplier=-1.0))
    with pytest.raises(ModelError, match=(
            r"'m1' mimics 'j', and its limits allow this joint 1 to 2, while 'j' and 'm0' allow it "
            r'-1 to 0\.5: no')):
        with_mimics(mimic(-9, 0.5), mimic(1, 2))


def test_the_same_range_for_both_with_opposite_signs_counts_for_nothing():
    """The PR2 has this at its grippers; the mimic joint cannot be meant to hold the other."""
    tree = with_mimics(mimic(0, 0.548, multiplier=-1.0), own=OWN.replace('"-1"', '"0"'))
    assert position(tree) == (0.0, 2.0)
    assert len(tree.warnings) == 1
    assert ("joint 'm0' mimics 'j', and its limits allow this joint -0.548 to 0, while 'j' allows "
            'it 0 to 2: that is one position, and the range of the former is not used'
            ) in tree.warnings[0]
