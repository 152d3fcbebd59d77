# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Closures: constraints between two links, or between a link and the ground."""

from dataclasses import dataclass, field

import numpy as np

from opspace_control.errors import ModelError

_ROWS = ('x', 'y', 'z', 'rx', 'ry', 'rz')
RIGID = 'x y z rx ry rz'
POINT = 'x y z'


@dataclass(frozen=True, eq=False)
class Closure:
    """
    A place where a link is constrained relative to another link, or to the ground.

    ``frame`` is the constrained link and ``other`` the link that it is constrained to, such as the
    other hand of a grasp; None is the ground. ``position`` (3,), m, and ``rotation`` (3, 3), axes
    by column, place it in the frame of the first link. ``axes`` are the constrained directions
    among ``x y z rx ry rz``, along and about these axes: `RIGID` by default, `POINT` for a link
    that may rotate, others depending on friction and shape. Raises a ModelError for axes or numbers
    that cannot be used.
    """

    frame: str
    other: str | None = None
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    axes: str = RIGID

    def __post_init__(self):
        names = self.axes.split() if isinstance(self.axes, str) else ()
        if not names or len(set(names)) != len(names) or not set(names) <= set(_ROWS):
            raise ModelError(f"A closure of '{self.frame}' has unknown axes {self.axes!r}.",
                             cure=f'Name one or more of {RIGID}, each once.', value=self.axes)
        position, rotation = np.array(self.position, float), np.array(self.rotation, float)
        if (position.shape != (3,) or rotation.shape != (3, 3) or not np.isfinite(position).all()
                or not abs(rotation @ rotation.T - np.eye(3)).max() < 1e-6):
            raise ModelError(f"The place of the closure of '{self.frame}' is not usable.",
                             cure='Give a position (3,) and a rotation matrix (3, 3).',
                             value=(self.position, self.rotation))
        object.__setattr__(self, 'position', position)
        object.__setattr__(self, 'rotation', rotation)

    @property
    def constrained(self):
        """Which of the six rows are constrained, (6,) bool."""
        return np.isin(_ROWS, self.axes.split())
