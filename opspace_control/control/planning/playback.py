# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A plan carried out: all goals of a controller move as the plan does, [JR94] claim 10."""

import numpy as np

from opspace_control.control.planning.playback_check import check_playback, joint_tolerances
from opspace_control.dynamics import kinematics
from opspace_control.dynamics.data import NODE_STATE, moment_nodes, nan_filled
from opspace_control.dynamics.passive_forces import PassiveForces, passive_torque
from opspace_control.model import RobotState
from opspace_control.model.nodes import PASSIVE
from opspace_control.tasks.joint import JointTask, joint_dofs
from opspace_control.tasks.pose import PoseTask

TOLERANCES = 0.005, 0.05  # m and rad, of joints that slide and of those that turn


class Playback:
    """
    Goals of a controller that move as joints are planned to.

    The goal of the posture and of every task that is on is where the planned joints take it, with
    its velocity and acceleration as feed-forward, so that the law commands the planned
    accelerations plus feedback at every point and joint, and nothing else. The efforts are computed
    anew, for the robot as it is; friction that the planned velocities meet at the drives is added.
    Joints that the plan leaves out rest. Raises a ControlError if the trajectory is not one that
    this robot can follow from there; it names joint and time, and nothing has changed.

    Parameters
    ----------
    controller : OperationalSpaceController
        Its tasks that are on follow; later changes of them are the caller's.
    trajectory : JointTrajectory
        What `Plan.joint_trajectory` returns, or any other.
    state : RobotState
        Where the robot is; if the trajectory begins later than at zero it begins there, at rest.
    tolerances : (float, float)
        How far a joint may be from where the trajectory begins: m if it slides, rad if it turns.
    velocity_limits : (nv,) array, optional
        rad/s or m/s; those of the controller's limits, or else of the URDF, if not given.
    joint_forces : PassiveForces, optional
        The friction of the drives; that of the URDF if not given.

    Attributes
    ----------
    trajectory : JointTrajectory

    """

    def __init__(self, controller, trajectory, state, *, tolerances=TOLERANCES,
                 velocity_limits=None, joint_forces=None):
        model = controller.model
        self.trajectory = trajectory = check_playback(
            controller, trajectory, state, tolerances, velocity_limits)
        self._controller, self._posture = controller, controller.posture
        self._dofs = np.array([model.dof_index(name) for name in trajectory.joints])
        self._coordinates = model.q_index[self._dofs]
        self._state = RobotState(model, state.q, np.zeros(model.nv))
        self._motion = np.zeros((2, model.nv))
        self._friction = (
            PassiveForces.from_urdf(model) if joint_forces is None else joint_forces).dofs
        self._nodes, self._states = moment_nodes(model), nan_filled(model.nodes.size, NODE_STATE)
        self._all_free = self._nodes.copy()
        self._all_free['status'][self._all_free['v_index'] >= 0] = PASSIVE
        on = [task for task in controller.tasks.values() if task.enabled]
        self._groups = [(task, joint_dofs(task, model)) for task in on
                        if isinstance(task, JointTask)]
        self._posed = [task for task in on if isinstance(task, PoseTask)]
        points = controller.task_points(self._posed)
        self._points = np.concatenate([points, points])
        self._points['frame'][len(points):] = points['other']

    @property
    def duration(self):
        """Time of the trajectory's last point, s."""
        return self.trajectory.duration

    def move(self, time):
        """Let all goals be where the plan has them at a time, s from its start."""
        q, (v, a) = self._state.q.copy(), self._motion
        q[self._coordinates], v[self._dofs], a[self._dofs] = self.trajectory.sample(time)
        self._state.update(q, v)
        effort = np.empty_like(v)
        passive_torque(self._all_free, self._friction, self._state.q, self._state.v, effort)
        self._posture.move_target(q, v, a, -effort)
        for task, dofs in self._groups:
            task.set_target(q[self._state.model.q_index[dofs]], v[dofs], a[dofs])
        if self._posed:
            kinematics.move(self._nodes, self._state.q, self._state.v, a, self._states,
                            self._points)
        for task, own, other in zip(self._posed, self._points,
                                    self._points[len(self._posed):], strict=False):
            task.move_target(*(_seen_from(own, other) if task.reference else _in_base(own)))

    def stop(self):
        """Let all goals stay where they are."""
        self._posture.set_feed_forward()
        for task, _ in self._groups:
            if not np.isnan(task.target).any():
                task.set_target(task.target)
        for task in self._posed:
            task.set_feed_forward()

    def furthest(self, state):
        """Return the joint that is furthest from its goal, of those with a drive, and how far."""
        away = np.where(self._controller.passive[self._dofs], 0.0, self._away(state))
        k = int(away.argmax())
        return self.trajectory.joints[k], float(away[k])

    def outside(self, state, tolerances):
        """Return the same of a joint that is further away than the tolerances, m and rad, or ()."""
        most = joint_tolerances(self._controller.model, self._dofs, tolerances)
        away = np.where(self._controller.passive[self._dofs], 0.0, self._away(state))
        k = int((away / np.fmax(most, 1e-12)).argmax())
        return (self.trajectory.joints[k], float(away[k])) if away[k] > most[k] else ()

    def _away(self, state):
        """Return how far each joint of the trajectory is from its goal, (n,), rad or m."""
        model = self._state.model
        error = self._state.q[self._coordinates] - state.q[self._coordinates]
        whole = 2.0 * np.pi * np.round(error / (2.0 * np.pi))
        return abs(error - np.where(model.turns_freely[self._dofs], whole, 0.0))


def _in_base(point):
    """Return position (3,), axes (3, 3), twist and acceleration (6,) of a point."""
    return tuple(point[field].copy() for field in ('p', 'R', 'v', 'a'))


def _seen_from(point, other):
    """Return the same in the frame of another point, which moves: ẋ, ẍ along its axes."""
    R, d = other['R'], point['p'] - other['p']
    w, alpha = other['v'][3:], other['a'][3:]
    turning = point['v'][3:] - w
    rate = point['v'][:3] - other['v'][:3] - np.cross(w, d)
    second = (point['a'][:3] - other['a'][:3] - np.cross(alpha, d)
              - np.cross(w, np.cross(w, d)) - 2.0 * np.cross(w, rate))
    return (R.T @ d, R.T @ point['R'], np.concatenate([R.T @ rate, R.T @ turning]),
            np.concatenate([R.T @ second, R.T @ (point['a'][3:] - alpha - np.cross(w, turning))]))
