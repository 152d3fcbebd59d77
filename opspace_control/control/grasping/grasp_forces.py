# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the effectors of a grasp exert on its object."""

import numpy as np

from opspace_control.compiled import recorded


class GraspForces:
    """The properties of a `Grasp` that are about forces of the last cycle."""

    resultant = recorded('resultant', "Resultant of the effectors' wrenches, (6,), about the "
                         "object's origin, in its axes, N and N·m.")

    @property
    def wrenches(self):
        """
        Wrenches of the effectors on the object at the last cycle, (N, 6) ``[f; n]``, N and N·m.

        As predicted, at the effectors, in the object's axes; those that passive joints admit.
        """
        return self._grips['wrench'].copy()

    @property
    def internal_forces(self):
        """Tensions (members,), N, positive apart, and moments (N, 3), N·m, of these wrenches."""
        if self._linkage is None:
            return np.zeros(1), np.zeros((len(self.effectors), 3))
        return self._linkage.internal(self._grips['wrench'])

    @property
    def applied_force(self):
        """
        Grasp force of the last cycle, N: above its minimum where friction requires it.

        With passive joints the tensions of `internal_forces` may differ from it.
        """
        return float(self._record['applied_force'])

    @property
    def slips(self):
        """Whether a grip's force is outside its friction cone at the maximum grasp force."""
        force, grips = self._grips['wrench'][:, :3], self._grips
        normal = (force * grips['inward']).sum(axis=1)
        tangential = np.linalg.norm(force - normal[:, None] * grips['inward'], axis=1)
        finite = np.isfinite(grips['friction'])
        return bool((tangential > grips['friction'] * normal + 1e-6)[finite].any())

    @property
    def load_shares(self):
        """Part of each effector in the resultant force, (N,); zeros without one."""
        force = self._record['resultant'][:3]
        square = force @ force
        return self._grips['wrench'][:, :3] @ force / (square if square > 0.0 else np.inf)

    @property
    def closure_residual(self):
        """Largest error of the closed chain: distance, m, and angle, rad."""
        errors = np.array([each.error for each in self.constraints]).reshape(-1, 2, 3)
        if not self._turning[1:].all():
            errors[:, 1] = 0.0
        return tuple(np.linalg.norm(errors, axis=2).max(axis=0).tolist())
