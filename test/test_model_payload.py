# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a link carries: the same as if it were welded on in the URDF, and off again."""

import numpy as np
import pytest
from robots import joint, link
from samples import URDF, sample

from opspace_control import ModelError, Payload, RobotModel
from opspace_control.model.bodies import attach_payloads, doubts
from opspace_control.model.urdf import Link

BOX = Payload.of_box(3.0, (0.3, 0.4, 0.2), (0.02, -0.2, 0.1))
BODY = ['mass', 'center_of_mass', 'inertia']


# Moments of a cube of 3 kg, of a sphere, of a cylinder, of a rod and of a plate, kg m².
SHAPES = {'cube': (0.02, 0.02, 0.02), 'sphere': (3e-5, 3e-5, 3e-5), 'cylinder': (0.4, 0.4, 0.1),
          'rod': (0.25, 0.25, 0.0), 'plate': (0.1, 0.2, 0.3)}


def orientations(count, dtype=float):
    """Return so many random rotations, (count, 3, 3)."""
    rotations = np.linalg.qr(np.random.default_rng(1).standard_normal((count, 3, 3)))[0]
    return (rotations * np.linalg.det(rotations)[:, None, None]).astype(dtype)


def loaded(model, loads):
    nodes = model.nodes.copy()
    attach_payloads(nodes, model.nodes, [(model.frames[model.frame_index(name)], payload)
                                         for name, payload in loads])
    return nodes


def test_a_payload_is_what_a_welded_link_would_be():
    urdf = sample('dual_arm').urdf
    center = ' '.join(map(str, BOX.center_of_mass))
    weight = link('box', BOX.mass, BOX.inertia.diagonal(), f'<origin xyz="{center}"/>')
    welded = RobotModel.from_urdf(urdf.replace(
        '</robot>', weight + joint('grip', 'l_hand', 'box', 'fixed') + '</robot>'))
    model = sample('dual_arm').model
    nodes = loaded(model, [('l_hand', BOX)])
    for name in BODY:
        np.testing.assert_allclose(nodes[name], welded.nodes[name], rtol=1e-12, atol=1e-12)
    changed = np.flatnonzero(nodes['mass'] != model.nodes['mass'])
    assert changed.tolist() == [model.frames[model.frame_index('l_hand')]['node']]


def test_payloads_add_up_and_go_again():
    model = RobotModel.from_urdf_file(URDF / 'planar_3r.urdf')
    nodes = loaded(model, [('hand', BOX), ('hand', BOX.scaled(0.5)), ('upper_arm', BOX)])
    more = nodes['mass'] - model.nodes['mass']
    np.testing.assert_allclose(np.sort(more), [0.0, 3.0, 4.5])
    attach_payloads(nodes, model.nodes, [])
    assert (nodes == model.nodes).all()


def test_what_the_world_carries_makes_no_difference():
    model = RobotModel.from_urdf_file(URDF / 'planar_3r.urdf')
    assert (loaded(model, [(model.root_link, BOX)]) == model.nodes).all()


def test_box():
    np.testing.assert_allclose(BOX.inertia, np.diag([0.05, 0.0325, 0.0625]))


def test_moved_payload_keeps_its_energy():
    """Seen from another frame, the kinetic energy of the same motion is the same."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    rotation *= np.linalg.det(rotation)
    position = rng.standard_normal(3)
    v, w = rng.standard_normal((2, 3))   # of the new frame's origin, in its axes

    def energy(body, v, w):
        at_center = v + np.cross(w, body.center_of_mass)
        return body.mass * at_center @ at_center + w @ body.inertia @ w

    there = BOX.moved(rotation, position)
    here = energy(BOX, rotation.T @ (v + np.cross(w, position)), rotation.T @ w)
    assert energy(there, v, w) == pytest.approx(here, rel=1e-12)


@pytest.mark.parametrize('moments', SHAPES.values(), ids=SHAPES)
def test_symmetric_bodies_are_accepted_in_every_orientation(moments):
    """Off the diagonal a turned cube or sphere has nothing but rounding."""
    body = Payload(3.0, inertia=np.diag(moments))
    for rotation in orientations(2000):
        turned = body.moved(rotation, np.ones(3))
        np.testing.assert_allclose(np.linalg.eigvalsh(turned.inertia), np.sort(moments),
                                   rtol=0.0, atol=1e-14 * max(moments))
        assert doubts(Link('turned', 3.0, np.ones(3), turned.inertia)) == []
    for rotation in orientations(100, np.float32):
        Payload(3.0, inertia=rotation @ np.diag(moments).astype(np.float32) @ rotation.T)


@pytest.mark.parametrize('moments', SHAPES.values(), ids=SHAPES)
def test_wrong_inertias_are_refused_in_every_orientation(moments):
    lopsided, negative = np.diag(moments), np.diag(moments)
    lopsided[0, 1] = 1e-4 * max(moments)
    negative[2, 2] = -1e-4 * max(moments)
    for rotation in orientations(200):
        with pytest.raises(ModelError, match='not symmetric'):
            Payload(3.0, inertia=rotation @ lopsided @ rotation.T)
        with pytest.raises(ModelError, match='positive semi-definite'):
            Payload(3.0, inertia=rotation @ negative @ rotation.T)


@pytest.mark.parametrize(('arguments', 'what'), [
    ((-1.0,), 'payload: mass = -1.0'),
    ((np.nan,), 'mass'),
    ((1e12,), 'mass = .* from 0 to 1e.06'),
    ((1.0, (0, 1e9, 0)), 'center_of_mass = .* from -1000 to 1000'),
    (('heavy',), 'mass'),
    ((1.0, (0, 0)), 'center_of_mass'),
    ((1.0, (0, 0, np.inf)), 'center_of_mass'),
    ((1.0, (0, 0, 0), np.ones(3)), 'inertia'),
    ((1.0, (0, 0, 0), np.array([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])), 'symmetric'),
    ((1.0, (0, 0, 0), -np.eye(3)), 'positive semi-definite'),
])
def test_impossible_bodies_are_refused(arguments, what):
    with pytest.raises(ModelError, match=what) as caught:
        Payload(*arguments)
    assert caught.value.cure


def test_a_payload_does_not_change_behind_its_back():
    center = np.zeros(3)
    payload = Payload(1.0, center)
    center[0] = 1.0
    assert not payload.center_of_mass.any()
    with pytest.raises(ValueError, match='read-only'):
        payload.inertia[0, 0] = 1.0
