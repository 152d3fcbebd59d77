# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Joints that nothing opposes: massless leaves, aligned axes, and those that only look like it."""

import time

import numpy as np
import pytest
from robots import chain, joint, link, robot, robot_files

from opspace_control.errors import ModelError
from opspace_control.model import KinematicTree

X, Y, Z = (f'<axis xyz="{axis}"/>' for axis in ('1 0 0', '0 1 0', '0 0 1'))
ALONG_X = '<origin xyz="1 0 0"/>'


def massless_chain(*axes, end=None):
    """Return a chain of revolute joints at one point; only the last link has mass."""
    last = len(axes)
    return robot(link('l0', None), *(
        (end if end and i == last else link(f'l{i}', 1.0 if i == last else None))
        + joint(f'j{i}', f'l{i - 1}', f'l{i}', inner=axis) for i, axis in enumerate(axes, 1)))


def stuck(text, **keywords):
    with pytest.raises(ModelError, match='No inertia opposes joint') as caught:
        KinematicTree.from_urdf(text, **keywords)
    return caught.value


def test_a_massless_leaf():
    error = stuck(robot(link('a'), link('b', None), joint('j', 'a', 'b')))
    assert error.joint == 'j'
    assert error.links == ('b',)
    assert "Give link 'b' an <inertial>" in error.cure
    assert "locked_joints=['j']" in error.cure


def test_the_cure_names_every_joint_that_is_stuck():
    text = robot(link('a'), link('b', None), link('c', None), link('d'), joint('j', 'a', 'b'),
                 joint('k', 'b', 'c', inner=Y), joint('l', 'a', 'd'))
    error = stuck(text)
    assert "locked_joints=['j', 'k']" in error.cure
    assert KinematicTree.from_urdf(text, locked_joints=['j', 'k']).nv == 3


def test_making_a_joint_passive_is_no_cure():
    assert stuck(robot(link('a'), link('b', None), joint('j', 'a', 'b')), passive_joints=['j'])


def test_a_point_mass_on_the_axis_and_beside_it():
    def point(x):
        return robot(link('a'), link('b', 2.0, (0, 0, 0), f'<origin xyz="{x} 0 0"/>'),
                     joint('j', 'a', 'b', inner=Z))
    assert 'lies on its axis' in str(stuck(point(0.0)))
    assert KinematicTree.from_urdf(point(1e-6)).nv == 1


def test_a_mass_that_slides_along_the_axis():
    def slider(x):
        return robot(link('a'), link('b', None), link('c', 2.0, (0, 0, 0),
                                                      f'<origin xyz="{x} 0 0"/>'),
                     joint('j', 'a', 'b', inner=Z),
                     joint('k', 'b', 'c', 'prismatic', ALONG_X + Z))
    assert stuck(slider(-1.0)).joint == 'j'
    assert KinematicTree.from_urdf(slider(1.0)).nv == 2


def test_a_massless_wrist_is_legal_and_aligned_axes_are_not():
    assert KinematicTree.from_urdf(massless_chain(Z, Y, X)).nv == 3
    assert stuck(massless_chain(Z, Z)).joint == 'j1'
    assert stuck(massless_chain(Z, Y, X, Z)).joint == 'j1'


def test_axes_that_align_at_the_zero_posture_alone_are_said():
    warnings = KinematicTree.from_urdf(massless_chain(Z, Y, Z)).warnings
    assert "at the zero posture no inertia opposes joint 'j1'" in warnings[-1]


def test_a_rotor_in_front_of_a_heavy_link_is_legal():
    text = robot(link('a'), link('rotor', 1e-4, [1e-9] * 3), link('heavy', 100.0, [5] * 3),
                 joint('motor', 'a', 'rotor', inner=Z), joint('gear', 'rotor', 'heavy', inner=Z))
    assert KinematicTree.from_urdf(text).nv == 2


@pytest.mark.parametrize('kind', ['prismatic', 'planar', 'floating'])
def test_massless_links_of_other_joints(kind):
    text = robot(link('a'), link('b', None), joint('j', 'a', 'b', kind))
    assert stuck(text).joint == 'j'
    # A point mass resists being moved, but not being turned.
    point = robot(link('a'), link('b', 1.0, (0, 0, 0)), joint('j', 'a', 'b', kind))
    if kind == 'prismatic':
        assert KinematicTree.from_urdf(point).nv == 1
    else:
        assert stuck(point).joint == 'j'


def test_a_massless_virtual_base_is_legal():
    text = robot(link('world', None), link('x', None), link('y', None), link('body'),
                 joint('jx', 'world', 'x', 'prismatic', X), joint('jy', 'x', 'y', 'prismatic', Y),
                 joint('turn', 'y', 'body', 'continuous', Z))
    assert KinematicTree.from_urdf(text).nv == 3


def test_a_floating_base_without_mass():
    error = stuck(robot(link('a', None), link('b'), joint('j', 'a', 'b')), floating_base=True)
    assert error.joint == 'base'
    assert 'floating_base=True' in error.cure
    welded = robot(link('a', None), link('b'), joint('j', 'a', 'b', 'fixed'))
    assert KinematicTree.from_urdf(welded, floating_base=True).nv == 6


def test_a_follower_needs_no_mass_of_its_own():
    text = robot(link('a'), link('b'), link('c', None), joint('j', 'a', 'b'),
                 joint('m', 'b', 'c', inner='<mimic joint="j"/>'))
    assert KinematicTree.from_urdf(text).nv == 1


def test_massless_fingers_of_a_real_hand_can_be_locked():
    path = next(path for path in robot_files() if path.name == 'romeo.urdf')
    with pytest.raises(ModelError) as caught:
        KinematicTree.from_urdf_file(path)
    assert "locked_joints=['LHand', 'RHand']" in caught.value.cure
    assert KinematicTree.from_urdf_file(path, locked_joints=['LHand', 'RHand']).nv == 33


@pytest.mark.parametrize('parent', ['the link before', 'the root'])
def test_ten_thousand_links(parent):
    count = 10_000
    inner = ALONG_X + Z + '<limit lower="-1" upper="1" velocity="1" effort="1"/>'
    text = robot(link('l0'), *(
        link(f'l{i}', inner='<origin xyz="0.5 0 0"/>')
        + joint(f'j{i}', f'l{i - 1 if parent == "the link before" else 0}', f'l{i}', inner=inner)
        for i in range(1, count + 1)))
    start = time.perf_counter()
    tree = KinematicTree.from_urdf(text)
    assert time.perf_counter() - start < 20.0  # about 2 s; a quadratic step would take minutes
    assert tree.nv == count
    assert tree.warnings == ()


def test_lengths_and_masses_of_any_unit_are_judged_alike():
    for scale in (1e-6, 1e6):
        text = chain('revolute', 'revolute', inner=f'<origin xyz="{scale} 0 0"/>' + Z)
        small = text.replace('0.1"', f'{0.1 * scale**2}"')
        assert KinematicTree.from_urdf(small).nv == 2
        assert np.isfinite(KinematicTree.from_urdf(small).nodes['inertia']).all()
