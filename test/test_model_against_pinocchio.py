# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The tree against an independent reading of the same text, by means of Pinocchio.

Real robots: Pinocchio's own parser. Random ones, with joints that it reads otherwise (planar,
floating) or not (mimic): the URDF specification, word by word, over Pinocchio's rigid placements.
"""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import joint_of_frame
from random_robots import robots
from robots import robot_files, robot_id

from opspace_control.errors import ModelError
from opspace_control.model import KinematicTree
from opspace_control.model.nodes import PRISMATIC, QUATERNION, REVOLUTE, WORLD

pin = pytest.importorskip('pinocchio')

# Refused, and the element that the error must name.
REFUSED = {
    'alex_psyonic_hands.urdf': 'Left_index_q2',    # mimics a joint that does not exist
    'quadrotor_base.urdf': 'hector',               # nothing moves without a floating base
    'iris_simple.urdf': 'iris',
    'romeo.urdf': 'RHand',                         # a finger of massless links
    'romeo_laas_small.urdf': 'LHipPitch_link',     # a negative principal moment
    'ur3.urdf': 'robot',                           # an empty <robot>
}
LOADED = [path for path in robot_files() if path.name not in REFUSED]


def rotation(axis, angle):
    return pin.AngleAxis(angle, axis).toRotationMatrix()


def forward_kinematics(tree, q):
    """Place every node's body and every frame, as nodes.py documents them; nothing clever."""
    poses = []
    for node in tree.nodes:
        pose = pin.SE3(node['rotation'], node['position'])
        if node['parent'] != WORLD:
            pose = poses[node['parent']] * pose
        if node['kind'] == QUATERNION:
            x, y, z, w = q[node['q_index']:node['q_index'] + 4]
            pose = pose * pin.SE3(pin.Quaternion(w, x, y, z).matrix(), np.zeros(3))
        elif node['kind'] in (REVOLUTE, PRISMATIC):
            x = node['q_scale'] * q[node['q_index']] + node['q_offset']
            pose = pose * (pin.SE3(rotation(node['axis'], x), np.zeros(3))
                           if node['kind'] == REVOLUTE else pin.SE3(np.eye(3), x * node['axis']))
        poses.append(pose)
    return poses, [
        (poses[frame['node']] if frame['node'] != WORLD else pin.SE3.Identity())
        * pin.SE3(frame['rotation'], frame['position']) for frame in tree.frames]


def pinocchio_model(path, floating_base):
    kind = pin.JointModelFreeFlyer() if floating_base else None
    return pin.buildModelFromUrdf(str(path), kind) if kind else pin.buildModelFromUrdf(str(path))


def pinocchio_position(model, tree, q):
    """Return q in Pinocchio's order: by joint name, continuous as cosine and sine, mimics led."""
    theirs = pin.neutral(model)
    for name, joint in zip(model.names[1:], model.joints[1:], strict=True):
        if joint.shortname() == 'JointModelFreeFlyer':
            theirs[joint.idx_q:joint.idx_q + 7] = q[:7]
            continue
        leader, scale, offset = tree.mimics.get(name, (name, 1.0, 0.0))
        x = scale * q[tree.q_index[tree.dof_index(leader)]] + offset
        if joint.nq == 2:
            theirs[joint.idx_q:joint.idx_q + 2] = np.cos(x), np.sin(x)
        else:
            theirs[joint.idx_q] = x
    return theirs


def random_position(tree, seed):
    rng = np.random.default_rng(seed)
    return tree.integrate(tree.neutral(), rng.uniform(-2.0, 2.0, tree.nv), 1.0)


@pytest.mark.parametrize('floating_base', [False, True])
@pytest.mark.parametrize('path', LOADED, ids=robot_id)
def test_frames_and_inertias_agree(path, floating_base):
    tree = KinematicTree.from_urdf_file(path, floating_base=floating_base)
    model = pinocchio_model(path, floating_base)
    data = model.createData()
    moving = {name for name in model.names[1:] if name != 'root_joint'}
    assert set(tree.joint_names) | set(tree.mimics) == moving

    q = random_position(tree, 1)
    pin.framesForwardKinematics(model, data, pinocchio_position(model, tree, q))
    _, frames = forward_kinematics(tree, q)
    for name, pose in zip(tree.frame_names, frames, strict=True):
        theirs = data.oMf[model.getFrameId(name, pin.BODY)]
        np.testing.assert_allclose(pose.homogeneous, theirs.homogeneous, atol=1e-12, err_msg=name)

    # Bodies: Pinocchio lumps fixed links too, so body by body, and none left over.
    carried = {tree.frames[tree.frame_index(frame.name)]['node']: joint_of_frame(frame)
               for frame in model.frames if frame.type == pin.BODY}
    for i, node in enumerate(tree.nodes):
        if i not in carried:
            assert node['mass'] == 0.0
            assert not node['inertia'].any()
            continue
        theirs = model.inertias[carried[i]]
        assert node['mass'] == pytest.approx(theirs.mass, rel=1e-12)
        if node['mass'] > 0.0:
            np.testing.assert_allclose(node['center_of_mass'], theirs.lever, atol=1e-12)
        np.testing.assert_allclose(node['inertia'], theirs.inertia, atol=1e-12)
    if floating_base:
        assert sum(tree.nodes['mass']) == pytest.approx(pin.computeTotalMass(model), rel=1e-12)


@pytest.mark.parametrize('path', LOADED, ids=robot_id)
def test_limits_and_joint_dynamics_agree(path):
    tree = KinematicTree.from_urdf_file(path)
    model = pinocchio_model(path, False)
    for name in tree.joint_names:
        dof, joint = tree.dof_index(name), model.joints[model.getJointId(name)]
        lower = model.lowerPositionLimit[joint.idx_q]
        upper = model.upperPositionLimit[joint.idx_q]
        if joint.nq == 2 or lower == upper:   # continuous, or a placeholder
            lower, upper = -np.inf, np.inf
        assert tree.lower_position_limits[dof] == lower
        assert tree.upper_position_limits[dof] == upper
        assert tree.velocity_limits[dof] == (model.velocityLimit[joint.idx_v] or np.inf)
        assert tree.effort_limits[dof] == model.effortLimit[joint.idx_v]
        assert tree.damping[dof] == model.damping[joint.idx_v]
        assert tree.friction[dof] == model.friction[joint.idx_v]


@pytest.mark.parametrize('name', REFUSED)
def test_refused_files_name_the_element(name):
    path = next(path for path in robot_files() if path.name == name)
    with pytest.raises(ModelError, match=REFUSED[name]) as caught:
        KinematicTree.from_urdf_file(path)
    assert caught.value.cure


def placed_by_specification(text, tree, q):
    """Return link -> placement by the URDF specification and the project's layout of q."""
    document = ET.fromstring(text)
    joints = {joint.get('name'): joint for joint in document.iter('joint')}
    placed = {tree.root_link: pin.SE3.Identity()}
    if tree.floating_base:
        placed[tree.root_link] = pin.XYZQUATToSE3(q[:7])

    def coordinate(name):
        mimic = joints[name].find('mimic')
        if mimic is None:
            return q[tree.q_index[tree.dof_index(name)]]
        return (float(mimic.get('multiplier')) * coordinate(mimic.get('joint'))
                + float(mimic.get('offset')))

    def motion(name, kind, axis):
        if kind == 'fixed':
            return pin.SE3.Identity()
        if kind == 'floating':
            start = tree.q_index[tree.dof_index(f'{name}/x')]
            return pin.XYZQUATToSE3(q[start:start + 7])
        if kind == 'planar':
            start = tree.q_index[tree.dof_index(f'{name}/x')]
            x, y, angle = q[start:start + 3]
            plane = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), axis)
            return pin.SE3(rotation(axis, angle), plane * np.array([x, y, 0.0]))
        if kind == 'prismatic':
            return pin.SE3(np.eye(3), coordinate(name) * axis)
        return pin.SE3(rotation(axis, coordinate(name)), np.zeros(3))

    left = dict(joints)
    while left:
        for name in [name for name in left if left[name].find('parent').get('link') in placed]:
            joint = left.pop(name)
            origin = joint.find('origin')
            xyz, rpy = (np.array(origin.get(key).split(), float) for key in ('xyz', 'rpy'))
            axis = np.array(joint.find('axis').get('xyz').split(), float)
            axis /= np.linalg.norm(axis)
            placed[joint.find('child').get('link')] = (
                placed[joint.find('parent').get('link')] * pin.SE3(pin.rpy.rpyToMatrix(rpy), xyz)
                * motion(name, joint.get('type'), axis))
    return placed


def spatial_inertia_by_specification(document, link):
    inertial = document.find(f"link[@name='{link}']/inertial")
    if inertial is None:
        return pin.Inertia.Zero()
    xx, xy, xz, yy, yz, zz = (float(inertial.find('inertia').get(f'i{key}'))
                              for key in ('xx', 'xy', 'xz', 'yy', 'yz', 'zz'))
    origin = inertial.find('origin')
    xyz, rpy = (np.array(origin.get(key).split(), float) for key in ('xyz', 'rpy'))
    about_center = pin.Inertia(float(inertial.find('mass').get('value')), np.zeros(3),
                               np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    return pin.SE3(pin.rpy.rpyToMatrix(rpy), xyz).act(about_center)


@settings(deadline=None)
@given(robots(), st.booleans(), st.integers(0, 2**32 - 1))
def test_random_robots_agree_with_the_specification(text, floating_base, seed):
    tree = KinematicTree.from_urdf(text, floating_base=floating_base)
    q = random_position(tree, seed)
    placed = placed_by_specification(text, tree, q)
    poses, frames = forward_kinematics(tree, q)
    assert set(placed) == set(tree.frame_names)
    size = 1.0 + max(np.abs(place.translation).max() for place in placed.values())
    for name, pose in zip(tree.frame_names, frames, strict=True):
        np.testing.assert_allclose(pose.homogeneous, placed[name].homogeneous, atol=1e-12 * size,
                                   err_msg=name)

    # Every moving body, seen from the root, is the sum of the links that ride on it.
    document = ET.fromstring(text)
    for i, node in enumerate(tree.nodes):
        riders = [name for name, frame in zip(tree.frame_names, tree.frames, strict=True)
                  if frame['node'] == i]
        expected = sum((poses[i].actInv(placed[name])
                        .act(spatial_inertia_by_specification(document, name))
                        for name in riders), pin.Inertia.Zero())
        assert node['mass'] == pytest.approx(expected.mass, rel=1e-12)
        if riders and node['mass'] > 0.0:
            np.testing.assert_allclose(node['center_of_mass'], expected.lever, atol=1e-11 * size)
            np.testing.assert_allclose(node['inertia'], expected.inertia, atol=1e-10 * size)
