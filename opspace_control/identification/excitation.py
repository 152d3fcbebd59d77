# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A motion from which the parameters of a robot can be told, within its limits.

Each joint follows a finite Fourier series about a centre near to where it begins,

    q(t) = q_0 + w(t) a (o + Σ_k c_k sin(2π k f t + φ_k)),

as of Swevers and others ([SGT97]); the window w rises smoothly from zero to one and falls back, so
that the motion begins and ends at rest, where the robot is. The offset o is that of the middle of
the range that limits leave: a joint that begins at one end moves towards the other. Of several
random series, each with the largest amplitudes a that limits leave it, that which makes the linear
problem of the fit conditioned best is taken.
"""

from dataclasses import dataclass

import numpy as np

from opspace_control.checks import checked
from opspace_control.control.planning.plan import Plan
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import ControlError
from opspace_control.identification.least_squares import conditioning, triangle
from opspace_control.identification.regressor import (
    columns_of_joints,
    effort_units,
    inertial_regressor,
    inverse_dynamics,
)
from opspace_control.identification.samples import SLOW

HARMONICS, FREQUENCY = 5, 0.1  # of the series; Hz, the fundamental
_FADE = 2.0  # s, of the window
# A joint goes no further from where it begins, rad and m: what is there is not known here.
REACH = 0.8, 0.15
SPEED = 0.4   # of the velocity limits; for joints without any, of 2 rad/s or m/s
EFFORT = 0.8  # of the effort limits, as half of the least reserve is for what is wrong in the model
MARGIN = 0.1, 0.01  # rad and m, from the limits of positions: no joint brakes before them
_ROUNDED = 1e-9  # rad or m, by which a home that is there may be nearer
_UNKNOWN_SPEED = 2.0
_TRIES = 20   # series of which the best is taken
# Efforts and distances of the series are looked at each so many seconds, and again of the best, s:
# in between, at 0.5 Hz, efforts differ by less than 1e-3.
_LOOK, _INTERVAL, _SAMPLED = 0.15, 0.01, 0.999
_SHRINK = 0.85  # of the amplitude of a joint, until efforts and distances are within limits
# From this condition number on the worst combination of parameters is told with an error of a fifth
# of what the best adds to efforts, if drives are wrong by 1 % of that: the standard error is
# 0.01 * 500 / sqrt(600), as half a minute at 10 Hz, the cutoff of the fit, has 600 samples.
POOR = 500.0


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion of k samples; joint vectors in dof order."""

    time: np.ndarray
    """(k,) s, evenly spaced from zero."""
    q: np.ndarray
    """(k, nq) rad or m."""
    v: np.ndarray
    """(k, nv) rad/s or m/s."""
    acceleration: np.ndarray
    """(k, nv) rad/s² or m/s²."""
    effort: np.ndarray
    """(k, nv) of inverse dynamics, N·m or N."""
    condition: float
    """The condition number of the linear problem, bodies and friction of the joints that move."""

    def slow(self, model):
        """Return the mask (nv,) of driven joints that are too slow to tell of their friction."""
        return model.active & (abs(self.v).max(axis=0) <= SLOW)

    def plan(self, model):
        """Return the motion as a `Plan`, without tasks, which `opspace execute` sends."""
        k = len(self.time)
        none = np.zeros(k, int)
        return Plan(
            robot=model.name, dof_names=model.dof_names, coordinate_names=model.coordinate_names,
            passive=model.names_of(model.passive), locked=model.names_of(model.locked), tasks=(),
            frames=(), gravity=np.array(GRAVITY), time=self.time, q=self.q, v=self.v,
            acceleration=self.acceleration, effort=self.effort, poses=np.zeros((k, 0, 7)),
            errors=np.zeros((k, 0, 6)), limited=none, outside=none, slipping=none,
            truncated=none.astype(bool))


def exciting_motion(model, home, *, duration=30.0, timestep=1e-3, reach=REACH, speed=SPEED,
                    effort=EFFORT, clearance=None):
    """
    Return the `Excitation` of all joints with a drive, from ``home`` (nq,) and back, [SGT97].

    Amplitudes are as large as limits and ``reach`` allow. Where the model's efforts, or distances,
    are not within theirs, those of the joints that matter shrink.

    Parameters
    ----------
    model : RobotModel
        On a fixed base, its joints of one coordinate each.
    home : (nq,) array
        Where the motion begins and ends, rad or m.
    duration, timestep : float
        s.
    reach : (float, float)
        How far joints go from home: rad if they turn, m if they slide.
    speed, effort : float
        Parts of the limits of velocities and efforts that are used, from 0 to 1.
    clearance : callable, optional
        Takes q (nq,) and returns a mask (nv,) of joints that move what is too near to each other,
        such as a `Clearance`.

    Raises
    ------
    ControlError
        If a number is not one of these, home is not within the limits by 0.1 rad or 0.01 m, or the
        efforts or distances there not within theirs.

    """
    home = checked(home, 'excitation: home', ControlError, (model.nq,))
    for name, value, highest in (('duration', duration, np.inf), ('timestep', timestep, np.inf),
                                 ('speed', speed, 1.0), ('effort', effort, 1.0)):
        checked(value, f'excitation: {name}', ControlError, above=0.0, highest=highest)
    checked(reach, 'excitation: reach', ControlError, (2,), lowest=0.0)
    if model.floating_base or (model.q_index < 0).any():
        raise ControlError('Only joints of one coordinate on a fixed base are excited.',
                           cure='Fix the base, such as on a stand.')
    _check_home(model, home, effort, clearance)
    offset, most = _range(model, home, reach)
    fastest = speed * np.where(np.isfinite(model.velocity_limits), model.velocity_limits,
                               _UNKNOWN_SPEED)
    count = max(2, round(duration / timestep))
    time = np.arange(count + 1) * (duration / count)
    looks, fine = (np.linspace(0, count, max(2, int(duration / step)) + 1).astype(int)
                   for step in (_LOOK, max(_INTERVAL, duration / count)))
    best = None
    for attempt in range(_TRIES):
        series = _series(offset, time, np.random.default_rng([0, attempt]))
        looked = [values[looks] for values in series]
        amplitude = _shrunk(model, home, looked, np.minimum(
            most, fastest / abs(series[1]).max(axis=0)), effort, clearance)
        condition = _condition(model, home, [amplitude * values for values in looked])
        if best is None or condition < best[0]:
            best = condition, series, amplitude
    _, series, amplitude = best
    amplitude = _shrunk(model, home, [values[fine] for values in series], amplitude, effort,
                        clearance)
    motion = [amplitude * values for values in series]
    return Excitation(time, _positions(model, home, motion), *motion[1:],
                      _efforts(model, home, motion),
                      _condition(model, home, [values[looks] for values in motion]))


def _check_home(model, home, effort, clearance):
    """Raise a ControlError if no motion from home is within the limits of efforts and clear."""
    effort_share = abs(_efforts(model, home, np.zeros((3, 1, model.nv)))[0]) / _usable(
        model, effort)
    joint = int(effort_share.argmax())
    if effort_share[joint] > _SAMPLED:
        raise ControlError(
            f"'{model.dof_names[joint]}' needs {effort_share[joint]:.0%} of the effort that it may "
            'use, where it begins.',
            cure='Begin from another posture.', joint=model.dof_names[joint])
    if clearance is not None and clearance(home).any():
        names = [model.dof_names[k] for k in np.flatnonzero(clearance(home))]
        raise ControlError(
            'Shapes of the robot are too near to each other at home, which these joints move: '
            f'{", ".join(names)}.', joint=names[0], cure='Begin from another posture.')


def _range(model, home, reach):
    """
    Return the middle of each joint's range from home, and half of the range, (nv,) each.

    The middle is in parts of the half; the half is zero without a drive.
    """
    at = home[model.q_index]
    margin, greatest = (np.where(model.slides, pair[1], pair[0]) for pair in (MARGIN, reach))
    down = at - model.lower_soft_limits - margin
    up = model.upper_soft_limits - at - margin
    for joint in np.flatnonzero(model.active & (np.minimum(down, up) < -_ROUNDED)):
        raise ControlError(
            f"'{model.dof_names[joint]}' begins at {at[joint]:.4g} rad or m, less than "
            f'{margin[joint]:g} from a limit.', joint=model.dof_names[joint],
            cure='Bring the robot to another posture, and give it as home.')
    down, up = (np.clip(side, 0.0, greatest) for side in (down, up))
    half = 0.5 * (down + up)
    offset = np.divide(0.5 * (up - down), half, out=np.zeros(model.nv), where=half > 0.0)
    return offset, np.where(model.active, half, 0.0)


def _series(offset, time, random):
    """Return windowed series (k, n) about an offset (n,), within 1, and their two derivatives."""
    n = len(offset)
    amplitudes, phases = random.uniform(0.2, 1.0, (HARMONICS, n)), random.uniform(
        0.0, 2.0 * np.pi, (HARMONICS, n))
    parts = np.zeros((3, len(time), n))
    for k, (amplitude, phase) in enumerate(zip(amplitudes, phases, strict=True), 1):
        w = 2.0 * np.pi * k * FREQUENCY
        angle = w * time[:, None] + phase
        sine, cosine = np.sin(angle), np.cos(angle)
        # The velocities of all harmonics are alike.
        for order, turned in enumerate((sine, cosine, -sine)):
            parts[order] += amplitude / k * w**order * turned
    low, high = parts[0].min(axis=0), parts[0].max(axis=0)
    parts[0] -= 0.5 * (low + high)
    parts /= 0.5 * (high - low)
    parts[0] += offset
    window = _window(time)[..., None]
    return [window[0] * parts[0], window[1] * parts[0] + window[0] * parts[1],
            window[2] * parts[0] + 2.0 * window[1] * parts[1] + window[0] * parts[2]]


def _window(time):
    """Return the window (k,) and its first two derivatives: fifth-order polynomials of time."""
    fade = min(_FADE, 0.5 * time[-1])
    x = np.clip(np.minimum(time, time[-1] - time) / fade, 0.0, 1.0)
    sign = np.where(time < 0.5 * time[-1], 1.0, -1.0) / fade
    return np.array([x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
                     sign * 30.0 * x**2 * (1.0 - x) ** 2,
                     sign**2 * 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x)])


def _condition(model, home, motion):
    """Return the condition number of the fit's linear problem."""
    joints = np.flatnonzero(model.active & (abs(motion[1]).max(axis=0) > SLOW))
    Y = inertial_regressor(model, _positions(model, home, motion), *motion[1:])[:, joints]
    friction = [columns_of_joints(values[:, joints])
                for values in (np.tanh(4.0 * motion[1] / SLOW), motion[1])]
    # In parts of what joints can give, as errors of drives are.
    A = np.concatenate([Y, *friction], axis=2) / effort_units(model)[joints, None]
    rows = A.reshape(-1, A.shape[2])
    return conditioning(triangle(rows, np.zeros(len(rows)))).condition


def _efforts(model, home, motion):
    """Return the efforts (k, nv) of drives for a motion from home and its rates, three (k, nv)."""
    efforts = inverse_dynamics(model, model.nodes, _positions(model, home, motion), *motion[1:])
    return np.where(model.active, efforts, 0.0)


def _positions(model, home, motion):
    """Return q (k, nq) of a motion from home, of (k, nv) and more."""
    return home + motion[0][:, np.argsort(model.q_index)]


def _usable(model, effort):
    return np.maximum(effort * model.effort_limits, np.finfo(float).tiny)


def _shrunk(model, home, series, amplitude, effort, clearance):
    """Return amplitudes (nv,), no larger, with which samples of series are within all limits."""
    limits, amplitude = _usable(model, effort), amplitude.copy()
    while True:
        before = amplitude.copy()
        effort_share = abs(_efforts(
            model, home, [amplitude * values for values in series])) / limits
        for joint in np.flatnonzero(effort_share.max(axis=0) > _SAMPLED):
            sample = [values[effort_share[:, joint].argmax()] for values in series]
            _relieve(model, home, sample, amplitude, joint, limits[joint])
        if clearance is not None:
            for sample in series[0]:
                while (near := clearance(
                        _positions(model, home, [amplitude * sample[None]])[0])).any():
                    amplitude[near] *= _SHRINK
        if (amplitude == before).all():
            return amplitude


def _relieve(model, home, sample, amplitude, joint, limit):
    """Shrink amplitudes (nv,), those that matter most, until a joint's effort is in its limit."""
    moving = np.flatnonzero(model.active)
    while True:
        # As it is, and with each joint's amplitude shrunk.
        trials = np.tile(amplitude, (len(moving) + 1, 1))
        trials[np.arange(len(moving)), moving] *= _SHRINK
        efforts = abs(_efforts(model, home, [trials * values for values in sample]))[:, joint]
        if efforts[-1] <= _SAMPLED * limit:
            return
        best = efforts[:-1].argmin()
        amplitude[moving[best] if efforts[best] < efforts[-1] else moving] *= _SHRINK
