# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of a simulated robot."""

import mujoco
import numpy as np

from opspace_control.errors import SimulationError
from opspace_control.model.topology import nearest

IDENTITY_POSE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
# Margin beyond a position limit for rounded numbers in a parameter file, rad or m.
_LIMIT_SLACK = 1e-3


def joint_values(given, default, index, what):
    """
    Return (n,) finite numbers from None, an array, or a dict of some of the joints.

    ``default`` (n,) is used for what is not given, ``index`` is where each joint is in the array,
    ``what`` is 'position', 'velocity' or 'effort', for the message of a SimulationError.
    """
    if given is None:
        return default.copy()
    if isinstance(given, dict):
        values = default.copy()
        for name, value in given.items():
            if name not in index:
                raise SimulationError(f"A {what} is given for '{name}', which is no joint.",
                                      cure=nearest(name, index), joint=name)
            values[index[name]] = value
    else:
        values = np.array(given, float)
        if values.shape != default.shape:
            raise SimulationError(
                f'There are {len(default)} joints; this {what} has shape {values.shape}.',
                cure='Give one number a joint, in the order of joint_names.', value=values)
    if not np.isfinite(values).all():
        joint = list(index)[np.flatnonzero(~np.isfinite(values))[0]]
        raise SimulationError(f"The {what} of joint '{joint}' is not finite.",
                              cure='Check what computed it.', joint=joint)
    return values


def check_within(positions, lower, upper, names):
    """Raise a SimulationError where a position is beyond its limits; names the joint."""
    beyond = np.maximum(lower - positions, positions - upper)
    for i in np.flatnonzero(beyond > _LIMIT_SLACK):
        raise SimulationError(
            f"The position {positions[i]:g} of joint '{names[i]}' is beyond its limits "
            f'{lower[i]:g} and {upper[i]:g}.', cure='Start inside of them.',
            joint=names[i], value=positions[i])


def base_state(pose, twist):
    """
    Return MuJoCo's qpos (7,) and qvel (6,) of a free base.

    ``pose`` is ``[x y z qx qy qz qw]``, at the origin if None; ``twist`` is ``[v; ω]`` of its
    origin in world axes, zero if None. MuJoCo has the quaternion wxyz and ω in the base's axes.
    """
    pose = np.array(IDENTITY_POSE if pose is None else pose, float)
    twist = np.array(np.zeros(6) if twist is None else twist, float)
    if (pose.shape != (7,) or twist.shape != (6,) or not np.isfinite([*pose, *twist]).all()
            or abs(np.linalg.norm(pose[3:]) - 1.0) > 1e-3):
        raise SimulationError(
            f'The pose {pose} with twist {twist} is not usable.',
            cure='Give [x y z qx qy qz qw] with a unit quaternion, and [v; ω].')
    quaternion = pose[[6, 3, 4, 5]] / np.linalg.norm(pose[3:])
    inverse, spin = np.empty(4), np.empty(3)
    mujoco.mju_negQuat(inverse, quaternion)
    mujoco.mju_rotVecQuat(spin, twist[3:], inverse)
    return np.array([*pose[:3], *quaternion]), np.array([*twist[:3], *spin])
