# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How much delay the loops of a controller tolerate: delay margins of its gains and rates."""

import math
from dataclasses import dataclass

import numpy as np

from opspace_control.checks import checked
from opspace_control.errors import ControlError

LEAST_FACTOR = 2.0  # of the delay margin and the delay, below which there are warnings
_PRECISION = 1e-6   # of a period, relative


@dataclass(frozen=True)
class LoopMargin:
    """The margin of a loop; ``name`` tells which, '' for gains alone."""

    crossover: float  # ω_c, rad/s; 0 for a loop that does nothing
    phase: float      # φ, rad
    delay: float      # φ / ω_c, s: the loop is stable for less delay; inf for a loop without gains
    name: str = ''


def loop_margin(kp, kd, rate=0.0, name=''):
    """
    Return the `LoopMargin` of a decoupled unit mass with the gains of a task.

    With a delay T from the state to the effort that acts, and a `DisturbanceObserver` of a rate K,
    the loop of each axis is that of a PID controller before ``1 / s²``,

        ``L(s) = ((kd + K) s² + (kp + K kd) s + K kp) / s³ · exp(−T s)``,

    since the observer takes the acceleration from the delayed state, but the force as it was
    commanded. Without delay the characteristic polynomial is ``(s + K) (s² + kd s + kp)``. Where
    ``|L(j ω_c)| = 1``, the phase margin is ``φ = π + arg L(j ω_c)`` of T = 0, and the loop is
    stable for ``T < φ / ω_c``, the delay margin [AM08] 9.3. An effort that is kept for a period h
    is late by h / 2, which counts for T. Raises a ControlError for numbers that are negative or not
    finite.

    Parameters
    ----------
    kp, kd : float
        Gains, 1/s² and 1/s, 0 or more.
    rate : float
        K, 1/s; 0 without an observer.
    name : str
        Of the result.

    """
    for what, value in (('kp', kp), ('kd', kd), ('rate', rate)):
        checked(value, f'loop: {what}', ControlError, lowest=0.0)
    D, P, I = kd + rate, kp + rate * kd, rate * kp  # noqa: E741 the field's letters
    if not (D or P):
        return LoopMargin(0.0, math.inf, math.inf, name)
    # |L|² = 1 with x = ω²: x³ = (I − D x)² + P² x.
    roots = np.roots([1.0, -D * D, 2.0 * D * I - P * P, -I * I])
    omega = math.sqrt(max(root.real for root in roots if abs(root.imag) <= 1e-9 * abs(root)))
    phase = math.atan2(P * omega, I - D * omega * omega) - 0.5 * math.pi
    return LoopMargin(omega, phase, phase / omega, name)


def longest_period(kp, kd, rate=0.0, late=1.0):
    """
    Return the longest period h, s, between states with which the loop of a unit mass is stable.

    The states are late by ``late`` periods; an effort is kept until the next one. With
    ``n = ⌊late⌋`` and ``u_k`` the acceleration that a state demands, the next state (x, v) has

        ``v⁺ = v + h ((1 − δ) u_{k−n} + δ u_{k−n−1})``, δ = late − n,
        ``d_k = d_{k−1} + (1 − e^{−K h}) ((v_k − v_{k−1}) / h − u_{k−1} − d_{k−1})``,
        ``u_k = −kp x_k − kd v_k − d_k``,

    the disturbance observer as the law computes it; [AW97] 2.3 samples systems with delay. The
    loop is stable if all eigenvalues of this linear map are within the unit circle. `loop_margin`,
    in continuous time, has half a period for the kept effort and K for ``(1 − e^{−K h}) / h``: the
    two agree where h is short. Parameters and errors as there, late a number of 0 or more; inf for
    a loop without gains.
    """
    start = loop_margin(kp, kd, rate).delay
    checked(late, 'loop: late', ControlError, lowest=0.0)
    if start in {0.0, math.inf}:
        return start
    low, high = 0.0, start / (0.5 + late)
    while _is_stable(kp, kd, rate, high, late):
        low, high = high, 2.0 * high
    while high - low > _PRECISION * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _is_stable(kp, kd, rate, middle, late) else (low, middle)
    return low


def _is_stable(kp, kd, rate, h, late):
    """Return whether the sampled loop of `longest_period` is stable with a period h."""
    n, gain = math.floor(late), -math.expm1(-rate * h)
    start, end = (late - n) * h, (1.0 + n - late) * h  # how long the older and the newer act
    x, v, v_before, d, *u = np.eye(5 + n)
    d = (1.0 - gain) * d + gain * ((v - v_before) / h - u[0])
    u = [-kp * x - kd * v - d, *u]
    after = np.array([
        x + h * v + start * (h - 0.5 * start) * u[n + 1] + 0.5 * end * end * u[n],
        v + start * u[n + 1] + end * u[n], v, d, *u[:n + 1]])
    # Without kp nothing depends on x, and without an observer nothing on d.
    kept = [k for k in range(len(after)) if (k or kp) and (k != 3 or rate)]
    after = after[np.ix_(kept, kept)]
    return abs(np.linalg.eigvals(after)).max() < 1.0


def loop_time(hold, delay=0.0):
    """Return T, s, for efforts that are kept for a time ``hold``, and late by a ``delay``, s."""
    return 0.5 * hold + delay


def too_slow(margins, time):
    """Return the `LoopMargin` that a loop time, s, leaves less than `LEAST_FACTOR`, or None."""
    least = min(margins, key=lambda margin: margin.delay)
    return least if LEAST_FACTOR * time > least.delay else None


def loop_margins(controller):
    """
    Return the `LoopMargin` of each task that is enabled, of the posture and of the joint limits.

    Of a task that of the axis with the least. Tasks of points have the rate of the controller's
    `DisturbanceObserver`, if that compensates for them. Near its position limit a joint has
    ``kp = r a`` and ``kd = r + a``, with the ``return_rate`` r and the ``approach_rate`` a of
    `JointLimits`. Axes of force control and springs are not looked at: their loops are closed by
    the environment.
    """
    observer, limits = controller.disturbance, controller.limits
    rejecting = {} if observer is None else observer.rates
    loops = []
    for task in controller.tasks.values():
        if task.enabled:
            rate = rejecting.get(task.name, 0.0)
            loops.append(_least(zip(task.kp, task.kd, strict=True), rate, f'task {task.name}'))
    posture = controller.posture
    loops.append(_least(zip(posture.kp, posture.kd, strict=True), 0.0, 'posture'))
    if limits is not None and limits.keep:
        r, a = limits.return_rate, limits.approach_rate
        loops.append(loop_margin(r * a, r + a, name='limits of joints'))
    return loops


def _least(gains, rate, name):
    each = {(float(kp), float(kd)) for kp, kd in gains}
    return min((loop_margin(*one, rate, name) for one in each), key=lambda margin: margin.delay)
