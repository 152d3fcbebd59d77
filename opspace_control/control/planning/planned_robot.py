# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The robot that a plan moves: its joints under efforts, its closed chains closed."""

import numpy as np

from opspace_control.control.constraints.contact import Contact
from opspace_control.dynamics.closed_chain import ChainResponse, Closure
from opspace_control.dynamics.hybrid_dynamics import hybrid_motion
from opspace_control.dynamics.passive_forces import passive_torque
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.model import RobotState
from opspace_control.model.nodes import ACTIVE, PASSIVE
from opspace_control.spatial.rotations import vector_from_matrix


class PlannedRobot:
    """
    A robot under its drives' efforts, gravity, friction, springs, and its controller's constraints.

    Parameters
    ----------
    controller : OperationalSpaceController
        Its payloads, status of joints and closed constraints are those of the robot.
    state : RobotState
        Where it begins; what brakes and closed constraints hold is at rest.
    gravity : (3,) array or None
        m/s², world axes; None: 9.81 along -z if the controller compensates gravity, else none.
    joint_forces : PassiveForces or None
        Friction and springs of all joints; None: those of the controller.

    Attributes
    ----------
    state : RobotState
        Where it is.
    gravity : (3,) array
        m/s².

    """

    def __init__(self, controller, state, gravity, joint_forces):
        self.model, self._controller = controller.model, controller
        if gravity is None:
            gravity = GRAVITY if controller.gravity_compensation else np.zeros(3)
        self.gravity = np.array(gravity, dtype=float)
        self._forces = controller.passive_forces if joint_forces is None else joint_forces
        self._active = ~(controller.passive | controller.locked)
        self._limits = controller.effort_limits
        self._nodes = controller.nodes  # payloads on links included
        self._nodes['status'][self._nodes['status'] == ACTIVE] = PASSIVE
        self.state = RobotState(
            self.model, state.q, np.where(controller.locked, 0.0, state.v))
        self._constraints = [one for one in controller.constraints.values() if one.closed]
        self._places = [self._relative_pose(constraint) for constraint in self._constraints]
        if self._constraints:
            self._close()

    def drive(self, h):
        """Return the drives' efforts (nv,), friction overcome, and how many the limits cut."""
        effort = self._controller.compute_torque(self.state, dt=h)
        limited = self._controller.limited_joints
        requested = effort - np.where(self._active, self._natural(self.state), 0.0)
        effort = np.clip(requested, -self._limits, self._limits)
        return effort, max(limited, int((effort != requested).sum()))

    def acceleration(self, effort, state=None):
        """Return what all joints do, (nv,): zero where a brake holds."""
        state = self.state if state is None else state
        free = hybrid_motion(self.model, self._nodes, state, np.zeros(self.model.nv),
                             effort + self._natural(state), gravity=self.gravity).acceleration
        return self._chain(state).accelerated(free) if self._constraints else free

    def outside(self):
        """Return how many joints are beyond their position limits."""
        scalar = self.model.q_index >= 0
        q = self.state.q[self.model.q_index[scalar]]
        return int(((q < self.model.lower_position_limits[scalar])
                    | (q > self.model.upper_position_limits[scalar])).sum())

    def slipping(self):
        """Return how many contacts and grasps need more than pressure and friction."""
        return (sum(one.slip > 1.0 for one in self._constraints if isinstance(one, Contact))
                + sum(grasp.slips for grasp in self._controller.grasps.values() if grasp.engaged))

    def step(self, effort, acceleration, h):
        """Advance the state by h, s; the acceleration is that at its beginning."""
        model, state = self.model, self.state
        q, v = state.q, state.v
        middle = RobotState(model, model.integrate(q, v, 0.5 * h), v + 0.5 * h * acceleration)
        after = v + h * self.acceleration(effort, middle)
        state.update(model.integrate(q, 0.5 * (v + after), h), after)
        if self._constraints:
            self._close()

    def _close(self):
        """Take out of the state what integration has opened closed chains by."""
        chain = self._chain(self.state)
        q = self.model.integrate(self.state.q, chain.correction(self._opening()), 1.0)
        v = self.state.v + chain.correction(chain.rates)
        self.state.update(q, v)

    def _chain(self, state):
        """Return the ChainResponse of the closed constraints."""
        poses = self.model.forward_kinematics(state, [one.frame for one in self._constraints])
        return ChainResponse(self.model, state, self._nodes, [
            Closure(one.frame, one.other, one.place, one.row_axes(poses[one.frame][:3, :3]),
                    ' '.join(one.axes)) for one in self._constraints])

    def _opening(self):
        """Return by how much the chains are open, (6c,), m and rad, in the axes of the rows."""
        opening = np.zeros((len(self._constraints), 6))
        for e, (constraint, place) in enumerate(zip(self._constraints, self._places, strict=True)):
            pose, other = self._poses(constraint)
            wanted = other @ place
            R, point = pose[:3, :3], np.append(constraint.place, 1.0)
            rows = R @ constraint.row_axes(R)
            opening[e, :3] = ((pose - wanted) @ point)[:3] @ rows
            opening[e, 3:] = vector_from_matrix(R @ wanted[:3, :3].T) @ rows
        return opening.ravel()

    def _relative_pose(self, constraint):
        """Return the pose of a constraint's frame in that which holds it, (4, 4)."""
        pose, other = self._poses(constraint)
        return np.linalg.inv(other) @ pose

    def _poses(self, constraint):
        """Return the poses of a constraint's frame and of what holds it, (4, 4) each."""
        frame, other = constraint.frame, constraint.other
        names = [frame] if other is None else [frame, other]
        poses = self.model.forward_kinematics(self.state, names)
        return poses[frame], np.eye(4) if other is None else poses[other]

    def _natural(self, state):
        """Return the forces that come by themselves, (nv,): friction, springs, given ones."""
        forces = np.empty(self.model.nv)
        passive_torque(self._nodes, self._forces.dofs, state.q, state.v, forces)
        return forces
