# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The limits of joints that a controller's cycle keeps, and how they change."""

from opspace_control.control.hierarchy.modes import LEADS
from opspace_control.control.hierarchy.structures import FEELING, PLANES
from opspace_control.control.limits.joint_limits import JointLimits
from opspace_control.control.limits.limit_law import KINDS
from opspace_control.dynamics.data import nan_filled
from opspace_control.errors import ControlError

# Numbers of `LIMIT` that follow from those of `JointLimits`, and of `CYCLE`.
_OF_JOINTS = 'lower', 'upper', 'velocity', 'acceleration', 'slow', 'clear', 'load'
_OF_ALL = 'return_rate', 'approach_rate', 'kept'


class KeptLimits:
    """
    Limits of joints, as a compiled cycle reads them; all their numbers may change gradually.

    Parameters
    ----------
    limits : JointLimits
    model : RobotModel
    nodes : (n,) array of NODE
        The controller's.
    cycle : (1,) array of CYCLE
        Likewise; receives what is no matter of single joints.
    rows : int
        Of the stack.

    Attributes
    ----------
    limits : JointLimits
        Those that have been set.
    records : (nv,) array of LIMIT
    room : array
        Memory of the cycle.
    gradual : dict of str to array
        The numbers themselves.

    Raises
    ------
    ControlError
        If the limits are another model's.

    """

    def __init__(self, limits, model, nodes, cycle, rows):
        self._model, self._nodes, self._cycle = model, nodes, cycle
        self.records = self._checked(limits).records(nodes)
        self.room = _room(nodes, model.nv, rows)
        self.gradual = {f'limits.{name}': self.records[name] for name in _OF_JOINTS} | {
            f'limits.{name}': cycle[name] for name in _OF_ALL}
        self.set(limits)

    def set(self, limits):
        """Keep other limits from now on; raises as the constructor."""
        records = self._checked(limits).records(self._nodes)
        for name in _OF_JOINTS:
            self.records[name] = records[name]
        for name in _OF_ALL:
            self._cycle[name] = getattr(limits, name)
        self.limits = limits

    def _checked(self, limits):
        if not isinstance(limits, JointLimits) or limits.model is not self._model:
            raise ControlError(f'limits = {limits!r} cannot be used.',
                               cure='Give JointLimits(model) of the same model.')
        return limits


def _room(nodes, dofs, rows):
    """Return the memory of the limits: planes for so many joints and rows."""
    side = max(nodes.size + 1, KINDS * dofs, rows, LEADS)
    room = nan_filled((PLANES, side, side))
    room[FEELING] = 0.0
    return room
