# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Rigid bodies: one mass and one inertia for the links that fixed joints connect."""

import numpy as np

from opspace_control.errors import ModelError

# By this part of the largest principal moment, an inertia may be asymmetric, or a moment negative:
# single precision rounds to 1e-7. A moment may also be as negative as a radius of gyration of 1 µm
# would make it positive. More than that is a wrong file.
_RELATIVE_SLACK = 1e-6
_GYRATION_SLACK = 1e-12  # m²


def lump(parts):
    """
    Return mass, centre of mass (3,) and inertia (3, 3) about it of rigidly connected links.

    ``parts`` are (link, rotation, position): where each link is in the body's frame.
    """
    masses, centers, inertias = [], [], []
    for link, rotation, position in parts:
        masses.append(link.mass)
        centers.append(position + rotation @ link.center_of_mass)
        inertias.append(rotation @ link.inertia @ rotation.T)
    if len(masses) == 1:
        return masses[0], centers[0], _symmetric(inertias[0])
    mass = sum(masses)
    if mass == 0.0:
        return 0.0, np.zeros(3), _symmetric(sum(inertias))
    center = sum(m * c for m, c in zip(masses, centers, strict=True)) / mass
    inertia = np.zeros((3, 3))
    for m, c, inertia_of_link in zip(masses, centers, inertias, strict=True):
        arm = c - center
        inertia += inertia_of_link + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return mass, center, _symmetric(inertia)


def _symmetric(inertia):
    return 0.5 * (inertia + inertia.T)


def is_symmetric(inertia):
    """
    Tell whether an inertia (3, 3) is symmetric but for rounding.

    Rounding is a part of the largest entry, not of each: an off-diagonal entry of a turned cube is
    nothing but rounding.
    """
    return abs(inertia - inertia.T).max() <= _RELATIVE_SLACK * abs(inertia).max()


def is_possible(mass, inertia):
    """Tell whether an inertia about the centre of mass stores no negative energy."""
    moments = np.linalg.eigvalsh(inertia)
    return moments[0] >= -(_RELATIVE_SLACK * moments[2] + _GYRATION_SLACK * mass)


def check_body(mass, inertia, links):
    """
    Raise a ModelError where a moving body of ``links`` could have negative kinetic energy.

    A link may be wrong by itself as long as the body it is welded to makes up for it: some real
    files have an antenna of 1 mg like that on a base of 30 kg.
    """
    if is_possible(mass, inertia):
        return
    worst = min(links, key=lambda link: np.linalg.eigvalsh(link.inertia)[0])
    moment = np.linalg.eigvalsh(worst.inertia)[0]
    raise ModelError(
        f"The inertia of link '{worst.name}' is not positive semi-definite: "
        f'its smallest principal moment is {moment:.3g} kg m².',
        cure='Correct ixx ... izz of its <inertial>; they are about the centre of mass.',
        element=worst.name, value=float(moment))


def doubts(link):
    """Return warnings about a link's inertia that is accepted although no real body has it."""
    if not link.inertia.any():
        return []
    if link.mass == 0.0:
        return [f"link '{link.name}' has an inertia but no mass"]
    small, middle, large = np.linalg.eigvalsh(link.inertia)
    if not is_possible(link.mass, link.inertia):
        return [f"the inertia of link '{link.name}' is not positive semi-definite: "
                f'its smallest principal moment is {small:.3g} kg m²']
    if small + middle < (1.0 - 1e-3) * large - _GYRATION_SLACK * link.mass:
        return [f"no mass distribution has the inertia of link '{link.name}': its principal "
                f'moments {small:.3g}, {middle:.3g}, {large:.3g} kg m² break the triangle rule']
    return []
