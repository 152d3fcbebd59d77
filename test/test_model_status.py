# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Active, passive and locked degrees of freedom, by the names of joints or of dofs."""

import pytest
from robots import chain, joint, link, robot

from opspace_control.errors import ModelError
from opspace_control.model import KinematicTree
from opspace_control.model.nodes import ACTIVE, LOCKED, PASSIVE

TEXT = chain('revolute', 'planar', 'revolute', inner='<axis xyz="0 0 1"/>')


def test_by_joint_and_by_dof():
    tree = KinematicTree.from_urdf(TEXT, passive_joints=['j1', 'j2/y'], locked_joints=('j3',))
    assert tree.dof_names == ('j1', 'j2/x', 'j2/y', 'j2/rz', 'j3')
    assert tree.passive.tolist() == [True, False, True, False, False]
    assert tree.locked.tolist() == [False, False, False, False, True]
    assert tree.nodes['status'].tolist() == [PASSIVE, ACTIVE, PASSIVE, ACTIVE, LOCKED]


def test_a_joint_stands_for_all_its_dofs():
    tree = KinematicTree.from_urdf(TEXT, locked_joints={'j2'})
    assert tree.locked.tolist() == [False, True, True, True, False]


def test_the_base_is_active_unless_named():
    assert not KinematicTree.from_urdf(TEXT, floating_base=True).passive.any()
    tree = KinematicTree.from_urdf(TEXT, floating_base=True, passive_joints=['base'])
    assert tree.passive.tolist() == [True] * 6 + [False] * 5
    tree = KinematicTree.from_urdf(TEXT, floating_base=True, locked_joints=['base/x'])
    assert tree.locked.tolist() == [True] + [False] * 10


def test_a_leader_may_be_locked_and_its_followers_stay_followers():
    text = robot(link('a'), link('b'), link('c'), joint('j', 'a', 'b'),
                 joint('m', 'b', 'c', inner='<mimic joint="j"/>'))
    tree = KinematicTree.from_urdf(text, locked_joints=['j'])
    assert tree.nodes['status'].tolist() == [LOCKED, LOCKED]
    assert tree.nodes['v_index'].tolist() == [0, -1]


@pytest.mark.parametrize('argument', ['passive_joints', 'locked_joints'])
@pytest.mark.parametrize('names, message', [
    (['j9'], "names 'j9', which is no moving joint of the robot. Did you mean 'j"),
    (['base'], "names 'base', which is no moving joint"),
    ([None], "names 'None', which is no moving joint"),
    ('j1', "is 'j1', not a list of names"),
    (None, 'is None, not a list of names'),
])
def test_wrong_names_are_refused(argument, names, message):
    with pytest.raises(ModelError, match=message) as caught:
        KinematicTree.from_urdf(TEXT, **{argument: names})
    assert str(caught.value).startswith(argument)


def test_followers_and_fixed_joints_have_no_status():
    text = robot(link('a'), link('b'), link('c'), link('d'), joint('j', 'a', 'b'),
                 joint('m', 'b', 'c', inner='<mimic joint="j"/>'), joint('f', 'c', 'd', 'fixed'))
    with pytest.raises(ModelError, match="'m', which mimics 'j'"):
        KinematicTree.from_urdf(text, locked_joints=['m'])
    with pytest.raises(ModelError, match="'f', which is no moving joint"):
        KinematicTree.from_urdf(text, locked_joints=['f'])


def test_a_dof_is_not_passive_and_locked():
    with pytest.raises(ModelError, match="'j2/x' is both in passive_joints and in locked_joints"):
        KinematicTree.from_urdf(TEXT, passive_joints=['j2'], locked_joints=['j2/x'])
