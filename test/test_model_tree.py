# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The tree as users hold it: read-only, found by name, integrated."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_robots import robots
from robots import BAXTER, PR2, TALOS, TIAGO_DUAL, chain, joint, link, robot, robot_file

from opspace_control.errors import ModelError, StateError
from opspace_control.model import KinematicTree

pin = pytest.importorskip('pinocchio')
MIXED = chain('revolute', 'floating', 'planar', 'prismatic', inner='<axis xyz="0 0 1"/>')


@pytest.mark.parametrize('name, nv, links, leaders', [
    (TALOS, 32, 60, 0), (TIAGO_DUAL, 101, 130, 0), (PR2, 20, 82, 2), (BAXTER, 17, 57, 2)])
def test_the_robots_of_the_demo(name, nv, links, leaders, capfd):
    tree = KinematicTree.from_urdf_file(robot_file(name))
    assert (tree.nq, tree.nv, len(tree.frame_names)) == (nv, nv, links)
    assert len({leader for leader, *_ in tree.mimics.values()}) == leaders
    assert tree.frame_names[0] == tree.root_link
    assert repr(tree) == f'<KinematicTree {tree.name!r}: {nv} degrees of freedom, {links} links>'
    assert capfd.readouterr() == ('', '')


def test_nothing_can_be_changed():
    tree = KinematicTree.from_urdf(chain('revolute', 'revolute'))
    for field in dataclasses.fields(tree):
        value = getattr(tree, field.name)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(tree, field.name, value)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match='read-only'):
                value[0] = value[-1]
        else:
            with pytest.raises(TypeError):
                value['j1'] = value
    with pytest.raises(AttributeError):
        tree.nv = 3


def test_numbers_per_dof_are_contiguous_and_as_long_as_v():
    tree = KinematicTree.from_urdf(MIXED, floating_base=True)
    for name in ('lower_position_limits', 'upper_position_limits', 'velocity_limits', 'damping',
                 'effort_limits', 'friction', 'passive', 'locked', 'q_index'):
        array = getattr(tree, name)
        assert array.shape == (tree.nv,), name
        assert array.flags.c_contiguous, name


@pytest.mark.parametrize('clone', [copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_copies_are_as_immutable(clone):
    tree = KinematicTree.from_urdf(MIXED, floating_base=True)
    tree.dof_index('j1')
    twin = clone(tree)
    assert twin.dof_names == tree.dof_names
    assert (twin.nodes == tree.nodes).all()
    assert twin.dof_index('j1') == tree.dof_index('j1')
    with pytest.raises(ValueError, match='read-only'):
        twin.nodes['mass'][0] = 1.0
    with pytest.raises(TypeError):
        twin.mimics['x'] = None


def test_names_are_found_and_near_misses_are_told():
    tree = KinematicTree.from_urdf_file(robot_file(TALOS))
    assert tree.frame_names[tree.frame_index('gripper_left_base_link')] == 'gripper_left_base_link'
    assert tree.dof_names[tree.dof_index('arm_left_3_joint')] == 'arm_left_3_joint'
    with pytest.raises(ModelError, match=r"'gripper_left_link'.*Did you mean 'gripper_left_"):
        tree.frame_index('gripper_left_link')
    with pytest.raises(ModelError, match=r"no degree of freedom 'arm_left_9_joint'.*Did you"):
        tree.dof_index('arm_left_9_joint')
    for name in (None, [], 3):
        with pytest.raises(ModelError, match='The robot has no link'):
            tree.frame_index(name)


def test_joints_and_their_dofs():
    tree = KinematicTree.from_urdf(MIXED, floating_base=True)
    assert {name: list(dofs) for name, dofs in tree.joint_dofs.items()} == {
        'base': [0, 1, 2, 3, 4, 5], 'j1': [6], 'j2': [7, 8, 9, 10, 11, 12], 'j3': [13, 14, 15],
        'j4': [16]}
    assert tree.quaternions == (3, 11)


def test_subclasses_are_read_as_themselves():
    class Robot(KinematicTree):
        pass
    assert type(Robot.from_urdf(chain('revolute'))) is Robot
    assert type(Robot.from_urdf_file(robot_file(TALOS))) is Robot


def test_damping_and_friction():
    tree = KinematicTree.from_urdf(robot(
        link('a'), link('b'), link('c'),
        joint('j', 'a', 'b', inner='<dynamics damping="2" friction="3"/>'),
        joint('k', 'b', 'c', inner='<dynamics friction="4"/>')))
    assert tree.damping.tolist() == [2, 0]
    assert tree.friction.tolist() == [3, 4]


def test_the_neutral_position():
    tree = KinematicTree.from_urdf(MIXED, floating_base=True)
    assert tree.neutral().tolist() == [0] * 6 + [1] + [0] * 7 + [1] + [0] * 4
    tree.neutral()[0] = 5.0  # a fresh array each time
    assert tree.neutral()[0] == 0.0


@given(seed=st.integers(0, 2**32 - 1), dt=st.sampled_from([0.0, 1e-9, 1e-3, 1.0, -1.0]))
def test_integration_against_pinocchio(seed, dt):
    """A twist in fixed axes: translation straight on, rotation by exp(ω dt) from the left."""
    tree = KinematicTree.from_urdf(MIXED, floating_base=True)
    rng = np.random.default_rng(seed)
    q = tree.integrate(tree.neutral(), rng.uniform(-3, 3, tree.nv), 1.0)
    v = rng.uniform(-3, 3, tree.nv)
    reached = tree.integrate(q, v, dt)
    for start, dof in ((0, 0), (8, 7)):
        np.testing.assert_allclose(reached[start:start + 3],
                                   q[start:start + 3] + v[dof:dof + 3] * dt, atol=1e-15)
        x, y, z, w = q[start + 3:start + 7]
        expected = pin.exp3(v[dof + 3:dof + 6] * dt) @ pin.Quaternion(w, x, y, z).matrix()
        x, y, z, w = reached[start + 3:start + 7]
        np.testing.assert_allclose(pin.Quaternion(w, x, y, z).matrix(), expected, atol=1e-14)
        assert np.linalg.norm(reached[start + 3:start + 7]) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(reached[7], q[7] + v[6] * dt)
    np.testing.assert_allclose(reached[15:], q[15:] + v[13:] * dt)


def test_integration_leaves_its_arguments_alone_and_checks_them():
    tree = KinematicTree.from_urdf(chain('revolute'))
    q = np.array([1.0])
    assert tree.integrate(q, [2], 0.5).tolist() == [2.0]
    assert q.tolist() == [1.0]
    with pytest.raises(StateError, match='shapes'):
        tree.integrate(q, [1, 2], 0.5)
    with pytest.raises(StateError, match='shapes'):
        tree.integrate([1, 2], [1], 0.5)


@settings(deadline=None)
@given(robots(max_joints=20), st.booleans())
def test_integration_and_its_reverse(text, floating_base):
    tree = KinematicTree.from_urdf(text, floating_base=floating_base)
    v = np.linspace(-2.0, 2.0, tree.nv)
    there = tree.integrate(tree.neutral(), v, 0.7)
    np.testing.assert_allclose(tree.integrate(there, v, -0.7), tree.neutral(), atol=1e-14)
