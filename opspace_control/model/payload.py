# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Payloads of links: rigid bodies that are added to a link's own, and may change at run time."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from opspace_control.errors import ModelError
from opspace_control.model.bodies import is_possible, is_symmetric, lump
from opspace_control.model.nodes import WORLD

_BODY = ('mass', 'center_of_mass', 'inertia')


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
        mass = _numbers('mass', self.mass, ())
        center = _numbers('center_of_mass', self.center_of_mass, (3,))
        inertia = _numbers('inertia', self.inertia, (3, 3))
        if mass < 0.0:
            raise ModelError(f'A payload of {mass:g} kg is not possible.',
                             cure='Give a mass that is not negative.', value=float(mass))
        if not is_symmetric(inertia):
            raise ModelError("The payload's inertia is not symmetric.",
                             cure='Give (3, 3) numbers about the centre of mass.', value=inertia)
        if not is_possible(mass, inertia):
            raise ModelError("The payload's inertia is not positive semi-definite.",
                             cure='Give it about the centre of mass, in kg m².', value=inertia)
        object.__setattr__(self, 'mass', float(mass))
        object.__setattr__(self, 'center_of_mass', center)
        object.__setattr__(self, 'inertia', inertia)

    @classmethod
    def of_box(cls, mass, size, center_of_mass=(0.0, 0.0, 0.0)):
        """Return a solid box along the link's axes: kg, lengths of the edges (3,), m, (3,), m."""
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


def _numbers(name, values, shape):
    """Return finite numbers of this shape, read-only."""
    try:
        numbers = np.array(values, float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise ModelError(f"The payload's {name} = {values!r} is not usable.",
                         cure=f'Give finite numbers of shape {shape}.' if shape
                         else 'Give a finite number.', value=values)
    numbers.setflags(write=False)
    return numbers


def carry(nodes, bare, loads):
    """
    Write the bodies of the nodes with all payloads; former ones are replaced.

    ``bare`` are the nodes without payloads, from which only mass, centre of mass and inertia
    differ. ``loads`` are (FRAME record, Payload), any number per link; those on links that never
    move are ignored.
    """
    for name in _BODY:
        nodes[name] = bare[name]
    for frame, payload in loads:
        if frame['node'] == WORLD:
            continue
        node = nodes[frame['node']]
        body = SimpleNamespace(**{name: node[name] for name in _BODY})
        lumped = lump(((body, np.eye(3), np.zeros(3)),
                       (payload, frame['rotation'], frame['position'])))
        for name, value in zip(_BODY, lumped, strict=True):
            node[name] = value
