# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Preparation of a function of a robot: argument checks, allocation, moved points."""

import numpy as np

from opspace_control.dynamics import kinematics
from opspace_control.dynamics.data import NODE_STATE, make_points, moment_nodes, nan_filled
from opspace_control.errors import ModelError, StateError
from opspace_control.model import RobotState

GRAVITY = np.array([0.0, 0.0, -9.81])
GRAVITY.setflags(write=False)


def names(frames):
    """Return a tuple of frame names, from one name or a sequence of names."""
    return (frames,) if isinstance(frames, str) else tuple(frames)


def point_names(model, frames):
    """Return a tuple of one or more frame names, or raise a ModelError if there is none."""
    frames = names(frames)
    if not frames:
        raise ModelError('No frame is named, so there is no operational space.',
                         cure=f"Name one or more links, such as '{model.frame_names[-1]}'.")
    return frames


def check_state(model, state, error=StateError):
    """Raise a StateError, or another error, if the state is not one of this model."""
    if not isinstance(state, RobotState) or state.model is not model:
        raise error('The state does not belong to this model.',
                    cure='Make it with RobotState(model, q, v).', value=state)


def check_time(dt, error=StateError):
    """Raise a StateError, or another error, if dt, s, is no time since the last cycle."""
    try:
        usable = bool(0.0 <= dt < np.inf)
    except (TypeError, ValueError):
        usable = False
    if not usable:
        raise error(f'dt = {dt!r} is no time since the last cycle.', value=dt,
                    cure='Give seconds, 0 or more; a clock that was set back gives 0.')


def joint_vector(model, values, name):
    """Return nv finite numbers as a new array, or raise a StateError about ``name``."""
    cure = f'Give {model.nv} numbers, in the order of dof_names.'
    try:
        vector = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise StateError(f'{name} is not an array of numbers: {values!r}.', cure=cure,
                         value=values) from None
    if vector.shape != (model.nv,):
        raise StateError(f'{name} has shape {vector.shape}.', cure=cure, value=values)
    if not np.isfinite(vector).all():
        joint = model.names_of(~np.isfinite(vector))[0]
        raise StateError(f"{name} of joint '{joint}' is not finite.",
                         cure='Check where the number comes from.', joint=joint, value=values)
    return vector


def prepared(model, state):
    """Return the nodes of a model and NaN-filled data for them; check the state."""
    check_state(model, state)
    return moment_nodes(model), nan_filled(model.nodes.size, NODE_STATE)


def moved(model, state, frames):
    """Return nodes, their data, points and supports, with poses and motions at zero v̇."""
    nodes, states = prepared(model, state)
    points, supports = make_points(model, names(frames))
    kinematics.move(nodes, state.q, state.v, np.zeros(model.nv), states, points)
    return nodes, states, points, supports
