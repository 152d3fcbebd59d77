# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Robot files, and descriptions written in xacro."""

import sys

import pytest
from robots import chain

from opspace_control.errors import ModelError
from opspace_control.model import KinematicTree

XACRO = """<?xml version="1.0"?>
<robot name="r" xmlns:xacro="http://wiki.ros.org/xacro">
  <xacro:property name="mass" value="2.0"/>
  <xacro:macro name="arm" params="n">
    <link name="l${n}"><inertial><mass value="${mass * n}"/></inertial></link>
    <joint name="j${n}" type="prismatic"><parent link="root"/><child link="l${n}"/></joint>
  </xacro:macro>
  <link name="root"/>
  <xacro:arm n="1"/>
  <xacro:arm n="2"/>
</robot>
"""


@pytest.fixture
def directory(tmp_path):
    (tmp_path / 'arms.xacro').write_text(XACRO)
    (tmp_path / 'main.urdf').write_text(
        '<robot name="r" xmlns:xacro="http://wiki.ros.org/xacro">'
        '<xacro:include filename="arms.xacro"/></robot>')
    (tmp_path / 'plain.urdf').write_text(chain('revolute'))
    return tmp_path


@pytest.mark.parametrize('name', ['arms.xacro', 'main.urdf'])
def test_files_are_expanded_and_include_their_neighbours(directory, name, capfd):
    pytest.importorskip('xacro')
    for path in (directory / name, str(directory / name)):
        assert KinematicTree.from_urdf_file(path).nodes['mass'].tolist() == [2.0, 4.0]
    assert capfd.readouterr() == ('', '')


@pytest.mark.parametrize('convert', [str, str.encode])
def test_text_is_expanded(convert):
    pytest.importorskip('xacro')
    assert KinematicTree.from_urdf(convert(XACRO)).dof_names == ('j1', 'j2')


@pytest.mark.parametrize('wrong, message', [
    ('${nope}', "'nope' is not defined"), ('${1 / 0}', 'zero'), ('${2', 'xacro cannot expand')])
def test_what_xacro_cannot_expand_is_refused(wrong, message):
    pytest.importorskip('xacro')
    with pytest.raises(ModelError, match=message) as caught:
        KinematicTree.from_urdf(XACRO.replace('${mass * n}', wrong))
    assert caught.value.cure


def test_without_xacro_the_error_says_what_to_install(directory, monkeypatch):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    with pytest.raises(ModelError, match='xacro, which is not installed'):
        KinematicTree.from_urdf_file(directory / 'arms.xacro')
    assert KinematicTree.from_urdf_file(directory / 'plain.urdf').nv == 1


@pytest.mark.parametrize('name, message', [
    ('missing.urdf', 'No such file'), ('.', 'Is a directory'), ('a\0b', 'null byte')])
def test_files_that_cannot_be_read(directory, name, message):
    with pytest.raises(ModelError, match=message) as caught:
        KinematicTree.from_urdf_file(f'{directory}/{name}')
    assert caught.value.cure
    with pytest.raises(ModelError, match='cannot be read'):
        KinematicTree.from_urdf_file(None)
