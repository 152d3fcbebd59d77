# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The centre-of-mass task: the centre of mass of the robot or of a subtree goes to a goal."""

import numpy as np

from opspace_control.tasks.pose import PositionTask


class CenterOfMassTask(PositionTask):
    """
    Move the centre of mass to a goal; each body contributes in proportion to its mass.

    A standing robot uses it for balance. Without contact the joints of a floating base cannot move
    the centre of mass: the task is then singular and its rows are truncated. A controller has one
    such task at most.

    ``frame`` is the root link of the subtree whose centre of mass it is; the whole robot if not
    given. Bodies that never move do not count. Other keywords are those of a `PositionTask`.
    """

    def __init__(self, frame=None, *, name='center_of_mass', **options):
        super().__init__('' if frame is None else frame, name=name, **options)

    def jacobian(self, model, state):
        """Return the Jacobian (6, nv) of the centre of mass; its angular rows are zero."""
        from opspace_control.dynamics.center_of_mass import center_of_mass
        return np.vstack([center_of_mass(model, state, self.frame or None)[1],
                          np.zeros((3, model.nv))])
