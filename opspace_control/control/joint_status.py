# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which joints are active, passive or locked at the moment, [JR94] 3: motors fail, brakes hold."""

import numpy as np

from opspace_control.dynamics.data import moment_nodes
from opspace_control.dynamics.hybrid_dynamics import responding_nodes
from opspace_control.errors import ModelError
from opspace_control.model.mobility import generic_coordinates, immovable_nodes
from opspace_control.model.nodes import LOCKED, PASSIVE
from opspace_control.model.tree import read_status, write_status


class JointStatus:
    """
    The status of a controller's joints; at first that of the model.

    ``nodes`` (n,) of NODE are the controller's own, for compiled code, with this status;
    ``responds`` (n,) of bool are `responding_nodes` of them, kept up to date.
    """

    def __init__(self, model):
        self._model = model
        self.nodes = moment_nodes(model)
        self.responds = responding_nodes(self.nodes)

    def change(self, passive_joints=None, locked_joints=None):
        """
        Make other joints passive or locked; arguments and errors are those of the controller.

        Raises a ModelError for an unknown name or one in both lists, or if no inertia would oppose
        a joint; then nothing has changed.
        """
        status = self.checked(passive_joints, locked_joints)
        self.nodes['status'] = status
        self.responds[:] = responding_nodes(self.nodes)

    def checked(self, passive_joints=None, locked_joints=None):
        """Return what `change` would make the status of the nodes, or raise as it would."""
        model, names = self._model, np.array(self._model.dof_names, object)
        passive, locked = read_status(
            names, model.joint_dofs, model.mimics,
            names[self.passive] if passive_joints is None else passive_joints,
            names[self.locked] if locked_joints is None else locked_joints)
        nodes = self.nodes.copy()
        write_status(nodes, passive, locked)
        # Only the release of a brake can leave a joint without inertia.
        immovable = (immovable_nodes(nodes, generic_coordinates(model.nq))
                     if (self.locked & ~locked).any() else ())
        if len(immovable):
            joint = model.dof_names[nodes['v_index'][immovable[-1]]]
            raise ModelError(f"No inertia opposes joint '{joint}'.", joint=joint, element=joint,
                             cure=f"Keep it locked: locked_joints=['{joint}', ...].")
        return nodes['status']

    @property
    def passive(self):
        """Which degrees of freedom have no drive, (nv,) of bool."""
        return self._mask(PASSIVE)

    @property
    def locked(self):
        """Which degrees of freedom a brake holds, (nv,) of bool."""
        return self._mask(LOCKED)

    def _mask(self, status):
        index = self.nodes['v_index']
        driven = index >= 0
        mask = np.zeros(self._model.nv, bool)
        mask[index[driven]] = self.nodes['status'][driven] == status
        return mask
