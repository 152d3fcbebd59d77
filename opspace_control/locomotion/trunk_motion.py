# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The periodic motion of a trunk that the supports of a gait imply."""

from typing import NamedTuple

import numpy as np

# Intervals of a stride in the table: the height of a running trot is exact to a thousandth.
_INTERVALS = 200
# A foot takes its load within at least this part of the stride.
_LEAST_TRANSFER = 1e-3


def load_shares(phases, duty):
    """
    Return the part of the vertical force that each foot is to bear, (..., n), with sum 1 or 0.

    Feet share it equally, but for the time in which more feet are on the ground than need be: with
    a duty factor above 1/2 the load of a foot grows and falls linearly within ``β − 1/2``.
    """
    transfer = max(duty - 0.5, _LEAST_TRANSFER)
    loads = np.minimum(np.maximum(np.minimum(phases, duty - phases) / transfer, 0.0), 1.0)
    loads = np.where(phases < duty, np.maximum(loads, 1e-6), 0.0)
    total = loads.sum(axis=-1, keepdims=True)
    return loads / np.where(total > 0.0, total, 1.0)


class TrunkReference(NamedTuple):
    """The motion at a phase; in units of time T and, for what κ or a ratio scales, of length."""

    height: float          # z/(g T²)
    rise: float            # ż/(g T)
    lift: float            # z̈/g + 1: the vertical force in parts of the weight
    speed: float           # (ẋ/v − 1)/(κ g T²/h)
    sway: np.ndarray       # (2,) velocity forward and to the left, /(g T/h), m
    tilt: np.ndarray       # (2,) angle, /(m g T²/I), m, about the axes forward and to the left
    tilt_rate: np.ndarray  # (2,) likewise, /(m g T/I)
    tilt_acceleration: np.ndarray  # (2,) likewise, /(m g/I)


class TrunkMotion:
    """
    Table of the periodic motion of a trunk of mass m and inertia I at a height h.

    Vertically the force is constant while a foot is on the ground and zero in flight: ``z̈ = g (1/χ
    − 1)`` and ``−g``, χ being the part of the stride with a foot on the ground; so the mean force
    is the weight, and its maximum the least possible. Without flight the height is constant.

    Horizontally the force of each foot points from it to its hip, or κ times as far, so the hips
    need little torque: ``ẍ = κ (F/m) Δ/h``, Δ being how far the trunk is ahead of the symmetric
    stance. At the velocity v it is ``Δ = v T (φ_i − β/2)``, in the mean over the loads of the feet.

    Where the loads have their centre p away from the centre of mass, the trunk accelerates
    ``−F p/(m h)``, as an inverted pendulum, or tilts, ``I α = F (p_y, −p_x)``, by the share
    `Gait.tilting`.

    Parameters
    ----------
    offsets, duty, tilting :
        As of a `Gait`.
    arms : (n, 2) array
        Feet of the symmetric stance from the centre of mass, forward and to the left, m.

    """

    def __init__(self, offsets, duty, tilting, arms):
        middles = (np.arange(_INTERVALS) + 0.5) / _INTERVALS
        phases = (middles[:, None] + np.asarray(offsets)) % 1.0
        shares = load_shares(phases, duty)
        support = shares.any(axis=1)
        lift = support / support.mean()
        ahead = lift * (shares * (phases - 0.5 * duty)).sum(axis=1)
        x, y = lift * (shares @ arms).T
        accelerations = np.array([lift - 1.0, tilting * y, -tilting * x])
        rates = _integrate(accelerations)
        height, *tilt = _integrate(rates)
        sway = _integrate((tilting - 1.0) * np.array([x, y]))
        self._table = [
            TrunkReference(*row) for row in zip(
                height, rates[0], lift, _integrate(ahead), sway.T, np.array(tilt).T, rates[1:].T,
                accelerations[1:].T, strict=True)]

    def at(self, phase):
        """Return the `TrunkReference` at a phase of the clock."""
        return self._table[int(phase * _INTERVALS) % _INTERVALS]


def _integrate(rates):
    """Return periodic integrals of mean 0 over the stride of rates (..., k), less their means."""
    rates = rates - rates.mean(axis=-1, keepdims=True)
    total = (np.cumsum(rates, axis=-1) - 0.5 * rates) / rates.shape[-1]
    return total - total.mean(axis=-1, keepdims=True)
