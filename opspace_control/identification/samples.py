# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Samples of a recorded motion and its efforts, filtered without delay, for a fit."""

from dataclasses import dataclass

import numpy as np

from opspace_control.errors import StateError

# The cut-off frequency if none is given, Hz: twenty times that of the fastest motion which
# `opspace identify --excite` makes, so that the filter changes its accelerations by less than 1e-9
# of them, and ten times below the rate of the slowest recorded states, 100 Hz.
CUTOFF = 10.0
# Slower than this a drive's friction is anything between plus and minus its breakaway friction, or
# in the Stribeck transition, whose velocity is 0.05 rad/s in harmonic drives: at twice that, 2 %
# of the difference is left, [ADC94].
SLOW = 0.1  # rad/s or m/s
_ORDER = 4  # of the Butterworth filter, run forwards and backwards
_MOST = 2000  # samples of a fit: more lengthen it and tell little, as they come close in time
_BLOCK = 1.0  # s; one of four such blocks is held out
_BLOCKS = 4


@dataclass(frozen=True, eq=False)
class MotionSamples:
    """Motion and efforts of a robot at k times, after `motion_samples`; joints in dof order."""

    time: np.ndarray
    """(k,) s."""
    q: np.ndarray
    """(k, nq) rad or m."""
    v: np.ndarray
    """(k, nv) rad/s or m/s."""
    acceleration: np.ndarray
    """(k, nv) rad/s² or m/s²."""
    effort: np.ndarray
    """(k, nv) of the drives, N·m or N."""
    direction: np.ndarray
    """(k, nv) the sign of the velocity, filtered as the efforts are."""
    usable: np.ndarray
    """(k, nv) bool: the effort is known, and the joint is not too slow for a law of friction."""

    @property
    def validation(self):
        """Which samples no fit sees, (k,) bool: one of four blocks of a second."""
        return (self.time // _BLOCK).astype(int) % _BLOCKS == _BLOCKS - 1


def low_pass(values, period, cutoff):
    """
    Return values (k, n), and their first and second derivatives, through a filter of no delay.

    It is a Butterworth filter of order 4 forwards and backwards, ``1 / (1 + (f / f_c)⁸)`` in the
    frequency domain, where derivatives are products by ``2π i f``. At both ends the values go on by
    point reflection. ``period`` is in s, ``cutoff`` f_c in Hz.
    """
    k = len(values)
    around = np.concatenate([2.0 * values[:1] - values[:0:-1], values,
                             2.0 * values[-1:] - values[-2::-1]])
    f = np.fft.rfftfreq(len(around), period)[:, None]
    spectrum = np.fft.rfft(around, axis=0) / (1.0 + (f / cutoff) ** (2 * _ORDER))
    return [np.fft.irfft(spectrum * (2j * np.pi * f) ** order, len(around), axis=0)[k - 1:2 * k - 1]
            for order in range(3)]


def motion_samples(model, time, positions, efforts, *, cutoff=CUTOFF, slow=SLOW, valid=None):
    """
    Return the `MotionSamples` of a recorded motion.

    Positions are filtered and differentiated, efforts filtered alike, so that both lag by nothing;
    the sign of the velocity is filtered, too, as its jumps are in the efforts. What is within a
    quarter of the cut-off's period of slow motion, of a gap, or of the ends, is not usable.

    Parameters
    ----------
    model : KinematicTree
        The robot, of joints with one coordinate each.
    time : (k,) array
        s, evenly spaced.
    positions : (k, nq) array
        rad or m; joints that turn freely may wrap.
    efforts : (k, nv) array
        N·m or N; NaN where unknown.
    cutoff : float
        Hz.
    slow : float
        Velocity below which friction is not fitted, rad/s or m/s.
    valid : (k,) bool array, optional
        Which samples were recorded.

    Raises
    ------
    StateError
        If the arrays do not fit each other, or the motion is shorter than four blocks of a second,
        or a coordinate is part of a quaternion.

    """
    time, positions, efforts = (np.array(values, float) for values in (time, positions, efforts))
    k = len(time)
    if positions.shape != (k, model.nq) or efforts.shape != (k, model.nv):
        raise StateError(f'{k} times do not fit positions of shape {positions.shape} and efforts '
                         f'of shape {efforts.shape}.',
                         cure=f'Give ({k}, {model.nq}) and ({k}, {model.nv}) numbers.')
    if (model.q_index < 0).any():
        raise StateError('The robot has a joint with a quaternion.',
                         cure='Identify robots whose joints have one coordinate each.')
    if k < 2 or time[-1] - time[0] < _BLOCKS * _BLOCK:
        raise StateError('The motion is too short to be identified from.',
                         cure=f'Record {_BLOCKS * _BLOCK:g} s or more; half a minute is good.')
    period = (time[-1] - time[0]) / (k - 1)
    # A brake lets nothing move: what is measured there is noise, which would look like a motion.
    braked = model.q_index[model.locked]
    positions[:, braked] = np.median(positions[:, braked], axis=0)
    free = model.q_index[model.turns_freely]
    positions[:, free] = np.unwrap(positions[:, free], axis=0)
    q, rates, seconds = low_pass(positions, period, cutoff)
    v, a = rates[:, model.q_index], seconds[:, model.q_index]
    known = np.isfinite(efforts)
    effort = low_pass(np.where(known, efforts, 0.0), period, cutoff)[0]
    direction = low_pass(np.tanh(4.0 * v / slow), period, cutoff)[0]
    wrong = (abs(v) < slow) | ~known
    if valid is not None:
        wrong |= ~np.asarray(valid)[:, None]
    wrong[[0, -1]] = True
    wrong = _widened(wrong, round(0.25 / cutoff / period))
    stride = max(1, int(0.4 / cutoff / period), -(-k // _MOST))
    return MotionSamples(*(values[::stride] for values in (
        time - time[0], q, v, a, effort, direction, ~wrong)))


def _widened(mask, count):
    """Return a mask (k, n) that is true within ``count`` rows of a true one."""
    reach = np.cumsum(np.concatenate([np.zeros((1, mask.shape[1]), int), mask]), axis=0)
    rows = np.arange(len(mask))
    return reach[np.minimum(rows + count + 1, len(mask))] > reach[np.maximum(rows - count, 0)]
