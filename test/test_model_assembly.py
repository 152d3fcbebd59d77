# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The flat form: which nodes a joint becomes, what they carry, what they are called."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_robots import robots
from robots import chain, joint, link, robot

from opspace_control.errors import ModelError
from opspace_control.model import KinematicTree
from opspace_control.model.assembly import _in_plane_axes
from opspace_control.model.nodes import (
    ACTIVE,
    LOCKED,
    PRISMATIC,
    QUATERNION,
    QUATERNION_AXIS,
    REVOLUTE,
    WORLD,
)

FLOATING_KINDS = [PRISMATIC] * 3 + [QUATERNION_AXIS] * 2 + [QUATERNION]
Z = '<axis xyz="0 0 1"/>'


def test_scalar_joints_are_one_node_each():
    tree = KinematicTree.from_urdf(chain('revolute', 'continuous', 'prismatic', inner=Z))
    assert tree.dof_names == tree.joint_names == ('j1', 'j2', 'j3')
    assert tree.nodes['kind'].tolist() == [REVOLUTE, REVOLUTE, PRISMATIC]
    assert tree.nodes['parent'].tolist() == tree.nodes['carrier'].tolist() == [WORLD, 0, 1]
    assert tree.nodes['q_index'].tolist() == tree.nodes['v_index'].tolist() == [0, 1, 2]
    assert tree.q_index.tolist() == [0, 1, 2]
    assert (tree.nodes['status'] == ACTIVE).all()


def test_a_planar_joint_is_two_translations_and_a_turn():
    inner = Z + '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
    tree = KinematicTree.from_urdf(chain('prismatic', 'planar', inner=inner))
    assert tree.dof_names == ('j1', 'j2/x', 'j2/y', 'j2/rz')
    assert tree.joint_names == ('j1', 'j2')
    nodes = tree.nodes[1:]
    assert nodes['kind'].tolist() == [PRISMATIC, PRISMATIC, REVOLUTE]
    assert nodes['parent'].tolist() == nodes['carrier'].tolist() == [0, 1, 2]
    assert nodes['axis'].tolist() == np.eye(3).tolist()
    assert nodes['position'].tolist() == [[1, 2, 3], [0, 0, 0], [0, 0, 0]]
    assert nodes['rotation'][1:].tolist() == [np.eye(3).tolist()] * 2
    assert nodes['mass'].tolist() == [0, 0, 1]
    assert not nodes['inertia'][:2].any()
    assert tree.q_index.tolist() == [0, 1, 2, 3]


def test_a_floating_joint_is_three_translations_and_a_quaternion():
    inner = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
    tree = KinematicTree.from_urdf(chain('prismatic', 'floating', inner=inner))
    assert tree.dof_names[1:] == tuple(f'j2/{axis}' for axis in ('x', 'y', 'z', 'rx', 'ry', 'rz'))
    assert (tree.nq, tree.nv) == (8, 7)
    nodes = tree.nodes[1:]
    assert nodes['kind'].tolist() == FLOATING_KINDS
    assert nodes['parent'].tolist() == [0, 1, 2, 3, 4, 5]
    assert nodes['carrier'].tolist() == [0, 1, 2, 3, 3, 3]
    assert nodes['axis'].tolist() == 2 * np.eye(3).tolist()
    assert nodes['position'].tolist() == [[1, 2, 3]] + [[0, 0, 0]] * 5
    assert nodes['mass'].tolist() == [0, 0, 0, 0, 0, 1]
    assert nodes['q_index'].tolist() == [1, 2, 3, 4, 4, 4]
    assert nodes['v_index'].tolist() == [1, 2, 3, 4, 5, 6]
    assert tree.q_index.tolist() == [0, 1, 2, 3, -1, -1, -1]


def test_a_floating_base_comes_first():
    tree = KinematicTree.from_urdf(chain('revolute'), floating_base=True)
    assert tree.dof_names == ('base/x', 'base/y', 'base/z', 'base/rx', 'base/ry', 'base/rz', 'j1')
    assert tree.joint_names == ('j1',)
    assert tree.nodes['kind'].tolist() == [*FLOATING_KINDS, REVOLUTE]
    assert tree.nodes['parent'].tolist() == [WORLD, 0, 1, 2, 3, 4, 5]
    assert tree.nodes['mass'].tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert tree.frames['node'].tolist() == [5, 6]
    assert (tree.nq, tree.nv) == (8, 7)
    assert (tree.nodes['status'] == ACTIVE).all()
    assert not np.isfinite(tree.effort_limits[:6]).any()


def test_fixed_joints_weld_links_and_leave_frames():
    text = robot(link('root'), link('tool', 2.0), link('arm', 1.0), link('plate', 5.0),
                 joint('mount', 'root', 'plate', 'fixed', '<origin xyz="0 0 9"/>'),
                 joint('j', 'plate', 'arm', inner='<origin xyz="1 0 0"/>'),
                 joint('flange', 'arm', 'tool', 'fixed', '<origin xyz="0 0 3"/>'))
    tree = KinematicTree.from_urdf(text)
    assert tree.frame_names == ('root', 'plate', 'arm', 'tool')
    assert tree.frames['node'].tolist() == [WORLD, WORLD, 0, 0]
    assert tree.frames['position'].tolist() == [[0, 0, 0], [0, 0, 9], [0, 0, 0], [0, 0, 3]]
    node = tree.nodes[0]
    assert node['position'].tolist() == [1, 0, 9]
    assert node['mass'] == 3.0
    assert node['center_of_mass'].tolist() == [0, 0, 2]
    # Parallel axes: two links' own 0.1, and 1 kg and 2 kg at 2 m and 1 m from the centre.
    np.testing.assert_allclose(node['inertia'], np.diag([6.2, 6.2, 0.2]), rtol=1e-15)


def test_a_follower_reads_its_leader_wherever_that_stands():
    text = robot(link('a'), link('b'), link('c'), link('d'),
                 joint('early', 'a', 'b', inner='<mimic joint="late" multiplier="-2" offset="1"/>'),
                 joint('other', 'b', 'd'), joint('late', 'a', 'c', 'prismatic'))
    tree = KinematicTree.from_urdf(text)
    assert tree.dof_names == tree.joint_names == ('other', 'late')
    assert dict(tree.mimics) == {'early': ('late', -2.0, 1.0)}
    follower = tree.nodes[0]
    assert (follower['status'], follower['v_index']) == (LOCKED, -1)
    assert (follower['q_index'], follower['q_scale'], follower['q_offset']) == (1, -2.0, 1.0)
    assert follower['mass'] == 1.0
    assert (tree.nodes['q_scale'][1:] == 1.0).all()


def test_the_base_of_a_floating_robot_has_a_name_of_its_own():
    text = robot(link('a'), link('b'), joint('base', 'a', 'b'))
    assert KinematicTree.from_urdf(text).dof_names == ('base',)
    with pytest.raises(ModelError, match="'base' has a degree of freedom 'base' and so has the fl"):
        KinematicTree.from_urdf(text, floating_base=True)


@pytest.mark.parametrize('kinds', [('planar', 'revolute'), ('revolute', 'planar')])
def test_names_of_joints_and_dofs_are_distinct(kinds):
    text = robot(link('a'), link('b'), link('c'), joint('j', 'a', 'b', kinds[0], Z),
                 joint('j/x', 'b', 'c', kinds[1], Z))
    if kinds[0] == 'planar':
        with pytest.raises(ModelError, match="degree of freedom 'j/x' and so has joint 'j'"):
            KinematicTree.from_urdf(text)
    else:
        assert KinematicTree.from_urdf(text).dof_names == ('j', 'j/x/x', 'j/x/y', 'j/x/rz')


def test_a_robot_floats_only_once():
    text = robot(link('world', None), link('a'), link('b'), joint('free', 'world', 'a', 'floating'),
                 joint('j', 'a', 'b'))
    assert KinematicTree.from_urdf(text).nv == 7
    with pytest.raises(ModelError, match="floats already, by joint 'free'") as caught:
        KinematicTree.from_urdf(text, floating_base=True)
    assert 'floating_base=True' in caught.value.cure


@given(st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda n: np.linalg.norm(n) > 1e-3))
def test_the_axes_of_a_plane_are_turned_the_short_way(normal):
    normal = np.array(normal) / math.hypot(*normal)
    x, y = _in_plane_axes(normal)
    turn = np.column_stack((x, y, normal))
    np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-14)
    assert np.linalg.det(turn) == pytest.approx(1.0)
    # The smallest rotation: by the angle between z and the normal, and not about the normal.
    assert (np.trace(turn) - 1.0) / 2.0 == pytest.approx(normal[2], abs=1e-9)


@pytest.mark.parametrize('normal, x, y', [
    ((0, 0, 1), (1, 0, 0), (0, 1, 0)), ((0, 0, -1), (1, 0, 0), (0, -1, 0)),
    ((1, 0, 0), (0, 0, -1), (0, 1, 0)), ((0, 1, 0), (1, 0, 0), (0, 0, -1)),
    ((1e-9, 0, -1), (-1, 0, -1e-9), (0, 1, 0))])
def test_the_axes_of_the_principal_planes(normal, x, y):
    np.testing.assert_allclose(_in_plane_axes(np.array(normal, float)), (x, y), atol=1e-15)


@settings(deadline=None)
@given(robots(), st.booleans())
def test_the_flat_form_of_any_robot_is_well_formed(text, floating_base):
    tree = KinematicTree.from_urdf(text, floating_base=floating_base)
    nodes = tree.nodes
    numbers = np.arange(len(nodes))
    assert (nodes['parent'] < numbers).all()
    assert (nodes['parent'] >= WORLD).all()
    own = np.isin(nodes['kind'], (REVOLUTE, PRISMATIC))
    assert (nodes['carrier'] == nodes['parent'])[own].all()
    driven = nodes['v_index'] >= 0
    assert nodes['v_index'][driven].tolist() == list(range(tree.nv))
    assert (nodes['status'][~driven] == LOCKED).all()
    assert tree.nq == tree.nv + len(tree.quaternions)
    np.testing.assert_allclose(np.linalg.norm(nodes['axis'], axis=1), 1.0, atol=1e-15)
    turns = nodes['rotation']
    np.testing.assert_allclose(turns.transpose(0, 2, 1) @ turns,
                               np.broadcast_to(np.eye(3), turns.shape), atol=1e-14)
    assert (tree.frames['node'] < len(nodes)).all()
    assert len(set(tree.frame_names)) == len(tree.frame_names) == len(tree.frames)
    assert tree.warnings == ()
