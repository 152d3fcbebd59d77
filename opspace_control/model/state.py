# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The state of a robot: checked positions and velocities."""

import math

import numpy as np

from opspace_control.errors import StateError
from opspace_control.library import address

# A quaternion this near to unit norm is normalised; further away it is not an orientation.
NORM_TOLERANCE = 1e-6


class RobotState:
    """
    Positions q (nq,) and velocities v (nv,) of a robot, copied and checked.

    q has m, rad and quaternions [x y z w] of unit norm to 1e-6, in the order of the model; v has
    m/s and rad/s, in the order of ``model.dof_names``. Both are read-only views of the state's own
    memory, which `update` rewrites in place. A StateError names the joint of a number that is not
    finite or a quaternion that is not of unit norm, and refuses a wrong shape; then nothing
    changes.
    """

    __slots__ = ('_model', '_q', '_quaternions', '_v', '_view_of_q', '_view_of_v', 'address',
                 'values')

    model = property(lambda self: self._model, doc='The robot.')
    q = property(lambda self: self._view_of_q, doc='Positions (nq,), read-only.')
    v = property(lambda self: self._view_of_v, doc='Velocities (nv,), read-only.')

    def __init__(self, model, q, v):
        self._model = model
        memory = np.empty(model.nq + model.nv)
        self._q, self._v = memory[:model.nq], memory[model.nq:]
        self.values = memory.view()  # q and v in one array, read-only
        self.values.flags.writeable = False
        self.address = address(memory)  # of that array
        self._view_of_q, self._view_of_v = self.values[:model.nq], self.values[model.nq:]
        self._quaternions = tuple(slice(i, i + 4) for i in model.quaternions)
        self.update(q, v)

    def __repr__(self):
        return f'RobotState({self._model!r}, q={self._q}, v={self._v})'

    def __reduce__(self):
        return RobotState, (self._model, self._q, self._v)  # a copy has memory of its own

    @property
    def memory(self):
        """The arrays behind q and v, for compiled code that checks what it writes."""
        return self._q, self._v

    def update(self, q, v):
        """Take new positions (nq,) and velocities (nv,), checked like the first; fast."""
        q, v = _array(q, 'q', self._q.shape), _array(v, 'v', self._v.shape)
        # A finite sum proves it at a third of the cost; one that overflows proves nothing.
        if not (math.isfinite(sum(q.tolist()) + sum(v.tolist()))
                or (np.isfinite(q).all() and np.isfinite(v).all())):
            raise self._not_finite(q, v)
        unit_quaternions = [(part, self._normalised(q, part)) for part in self._quaternions]
        self._q[:] = q
        self._v[:] = v
        for part, quaternion in unit_quaternions:
            self._q[part] = quaternion

    def _normalised(self, q, part):
        """Return a quaternion of q with norm 1; by Python's numbers in a third of the time."""
        x, y, z, w = q[part].tolist()
        norm = math.sqrt(x * x + y * y + z * z + w * w)
        if abs(norm - 1.0) > NORM_TOLERANCE:
            joint = self._owner_of_q(part.start)
            raise StateError(f"The quaternion of joint '{joint}' has norm {norm:g}, not 1.",
                             cure='Give q its [x y z w] normalised.', joint=joint, value=norm)
        return x / norm, y / norm, z / norm, w / norm

    def _not_finite(self, q, v):
        """Return the error of the first number that is not finite."""
        name, vector = ('v', v) if np.isfinite(q).all() else ('q', q)
        i = int(np.flatnonzero(~np.isfinite(vector))[0])
        joint = self._owner_of_q(i) if name == 'q' else self._model.dof_names[i]
        return StateError(f"{name}[{i}], of '{joint}', is {vector[i]}.",
                          cure='Every position and velocity must be a finite number.',
                          joint=joint, value=float(vector[i]))

    def _owner_of_q(self, index):
        """Return the joint, or 'base', whose coordinates include q[index]."""
        return [joint for joint, dofs in self._model.joint_dofs.items()
                if self._model.q_index[dofs[0]] <= index][-1]


def _array(values, name, shape):
    """Return ``values`` as floats of this shape, or raise a StateError."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise StateError(f'{name} is not an array of numbers: {values!r}.',
                         cure=f'It takes {shape[0]} numbers.', value=values) from None
    if array.shape != shape:
        raise StateError(f'{name} has shape {array.shape}; this robot needs {shape}.',
                         cure=f'Order it like the model: {_ORDER[name]}.', value=array.shape)
    return array


_ORDER = {'q': 'base first, quaternions [x y z w]', 'v': 'dof_names'}
