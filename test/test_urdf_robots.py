# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio
import pytest

URDF = Path(__file__).parents[1] / 'urdf'
JOINTS = {'planar_2r': 2, 'planar_3r': 3, 'planar_4r': 4, 'arm_7r': 7, 'puma560': 6,
          'dual_arm': 17, 'humanoid': 24, 'free_flyer': 9, 'free_flyer_3d': 14, 'three_arms': 19}
HANDS = {'planar_2r': ['hand'], 'planar_3r': ['hand'], 'planar_4r': ['hand'], 'arm_7r': ['hand'],
         'puma560': ['hand'],
         'three_arms': ['a_hand', 'b_hand', 'c_hand'],
         **dict.fromkeys(['dual_arm', 'humanoid', 'free_flyer', 'free_flyer_3d'],
                         ('l_hand', 'r_hand'))}
# The table, and what slides on it, weigh nothing.
MASSLESS = {'free_flyer': 3}
UNDRIVEN = {'planar_4r': ['hinge']}
# Joints whose sign changes in the mirror.
TURNED = {
    **dict.fromkeys(['dual_arm', 'humanoid', 'free_flyer_3d'],
                    lambda joint: joint.endswith(('yaw', 'roll'))),
    'free_flyer': lambda joint: joint != 'base_x'}
every = pytest.mark.parametrize('name', JOINTS)


def robot(name):
    return ET.parse(URDF / f'{name}.urdf').getroot()


def model(name):
    return pinocchio.buildModelFromUrdf(str(URDF / f'{name}.urdf'))


def numbers(text):
    return np.array(text.split(), float)


def shape(element):
    """Return volume, centre and inertia per mass, about the centre, of a <collision>."""
    origin, (solid,) = element.find('origin'), element.find('geometry')
    if solid.tag == 'box':
        size = numbers(solid.get('size'))
        volume, moments = np.prod(size), (np.sum(size**2) - size**2) / 12.0
    elif solid.tag == 'cylinder':
        r, h = float(solid.get('radius')), float(solid.get('length'))
        volume, side = np.pi * r**2 * h, (3.0 * r**2 + h**2) / 12.0
        moments = np.array([side, side, r**2 / 2.0])
    else:
        r = float(solid.get('radius'))
        volume, moments = 4.0 / 3.0 * np.pi * r**3, np.full(3, 0.4 * r**2)
    rotation = pinocchio.rpy.rpyToMatrix(numbers(origin.get('rpy')))
    return volume, numbers(origin.get('xyz')), rotation @ np.diag(moments) @ rotation.T


@pytest.mark.parametrize('name', [name for name in JOINTS if name != 'puma560'])  # was measured
def test_every_inertia_is_that_of_the_shapes_at_uniform_density(name):
    heavy = [link for link in robot(name).findall('link') if link.find('inertial') is not None]
    assert len(heavy) == JOINTS[name] + 1 - MASSLESS.get(name, 0)
    for link in heavy:
        inertial = link.find('inertial')
        mass = float(inertial.find('mass').get('value'))
        shapes = [shape(element) for element in link.findall('collision')]
        density = mass / sum(volume for volume, _, _ in shapes)
        center = sum(density * volume * at for volume, at, _ in shapes) / mass
        expected = np.zeros((3, 3))
        for volume, at, inertia in shapes:
            arm = at - center
            expected += density * volume * (inertia + arm @ arm * np.eye(3) - np.outer(arm, arm))
        given = {key: float(value) for key, value in inertial.find('inertia').attrib.items()}
        where = link.get('name')
        np.testing.assert_allclose(numbers(inertial.find('origin').get('xyz')), center, atol=1e-6,
                                   err_msg=where)
        for row, column, key in ((0, 0, 'ixx'), (1, 1, 'iyy'), (2, 2, 'izz'),
                                 (0, 1, 'ixy'), (0, 2, 'ixz'), (1, 2, 'iyz')):
            # The files have six digits.
            assert given[key] == pytest.approx(expected[row, column], rel=1e-5,
                                               abs=1e-5 * np.trace(expected)), (where, key)


@every
def test_what_is_seen_is_what_is_touched(name):
    for link in robot(name).findall('link'):
        seen, touched = ([ET.tostring(element.find(part)).strip() for element in link.findall(kind)
                          for part in ('origin', 'geometry')] for kind in ('visual', 'collision'))
        assert seen == touched


@every
def test_pinocchio_finds_the_joints_and_the_hands(name):
    loaded = model(name)
    assert loaded.nv == JOINTS[name]
    assert all(loaded.existBodyName(hand) for hand in HANDS[name])


@every
def test_every_joint_but_those_has_an_effort_drive_and_limits(name):
    text = robot(name)
    moving = [joint for joint in text.findall('joint') if joint.get('type') != 'fixed']
    block = text.find('ros2_control')
    assert block.get('type') == 'system'
    assert ([joint.get('name') for joint in block.findall('joint')]
            == [joint.get('name') for joint in moving])
    for joint in block.findall('joint'):
        drive = [] if joint.get('name') in UNDRIVEN.get(name, ()) else ['effort']
        assert [each.get('name') for each in joint.findall('command_interface')] == drive
        assert ([each.get('name') for each in joint.findall('state_interface')]
                == ['position', 'velocity'])
    for joint in moving:
        limit = {key: float(value) for key, value in joint.find('limit').attrib.items()}
        if joint.get('type') != 'continuous':
            assert limit['lower'] < 0.0 < limit['upper'], joint.get('name')
        assert limit['effort'] > 0.0 < limit['velocity'], joint.get('name')


@every
def test_the_drives_carry_the_robot_in_every_posture_that_leans_at_most_half_a_metre(name):
    loaded = model(name)
    data = loaded.createData()
    rng = np.random.default_rng(0)
    for _ in range(2000):
        q = rng.uniform(loaded.lowerPositionLimit, loaded.upperPositionLimit)
        gravity = pinocchio.computeGeneralizedGravity(loaded, data, q)
        if np.abs(pinocchio.centerOfMass(loaded, data, q)[:2]).max() < 0.5:
            assert (np.abs(gravity) < 0.7 * loaded.effortLimit).all()


@pytest.mark.parametrize('name', TURNED)
def test_left_and_right_are_mirror_images(name):
    loaded = model(name)
    data = loaded.createData()
    q = pinocchio.neutral(loaded)
    joints = {each: loaded.joints[number] for number, each in enumerate(loaded.names)
              if number and loaded.joints[number].nq == 1}  # the body of a free flyer stays ahead
    index = [joint.idx_q for joint in joints.values()]
    q[index] = np.random.default_rng(1).uniform(loaded.lowerPositionLimit[index],
                                                loaded.upperPositionLimit[index])
    mirrored = q.copy()
    for each, joint in joints.items():
        twin = {'l_': 'r_', 'r_': 'l_'}.get(each[:2], each[:2]) + each[2:]
        mirrored[joints[twin].idx_q] = (-1.0 if TURNED[name](each) else 1.0) * q[joint.idx_q]
    pinocchio.framesForwardKinematics(loaded, data, q)
    left = data.oMf[loaded.getFrameId('l_hand')].translation.copy()
    pinocchio.framesForwardKinematics(loaded, data, mirrored)
    right = data.oMf[loaded.getFrameId('r_hand')].translation
    np.testing.assert_allclose(right, left * [1, -1, 1], atol=1e-12)
    assert (mirrored > loaded.lowerPositionLimit - 1e-12).all()
    assert (mirrored < loaded.upperPositionLimit + 1e-12).all()
