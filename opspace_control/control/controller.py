# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The operational-space controller of a branching robot."""

from types import MappingProxyType

import numpy as np

from opspace_control.checks import checked
from opspace_control.control.arguments import (
    check_arguments,
    gather_parts,
    level_rows,
    make_robot,
    make_stack,
    operational_frames,
    result_for,
    split_contacts,
)
from opspace_control.control.brake import Brake
from opspace_control.control.brake_law import DAMPING_RATE
from opspace_control.control.constraints.constraint import register_constraints
from opspace_control.control.constraints.contact import register_contacts
from opspace_control.control.constraints.large_inertia import large_inertia
from opspace_control.control.controller_state import ControllerState
from opspace_control.control.cycle import control_cycle, limited_cycle
from opspace_control.control.cycle_record import make_cycle
from opspace_control.control.data import (
    SCALE,
    Demand,
    Grasping,
    Limits,
)
from opspace_control.control.gradual import gradual_numbers
from opspace_control.control.grasping.grasp_records import register_grasps
from opspace_control.control.joint_status import JointStatus
from opspace_control.control.limits.distance_limits import DistanceLimits
from opspace_control.control.limits.effort_limits import read_effort_limits
from opspace_control.control.limits.limit_data import LimitData
from opspace_control.control.payloads import Payloads
from opspace_control.control.storage import Arguments, make_storage
from opspace_control.dynamics.passive_forces import PassiveForces
from opspace_control.dynamics.preparation import check_state, check_time
from opspace_control.errors import ControlError
from opspace_control.library import address
from opspace_control.spatial.eigen import SINGULARITY_THRESHOLD
from opspace_control.tasks.joint import JointTask, register_joints
from opspace_control.tasks.pose import PoseTask
from opspace_control.tasks.posture import PostureTask, register_posture
from opspace_control.tasks.task import OperationalTask, register_tasks

# A state, an array and a time that no cycle has been given: an interrupt may come between what is
# connected to a cycle and the attribute that tells it.
_UNKNOWN = object()


class OperationalSpaceController(ControllerState):
    """
    Joint forces that make operational points obey their tasks, and the joints the posture.

    ``τ = Jᵀ f' + τ_null``, [CK00] (11)-(13): the posture acts in the null space of all tasks. Where
    the tasks cannot all be met, the directions that are lost are left smoothly to the posture, and
    every force stays bounded. Efforts are cut at their limits.

    Tasks of lower priority act in the null space of those above. Passive joints, which have no
    drive, are taken along by the others ([JR94] 5); constraints, such as a grasp or the ground,
    hold points that then need no task ([RKR95] 3.2). Raises a ControlError for tasks of the same
    name or already in use, or an argument of the wrong kind or size; a ModelError for a task's
    unknown frame; a TaskError for a posture gain or target that does not fit the robot.

    Parameters
    ----------
    model : RobotModel
        Its passive joints and its locked ones may change later: `set_status`.
    tasks : sequence of OperationalTask or JointTask
        Such as PoseTask, with different names; a task belongs to one controller, and so does the
        sensor of its force control.
    posture : PostureTask, optional
        ``PostureTask()`` if not given.
    constraints : sequence of Constraint, optional
        With different names; a constraint belongs to one controller.
    grasps : sequence of Grasp, optional
        With different names; a grasp belongs to one controller, with its task and constraints.
    passive_forces : PassiveForces, optional
        What is known of the forces of passive joints; the URDF's friction if not given.
    effort_limits : float or (nv,) array, optional
        N·m or N, inf for no limit; the URDF's if not given.
    limits : JointLimits, optional
        Of positions, velocities and accelerations; these and the limits of efforts have
        priority over all tasks. If not given, efforts are cut at their limits, and nothing limits
        the motion of the joints.
    distances : DistanceLimits, optional
        Of shapes on links and in the world; needs ``limits``.
    gravity_compensation : bool
        False for hardware that compensates gravity itself.
    singularity_threshold : float
        Scaled eigenvalue of Λ⁻¹, times the number of controlled axes, below which a direction is
        truncated, without unit: it is met exactly at it, by half at half of it, at zero not at all.
    contact_model : str
        ``exact``: contacts are eliminated as all constraints. ``large_inertia``: they are large
        inertias of their links, [WPO15] (43), at less cost, up to an error of first order; without
        ``limits``, and with no other constraints or grasps.

    Attributes
    ----------
    model : RobotModel
    tasks : mapping of str to OperationalTask or JointTask
        In order of priority.
    sensors : mapping of str to ForceSensor
    posture : PostureTask
    constraints : mapping of str to Constraint
    grasps : mapping of str to Grasp
    payloads : Payloads
        What the links carry.
    passive_forces : PassiveForces

    """

    def __init__(self, model, tasks=(), posture=None, *, constraints=(), grasps=(),
                 passive_forces=None, effort_limits=None, limits=None, distances=None,
                 gravity_compensation=True, singularity_threshold=SINGULARITY_THRESHOLD,
                 contact_model='exact'):
        tasks, constraints, grasps = gather_parts(tasks, constraints, grasps)
        posture = PostureTask() if posture is None else posture
        check_arguments(model, tasks, posture, constraints, singularity_threshold)
        self._effort_limits = read_effort_limits(model, effort_limits)
        tasks = sorted(tasks, key=lambda task: task.priority)
        operational = [task for task in tasks if not isinstance(task, JointTask)]
        groups = [task for task in tasks if isinstance(task, JointTask)]
        eliminated, contacts = split_contacts(contact_model, constraints, grasps, limits)
        contact_points, points = make_stack(model, contacts, ()), make_stack(
            model, eliminated, tasks)
        self._status = JointStatus(model)
        robot = make_robot(self._status, points, limits is not None or bool(contacts))
        nodes, points = robot.nodes, robot.points
        self._points = points[len(eliminated):]
        dofs, goal = register_posture(posture, model)
        joint_records = register_joints(groups, model)
        records, sensors, sensor_records = register_tasks(operational, model)
        self._pose_tasks = [task for task in operational if isinstance(task, PoseTask)]
        for task in self._pose_tasks:
            task.on_trajectory = self._find_planned
        self._find_planned()
        self.model = model
        self.posture = posture
        self.tasks = MappingProxyType({task.name: task for task in tasks})
        self.sensors = MappingProxyType({sensor.name: sensor for sensor in sensors})
        self.constraints = MappingProxyType({item.name: item for item in constraints})
        self.grasps = MappingProxyType({grasp.name: grasp for grasp in grasps})
        self._cycle = make_cycle(model, self._status, singularity_threshold)
        self.gravity_compensation = gravity_compensation
        self.passive_forces = (
            PassiveForces.from_urdf(model) if passive_forces is None else passive_forces)
        constrained, rows = 6 * len(eliminated), 6 * points.size
        self.payloads = Payloads(
            model, nodes, self._change_shapes, self._interrupt_observer)
        frames = operational_frames(points, len(eliminated))
        holds, grips = register_grasps(
            grasps, model, operational, constraints, frames, self.payloads, self._status)
        bound = register_constraints(
            constraints, [*points['other'][:len(eliminated)], *contact_points['other']])
        register_contacts(constraints, model, operational)
        distances = DistanceLimits.checked(distances, model, limits)
        self._limits = None if limits is None else LimitData(
            limits, distances, nodes, self._cycle, self._effort_limits, len(constraints),
            6 * robot.carried.size, len({task.priority for task in tasks}))
        self._gradual = gradual_numbers(
            records, joint_records, dofs, bound, holds, grips, self.payloads, self._limits,
            self.passive_forces.dofs)
        storage = make_storage(nodes.size, model.nv, rows, 6 * robot.carried.size, constrained,
                               self._limits)
        self._posture_acceleration, _, self._inverse_inertia, self._rows = storage.results
        self._row_scales = self._rows[SCALE, constrained:]
        self._arguments = Arguments(
            cycle=self._cycle,
            robot=robot._replace(collision=self._limits.collision) if self._limits else (
                robot._replace(contacts=large_inertia(
                    bound[len(eliminated):], contact_points))),
            demand=Demand(
                constraints=bound[:len(eliminated)], tasks=records, sensors=sensor_records,
                joint_tasks=joint_records, levels=level_rows(tasks, constrained), dofs=dofs,
                posture=goal, passive_dofs=self.passive_forces.dofs),
            grasping=Grasping(holds, grips),
            limits=Limits(self._effort_limits, self._limits.records if self._limits else None,
                          self._limits.numbers if self._limits else None),
            storage=storage)
        self._kernel, self._compute = limited_cycle if self._limits else control_cycle, None
        self._brake = None  # made when it is needed
        self._values, self._tau = np.zeros(model.nq + model.nv), np.zeros(model.nv)
        self._q, self._v = self._values[:model.nq], self._values[model.nq:]
        self._q[:] = model.neutral()

    def compute_torque(self, state, out=None, *, dt=1e-3):
        """
        Return the joint forces of this cycle.

        Raises a ControlError if the state is another model's, ``out`` not a contiguous (nv,) float
        array, or dt no time: negative, infinite or not a number.

        Parameters
        ----------
        state : RobotState
            Of this controller's model.
        out : (nv,) float array, optional
            Receives the result; without it a new array is made.
        dt : float
            Time since the last cycle, s, of all that goes on in time: integral action and filters
            of force control, trajectories of goals, the disturbance observer, joints that begin or
            cease to rest at their limits. With 0 none of these goes on.

        Returns
        -------
        (nv,) array
            N·m or N, in the order of ``model.dof_names``; exactly 0.0 at passive and locked joints.

        """
        if self._compute is None:
            self.warm_up()
        if state is not self._state:
            check_state(self.model, state, ControlError)
            self._state = _UNKNOWN
            self._compute.connect(0, self._read, state.address, self._values.nbytes)
            self._state = state
        if out is not self._out:
            self._connect_result(out)
        if dt is not self._dt:
            check_time(dt, ControlError)
            self._compute.take(dt)
            self._dt = float(dt)  # the same object, unless it is no float
        for task in self._planned:
            task.plan_target(dt)
        self._compute.repeat()
        return self._tau.copy() if out is None else out

    def _connect_result(self, out):
        """Let cycles write their joint forces to ``out``, beside the controller's own if given."""
        self._out = _UNKNOWN
        place, size = (0, 0) if out is None else (address(result_for(self.model, out)), out.nbytes)
        self._compute.connect(1, place, self._written, size)
        self._out = out

    def warm_up(self):
        """Load the cycle, or compile it without a library, so that no cycle waits for it."""
        self._state = self._out = self._dt = _UNKNOWN
        self._read, self._written = address(self._values), address(self._tau)
        self._compute = self._kernel.partial(*self._arguments, 0.0, self._q, self._v, self._tau)

    def _find_planned(self):
        """Find the tasks whose goals travel: the others take no time of a cycle."""
        self._planned = [task for task in self._pose_tasks if task.trajectory]

    def damping_torque(self, state, out=None, *, rate=DAMPING_RATE):
        """
        Return pure damping, ``τ = −rate A v``, [K87] (7.6), to be used when nothing else is safe.

        Neither gravity nor any goal takes part. It takes energy out of any motion: where an effort
        limit is passed all forces shrink alike, and passive and locked joints take no part.
        ``state`` and ``out``, the shape of the result and errors are those of `compute_torque`;
        velocities decay at the ``rate``, 1/s, 0 or more: a ControlError refuses others.
        """
        check_state(self.model, state, ControlError)
        out = result_for(self.model, out)
        rate = checked(rate, 'rate of damping_torque', ControlError, lowest=0.0)
        if self._brake is None:
            self._brake = Brake(self)
        self._brake.damp_all(state, rate, out)
        return out

    def set_status(self, passive_joints=None, locked_joints=None):
        """
        Say which joints are passive and which are locked from the next cycle on, [JR94] 3.

        Raises a ModelError for an unknown name or one in both lists, or if no inertia would oppose
        a joint; then nothing has changed.

        Parameters
        ----------
        passive_joints, locked_joints : sequences of str, optional
            All joints, or dofs, without a drive, and those under a brake; None: as before.

        """
        self._status.change(passive_joints, locked_joints)
        self._cycle['has_passive'] = self._status.responds.any()
        self._interrupt_observer()

    def check_status(self, passive_joints=None, locked_joints=None):
        """Raise a ModelError if `set_status` would; nothing changes."""
        self._status.checked(passive_joints, locked_joints)

    def hold(self):
        """Make the poses and the posture of the next cycle the goals of all tasks."""
        for task in self.tasks.values():
            task.clear_target()
        self.posture.clear_target()

    def forget_forces(self):
        """Let all tasks begin anew with force control: no contact, no wrench that is wanted."""
        for task in self.tasks.values():
            if isinstance(task, OperationalTask):
                task.force.restart()
