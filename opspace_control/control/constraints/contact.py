# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A contact of a link with the ground."""

import numpy as np

from opspace_control.checks import HUGE, checked, usable
from opspace_control.control.constraints.constraint import Constraint
from opspace_control.control.constraints.displaced_tasks import DisplacedTasks
from opspace_control.errors import ControlError
from opspace_control.tasks.arguments import AXES, LINEAR

# What each kind constrains: base axes; of a line axes of which x is along it.
CONTACT_AXES = {'surface': AXES, 'line': ('x', 'y', 'z', 'ry', 'rz'), 'point': LINEAR}
# Largest velocity of a link at engagement, m/s and rad/s.
STILL = (0.05, 0.5)


class Contact(Constraint):
    """
    A link in contact with the ground, [WPO15].

    Engaged, it constrains the link to its present pose and disables the link's tasks. A controller
    with `JointLimits` keeps its force within bounds, `write_contact_bounds`, and tasks have
    residuals in order of priority; one without does not: see `load` and `slip`. Raises a
    ControlError for an argument that cannot be used.

    Parameters
    ----------
    frame : str
        The link.
    name : str, optional
        Key in ``controller.constraints``; the frame's name if not given.
    kind : str
        ``surface``: all six axes are constrained. ``line``: all but the rotation about the line,
        about which the ground exerts no moment. ``point``: the position alone.
    normal : (3,) array_like
        Direction away from the ground, base axes.
    friction : float
        Coefficient of friction.
    normal_force : (2,) array_like
        Least and greatest normal force, N; the least is 0 or more.
    sole : (2, 3) array_like, optional
        Of a surface, two opposite corners of the rectangle, parallel to the link's x and y axes,
        that rests on the ground, m, in the link's frame: for bounds on moments too. A rectangle
        without width is a line. Of a line, its two ends; a line needs them.

    """

    def __init__(self, frame, *, name=None, kind='surface', normal=(0.0, 0.0, 1.0), friction=0.7,
                 normal_force=(0.0, np.inf), sole=None):
        if kind not in CONTACT_AXES:
            raise ControlError(f"Contact '{name or frame}': kind {kind!r} cannot be used.",
                               cure=f'Take one of {", ".join(CONTACT_AXES)}.')
        super().__init__(frame, name=name, axes=CONTACT_AXES[kind] if kind == 'point' else AXES)
        self._record['bounded'] = True
        self.normal, self.friction, self.normal_force = normal, friction, normal_force
        self._record['sole'], self._record['along'] = self._read_sole(sole, kind)
        self._record['line'] = self._record['sole'][4] == 0.0
        self._home = None

    @property
    def normal(self):
        """Direction away from the ground, base axes, (3,), a unit vector."""
        return self._record['normal'].copy()

    @normal.setter
    def normal(self, normal):
        normal = np.array(normal, float)
        if normal.shape != (3,) or not 0.0 < np.linalg.norm(normal) < np.inf:
            raise self._refusal('normal', normal, 'Give three numbers that are not all zero.')
        self._record['normal'] = normal / np.linalg.norm(normal)

    @property
    def friction(self):
        """Coefficient of friction."""
        return float(self._record['friction'])

    @friction.setter
    def friction(self, friction):
        self._record['friction'] = checked(
            friction, f"Contact '{self.name}': friction", ControlError, above=0.0)

    @property
    def normal_force(self):
        """Least and greatest normal force, N."""
        return tuple(self._record['normal_force'].tolist())

    @normal_force.setter
    def normal_force(self, bounds):
        bounds = np.array(bounds, float)
        bounds[bounds >= HUGE] = np.inf
        if bounds.shape != (2,) or not 0.0 <= bounds[0] < bounds[1]:
            raise self._refusal('normal_force', bounds,
                                'Give the least, 0 or more, and the greatest above it, N.')
        self._record['normal_force'] = bounds

    def _read_sole(self, sole, kind):
        """Return `sole` and ``along`` of CONSTRAINT."""
        if sole is None and kind != 'line':
            return (0.0, 0.0, 0.0, np.inf, np.inf), (1.0, 0.0, 0.0)
        sole = np.array(sole, float)
        fits = sole.shape == (2, 3) and usable(sole) and kind != 'point'
        diagonal = sole[1] - sole[0] if fits else np.zeros(3)
        if not (diagonal if kind == 'line' else diagonal[:2]).any():
            raise self._refusal('sole', sole, 'Give two opposite corners, (2, 3), of a surface '
                                'contact, or the two ends of a line.')
        if kind == 'line' or not diagonal[:2].all():
            length = np.linalg.norm(diagonal)
            return (*sole.mean(axis=0), 0.5 * length, 0.0), diagonal / length
        return (*sole.mean(axis=0), *abs(diagonal[:2]) / 2.0), (1.0, 0.0, 0.0)

    @property
    def kind(self):
        """One of ``surface``, ``line`` and ``point``."""
        if self._record['line']:
            return 'line'
        return 'surface' if self._record['selected'].all() else 'point'

    @property
    def axes(self):
        """Names of the constrained axes; of a line of axes of which x is along it."""
        return CONTACT_AXES[self.kind]

    def row_axes(self, R):
        """Return the axes of the constrained rows in the frame, (3, 3), as of `Constraint`."""
        if not self._record['line']:
            return super().row_axes(R)
        axes = np.linalg.qr(np.column_stack([self._record['along'], np.eye(3)]))[0]
        return axes * np.sign(np.linalg.det(axes))

    def _refusal(self, name, value, cure):
        return ControlError(f"Contact '{self.name}': {name} {value} cannot be used.", cure=cure,
                            value=value)

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
        model, displaced = self._home
        if state is not None:
            check_still(self.name, self.frame, self._rates(model, state), True)
        displaced.disable()
        self.close()

    def _rates(self, model, state):
        """Return the velocity (6,) of the link at `place` in its row axes, 0 where it is free."""
        R = model.forward_kinematics(state, self.frame)[self.frame][:3, :3]
        twist = model.jacobian(state, self.frame) @ state.v
        twist[:3] += np.cross(twist[3:], R @ self.place)
        rates = (twist.reshape(2, 3) @ R @ self.row_axes(R)).ravel()
        return np.where([axis in self.axes for axis in AXES], rates, 0.0)

    def disengage(self):
        """Release the link; tasks that `engage` has disabled are enabled, at its present pose."""
        if not self.closed:
            return
        self.open()
        self._home[1].enable()

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


def register_contacts(constraints, model, tasks):
    """Give contacts the model and the tasks of their links."""
    for number, contact in enumerate(constraints, 1):
        if isinstance(contact, Contact):
            contact._home = model, DisplacedTasks(
                [task for task in tasks if task.frame == contact.frame], number)
