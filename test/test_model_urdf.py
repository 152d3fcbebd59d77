# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a description says of links and joints, in the file's own terms."""

import math

import numpy as np
import pytest
from robots import joint, link, robot

from opspace_control.model.urdf import read_urdf

pin = pytest.importorskip('pinocchio')
A, B = link('a'), link('b')


def read_joint(inner='', kind='revolute'):
    return read_urdf(robot(A, B, joint('j', 'a', 'b', kind, inner))).joints['j']


@pytest.mark.parametrize('rpy', [(0, 0, 0), (0.3, -1.2, 2.5), (0, math.pi / 2, 1), (3, -3, 3)])
def test_origins_are_roll_pitch_yaw_about_fixed_axes(rpy):
    origin = f'<origin xyz="1 2 3" rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/>'
    found = read_joint(origin)
    np.testing.assert_allclose(found.rotation, pin.rpy.rpyToMatrix(*rpy), atol=1e-15)
    assert found.position.tolist() == [1, 2, 3]


def test_defaults_of_a_joint():
    found = read_joint()
    assert found.rotation.tolist() == np.eye(3).tolist()
    assert found.position.tolist() == [0, 0, 0]
    assert found.axis.tolist() == [1, 0, 0]
    assert found.limit is None
    assert (found.damping, found.friction) == (0.0, 0.0)
    assert found.mimic is None


@pytest.mark.parametrize('xyz', ['0 3 4', '0 3e-7 4e-7', '0 3e20 4e20'])
def test_axes_are_made_unit(xyz):
    np.testing.assert_allclose(read_joint(f'<axis xyz="{xyz}"/>').axis, [0, 0.6, 0.8], rtol=1e-15)


@pytest.mark.parametrize('kind', ['fixed', 'floating'])
def test_a_zero_axis_does_not_matter_where_there_is_none(kind):
    assert np.linalg.norm(read_joint('<axis xyz="0 0 0"/>', kind).axis) == 1.0


def test_limits_left_out_are_those_of_the_specification():
    assert read_joint('<limit effort="5"/>').limit == (0.0, 0.0, math.inf, 5.0)
    assert read_joint('<limit lower="-1" velocity="2"/>').limit == (-1.0, 0.0, 2.0, math.inf)
    assert read_joint('<limit lower="-inf" upper="inf"/>').limit[:2] == (-math.inf, math.inf)
    assert read_joint('<limit lower="-1e300" upper="1e30" velocity="1e308"/>').limit[:3] == (
        -math.inf, math.inf, math.inf)


def test_exchanged_limits_do_not_matter_on_a_continuous_joint():
    assert read_joint('<limit lower="1" upper="-1"/>', 'continuous').limit[:2] == (1.0, -1.0)


def test_mimic_defaults_and_mimics_that_are_welded():
    assert read_joint('<mimic joint="k"/>').mimic == ('k', 1.0, 0.0)
    assert read_joint('<mimic joint="k" multiplier="-2" offset="0.5"/>').mimic == ('k', -2.0, 0.5)
    assert read_joint('<mimic joint="k"/>', 'fixed').mimic is None


def test_inertia_is_turned_into_the_axes_of_the_link():
    origin = f'<origin xyz="0 0 1" rpy="0 0 {math.pi / 2}"/>'
    found = read_urdf(robot(link('a', 2.0, (1.0, 2.0, 3.0), origin))).links['a']
    assert found.mass == 2.0
    assert found.center_of_mass.tolist() == [0, 0, 1]
    np.testing.assert_allclose(found.inertia, np.diag([2.0, 1.0, 3.0]), atol=1e-15)


def test_links_without_mass_or_without_inertia():
    links = read_urdf(robot(link('a', None), '<link name="b"><inertial><mass value="3"/></inertial>'
                            '</link>', joint('j', 'a', 'b'))).links
    assert links['a'].mass == 0.0
    assert links['b'].mass == 3.0
    assert not links['b'].inertia.any()


def test_links_and_joints_stay_in_the_order_of_the_document():
    found = read_urdf(robot(link('z'), joint('y', 'z', 'a'), link('a'), joint('b', 'z', 'x'),
                            link('x')))
    assert list(found.links) == ['z', 'a', 'x']
    assert list(found.joints) == ['y', 'b']
