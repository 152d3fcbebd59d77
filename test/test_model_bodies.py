# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Welding links into bodies, and which inertias are refused or doubted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from robots import joint, link, robot

from opspace_control.errors import ModelError
from opspace_control.model import KinematicTree
from opspace_control.model.bodies import lump
from opspace_control.model.urdf import Link

pin = pytest.importorskip('pinocchio')


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 6), massless=st.integers(0, 3))
def test_lumped_bodies_add_up_like_spatial_inertias(seed, count, massless):
    pin.seed(seed)
    inertias = [pin.Inertia.Random() for _ in range(count)]
    places = [pin.SE3.Random() for _ in range(count + massless)]
    links = [Link(str(i), inertia.mass, inertia.lever, inertia.inertia)
             for i, inertia in enumerate(inertias)]
    links += [Link('massless', 0.0, np.full(3, 7.0), np.zeros((3, 3)))] * massless
    mass, center, inertia = lump([
        (found, place.rotation, place.translation)
        for found, place in zip(links, places, strict=True)])
    expected = sum((place.act(found) for found, place in zip(inertias, places, strict=False)),
                   pin.Inertia.Zero())
    np.testing.assert_allclose(mass, expected.mass, rtol=1e-13)
    np.testing.assert_allclose(center, expected.lever, atol=1e-12)
    np.testing.assert_allclose(inertia, expected.inertia, atol=1e-12 * np.abs(inertia).max())
    assert (inertia == inertia.T).all()


def test_links_without_any_mass_weigh_nothing():
    mass, center, inertia = lump([(Link('a', 0.0, np.ones(3), np.eye(3)), np.eye(3), np.ones(3)),
                                  (Link('b', 0.0, np.ones(3), np.eye(3)), np.eye(3), np.ones(3))])
    assert mass == 0.0
    assert center.tolist() == [0, 0, 0]
    assert inertia.tolist() == (2 * np.eye(3)).tolist()


def one_joint(*moments, mass=1.0, further=()):
    return KinematicTree.from_urdf(robot(
        link('a'), link('b', mass, moments), joint('j', 'a', 'b', 'continuous'), *further))


def test_a_moving_body_cannot_have_negative_energy():
    with pytest.raises(ModelError, match="link 'b' is not positive semi-definite") as caught:
        one_joint(1.0, 1.0, -1e-3)
    assert caught.value.value == pytest.approx(-1e-3)


def test_a_wrong_link_on_a_right_body_is_doubted():
    further = [link('c', 1e-6, (1, 1, -1e-3)), joint('k', 'b', 'c', 'fixed')]
    tree = one_joint(1.0, 1.0, 1.0, further=further)
    assert tree.warnings == ("the inertia of link 'c' is not positive semi-definite: its smallest "
                             'principal moment is -0.001 kg m²',)


def test_the_error_blames_the_link_that_is_wrong():
    further = [link('c', 0.1, (1, 1, -9)), joint('k', 'b', 'c', 'fixed')]
    with pytest.raises(ModelError, match="link 'c'"):
        one_joint(1.0, 1.0, 1.0, further=further)


def test_what_never_moves_is_doubted_at_most():
    tree = KinematicTree.from_urdf(robot(
        link('a', 1.0, (-1, 1, 1)), link('b'), joint('j', 'a', 'b', 'continuous')))
    assert len(tree.warnings) == 1
    with pytest.raises(ModelError, match="link 'a'"):
        KinematicTree.from_urdf(robot(
            link('a', 1.0, (-1, 1, 1)), link('b'), joint('j', 'a', 'b', 'continuous')),
            floating_base=True)


@pytest.mark.parametrize('moments', [(1, 1, 2), (0, 1, 1), (-1e-20, 0, 1e-20), (1, 1, 2.001)])
def test_flat_thin_and_rounded_bodies_are_ordinary(moments):
    tree = KinematicTree.from_urdf(robot(link('a'), link('b', 1.0, moments), joint(
        'j', 'a', 'b', 'prismatic', '<limit lower="-1" upper="1" velocity="1" effort="1"/>')))
    assert tree.warnings == ()


def test_a_broken_triangle_rule_is_doubted():
    assert "has the inertia of link 'b'" in one_joint(1.0, 1.0, 3.0).warnings[0]


def test_inertia_without_mass_is_a_rotor_and_doubted():
    tree = one_joint(1.0, 1.0, 1.0, mass=0.0)
    assert tree.warnings == ("link 'b' has an inertia but no mass",)
    assert tree.nodes['inertia'][0, 0, 0] == 1.0
