# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Bad files are refused by element and cure; what does not matter passes without a word."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_robots import random_urdf
from robots import chain, joint, link, robot

from opspace_control.errors import ModelError
from opspace_control.model import KinematicTree

A, B, C, D = (link(name) for name in 'abcd')
J = joint('j', 'a', 'b')
DOUBLE_ROOT = robot(A, B)


def with_joint(inner, kind='revolute'):
    return robot(A, B, joint('j', 'a', 'b', kind, inner))


def with_inertial(inner):
    return robot(A, f'<link name="b"><inertial>{inner}</inertial></link>', J)


INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'

BAD_FILES = {
    'prose': ('hello', 'not well-formed XML'),
    'a path': ('/tmp/robot.urdf', 'from_urdf_file'),
    'empty': ('', 'empty'),
    'blank': (b' \n\t', 'empty'),
    'no text': (None, 'NoneType'),
    'unfinished': ('<robot><link', 'not well-formed XML'),
    'binary': (b'\xff\xfe\x00<robot', 'not well-formed XML'),
    'unknown encoding': (b'<?xml version="1.0" encoding="nope"?><robot/>', 'nope'),
    'unknown prefix': ('<robot><xacro:macro/></robot>', 'unbound prefix'),
    'lone surrogate': ('<robot name="\ud800"/>', 'not well-formed XML'),
    'SDF': ('<sdf><model/></sdf>', '<sdf>'),
    'entities': ('<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><robot name="&b;"/>',
                 '<!DOCTYPE r>'),
    'no link': (robot(), 'no link'),
    'two roots': (DOUBLE_ROOT, "2 root links: 'a' and 'b'"),
    'no root': (robot(A, B, J, joint('k', 'b', 'a')), "'a' and 'b' form a loop"),
    'a loop beside': (robot(A, B, C, D, J, joint('k', 'c', 'd'), joint('l', 'd', 'c')),
                      "'c' and 'd' form a loop"),
    'own parent': (robot(A, B, J, C, joint('k', 'c', 'c')), "'c' is its own parent"),
    'two parents': (robot(A, B, C, J, joint('k', 'a', 'c'), joint('l', 'b', 'c')),
                    "'c' has two parents, by joints 'k' and 'l'"),
    'missing child': (robot(A, B, joint('j', 'a', 'bb')), "joint 'j' names link 'bb'"),
    'missing parent': (robot(A, B, joint('j', 'aa', 'b')), "Did you mean 'a'?"),
    'no parent': (robot(A, B, '<joint name="j" type="fixed"><child link="b"/></joint>'),
                  "joint 'j' has no <parent>"),
    'no child': (robot(A, B, '<joint name="j" type="fixed"><parent link="b"/></joint>'),
                 "joint 'j' has no <child>"),
    'nameless child': (robot(A, B,
                       '<joint name="j" type="fixed"><parent link="a"/><child/></joint>'),
                       "joint 'j' has a <child> without link"),
    'zero axis': (with_joint('<axis xyz="0 0 0"/>'), "joint 'j' has a zero axis"),
    'zero planar axis': (with_joint('<axis xyz="0 0 0"/>', 'planar'), "joint 'j' has a zero axis"),
    'axis of two': (with_joint('<axis xyz="0 1"/>'), "<axis xyz='0 1'> of joint 'j'"),
    'axis of words': (with_joint('<axis xyz="0 1 up"/>'), "<axis xyz='0 1 up'> of joint 'j'"),
    'NaN axis': (with_joint('<axis xyz="0 nan 1"/>'), "<axis xyz='0 nan 1'> of joint 'j'"),
    'no axis': (with_joint('<axis/>'), "joint 'j' has a <axis> without xyz"),
    'origin of two': (with_joint('<origin xyz="0 1"/>'), "<origin xyz='0 1'> of joint 'j'"),
    'infinite origin': (with_joint('<origin rpy="0 0 inf"/>'), "<origin rpy='0 0 inf'>"),
    'two origins': (with_joint('<origin/><origin/>'), "joint 'j' has 2 <origin>"),
    'same links': (robot(A, B, B, J), "two links named 'b'"),
    'same joints': (robot(A, B, C, J, joint('j', 'a', 'c')), "two joints named 'j'"),
    'nameless link': (robot(A, '<link/>'), 'link number 2'),
    'nameless joint': (robot(A, B, '<joint type="fixed"/>'), 'joint number 1'),
    'unknown type': (with_joint('', 'hinge'), "joint 'j' is of unknown type 'hinge'"),
    'no type': (robot(A, B, '<joint name="j"/>'), "joint 'j' is of unknown type ''"),
    'negative mass': (with_inertial(f'<mass value="-1"/>{INERTIA}'),
                      "link 'b' has a negative mass"),
    'NaN mass': (with_inertial(f'<mass value="nan"/>{INERTIA}'), "<mass value='nan'> of link 'b'"),
    'huge mass': (with_inertial('<mass value="1e308"/>'), "<mass value='1e308'> of link 'b'"),
    'no mass': (with_inertial(INERTIA), "link 'b' has no <mass> in its <inertial>"),
    'no value': (with_inertial('<mass/>'), "link 'b' has a <mass> without value"),
    'no ixy': (with_inertial('<mass value="1"/><inertia ixx="1"/>'), '<inertia> without ixy'),
    'infinite ixx': (with_inertial('<mass value="1"/>' + INERTIA.replace('"1"', '"inf"', 1)),
                     "<inertia ixx='inf'> of link 'b'"),
    'indefinite inertia': (robot(A, link('b', 1.0, (-1, 1, 1)), J),
                           "inertia of link 'b' is not positive semi-definite"),
    'limits exchanged': (with_joint('<limit lower="1" upper="-1"/>'),
                         "joint 'j' has a lower limit 1"),
    'negative effort': (with_joint('<limit effort="-1"/>'),
                        "joint 'j' has a negative effort limit"),
    'negative velocity': (with_joint('<limit velocity="-1"/>'), 'negative velocity limit, -1'),
    'NaN limit': (with_joint('<limit velocity="nan"/>'), "<limit velocity='nan'> of joint 'j'"),
    'worded limit': (with_joint('<limit lower="low"/>'), "<limit lower='low'> of joint 'j'"),
    'negative damping': (with_joint('<dynamics damping="-1"/>'),
                         "joint 'j' has a negative damping"),
    'negative friction': (with_joint('<dynamics friction="-1"/>'), 'a negative friction, -1'),
    'NaN damping': (with_joint('<dynamics damping="nan"/>'), "<dynamics damping='nan'> of joint"),
    'unknown leader': (with_joint('<mimic joint="jj"/>'),
                       "joint 'j' mimics 'jj', which is missing"),
    'own leader': (with_joint('<mimic joint="j"/>'), "joint 'j' mimics itself"),
    'no leader': (with_joint('<mimic/>'), "joint 'j' has a <mimic> without joint"),
    'NaN multiplier': (with_joint('<mimic joint="k" multiplier="nan"/>'), "multiplier='nan'"),
    'planar follower': (with_joint('<mimic joint="k"/>', 'planar'), "joint 'j' is planar and has"),
    'massless leaf': (robot(A, link('b', None), J), "No inertia opposes joint 'j'"),
    'nothing moves': (robot(A), "robot 'test' has no joint that moves"),
    'nameless hardware joint': (robot(A, B, J, '<ros2_control name="hw"><joint/></ros2_control>'),
                                "ros2_control block 'hw'"),
}


@pytest.mark.parametrize('text, message', BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_name_the_element_and_the_cure(text, message, capfd):
    with pytest.raises(ModelError) as caught:
        KinematicTree.from_urdf(text)
    assert message in str(caught.value)
    assert caught.value.cure
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert capfd.readouterr() == ('', '')


CLUTTER = """
<material name="paint"/>
<gazebo reference="b" unknown="1"><sensor type="ray"><plugin filename="libx.so"/></sensor></gazebo>
<transmission><type>nonsense</type></transmission>
<joint_like name="j"/>
<sensor name="eye" update_rate="x"><parent link="nowhere"/></sensor>
"""
ROUGH_LINK = """
<link name="b" mass="7" concave="yes">
  <inertial unknown="x"><mass value=" 2.0 " unit="kg"/><extra/></inertial>
  <visual><geometry><mesh filename="package://not/there.dae"/><box size="1 2"/></geometry></visual>
  <collision group="x"><verbose value="nan"/></collision>
  <contact_coefficients mu="oops"/>
</link>
"""
ROUGH_JOINT = """
<joint name=" j " type="prismatic" cal="1">
  <parent link=" a "/><child link="b"/><safety_controller k_velocity="x"/>
  <calibration rising="?"/><limit effort="3" lower="-1" upper="1" velocity="2" stop_erp="x"/>
</joint>
"""


def test_what_does_not_matter_is_passed_over_in_silence(capfd):
    tree = KinematicTree.from_urdf(robot(CLUTTER, A, ROUGH_LINK, ROUGH_JOINT))
    assert tree.dof_names == ('j',)
    assert tree.nodes['mass'].tolist() == [2.0]
    assert tree.effort_limits.tolist() == [3.0]
    assert capfd.readouterr() == ('', '')


@pytest.mark.parametrize('text', [
    '\ufeff<?xml version="1.0" encoding="utf-8"?>' + chain('revolute'),
    '\n\n  <?xml version="1.0"?>' + chain('revolute'),
    '<?xml version="1.0" encoding="latin-1"?><!-- é -->' + chain('revolute'),
    '<?xml version="1.0" encoding="latin-1"?><!-- é -->'.encode('latin-1')
    + chain('revolute').encode(),
    b'\xef\xbb\xbf' + chain('revolute').encode(),
    chain('revolute').encode('utf-16'),
    chain('revolute').replace('<robot', '<robot xmlns="http://www.ros.org" xmlns:x="y"'),
    chain('revolute').replace('</robot>', '<x:link xmlns:x="y" name="l0"/></robot>'),
    chain('revolute').replace('</robot>', '<!-- <xacro:macro> --></robot>'),
    chain('revolute').replace('name="test"', ''),
], ids=['BOM', 'leading lines', 'encoding in str', 'latin-1', 'BOM in bytes', 'UTF-16', 'xmlns',
        'foreign element', 'comment', 'nameless robot'])
def test_unusual_but_valid_text_is_read(text):
    assert KinematicTree.from_urdf(text).dof_names == ('j1',)


def test_the_error_carries_its_facts():
    with pytest.raises(ModelError) as caught:
        KinematicTree.from_urdf(with_joint('<axis xyz="0 1"/>'))
    assert caught.value.element == 'j'
    assert caught.value.value == '0 1'


def test_deeply_nested_clutter_is_no_danger():
    nested = '<x>' * 100_000 + '</x>' * 100_000
    assert KinematicTree.from_urdf(robot(nested, A, B, J)).nv == 1


DAMAGE = ['', '0', '-1', '1e29', '-9e29', '1e308', '5e-324', 'nan', 'inf', 'up', '1 2', '0 0 0',
          '9e29 0 9e29', '1e-29 0 0', 'link_0', 'joint_0', 'mimic_0', 'base', 'fixed', 'planar']


@settings(deadline=None, max_examples=300)
@given(seed=st.integers(0, 2**32 - 1), floating_base=st.booleans(), edits=st.lists(
    st.tuples(st.sampled_from(['value', 'tag']), st.floats(0, 1, exclude_max=True),
              st.sampled_from(DAMAGE)), min_size=1, max_size=3))
def test_a_damaged_file_is_read_or_refused_but_never_worse(seed, floating_base, edits):
    text = random_urdf(seed, n_joints=4, n_fixed=2, n_mimics=2)
    for kind, where, value in edits:
        places = list(re.finditer('"[^"]*"' if kind == 'value' else '<[^<>]*/>', text))
        if places:
            place = places[int(where * len(places))]
            text = (text[:place.start()] + (f'"{value}"' if kind == 'value' else '')
                    + text[place.end():])
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        try:
            tree = KinematicTree.from_urdf(text, floating_base=floating_base)
        except ModelError as error:
            assert error.cure
        else:
            assert all(np.isfinite(tree.nodes[name]).all()
                       for name in ('mass', 'center_of_mass', 'inertia', 'position', 'rotation'))
