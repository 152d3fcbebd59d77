# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A motion from which the parameters of a robot can be told, within its limits.

Each joint follows a finite Fourier series about where it begins,

    q(t) = q_0 + w(t) Σ_k c_k sin(2π k f t + φ_k),

as of Swevers and others ([SGT97]); the window w rises smoothly from zero to one and falls back, so
that the motion begins and ends at rest, where the robot is. Of several random series that which
makes the linear problem of the fit conditioned best is taken.
"""

from dataclasses import dataclass

import numpy as np

from opspace_control.checks import checked
from opspace_control.control.planning.plan import Plan
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import ControlError
from opspace_control.identification.least_squares import conditioning, triangle
from opspace_control.identification.regressor import inertial_regressor, inverse_dynamics
from opspace_control.identification.samples import SLOW

HARMONICS, FREQUENCY = 5, 0.1  # of the series; Hz, the fundamental
_FADE = 2.0  # s, of the window
# A joint goes no further from where it begins, rad and m: what is there is not known here.
REACH = 0.8, 0.15
SPEED = 0.4   # of the velocity limits; for joints without any, of 2 rad/s or m/s
EFFORT = 0.8  # of the effort limits, as half of the least reserve is for what is wrong in the model
MARGIN = 0.1, 0.01  # rad and m, from the limits of positions: no joint brakes before them
_UNKNOWN_SPEED = 2.0
_TRIES = 20   # series of which the best is taken
_LOOKS = 200  # samples at which conditioning, efforts and distances are looked at
# Efforts are looked at every so many seconds; in between, at 0.5 Hz, they differ by less than 1e-3.
_INTERVAL, _SAMPLED = 0.01, 0.999
_SHRINK, _SHRINKS = 0.85, 20  # of the amplitudes, until efforts and distances are within limits


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

    Amplitudes are as large as limits and ``reach`` allow, and shrink together until the model's
    efforts, and the distances, are within theirs, too.

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
        Takes q (nq,) and returns whether nothing is too near to anything.

    Raises
    ------
    ControlError
        If a number is not one of these, home is not within the limits by 0.1 rad or 0.01 m, or the
        efforts there not within theirs, or no motion is clear.

    """
    home = checked(home, 'excitation: home', ControlError, (model.nq,))
    for name, value, highest in (('duration', duration, np.inf), ('timestep', timestep, np.inf),
                                 ('speed', speed, 1.0), ('effort', effort, 1.0)):
        checked(value, f'excitation: {name}', ControlError, above=0.0, highest=highest)
    checked(reach, 'excitation: reach', ControlError, (2,), lowest=0.0)
    if model.floating_base or (model.q_index < 0).any():
        raise ControlError('Only joints of one coordinate on a fixed base are excited.',
                           cure='Fix the base, such as on a stand.')
    amplitudes, fastest = _amplitudes(model, home, reach), _fastest(model, speed)
    count = max(2, round(duration / timestep))
    time = np.arange(count + 1) * (duration / count)
    best, looks = None, np.linspace(0, count, _LOOKS).astype(int)
    for attempt in range(_TRIES):
        series = _series(model.nv, time, np.random.default_rng([0, attempt]))
        scale = np.minimum(amplitudes / abs(series[0]).max(axis=0),
                           fastest / abs(series[1]).max(axis=0))
        motion = [values * scale for values in series]
        condition = _condition(model, home, [values[looks] for values in motion])
        if best is None or condition < best[0]:
            best = condition, motion
    motion = _shrunk(model, home, best[1], effort, clearance, looks,
                     max(1, int(_INTERVAL / (time[1] - time[0]))))
    q = home + motion[0][:, np.argsort(model.q_index)]
    looked = [values[looks] for values in motion]
    return Excitation(time, q, *motion[1:], _efforts(model, q, *motion[1:]),
                      _condition(model, home, looked))


def _amplitudes(model, home, reach):
    """Return how far (nv,) each joint may go from home; zero without a drive."""
    at = home[model.q_index]
    margin, greatest = (np.where(model.slides, pair[1], pair[0]) for pair in (MARGIN, reach))
    distance = np.minimum(at - model.lower_soft_limits, model.upper_soft_limits - at) - margin
    for joint in np.flatnonzero(model.active & (distance < 0.0)):
        raise ControlError(
            f"'{model.dof_names[joint]}' begins at {at[joint]:.4g} rad or m, less than "
            f'{margin[joint]:g} from a limit.', joint=model.dof_names[joint],
            cure='Bring the robot to another posture, and give it as home.')
    return np.where(model.active, np.minimum(distance, greatest), 0.0)


def _fastest(model, speed):
    limits = model.velocity_limits
    return speed * np.where(np.isfinite(limits), limits, _UNKNOWN_SPEED)


def _series(n, time, random):
    """Return windowed series (k, n) of one random choice, and their first two derivatives."""
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
    q = home + motion[0][:, np.argsort(model.q_index)]
    joints = np.flatnonzero(model.active & (abs(motion[1]).max(axis=0) > SLOW))
    Y = inertial_regressor(model, q, *motion[1:])[:, joints]
    friction = [values[:, joints, None] * np.eye(len(joints))
                for values in (np.tanh(4.0 * motion[1] / SLOW), motion[1])]
    A = np.concatenate([Y, *friction], axis=2)
    # In parts of what joints can give, as errors of drives are.
    limits = model.effort_limits[joints]
    A = A / np.where(np.isfinite(limits) & (limits > 0.0), limits, 1.0)[:, None]
    rows = A.reshape(-1, A.shape[2])
    return conditioning(triangle(rows, np.zeros(len(rows)))).condition


def _efforts(model, q, v, acceleration):
    return np.where(model.active, inverse_dynamics(model, model.nodes, q, v, acceleration), 0.0)


def _shrunk(model, home, motion, effort, clearance, looks, stride):
    """Return the motion with smaller amplitudes, within limits of efforts and clear."""
    order = np.argsort(model.q_index)
    limits = np.maximum(effort * model.effort_limits, np.finfo(float).tiny)
    for _ in range(_SHRINKS):
        q = home + motion[0][:, order]
        efforts = _efforts(model, *(values[::stride] for values in (q, *motion[1:])))
        effort_share = abs(efforts) / limits
        strained = effort_share.max(axis=0) > _SAMPLED
        if not strained.any() and (clearance is None or all(map(clearance, q[looks]))):
            return motion
        motion = [_SHRINK * values for values in motion]
    joint = model.dof_names[int(effort_share.max(axis=0).argmax())]
    raise ControlError(
        f"'{joint}' needs {effort_share.max():.0%} of the effort that it may use." if strained.any()
        else 'Shapes of the robot are too near to each other at home.', joint=joint,
        cure='Begin from another posture.')
