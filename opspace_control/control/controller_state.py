# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a controller reports of its last cycle."""


import numpy as np

from opspace_control.control.controller_limits import ControllerLimits
from opspace_control.control.data import ACTIVATION, COMPLIANT, NO_DISTURBANCE, RESIDUAL
from opspace_control.control.diagnosis.conflicts import truncated_directions
from opspace_control.control.disturbance_observer import DisturbanceObserver
from opspace_control.control.saved import save
from opspace_control.dynamics.drive_friction import NO_DRIVE_FRICTION, DriveFriction
from opspace_control.dynamics.momentum_observer import MomentumObserver
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import ControlError
from opspace_control.model.nodes import WORLD
from opspace_control.tasks.joint import JointTask
from opspace_control.tasks.pose_kinds import CenterOfMassTask

# Accelerations so small are rounding, m/s² or rad/s².
NOTHING = 1e-6


class ControllerState(ControllerLimits):
    """The properties of an `OperationalSpaceController`: its state."""

    _disturbance = None
    _drive_friction = None

    @property
    def passive(self):
        """Which degrees of freedom have no drive, (nv,) of bool."""
        return self._status.passive

    @property
    def locked(self):
        """Which degrees of freedom a brake holds, (nv,) of bool."""
        return self._status.locked

    @property
    def inverse_inertia(self):
        """
        Λ⁻¹ of the tasks' frames at the last cycle, (6m, 6m), [CK00] (30), in order of priority.

        With passive joints and constraints what these leave of it; what levels leave to those below
        is not in it. On its way in or out, a task's rows have an inflated diagonal. Of a task's
        three linear and three angular rows those are 0 of which none is controlled or pushed.
        """
        lower = np.tril(self._inverse_inertia)
        return lower + np.tril(lower, -1).T

    @property
    def row_scales(self):
        """
        Scaling of Λ⁻¹'s rows at the last cycle, (6m,), by all free joints; 0: not controlled.

        Under constraints by what these leave of it, down to a hundredth.
        """
        return self._row_scales.copy()

    @property
    def nodes(self):
        """
        The robot's nodes as the controller has them, (n,) of NODE, a copy.

        With the payloads of its links, and the present status of its joints.
        """
        return self._status.nodes.copy()

    @property
    def gravity_compensation(self):
        """Whether the torques hold the robot against gravity."""
        return bool(self._cycle['gravity'].any())

    @gravity_compensation.setter
    def gravity_compensation(self, value):
        self._cycle['gravity'] = GRAVITY if value else 0.0

    @property
    def disturbance(self):
        """
        The `DisturbanceObserver`, or None; without one the law is the bare one.

        It may be set between two cycles; a ControlError refuses one that belongs to a controller,
        or names no task at a point of a link.
        """
        return self._disturbance

    @disturbance.setter
    def disturbance(self, observer):
        points = [task for task in self.tasks.values() if not isinstance(task, JointTask)]
        records = {task.name: k for k, task in enumerate(points)
                   if not (isinstance(task, CenterOfMassTask) or task.unattached)}
        if not (observer is None or isinstance(observer, DisturbanceObserver)):
            raise ControlError(f'disturbance = {observer!r} is not allowed.', value=observer,
                               cure='Give a DisturbanceObserver, or None.')
        data = NO_DISTURBANCE if observer is None else observer.register(
            self.model.nv, records, self._rows.shape[1])
        self._disturbance, self._compute = observer, None
        self._arguments = self._arguments._replace(
            demand=self._arguments.demand._replace(disturbance=data))
        self._gradual.pop('disturbance.limits', None)
        if observer is not None:
            self._gradual['disturbance.limits'] = observer.limits

    def _interrupt_observer(self):
        """Let the observer forget the last momentum: joints or bodies are others from now on."""
        if self._disturbance is not None:
            self._disturbance.interrupt()

    @property
    def drive_friction(self):
        """
        The `DriveFriction` that efforts overcome, or None: drives have none, or overcome it.

        It may be set between two cycles, and needs ``limits``; a ControlError or ModelError says
        what is wrong. Its quantities may change at any time.
        """
        return self._drive_friction

    @drive_friction.setter
    def drive_friction(self, friction):
        if friction is not None and self.limits is None:
            raise ControlError('Drive friction is overcome together with limits of joints only.',
                               cure='Give limits=JointLimits(model) to the controller, too.')
        if not (friction is None or isinstance(friction, DriveFriction)):
            raise ControlError(f'drive_friction = {friction!r} is not allowed.', value=friction,
                               cure='Give a DriveFriction, or None.')
        dofs = NO_DRIVE_FRICTION if friction is None else friction.checked_for(
            self.model, self._effort_limits)
        self._drive_friction, self._compute = friction, None
        self._arguments = self._arguments._replace(
            demand=self._arguments.demand._replace(friction=dofs))
        self._gradual |= {f'drive_friction.{quantity}': dofs[quantity]
                          for quantity in ('coulomb', 'breakaway', 'viscous')}

    def momentum_observer(self, rate):
        """
        Return a `MomentumObserver` of this robot, of this ``rate``, 1/s, without a limit.

        With the payloads of its links, the present status of its joints, the known forces of
        passive ones, and gravity as now compensated; errors are those of the class. After a change
        of payloads or of the status while the robot moves it is to be restarted, with its residual:
        the momentum is that of other bodies.
        """
        return MomentumObserver(
            self.model, rate, gravity_compensation=self.gravity_compensation,
            passive_forces=self.passive_forces, nodes=self._status.nodes)

    def task_points(self, tasks):
        """Return the POINT of each of some tasks at points, (m,), as they are now: a copy."""
        own = self._points[self._points['joints'][:, 0] == WORLD]
        names = [task.name for task in self.tasks.values() if not isinstance(task, JointTask)]
        return own[[names.index(task.name) for task in tasks]]

    def save(self, path, servo=None):
        """
        Write the controller as it is, its goals and all, to a file for programs without Python.

        The header ``native/include/opspace.h`` runs it with the library of kernels; its torques are
        those of `compute_torque`, bit by bit. With a ``servo``, a `Servo` of this controller, the
        file has its envelope and its trips, too: then efforts are those of `Servo.cycle`. Errors
        are those of `block_of`.
        """
        save(self, path, servo)

    @property
    def posture_acceleration(self):
        """
        Reference acceleration of the posture at the last cycle, q̈_null of [CK00] (11), (nv,).

        Of passive joints what the others would induce them to do.
        """
        return self._posture_acceleration.copy()

    @property
    def gradual(self):
        """Arrays by name, the very ones in use, whose numbers should change gradually."""
        return self._gradual

    @property
    def effort_limits(self):
        """Limits of the joint forces, (nv,), N·m or N, inf for none."""
        return self._effort_limits.copy()

    @property
    def singularity_threshold(self):
        """Scaled eigenvalue, times the axes of a level, below which directions are truncated."""
        return float(self._cycle['singularity_threshold'][0])

    @property
    def least_eigenvalue(self):
        """
        Lower bound, within a factor of the rows, of the smallest eigenvalue of the scaled Λ⁻¹.

        Of the last cycle, without unit; 0.0 while directions may be truncated.
        """
        return float(self._cycle['least_eigenvalue'][0])

    @property
    def attained(self):
        """
        Whether tasks got all of their accelerations at the last cycle.

        They do not where directions are truncated, or active limits leave residual accelerations.
        """
        return bool(self._cycle['attained'][0])

    @property
    def truncated_directions(self):
        """Directions that tasks did not get at the last cycle: tuple of TruncatedDirection."""
        return truncated_directions(self)

    @property
    def limited_joints(self):
        """How many joint forces the limits cut at the last cycle."""
        return int(self._cycle['limited'][0])

    @property
    def force_share(self):
        """
        Share of the forces of force control that effort limits left at the last cycle, 0 to 1.

        Without `limits` it is 1, and efforts are cut.
        """
        return float(self._cycle['force_share'][0])

    @property
    def residual_accelerations(self):
        """
        Accelerations of tasks that active limits leave unmet: dict of (6,), of the last cycle.

        m/s² and rad/s² along the axes of a task at a point, of up to six joints of a joint task; a
        joint task of more joints or of several branches is not in it, nor are tasks that miss none.
        """
        if not self.active_limits:
            return {}
        first, residual = 0, {}
        rows = self._rows[:, self._rows.shape[1] - self._inverse_inertia.shape[0]:]
        for task in self.tasks.values():
            last = first + 6 * task.points
            controlled = (rows[ACTIVATION, first:last] > 0.0) & (rows[COMPLIANT, first:last] == 0.0)
            lost = np.where(controlled, rows[RESIDUAL, first:last], 0.0)
            if last - first == 6 and abs(lost).max() > NOTHING:
                residual[task.name] = lost
            first = last
        return residual
