# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The centre-of-mass task: that of the robot, or of a part of it, goes to a goal."""

import numpy as np

from opspace_control.tasks.pose import PositionTask


class CenterOfMassTask(PositionTask):
    """
    Take the centre of mass to a goal; all bodies that count take part by their mass.

    A robot on its feet stays upright by it. A floating base without any contact keeps its centre of
    mass whatever the joints do: then there is nothing that the task could do, and it lets go.

    A controller has one such task at most.

    Parameters
    ----------
    frame : str, optional
        Link with which the part begins whose centre of mass it is: it counts with all that it
        carries. The whole robot if not given; what never moves counts for nothing.
    name : str, optional
        'center_of_mass' if not given.
    **options
        Of a `PositionTask`.

    """

    def __init__(self, frame=None, *, name='center_of_mass', **options):
        super().__init__('' if frame is None else frame, name=name, **options)

    def jacobian(self, model, state):
        """Return the Jacobian (6, nv) of the centre of mass; its angular rows are zero."""
        from opspace_control.dynamics.center_of_mass import center_of_mass
        return np.vstack([center_of_mass(model, state, self.frame or None)[1],
                          np.zeros((3, model.nv))])
