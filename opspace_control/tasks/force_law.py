# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The compiled force law of a task, [K87] V, and the transition between free motion and contact.

Along the axes of Ω̃ a task commands ``Λ a_s* + F_a``, (5.5): ``a_s*`` is damping, ``F_a`` the force.
Without contact F_a would accelerate the other axes, too; the task then approaches contact with a
given velocity.
"""

import math

import numpy as np

from opspace_control.compiled import called, inlined
from opspace_control.tasks.specification_law import take_components

# Force control of one task. Wrenches are what the robot applies, along the task's axes, at its
# point; pairs are of translation and rotation.
FORCE_CONTROL = np.dtype([
    ('axes', np.float64, (6,)),       # Ω̃ of (2.4): 1 where force is controlled; between: blended
    ('target', np.float64, (6,)),     # N and N m
    ('kp', np.float64, (6,)),         # of the force error, without unit
    ('ki', np.float64, (6,)),         # 1/s
    ('damping', np.float64, (6,)),    # k_vf of a_s*, 1/s
    ('limit', np.float64, (2,)),      # N and N m, of each axis
    ('approach', np.float64, (2,)),   # m/s and rad/s; both 0: force acts at once, always
    ('threshold', np.float64, (2,)),  # of contact, N and N m
    ('impact_time', np.float64),      # of pure damping, (5.7), s
    ('sensor', np.int64),             # index, -1 for none
    ('target_norm', np.float64, (2,)),  # N and N m
    ('measured', np.float64, (6,)),   # N and N m, at the last cycle
    ('validity', np.float64),         # of it, from 0 (open loop) to 1
    ('integral', np.float64, (6,)),   # N and N m
    ('contact', np.float64),          # 0: none; up to 1: impact; from 1 to 2: force increases
    ('engaging', np.bool_),           # whether ``contact`` increases
    ('blocked_time', np.float64),     # for which the approach has been blocked, s
    ('fading', np.bool_),             # whether the target fades
], align=True)

# An approach below half of its velocity for this many times 1 / k_vf is in contact ...
_DWELL = 8.0
# ... and, without a sensor, has lost it after being faster for this many times longer.
_LONGER = 4.0

# Time constant of a fading target, s, and the size, N, below which it becomes zero.
_FADING_TIME = 0.1
_NOTHING = 1e-2


@inlined
def measure_applied_wrench(task, point, sensors):
    """
    Write the wrench that the robot applies at the task's point, and its validity.

    The sensor measures the wrench on the robot at its own origin; its moment about the point is
    ``n + (p_s − p) × f``.
    """
    force = task.force
    if force.sensor < 0:
        force.validity = 0.0
        return
    sensor, measured = sensors[force.sensor], force.measured
    x, y, z = sensor.p[0] - point.p[0], sensor.p[1] - point.p[1], sensor.p[2] - point.p[2]
    f0, f1, f2 = sensor.wrench[0], sensor.wrench[1], sensor.wrench[2]
    measured[0], measured[1], measured[2] = -f0, -f1, -f2
    measured[3] = -(sensor.wrench[3] + y * f2 - z * f1)
    measured[4] = -(sensor.wrench[4] + z * f0 - x * f2)
    measured[5] = -(sensor.wrench[5] + x * f1 - y * f0)
    if task.turned or task.relative:
        take_components(task, measured)
    force.validity = sensor.validity


@inlined
def update_target(force, dt):
    """Write the norms of the target force and moment; a target may fade."""
    if force.fading:
        left = math.exp(-dt / _FADING_TIME)
        if max(force.target_norm[0], force.target_norm[1]) < _NOTHING:
            left, force.fading = 0.0, False
        for r in range(6):
            force.target[r] *= left
    for part in range(2):
        square = 0.0
        for r in range(3 * part, 3 * part + 3):
            square += force.axes[r] * force.target[r] * force.target[r]
        force.target_norm[part] = math.sqrt(square)


@inlined
def measures_contact(force):
    """
    Return whether the measured force shows contact.

    The force along the target exceeds the threshold, or half of the target if that is less; an
    existing contact persists above half of that. With a target of zero the norm of the force
    counts.
    """
    if force.validity < 0.5:
        return False
    anything = force.target_norm[0] > 0.0 or force.target_norm[1] > 0.0
    for part in range(2):
        norm, enough = force.target_norm[part], force.threshold[part]
        if norm > 0.0:
            enough = min(enough, 0.5 * norm)
        if force.engaging:
            enough *= 0.5
        along, square = 0.0, 0.0
        for r in range(3 * part, 3 * part + 3):
            along += force.axes[r] * force.measured[r] * force.target[r]
            square += force.axes[r] * force.measured[r] * force.measured[r]
        if anything and along > enough * norm and norm > 0.0:
            return True
        if not anything and square > enough * enough:
            return True
    return False


@inlined
def approach_is_blocked(task, dt):
    """
    Return whether the approach is blocked, which counts as contact.

    This detects contact without a sensor, or with forces of the approach below the threshold.
    """
    force = task.force
    if force.target_norm[0] == 0.0 and force.target_norm[1] == 0.0:
        force.blocked_time = 0.0
        return False
    slow, least_damping = True, math.inf
    for part in range(2):
        speed = 0.0
        for r in range(3 * part, 3 * part + 3):
            if force.axes[r] > 0.0:
                least_damping = min(least_damping, force.damping[r])
                speed -= force.axes[r] * task.rate[r] * force.target[r]
        if speed > 0.5 * force.approach[part] * force.target_norm[part]:
            slow = False
    dwell = _DWELL / least_damping
    if slow:
        force.blocked_time = min(force.blocked_time + dt, dwell)
    elif force.engaging and force.validity < 0.5:
        force.blocked_time = max(force.blocked_time - dt / _LONGER, 0.0)
        return force.blocked_time > 0.0
    else:
        force.blocked_time = 0.0
    return force.blocked_time >= dwell or (force.engaging and force.validity < 0.5)


@inlined
def follow_contact(task, dt):
    """
    Update the stage of contact; return the share of the force that is applied, from 0 to 1.

    After a touch the impact is damped for ``impact_time``, (5.7); then the force increases within
    the same time, also during a rebound. After a loss of contact the stages reverse. With a target
    of zero there is no approach and the share is 1: the frame complies at once.
    """
    force = task.force
    if force.approach[0] == 0.0 and force.approach[1] == 0.0:
        force.contact, force.engaging = 2.0, True
        return 1.0
    blocked = approach_is_blocked(task, dt)
    touching = measures_contact(force) or blocked
    if touching or force.contact <= 0.0 or force.contact >= 2.0:
        force.engaging = touching
    step = dt / force.impact_time
    if not force.engaging:
        step = -step
    force.contact = min(max(force.contact + step, 0.0), 2.0)
    if force.target_norm[0] == 0.0 and force.target_norm[1] == 0.0:
        return 1.0
    return max(force.contact - 1.0, 0.0)


@inlined
def presses(force):
    """Return whether a force is applied against the environment, or one that is taken to be so."""
    return force.contact > 0.0 and (force.target_norm[0] > 0.0 or force.target_norm[1] > 0.0)


@inlined
def applied_component(force, r, engaged, at_limits, dt):
    """
    Return F_a of axis r: ``f_d + kp (f_d − f) + ki ∫ (f_d − f) dt``, clipped to its limit.

    The integral stops at that limit and at effort limits of joints (anti-windup), and decays
    without contact.
    """
    limit = force.limit[r // 3]
    error = force.target[r] - force.measured[r]
    applied = force.target[r] + force.validity * (force.kp[r] * error + force.integral[r])
    more = engaged * force.validity * force.ki[r] * error * dt
    at_limit = abs(applied) >= limit and more * applied > 0.0
    if not (at_limit or (at_limits and more * force.integral[r] > 0.0)):
        force.integral[r] += more
    force.integral[r] *= 1.0 - (1.0 - engaged) * min(1.0, dt / force.impact_time)
    return min(max(applied, -limit), limit)


@inlined
def demand_force(task, point, sensors, dt, at_limits):
    """
    Add a_s* to the acceleration demanded along the force axes, and write F_a: [K87] (5.5)-(5.7).

    ``a_s* = k_vf (v_d + v_approach − v)``. v_d is the feed-forward twist, the velocity of a moving
    surface; v_approach has the direction of the target force and is zero from the first touch on.
    """
    force = task.force
    measure_applied_wrench(task, point, sensors)
    update_target(force, dt)
    engaged = follow_contact(task, dt)
    approaching = 0.0 if force.engaging or force.fading else max(1.0 - force.contact, 0.0)
    for part in range(2):
        first, norm = 3 * part, force.target_norm[part]
        speed = approaching * force.approach[part] / norm if norm > 0.0 else 0.0
        for r in range(first, first + 3):
            weight = force.axes[r]
            if weight == 0.0:
                task.applied_wrench[r] = force.integral[r] = 0.0
                continue
            task.applied_wrench[r] = (task.activation * weight * engaged
                             * applied_component(force, r, engaged, at_limits, dt))
            task.acceleration[r] += weight / (task.motion[r] + weight) * force.damping[r] * (
                task.rate[r] + speed * force.target[r])


@called
def release_force(force):
    """Let the target force fade; without contact it is zero at once."""
    force.fading = force.contact > 0.0
    if not force.fading:
        for r in range(6):
            force.target[r] = 0.0


@called
def restart_force(force):
    """Reset contact, target and integral."""
    force.fading = force.engaging = False
    force.contact = force.blocked_time = 0.0
    for r in range(6):
        force.target[r] = force.integral[r] = 0.0


@inlined
def forget_force(task):
    """Reset the state of force control."""
    force = task.force
    force.contact = force.blocked_time = 0.0
    force.engaging = False
    for r in range(6):
        task.applied_wrench[r] = force.integral[r] = 0.0
