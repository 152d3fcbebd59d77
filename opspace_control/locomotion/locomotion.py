# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Locomotion of a robot on legs: goals of tasks, and contacts, in every cycle, by a gait."""

import math

import numpy as np

from opspace_control.checks import checked
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import ControlError
from opspace_control.locomotion.clock import GaitClock
from opspace_control.locomotion.footholds import GroundPlane, rotate_about_z, step_gain, step_length
from opspace_control.locomotion.footing import Footing, off_ground
from opspace_control.locomotion.gaits import Gait, Stepping, read_gait
from opspace_control.locomotion.legs import Legs, MovingFrame
from opspace_control.locomotion.swing import raise_lagging, swing
from opspace_control.locomotion.symmetric_stance import SymmetricStance
from opspace_control.locomotion.trunk import (
    LEVEL,
    VELOCITY,
    commanded_acceleration,
    set_standing,
    set_support,
)
from opspace_control.locomotion.trunk_motion import TrunkMotion, load_shares
from opspace_control.spatial.rotations import matrix_from_vector, yaw_of

STAND = 'stand'
_GRAVITY = -GRAVITY[2]  # m/s²
# The goal of the yaw is at most so far from it, rad: a blocked robot does not wind up.
_YAW_LEAD = 0.3
# Least vertical velocity of the trunk, m/s, at which it does not fall any more.
_LANDED = -0.1
# Part of its height from which on the robot can step.
_RISEN = 0.9


class Locomotion:
    """
    Let a robot walk, trot or run, from the state of base and joints alone.

    A clock says which feet are on the ground. Call `update` before each cycle of the controller: it
    sets the goals of the trunk and of swinging feet, and engages and disengages the contacts. The
    robot stands first, with its feet where they are at the first `update`, and rises. Raises a
    ControlError if the controller has no such tasks and contacts, and a ModelError for an unknown
    joint.

    Parameters
    ----------
    controller : OperationalSpaceController
        With tasks and contacts of `legged_tasks`; of a model with a passive floating base.
    feet : sequence of str
        Links; of a quadruped: front left, front right, rear left, rear right.
    posture : dict of str to float
        Joint positions, rad, of the robot that stands: they give the height of the trunk and the
        distances of the feet.
    stepping : Stepping, optional

    Attributes
    ----------
    controller : OperationalSpaceController
    feet : tuple of str
    stepping : Stepping
    stance : SymmetricStance
    footholds : (n, 3) array
        Where the feet will be put down, of those that swing, m, world axes.

    """

    def __init__(self, controller, feet, posture, *, stepping=None):
        self.controller, self.feet = controller, tuple(feet)
        self.stepping = Stepping() if stepping is None else stepping
        try:
            self._level, self._velocity = controller.tasks[LEVEL], controller.tasks[VELOCITY]
            self._legs = Legs(controller, self.feet)
            self._contacts = [controller.constraints[foot] for foot in self.feet]
        except KeyError as missing:
            raise ControlError(f'The controller has no task or contact {missing}.',
                               cure='Give it those of legged_tasks(trunk, feet).') from None
        self.stance = SymmetricStance.of(controller.model, posture, self.feet)
        self._velocity_gains = self._velocity.kp, self._velocity.kd
        self._clock = GaitClock(Gait(1.0, 0.5, (0.0,) * len(self.feet)),
                                math.sqrt(self.stance.height / _GRAVITY))
        self._motion = None
        self._wanted, self._command = np.zeros(3), np.zeros(3)
        self._ground, self._yaw, self._height = None, 0.0, 0.0
        self._footing, self.footholds = Footing(len(self.feet)), np.zeros((len(self.feet), 3))

    @property
    def gait(self):
        """
        The `Gait` or, while all feet are to stay on the ground, ``'stand'``.

        Set one or its name in `GAITS` at any time: the robot starts from standing, changes within
        two strides, or stands after the present steps. Errors are those of `check_gait`.
        """
        return self._clock.wanted or STAND

    @gait.setter
    def gait(self, gait):
        if isinstance(gait, str) and gait == STAND:
            self._clock.stop()
            return
        change = self._clock.change if self._clock.running else self._clock.start
        change(self.check_gait(gait))
        self._make_motion()

    def check_gait(self, gait):
        """
        Return a `Gait`, given by itself or by name, that the robot can begin now.

        A ControlError refuses what is no gait, and any while the trunk rises.
        """
        gait, h = read_gait(gait, len(self.feet)), self.stance.height
        if self.standing and self._ground is not None and self._height < _RISEN * h:
            raise ControlError(f'The trunk rises: it is at {self._height:.2f} m of {h:.2f} m.',
                               cure='Begin to step when it has risen.', value=self._height)
        return gait

    def restart(self):
        """Stand on all feet, where they are then, and rise as at first."""
        self._clock.stand()
        self._ground, self._footing = None, Footing(len(self.feet))
        self._command[:] = 0.0
        for contact in self._contacts:
            contact.disengage()
            contact.engage()

    def command(self, vx, vy=0.0, yaw_rate=0.0):
        """
        Command the velocity of the trunk, m/s forward and to the left, and its yaw rate, rad/s.

        It is approached at `Stepping.acceleration`. A ControlError refuses numbers that are not
        finite.
        """
        self._wanted = checked([vx, vy, yaw_rate], 'command', ControlError, (3,))

    @property
    def velocity(self):
        """The present value of the command, (3,), m/s and rad/s."""
        return self._command.copy()

    def deviation(self, state):
        """Return by how much the trunk is tilted, rad, and lower than its goal, m."""
        x, y = state.q[3:5]
        height = self._ground.height(state.q) + self._height if self._ground else state.q[2]
        return math.acos(max(1.0 - 2.0 * (x * x + y * y), -1.0)), height - state.q[2]

    @property
    def on_ground(self):
        """Which feet are on the ground by the schedule and by their motion, (n,) of bool."""
        return self._footing.on_ground.copy()

    @property
    def standing(self):
        """Whether all feet stay on the ground: no step is under way."""
        return not self._clock.running

    def update(self, state, dt):
        """
        Set goals and contacts for the next cycle.

        ``state`` is one of the controller's model, ``dt`` the time since the last call, s.
        """
        self._legs.update(state)
        feet, yaw = self._legs.feet, yaw_of(state.q[3:7])
        if self._ground is None:
            self._ground, self._yaw = GroundPlane(feet), yaw
            self._height = state.q[2] - self._ground.height(state.q)
        change = (0.0 if self.standing else self._wanted) - self._command
        step = self.stepping.acceleration * dt
        self._command += np.minimum(np.maximum(change, -step), step)  # np.clip takes four times
        self._clock.advance(dt)
        if self._clock.changing:
            self._make_motion()
        heading = rotate_about_z(yaw)
        far = self.stance.excursions(state.q[:3], heading, feet)
        stretched = (far > self.stepping.reach * self.stance.height) | self._legs.straight()
        self._change_contacts(feet, state.v[2], stretched)
        self._move_trunk(state, yaw, heading, dt)

    def _make_motion(self):
        clock = self._clock
        self._motion = TrunkMotion(
            clock.offsets, clock.duty, clock.tilting, self.stance.arms[:, :2])

    # Velocity of feet that go down to lower ground, (3,), m/s, world axes.
    _descent = property(lambda self: -self.stepping.descent_rate * math.sqrt(
        _GRAVITY * self.stance.height) * self._ground.normal)

    def _change_contacts(self, feet, rise, stretched):
        """Engage and disengage contacts, for feet (n, 3), m, and ż, m/s."""
        clock, footing, descent = self._clock, self._footing, self._descent
        off = off_ground(
            feet[:, 2] - self._ground.height(feet), self._legs.velocities, descent,
            self.stepping.clearance * self.stance.height)
        on_ground = footing.scheduled(clock, stretched, off)
        if clock.gathering:
            on_ground |= footing.on_ground
            if on_ground.all() and rise > _LANDED:
                clock.gathered()
                self._make_motion()
        if self.standing:
            on_ground[:] = True
        landed, lifted = on_ground & ~footing.on_ground, footing.on_ground & ~on_ground
        footing.put(on_ground, clock, feet)
        if not (landed | lifted).any():
            return
        for i in np.flatnonzero(landed):
            self._contacts[i].engage()
        for i in np.flatnonzero(lifted):
            self._contacts[i].disengage()
        if landed.any():
            self._ground.touch(landed, feet[landed])
            for contact in self._contacts:
                contact.normal = self._ground.normal
        set_support(self._level, self._velocity, feet[on_ground])
        set_standing(self._velocity, *self._velocity_gains, self.standing)

    def _move_trunk(self, state, yaw, heading, dt):
        """Set the goals of trunk and feet; ``heading`` is the rotation by the yaw, rad."""
        clock, stepping, g, q = self._clock, self.stepping, _GRAVITY, state.q
        h, T, feet = self.stance.height, clock.period, self._legs.feet
        velocity, yaw_rate = heading[:, :2] @ self._command[:2], float(self._command[2])
        lead = (self._yaw - yaw + math.pi) % (2.0 * math.pi) - math.pi
        self._yaw = yaw + min(max(lead, -_YAW_LEAD), _YAW_LEAD) + yaw_rate * dt
        rise = stepping.rise_rate * dt
        self._height += min(max(h - self._height, -rise), rise)
        place = np.array([q[0], q[1], self._ground.height(q) + self._height])
        upright = rotate_about_z(self._yaw)
        twist = np.array([0.0, 0.0, self._ground.rise(velocity), 0.0, 0.0, yaw_rate])
        acceleration = np.zeros(6)
        if self.standing:
            place[:2] = (feet.mean(axis=0) - heading @ self.stance.center)[:2]
            for task in (self._level, self._velocity):
                task.move_target(place, upright, twist, acceleration)
            return
        motion = self._motion.at(clock.phase)
        place[2] += g * T * T * motion.height
        twist[2] += g * T * motion.rise
        acceleration[2] = g * (motion.lift - 1.0)
        R, ratio = upright, g / self.stance.inertia
        if clock.tilting:
            tilt = heading[:, :2] @ (ratio * T * T * motion.tilt)
            R = matrix_from_vector(tilt) @ upright
            twist[3:5] = heading[:2, :2] @ (ratio * T * motion.tilt_rate)
            acceleration[3:5] = heading[:2, :2] @ (ratio * motion.tilt_acceleration)
        self._level.move_target(place, R, twist, acceleration)
        expected = velocity * (1.0 + stepping.force_line * g * T * T / h * motion.speed)
        expected += heading[:, :2] @ (g * T / h * motion.sway)
        phases = clock.phases()
        shares = load_shares(phases, clock.duty)
        if np.count_nonzero(shares) > 2:
            # Contact forces control both directions: a measured Δ would be unstable feedback.
            ahead = T * (shares @ (phases - 0.5 * clock.duty)) * velocity
        else:
            ahead = shares @ (q[:3] + (self.stance.center + self.stance.arms) @ heading.T - feet)
        center = (1.0 - clock.tilting) * heading @ (shares @ self.stance.arms)
        acceleration[:2] = g * motion.lift / h * (stepping.force_line * ahead - center)[:2]
        twist[:2] = expected[:2]
        self._velocity.move_target(place, R, twist, acceleration)
        trunk = MovingFrame(state, commanded_acceleration(self._level, state, twist, acceleration))
        self._move_feet(state, heading, velocity, expected, trunk)

    def _move_feet(self, state, heading, velocity, expected, trunk):
        """Set the goals of feet in the air at a commanded and an expected velocity (3,), m/s."""
        clock, stepping, h = self._clock, self.stepping, self.stance.height
        legs, footing = self._legs, self._footing
        actual = np.array([state.v[0], state.v[1], 0.0])
        gain = stepping.step_gain * step_gain(
            h, clock.period, clock.steps, _GRAVITY, stepping.force_line)
        step = step_length(
            velocity, actual - expected, clock.stance_time, gain, stepping.reach * h)
        down = np.flatnonzero(~(footing.on_ground | footing.swinging))
        if len(down):
            legs.move_feet(down, trunk, legs.feet[down], self._descent, np.zeros(3))
        feet = np.flatnonzero(footing.swinging)
        s, whole = footing.swing_progress(feet, clock)
        left = (1.0 - s) * whole * clock.swing_time
        hips = self.stance.hips(feet, self._command[2] * (left + 0.5 * clock.stance_time))
        start, end = footing.lift_off[feet], (
            state.q[:3] + hips @ heading.T + left[:, None] * actual + step)
        end[:, 2] = self._ground.height(end) - stepping.touch_down_depth * h
        self.footholds[feet] = end
        # Begun late, as from standing, a swing is shorter and as much lower.
        goal = swing(start, end, stepping.clearance * h * np.minimum(whole, 1.0)**2, s,
                     whole * clock.swing_time)
        raise_lagging(goal, legs.feet[feet], legs.velocities[feet], end - start)
        legs.move_feet(feet, trunk, *goal)
