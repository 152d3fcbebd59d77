# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What there is to know of a grasp: who does what to the object."""

import numpy as np


class GraspState:
    """The part of a `Grasp` that only tells; arguments and attributes are said there."""

    @property
    def engaged(self):
        """Whether the object is held, even if not with full force yet."""
        return self._record['activation'] > 0.0

    @property
    def in_use(self):
        """Whether the grasp belongs to a controller."""
        return self._home is not None

    @property
    def wrenches(self):
        """
        What each effector does to the object at the last cycle, (N, 6) ``[f; n]``, N and N·m.

        At the effectors, in the object's axes; as the controller expects it. With passive joints
        that is the nearest to what is asked for that these allow.
        """
        return self._grips['wrench'].copy()

    @property
    def internal_forces(self):
        """Tensions (members,), N, positive apart, and moments (N, 3), N·m, of these wrenches."""
        if self._linkage is None:
            return np.zeros(1), np.zeros((len(self.effectors), 3))
        return self._linkage.internal(self._grips['wrench'])

    @property
    def resultant(self):
        """What all effectors do to the object, (6,), about its origin, in its axes, N and N·m."""
        return self._record['resultant'].copy()

    @property
    def squeezed(self):
        """
        Squeeze that the last cycle commands, N: more than asked for where friction wants it.

        With passive joints the tensions of `internal_forces` may differ from it.
        """
        return float(self._record['squeezed'])

    @property
    def slips(self):
        """Whether a grip's force is outside its friction cone: no squeeze allowed is enough."""
        force, grips = self._grips['wrench'][:, :3], self._grips
        along = (force * grips['inward']).sum(axis=1)
        sideways = np.linalg.norm(force - along[:, None] * grips['inward'], axis=1)
        finite = np.isfinite(grips['friction'])
        return bool((sideways > grips['friction'] * along + 1e-6)[finite].any())

    @property
    def load_shares(self):
        """Part of the resultant force that each effector bears, (N,); zeros if there is none."""
        force = self._record['resultant'][:3]
        square = force @ force
        return self._grips['wrench'][:, :3] @ force / square if square > 0.0 else np.zeros(
            len(self._grips))

    @property
    def closure_residual(self):
        """How far the chain is from closed: the largest distance, m, and angle, rad."""
        errors = np.array([held.error for held in self.constraints]).reshape(-1, 2, 3)
        if not self._turning[1:].all():
            errors[:, 1] = 0.0
        return tuple(np.linalg.norm(errors, axis=2).max(axis=0).tolist())
