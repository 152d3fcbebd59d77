# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Thresholds of external efforts, from a recorded motion that nothing touched."""

import numpy as np

from opspace_control.dynamics.drive_friction import SLIP_VELOCITY
from opspace_control.dynamics.momentum_observer import MomentumObserver
from opspace_control.identification.samples import SLOW
from opspace_control.model.state import RobotState

# Of the greatest residual of a moving joint, for runs that are smoother than the work to come.
# With 1 three robots have no alarm in ten minutes either; a push of 60 N is told within 9 ms with
# 1.5, within 10 ms with 2: `benchmark/collision_alarms.py`.
MARGIN = 1.5
# Time constants of the observer after which it has forgotten a slow motion: to 2 %.
_FORGOTTEN = 4.0


def moving_residuals(model, motion, efforts, *, rate, coulomb=0.0, viscous=0.0, nodes=None,
                     slow=SLOW):
    """
    Return the greatest size of each joint's residual while it moves, (nv,), N·m or N.

    NaN of joints without a known effort, and of those that do not move. The residual is that of a
    `MomentumObserver` which learns of the measured states, and of the efforts without the friction
    ``F_c tanh(v / v_0) + b v``. It has noise of the velocities, errors of masses, and elasticity.

    ``motion`` is a `RecordedMotion`: where it is not valid the observer begins anew. ``efforts``
    (k, nv), N·m or N, are those of the drives, NaN where unknown; ``rate``, 1/s, is that of the
    observer, of which a StateError refuses one that is not positive. ``coulomb`` F_c, N·m or N, and
    ``viscous`` b, N·m·s/rad or N·s/m, are numbers or (nv,). ``nodes`` are those of the model with
    payloads. Below the velocity ``slow``, rad/s or m/s, the sign of the friction is not known.
    """
    friction = coulomb * np.tanh(motion.v / SLIP_VELOCITY) + viscous * motion.v
    applied = np.nan_to_num(efforts) - friction
    # What acts between two states is the mean of both.
    applied[1:] = 0.5 * (applied[1:] + applied[:-1])
    observer = MomentumObserver(model, rate, nodes=nodes)
    peaks, dt = np.full(model.nv, np.nan), motion.time[1] - motion.time[0]
    state, moved = RobotState(model, motion.q[0], motion.v[0]), np.zeros(model.nv)
    for q, v, torque, valid in zip(motion.q, motion.v, applied, motion.valid, strict=True):
        moved = np.where(valid & (abs(v) > slow), moved + dt, 0.0)
        if not valid:
            observer.restart()
            continue
        state.update(q, v)
        observer.update(state, torque, dt)
        peaks = np.fmax(peaks, np.where(moved > _FORGOTTEN / rate, abs(observer.residual), np.nan))
    return np.where(np.isfinite(efforts).all(axis=0), peaks, np.nan)


def collision_thresholds(residuals, coulomb, margin=MARGIN):
    """
    Return external efforts beyond which something touches the robot, (nv,), N·m or N.

    ``2 F_c + margin × residual``, of the residuals (nv,) of `moving_residuals` and the Coulomb
    friction F_c (nv,), N·m or N: of a joint that is slow the friction is anything from −F_c to F_c,
    and so is what overcomes it. NaN where either is unknown.
    """
    return 2.0 * np.asarray(coulomb) + margin * np.asarray(residuals)
