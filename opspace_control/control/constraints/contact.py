# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A contact of a link with the ground."""

from numbers import Real

import numpy as np

from opspace_control.control.constraints.constraint import Constraint
from opspace_control.errors import ControlError

KINDS = {'surface': ('x', 'y', 'z', 'rx', 'ry', 'rz'), 'point': ('x', 'y', 'z')}
# Largest velocity of a link at engagement, m/s and rad/s.
STILL = (0.05, 0.5)


class Contact(Constraint):
    """
    A link in contact with the ground, [WPO15].

    Engaged, it constrains the link to its present pose and disables the link's tasks. The contact
    is unilateral with friction, which the controller does not enforce: see `load` and `slip`.

    Parameters
    ----------
    frame : str
        The link.
    name : str, optional
        Key in ``controller.constraints``; the frame's name if not given.
    kind : str
        ``surface``: all six axes are constrained. ``point``: the position alone.
    normal : (3,) array_like
        Direction away from the ground, base axes.
    friction : float
        Coefficient of friction.

    Raises
    ------
    ControlError
        For an argument that cannot be used.

    """

    def __init__(self, frame, *, name=None, kind='surface', normal=(0.0, 0.0, 1.0), friction=0.7):
        if kind not in KINDS:
            raise ControlError(f"Contact '{name or frame}': kind {kind!r} cannot be used.",
                               cure=f'Take one of {", ".join(KINDS)}.')
        super().__init__(frame, name=name, axes=KINDS[kind])
        normal = np.array(normal, float)
        if normal.shape != (3,) or not np.linalg.norm(normal) > 0.0:
            raise ControlError(f"Contact '{self.name}': normal {normal} cannot be used.",
                               cure='Give three numbers that are not all zero.', value=normal)
        if not (isinstance(friction, Real) and 0.0 < friction < np.inf):
            raise ControlError(f"Contact '{self.name}': friction {friction} cannot be used.",
                               cure='Give a positive number.', value=friction)
        self.normal = normal / np.linalg.norm(normal)
        self.friction = float(friction)
        self._home = None
        self._displaced = ()

    def engage(self, state=None):
        """
        Constrain the link to its present pose and disable its tasks.

        With a state, a ControlError refuses a link that moves; nothing has changed then.
        """
        if self._home is None:
            raise ControlError(f"Contact '{self.name}' belongs to no controller.",
                               cure='Give it to one: constraints=[...].')
        if self.closed:
            return
        model, tasks = self._home
        if state is not None:
            check_still(self.name, self.frame, model.jacobian(state, self.frame) @ state.v,
                        len(self.axes) > 3)
        self._displaced = tuple(task for task in tasks if task.enabled)
        for task in self._displaced:
            task.enabled = False
        self.close()

    def disengage(self):
        """Release the link; its tasks are enabled at its present pose."""
        if not self.closed:
            return
        self.open()
        for task in self._displaced:
            task.clear_target()
            task.enabled = True
        self._displaced = ()

    @property
    def load(self):
        """Predicted normal force, N; below 0 the link lifts."""
        return float((self.force - self.internal_wrench)[:3] @ self.normal)

    @property
    def slip(self):
        """Part of the friction in use: above 1 the link slips, inf where it lifts."""
        force = (self.force - self.internal_wrench)[:3]
        along = force @ self.normal
        sideways = float(np.linalg.norm(force - along * self.normal))
        if sideways == 0.0:
            return 0.0
        return sideways / (self.friction * along) if along > 0.0 else np.inf


def check_still(name, frame, twist, turning, other='the ground'):
    """
    Raise a ControlError if link ``frame`` of contact or grasp ``name`` is not at rest.

    ``twist`` (6,) is its velocity relative to ``other``, m/s and rad/s, whose angular part counts
    with ``turning`` alone.
    """
    speed, rate = (float(np.linalg.norm(part)) for part in np.reshape(twist, (2, 3)))
    if speed > STILL[0] or (turning and rate > STILL[1]):
        raise ControlError(
            f"'{name}': '{frame}' moves against {other} at {speed:.2f} m/s and {rate:.2f} rad/s.",
            cure=f'Bring it to rest, below {STILL[0]} m/s and {STILL[1]} rad/s.', frame=frame,
            value=speed)


def bind_contacts(constraints, model, tasks):
    """Give contacts the model and the tasks of their links."""
    for contact in constraints:
        if isinstance(contact, Contact):
            contact._home = model, tuple(task for task in tasks if task.frame == contact.frame)
