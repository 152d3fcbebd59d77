# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a controller's robot can follow a trajectory of its joints, found out beforehand."""

import difflib
import math

import numpy as np

from opspace_control.errors import ControlError
from opspace_control.tasks.pose_kinds import CenterOfMassTask

# Between two points it is looked at so many times.
_SAMPLES = 8
# Of a limit, for rounding.
_ROUNDING = 1e-6


def check_playback(controller, trajectory, state, tolerances, velocity_limits=None):
    """
    Return the trajectory as it begins at a state; arguments and errors are those of `Playback`.

    All of it is looked at: joints, start, limits of positions and velocities on the way, efforts at
    the points.
    """
    model = controller.model
    dofs = _joints(controller, trajectory)
    _check_tasks(controller)
    q = state.q[model.q_index[dofs]]
    # A joint that has turned has not to turn back.
    trajectory = trajectory.begun_at(
        q - _whole_turns(model, dofs, q - trajectory.positions[0]))
    times = _times(trajectory)
    positions, velocities, _ = trajectory.sample(times)
    refuse = _Refusal(trajectory.joints)
    _check_start(controller, trajectory, dofs, state, tolerances, refuse)
    (lower, upper), fastest = controller.position_limits, controller.velocity_limits
    fastest = fastest if velocity_limits is None else np.fmin(fastest, velocity_limits)
    fastest = np.where(controller.passive, np.inf if velocity_limits is None else velocity_limits,
                       fastest)
    # A robot that is at its limit may begin there.
    lower, upper = np.fmin(lower[dofs], q), np.fmax(upper[dofs], q)
    # Numbers whose polynomials overflow are not finite, and compare as false.
    refuse(~((positions >= lower - _ROUNDING) & (positions <= upper + _ROUNDING)), times, positions,
           'is at {value:.4g} rad or m, beyond its limits',
           'Plan within the limits of positions.')
    refuse(~(abs(velocities) <= fastest[dofs] * (1.0 + _ROUNDING)), times, velocities,
           'moves at {value:.4g} rad/s or m/s, faster than it may',
           'Take more time for the motion.')
    if trajectory.efforts is not None:
        most = np.where(controller.passive | controller.locked, np.inf, controller.effort_limits)
        refuse(abs(trajectory.efforts) > most[dofs] * (1.0 + _ROUNDING), trajectory.times,
               trajectory.efforts, 'takes {value:.4g} N m or N, more than its drive has',
               'Take more time for the motion, or carry less.')
    return trajectory


def joint_tolerances(model, dofs, tolerances):
    """Return the tolerance of each of some dofs, (n,), from those of sliding and turning ones."""
    return np.where(model.slides[dofs], *tolerances)


class _Refusal:
    """Raises where a condition (k, n) of samples and joints is met first."""

    def __init__(self, joints):
        self._joints = joints

    def __call__(self, wrong, times, values, what, cure):
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            joint, time, value = self._joints[j], float(times[i]), float(values[i, j])
            raise ControlError(
                f"The plan is refused: '{joint}' {what.format(value=value)}, at {time:.3f} s.",
                joint=joint, time=time, value=value, cure=cure)


def _joints(controller, trajectory):
    """Return the dofs of the trajectory's joints, or raise a ControlError."""
    model = controller.model
    if model.floating_base:
        raise ControlError(
            'The plan is refused: the base floats, and a trajectory of joints does not say where '
            'it goes.', cure='Move the tasks along trajectories of their own.')
    dofs = []
    for joint in trajectory.joints:
        known = model.joint_dofs.get(joint, ())
        if len(known) != 1:
            near = difflib.get_close_matches(joint, model.dof_names, 1)
            raise ControlError(
                f"The plan is refused: the robot has no joint '{joint}' of one coordinate.",
                joint=joint, cure=f"Did you mean '{near[0]}'?" if near
                else 'Send it to the robot that it was made for.')
        dofs.append(known[0])
    for dof in np.flatnonzero(controller.passive):
        if dof not in dofs:
            joint = model.dof_names[dof]
            raise ControlError(
                f"The plan is refused: it leaves out '{joint}', which no drive holds.",
                joint=joint, cure='Plan what passive joints do, too.')
    for dof, joint in zip(dofs, trajectory.joints, strict=True):
        if controller.locked[dof] and np.ptp(trajectory.positions[:, dofs.index(dof)]) > _ROUNDING:
            raise ControlError(f"The plan is refused: it moves '{joint}', which is locked.",
                               joint=joint, cure='Unlock it, or plan with it locked.')
    return np.array(dofs)


def _check_tasks(controller):
    for task in controller.tasks.values():
        if task.enabled and (isinstance(task, CenterOfMassTask)
                             or getattr(task, 'unattached', False)):
            raise ControlError(
                f"The plan is refused: '{task.name}' cannot follow it, no link carries its point.",
                name=task.name, cure='Switch the task off first.')


def _check_start(controller, trajectory, dofs, state, tolerances, refuse):
    """
    Check that the trajectory begins where the robot is, at its velocity, and ends at rest.

    A difference Δv in velocity moves a joint by ``x = Δv t exp(−ω t)``, as the posture's law
    ``ẍ = −2 ω ẋ − ω² x`` of stiffness kp = ω² takes it back, critically damped: by ``Δv / (e ω)``
    at most. That has to be within the tolerance of positions, ``|Δv| ≤ e ω tolerance``, rad/s or
    m/s with ω in 1/s: the greater the stiffness, the sooner a difference is taken back, so the
    greater it may be. A posture without stiffness takes back none.
    """
    model = controller.model
    tolerance = joint_tolerances(model, dofs, tolerances)
    bandwidth = math.e * np.sqrt(controller.posture.kp[dofs])
    first, last = trajectory.times[:1], trajectory.times[-1:]
    away = trajectory.positions[:1] - state.q[model.q_index[dofs]]
    away = away - _whole_turns(model, dofs, away)
    refuse(abs(away) > tolerance, first, away,
           'is {value:.4g} rad or m away from where it begins',
           'Bring the robot to the beginning of the plan, or plan from where it is.')
    if trajectory.velocities is not None:
        initial, final = trajectory.velocities[:1], trajectory.velocities[-1:]
        moving = initial - state.v[dofs]
        refuse(abs(moving) > tolerance * bandwidth, first, moving,
               'begins {value:.4g} rad/s or m/s faster than it moves now',
               'Begin the plan at rest, and send it to a robot at rest.')
        refuse((abs(final) > tolerance * bandwidth) & ~controller.passive[dofs], last, final,
               'still moves at {value:.4g} rad/s or m/s', 'End the plan at rest.')


def _whole_turns(model, dofs, angles):
    """Return the whole turns in angles (..., n), rad, of joints that turn freely; 0 of others."""
    return np.where(model.turns_freely[dofs], 2.0 * np.pi * np.round(angles / (2.0 * np.pi)), 0.0)


def _times(trajectory):
    """Return the times at which a trajectory is looked at, (t,), s."""
    times = trajectory.times
    between = np.linspace(times[:-1], times[1:], _SAMPLES, endpoint=False, axis=1)
    return np.append(between.ravel(), times[-1])
