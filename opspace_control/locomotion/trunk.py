# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The tasks and contacts of a robot on legs, and their priorities.

Two point feet on the ground control five of the trunk's six directions: contact forces have no
moment about the line through them, so gravity alone changes the momentum about it. A trunk that is
kept level is accelerated across this line as an inverted pendulum; velocity across it is controlled
by footholds, velocity along it and yaw by contact forces.
"""

import math

import numpy as np

from opspace_control.control.constraints.contact import Contact
from opspace_control.tasks.pose import PoseTask
from opspace_control.tasks.pose_kinds import RelativeTask

LEVEL, VELOCITY = 'trunk_level', 'trunk_velocity'
_WORLD_AXES = np.eye(3)
# Of the trunk's place while it stands, 1/s²; critically damped.
_STANDING_GAIN = 25.0


def legged_tasks(trunk, feet, *, height_gain=150.0, tilt_gain=400.0, yaw_gain=100.0,
                 velocity_gain=5.0, foot_gain=900.0, **contact):
    """
    Return the tasks and the contacts, two lists, for a controller of a robot on legs.

    Priorities after the contacts, which are constraints: swinging feet; height, roll and pitch of
    the trunk; velocity and yaw of the trunk. Feet swing relative to the trunk, which the joints of
    their own legs determine: where a bound of a leg is active its foot deviates, and the trunk is
    not thrown about for it. Nor is the trunk levelled by throwing legs. Raises a ControlError or
    TaskError for an argument that cannot be used.

    Parameters
    ----------
    trunk : str
        Root link.
    feet : sequence of str
        Links that are point feet; their tasks and contacts have their names.
    height_gain, tilt_gain, yaw_gain, foot_gain : float
        kp of critically damped unit masses, 1/s².
    velocity_gain : float
        kd of the trunk's velocity in the directions that contact forces control, 1/s.
    **contact
        Arguments of each `Contact`, such as ``friction``.

    """
    level = PoseTask(trunk, name=LEVEL, axes='z rx ry', priority=1,
                     kp=[0.0, 0.0, height_gain, tilt_gain, tilt_gain, 0.0])
    velocity = PoseTask(
        trunk, name=VELOCITY, axes='x y rz', priority=2,
        kp=[0.0, 0.0, 0.0, 0.0, 0.0, yaw_gain],
        kd=[velocity_gain, velocity_gain, 0.0, 0.0, 0.0, 2.0 * math.sqrt(yaw_gain)])
    return ([level, *(RelativeTask(foot, trunk, axes='x y z', kp=foot_gain, priority=0)
                     for foot in feet), velocity],
            [Contact(foot, kind='point', **contact) for foot in feet])


def set_support(level, velocity, feet):
    """
    Let two tasks control of the trunk what feet on the ground, (k, 3), m, can control.

    With two feet it is the velocity along their line and the yaw, with one foot no velocity. In
    flight it is nothing: the swinging legs would have to move the trunk.
    """
    level.enabled, velocity.enabled = len(feet) > 0, len(feet) > 1
    if len(feet) != 2:
        velocity.set_axes('x y rz', rotation=_WORLD_AXES, gradually=False)
        return
    x, y, _ = (feet[0] - feet[1]) / math.hypot(*(feet[0] - feet[1])[:2])
    line = np.array([[x, -y, 0.0], [y, x, 0.0], [0.0, 0.0, 1.0]])
    velocity.set_axes('x rz', rotation=(line, _WORLD_AXES), gradually=False)


def set_standing(velocity, kp, kd, standing):
    """Let a task with gains kp and kd, (6,), control the trunk's place while the robot stands."""
    kp, kd = kp.copy(), kd.copy()
    if standing:
        kp[:2], kd[:2] = _STANDING_GAIN, 2.0 * math.sqrt(_STANDING_GAIN)
    velocity.set_gains(kp, kd)


def commanded_acceleration(task, state, twist, acceleration):
    """
    Return the acceleration that the task of a trunk commands, (6,), m/s² and rad/s², world axes.

    ``a + kp e + kd (ẋ_d − ẋ)``, [K87] (4.3), with the error e of the last cycle and ``twist`` and
    ``acceleration`` (6,) of the goal. A task that is not enabled adds nothing.
    """
    error = task.error
    if error is None or not task.enabled:
        return acceleration
    return acceleration + task.kp * error + task.kd * (twist - state.v[:6])
