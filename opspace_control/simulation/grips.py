# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Physical grasps in the simulator: equality constraints between bodies at their present poses."""

from typing import NamedTuple

import mujoco
import numpy as np

from opspace_control.errors import SimulationError
from opspace_control.simulation.drives import make_stiff

# Largest number of closed grips; open ones cost nothing.
_MOST = 16
_GRIP = 'grip '
# Layout of MuJoCo's data of a weld or a connection.
_SECOND_ANCHOR, _FIRST_ANCHOR, _TURN, _TORQUE_SCALE = slice(0, 3), slice(3, 6), slice(6, 10), 10


class _Grip(NamedTuple):
    number: int    # of the equality
    first: int     # bodies
    second: int
    rigid: bool


def add_grips(spec, timestep):
    """Add inactive equality constraints for the grips to a MuJoCo spec."""
    first = spec.worldbody.first_body().name
    for number in range(_MOST):
        grip = spec.add_equality(name=f'{_GRIP}{number}')
        grip.type = mujoco.mjtEq.mjEQ_WELD
        grip.objtype = mujoco.mjtObj.mjOBJ_BODY
        grip.name1 = first
        grip.active = False
        make_stiff(grip, timestep)


class Grips:
    """The grips of a simulated robot; model and data of MuJoCo have those of `add_grips`."""

    def __init__(self, model, data):
        self._model, self._data = model, data
        self._free = [model.equality(f'{_GRIP}{number}').id for number in range(_MOST)]
        self._closed = {}

    def reset(self):
        """Open them all."""
        for name in list(self._closed):
            self.open(name)

    def close(self, name, first, second, place, rigid):
        """
        Close a grip between two bodies, 0 is the world, at their present poses.

        ``place`` (3,) is the point of the force, m, in the world; ``rigid`` constrains the relative
        rotation, too. A SimulationError is raised if the name is in use, or no grip is left.
        """
        if name in self._closed:
            raise SimulationError(f'{name} have a grip already.', cure='Release it first.')
        if not self._free:
            raise SimulationError(f'{_MOST} grips are closed.', cure='Release one of them.')
        grip = _Grip(self._free.pop(), first, second, rigid)
        self._closed[name] = grip
        model, data, number = self._model, self._data, grip.number
        model.eq_type[number] = mujoco.mjtEq.mjEQ_WELD if rigid else mujoco.mjtEq.mjEQ_CONNECT
        model.eq_obj1id[number], model.eq_obj2id[number] = first, second
        here, there = ((place - data.xpos[body]) @ data.xmat[body].reshape(3, 3)
                       for body in (first, second))
        equality = model.eq_data[number]
        equality[:] = 0.0
        if rigid:
            equality[_SECOND_ANCHOR], equality[_FIRST_ANCHOR] = there, here
            turn, back = np.empty(4), np.empty(4)
            mujoco.mju_negQuat(back, data.xquat[first])
            mujoco.mju_mulQuat(turn, back, data.xquat[second])
            equality[_TURN], equality[_TORQUE_SCALE] = turn, 1.0
        else:
            # MuJoCo stores the anchors of a connection in the opposite order.
            equality[_SECOND_ANCHOR], equality[_FIRST_ANCHOR] = here, there
        data.eq_active[number] = 1

    def open(self, name):
        """Open a grip, or raise a SimulationError if there is none of this name."""
        grip = self._found(name)
        self._data.eq_active[grip.number] = 0
        del self._closed[name]
        self._free.append(grip.number)

    def wrench(self, name):
        """
        Return the wrench of the first body on the second, (6,) ``[f; n]``, N and N m, at the place.

        World axes, of the last step; a SimulationError if there is no closed grip of this name.
        """
        grip = self._found(name)
        data = self._data
        rows = np.flatnonzero((data.efc_type[:data.nefc] == mujoco.mjtConstraint.mjCNSTR_EQUALITY)
                              & (data.efc_id[:data.nefc] == grip.number))
        force = data.efc_force[rows]
        wrench = np.zeros(6)
        if len(rows) == 0:  # closed since the last step
            return wrench
        wrench[:3] = -force[:3]
        if grip.rigid:
            # A rotation's rows are the vector part of a quaternion: d/dt of it for each axis.
            turn, back = np.empty(4), np.empty(4)
            mujoco.mju_mulQuat(
                turn, data.xquat[grip.first], self._model.eq_data[grip.number][_TURN])
            mujoco.mju_negQuat(back, data.xquat[grip.second])
            for k, axis in enumerate(np.eye(3)):
                spun, row = np.empty(4), np.empty(4)
                mujoco.mju_mulQuatAxis(spun, back, axis)
                mujoco.mju_mulQuat(row, spun, turn)
                wrench[3 + k] = -0.5 * row[1:] @ force[3:6]
        return wrench

    def _found(self, name):
        if name not in self._closed:
            raise SimulationError(f'{name} have no closed grip.',
                                  cure=f'Closed are {list(self._closed) or "none"}.')
        return self._closed[name]
