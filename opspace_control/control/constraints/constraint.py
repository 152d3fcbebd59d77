# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A constraint of a frame, to another link or to the world."""

import math

import numpy as np

from opspace_control.checks import checked
from opspace_control.compiled import recorded
from opspace_control.control.constraints.constraint_law import CONSTRAINT
from opspace_control.errors import ControlError
from opspace_control.spatial.rotations import cross_matrix
from opspace_control.tasks.arguments import AXES, read_axes


class Constraint:
    """
    A physical constraint of a frame to another link or the world, such as a closed chain.

    ``J_c q̈ + J̇_c v = a_c`` by constraint forces ([RKR95] 3.2, [WPO15]), which the controller
    takes into account. It is open at first; closed, it refers to the pose of the next cycle. Raises
    a ControlError that names a gain, a TaskError that names axes that cannot be used.

    Parameters
    ----------
    frame : str
        Link whose frame is constrained.
    other : str, optional
        Link that it is constrained to; the world if not given.
    name : str, optional
        Key in ``controller.constraints``; the frame's name if not given.
    axes : sequence of str
        Constrained ones of ``x y z rx ry rz``, base axes; ``x y z`` for a point contact.
    kp, kd : float
        1/s² and 1/s, gains against drift, 0 where the physical constraint prevents it; a negative
        kd is critical.

    """

    error = recorded('error', 'Constraint error of the last cycle, (6,), at `place`: m, and a '
                     'rotation vector, rad, 0 where no rotation is constrained.')

    def __init__(self, frame, other=None, *, name=None, axes=AXES, kp=0.0, kd=0.0):
        self.frame = frame
        self.other = other
        self.name = frame if name is None else name
        self._record = np.zeros(1, CONSTRAINT)[0]
        self._place = None
        self._record['selected'] = read_axes(axes, f"constraint '{self.name}'")
        self.set_gains(kp, kd)

    def __repr__(self):
        return f'Constraint({self.frame!r}, {self.other!r}, name={self.name!r})'

    def set_gains(self, kp, kd=-1.0):
        """Change the gains against drift, as of the constructor."""
        for gain, value, least in (('kp', kp, 0.0), ('kd', kd, -np.inf)):
            checked(value, f"Constraint '{self.name}': {gain}", ControlError, lowest=least,
                    parameter=gain)
        self._record['kp'], self._record['kd'] = kp, kd if kd >= 0.0 else 2.0 * math.sqrt(kp)

    def close(self):
        """Constrain the frame to its pose of the next cycle."""
        self.move_to_present()
        self.activation = 1.0

    def move_to_present(self):
        """Change the reference to the pose of the next cycle."""
        if self._place is not None:
            self._place['position'] = np.nan

    def open(self):
        """Release the frame."""
        self.activation = 0.0

    @property
    def closed(self):
        """Whether the activation is above zero."""
        return self.activation > 0.0

    @property
    def activation(self):
        """Weight of the constraint in the control law, from 0 (none) to 1 (rigid)."""
        return float(self._record['activation'])

    @activation.setter
    def activation(self, value):
        self._record['activation'] = checked(
            value, f"Constraint '{self.name}': activation", ControlError, lowest=0.0, highest=1.0)

    @property
    def in_use(self):
        """Whether the constraint belongs to a controller."""
        return self._place is not None

    @property
    def axes(self):
        """Names of the constrained axes."""
        return tuple(axis for axis, on in zip(AXES, self._record['selected'], strict=True) if on)

    @property
    def place(self):
        """Where the link is constrained, (3,), m, in its frame: the centre of a contact's sole."""
        return self._record['sole'][:3].copy()

    def row_axes(self, R):
        """
        Return the axes of the constrained rows in the frame, (3, 3), by column.

        ``R`` (3, 3) is the orientation of the frame: they are base axes, ``Rᵀ``.
        """
        return R.T

    @property
    def internal_wrench(self):
        """
        Commanded internal force x between the two links, (6,), N and N·m, ``J_cᵀ x``.

        On ``frame``'s link, at its origin, base axes; it causes no motion ([RKR95] (23)).
        """
        return self._record['internal_wrench'].copy()

    @internal_wrench.setter
    def internal_wrench(self, wrench):
        self._record['internal_wrench'] = checked(
            wrench, f"Constraint '{self.name}': internal_wrench", ControlError, (6,))

    def joint_force(self, model, state):
        """Return ``J_cᵀ w``, the joint forces (nv,) of the wrench that the last cycle exerted."""
        wrench = self._at_frame('exerted')
        force = model.jacobian(state, self.frame).T @ wrench
        if self.other is not None:
            poses = model.forward_kinematics(state, [self.frame, self.other])
            arm = poses[self.frame][:3, 3] - poses[self.other][:3, 3]
            wrench[3:] += np.cross(arm, wrench[:3])
            force -= model.jacobian(state, self.other).T @ wrench
        return force

    @property
    def force(self):
        """
        Predicted constraint force λ on ``frame``'s link, at its origin, (6,), N and N·m, base axes.

        Without the internal wrench; of redundant constraints the one of least norm.
        """
        return self._at_frame('force')

    def _at_frame(self, name):
        """Return a wrench of the record (6,), its moment about the frame's origin."""
        wrench = self._record[name].copy()
        wrench[3:] += cross_matrix(self._record['arm']) @ wrench[:3]
        return wrench


def register_constraints(constraints, places):
    """
    Return the data of c constraints in one array of CONSTRAINT, (c,), for a controller.

    ``places`` (c,) of FRAME are the reference of each, in the other link.
    """
    records = np.zeros(len(constraints), CONSTRAINT)
    for constraint, record, place in zip(constraints, records, places, strict=True):
        for name in CONSTRAINT.names:
            record[name] = constraint._record[name]
        constraint._record, constraint._place = record, place
        place['position'] = np.nan
    return records
