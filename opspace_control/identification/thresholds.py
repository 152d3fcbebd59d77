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

    The residual is that of a `MomentumObserver` which learns of the measured states, and of the
    efforts without the friction ``F_c tanh(v / v_0) + b v``. It has noise of the velocities, errors
    of masses, and elasticity.

    Parameters
    ----------
    model : RobotModel
        The robot, as it is identified.
    motion : RecordedMotion
        ``time`` (k,), ``q`` (k, nq), ``v`` (k, nv), and ``valid`` (k,): after a gap the observer
        begins anew.
    efforts : (k, nv) array
        Of the drives, N·m or N; NaN where unknown.
    rate : float
        Of the observer, 1/s.
    coulomb, viscous : float or (nv,) array
        Friction F_c and b of the drives, N·m or N and N·m·s/rad or N·s/m.
    nodes : (n,) array of NODE, optional
        Those of the model with payloads.
    slow : float
        Velocity below which the sign of the friction is not known, rad/s or m/s.

    Returns
    -------
    (nv,) array
        NaN of joints without a known effort, and of those that do not move.

    Raises
    ------
    StateError
        For a rate that is not positive.

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

    ``2 F_c + margin × residual``: of a joint that is slow the friction is anything from −F_c to
    F_c, and so is what overcomes it. NaN where either is unknown.

    Parameters
    ----------
    residuals : (nv,) array
        Those of `moving_residuals`, N·m or N.
    coulomb : (nv,) array
        Coulomb friction F_c of the drives, N·m or N.
    margin : float
        Of the residuals.

    """
    return 2.0 * np.asarray(coulomb) + margin * np.asarray(residuals)
