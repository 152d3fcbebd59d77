# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Rigid bodies: links that fixed joints connect have one mass and inertia; payloads add to it."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from opspace_control.checks import checked
from opspace_control.errors import ModelError
from opspace_control.model.nodes import WORLD

# By this part of the largest principal moment, an inertia may be asymmetric, or a moment negative:
# single precision rounds to 1e-7. A moment may also be as negative as a radius of gyration of 1 µm
# would make it positive. Beyond that the file is wrong.
_RELATIVE_SLACK = 1e-6
_GYRATION_SLACK = 1e-12  # m²
# Of a payload, kg and m: beyond, rounding of its inertia is more than that of light links.
_HEAVIEST, _FURTHEST = 1e6, 1e3
_BODY = ('mass', 'center_of_mass', 'inertia')


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


@dataclass(frozen=True, eq=False)
class Payload:
    """
    A rigid body fixed to a link, given in the axes of the link and from its origin.

    ``mass``, kg, ``center_of_mass`` (3,), m, the link's origin if not given, and ``inertia`` (3, 3)
    about the centre of mass, kg m², that of a point if not given. A ModelError refuses what no body
    can have.
    """

    mass: float
    center_of_mass: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self):
        mass = _numbers('mass', self.mass, (), lowest=0.0, highest=_HEAVIEST)
        center = _numbers('center_of_mass', self.center_of_mass, (3,), lowest=-_FURTHEST,
                          highest=_FURTHEST)
        inertia = _numbers('inertia', self.inertia, (3, 3))
        center.flags.writeable = inertia.flags.writeable = False
        # Rounding is a part of the largest entry: an off-diagonal one may be nothing else.
        if abs(inertia - inertia.T).max() > _RELATIVE_SLACK * abs(inertia).max():
            raise ModelError("The payload's inertia is not symmetric.",
                             cure='Give (3, 3) numbers about the centre of mass.', value=inertia)
        if not is_possible(mass, inertia):
            raise ModelError("The payload's inertia is not positive semi-definite.",
                             cure='Give it about the centre of mass, in kg m².', value=inertia)
        object.__setattr__(self, 'mass', mass)
        object.__setattr__(self, 'center_of_mass', center)
        object.__setattr__(self, 'inertia', inertia)

    @classmethod
    def of_box(cls, mass, size, center_of_mass=(0.0, 0.0, 0.0)):
        """Return a solid box of ``mass``, kg, and edges ``size`` (3,), m, along the link's axes."""
        x, y, z = _numbers('size', size, (3,)) ** 2
        return cls(mass, center_of_mass, mass / 12.0 * np.diag([y + z, x + z, x + y]))

    def moved(self, rotation, position):
        """
        Return this body as seen from another frame.

        ``rotation`` (3, 3) has the axes, ``position`` (3,), m, the origin there of the frame in
        which the body is given now.
        """
        return Payload(self.mass, position + rotation @ self.center_of_mass,
                       rotation @ self.inertia @ rotation.T)

    def scaled(self, part):
        """Return the body with a fraction of its mass and inertia, for a ramp."""
        return Payload(part * self.mass, self.center_of_mass, part * self.inertia)


def _numbers(name, values, shape, **allowed):
    return checked(values, f'payload: {name}', ModelError, shape, **allowed)


def attach_payloads(nodes, bare, payloads):
    """
    Write the bodies of the nodes with all payloads; former ones are replaced.

    ``bare`` are the nodes without payloads, from which only mass, centre of mass and inertia
    differ. ``payloads`` are (FRAME record, Payload), any number per link; those on links that never
    move are ignored.
    """
    for name in _BODY:
        nodes[name] = bare[name]
    for frame, payload in payloads:
        if frame['node'] == WORLD:
            continue
        node = nodes[frame['node']]
        body = SimpleNamespace(**{name: node[name] for name in _BODY})
        lumped = lump(((body, np.eye(3), np.zeros(3)),
                       (payload, frame['rotation'], frame['position'])))
        for name, value in zip(_BODY, lumped, strict=True):
            node[name] = value
