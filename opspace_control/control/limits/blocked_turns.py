# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Rotations that joints at their limits block: a goal can be reached the other way round, too.

Where a task comes to rest short of its goal since joints are at rest at their limits, the error is
stationary along the way it took: no motion of the joints reduces it. A rotation by the angle θ has
a second way to the same goal, by 2π − θ in the opposite direction, which leads away from these
limits. So a task that `unwinds` and whose rotation is blocked turns the other way, and back to the
short way, for good, where that is blocked as well.
"""

from opspace_control.compiled import inlined, rare
from opspace_control.control.data import RESIDUAL, SCALE
from opspace_control.control.limits.limit_law import MOTION
from opspace_control.dynamics.force_propagation import is_group
from opspace_control.tasks.pose_law import BACK, turn_back

# A rotation is blocked if it gets less than this part of its acceleration, and turns at less than
# this part of its speed. Slow transients have more.
_PART = 0.1
# A smaller error is not worth another way round, rad.
_LEAST = 0.05


@inlined
def is_blocked(task, residual, scale):
    """
    Return whether a task rests short of its goal by a rotation, from its residual accelerations.

    Rows are (6,), along the task's axes. What is left of a goal beyond reach is not a rotation but,
    in scaled rows, mostly a distance: another way round does not help there.
    """
    if not task.unwinds or task.unattached or task.impedance > 0.0 or task.turn == BACK:
        return False
    square = distance = turn = wanted = left = damping = 0.0
    for r in range(6):
        lag = task.lag[r]
        if r < 3:
            distance += (scale[r] * lag) ** 2
            continue
        if task.row_activation[r] < 1.0 or task.motion[r] < 1.0 or task.force.axes[r] > 0.0:
            return False
        square += lag * lag
        turn += (scale[r] * lag) ** 2
        wanted += task.acceleration[r] * lag
        left += residual[r] * lag
        damping += task.kd[r] * task.rate[r] * lag
    return (square > _LEAST * _LEAST and turn > distance
            and left > (1.0 - _PART) * wanted > 0.0 and damping > _PART * (damping - wanted))


@inlined
def rests(limits):
    """Return whether joints rest at limits, and none is about to begin or to cease."""
    some = False
    for k in range(limits.size):
        share = limits[k].resting_share[MOTION]
        if 0.0 < share < 1.0 or (share > 0.0 and limits[k].pressed[MOTION] == 0):
            return False
        some = some or share > 0.0
    return some


@rare
def turn_blocked(data):
    """Turn tasks the other way round whose rotation is blocked by joints at rest at limits."""
    points, rows = data.robot.points, data.scratch.rows
    if not rests(data.bounds.joints):
        return
    for e in range(data.demand.constraints.size, points.size):
        if not is_group(points[e]):
            task, first = data.demand.tasks[points[e].record], 6 * e
            if is_blocked(task, rows[RESIDUAL, first:first + 6], rows[SCALE, first:first + 6]):
                turn_back(task)
