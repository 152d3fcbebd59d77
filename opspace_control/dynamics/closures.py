# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where a tree is closed: links held by other links, or by the ground."""

from dataclasses import dataclass, field

import numpy as np

from opspace_control.errors import ModelError

_ROWS = ('x', 'y', 'z', 'rx', 'ry', 'rz')
RIGID = 'x y z rx ry rz'
POINT = 'x y z'


@dataclass(frozen=True, eq=False)
class Closure:
    """
    A place where a link cannot move relative to another link, or to the ground.

    Parameters
    ----------
    frame : str
        The link that is held.
    other : str, optional
        The link that holds it, as where one hand grasps what the other one has in its grip; the
        ground if not given.
    position : (3,) array_like
        The place, in the frame of the first link, m.
    rotation : (3, 3) array_like
        Axes of the place in that frame, by column.
    axes : str
        Which of ``x y z rx ry rz``, along and about these axes, are held: `RIGID` by default,
        `POINT` where the link may turn, others as friction and shape have it.

    Raises
    ------
    ModelError
        For axes or numbers that cannot be used.

    """

    frame: str
    other: str | None = None
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    axes: str = RIGID

    def __post_init__(self):
        names = self.axes.split() if isinstance(self.axes, str) else ()
        if not names or len(set(names)) != len(names) or not set(names) <= set(_ROWS):
            raise ModelError(f"A closure of '{self.frame}' cannot hold the axes {self.axes!r}.",
                             cure=f'Name one or more of {RIGID}, each once.', value=self.axes)
        position, rotation = np.array(self.position, float), np.array(self.rotation, float)
        if (position.shape != (3,) or rotation.shape != (3, 3) or not np.isfinite(position).all()
                or not abs(rotation @ rotation.T - np.eye(3)).max() < 1e-6):
            raise ModelError(f"The place where '{self.frame}' is held is not usable.",
                             cure='Give a position (3,) and a rotation matrix (3, 3).',
                             value=(self.position, self.rotation))
        object.__setattr__(self, 'position', position)
        object.__setattr__(self, 'rotation', rotation)

    @property
    def held(self):
        """Which of the six rows are held, (6,) bool."""
        return np.isin(_ROWS, self.axes.split())
