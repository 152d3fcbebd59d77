# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
TSID for robots on legs: its inverse dynamics as one quadratic program a cycle, in C++.

Contacts, bounds of efforts and of the joints' accelerations are its constraints, tasks are weighted
as those of `ContactProgram`. Its tasks take over the accelerations of a controller: their own gains
are zero. The wheel (1.7.1, with pin 3.4.0) has its module one folder too deep.
"""

import tempfile
from itertools import pairwise

import numpy as np
import pinocchio
from tsid import tsid_pywrap as tsid

from opspace_control.tasks.arguments import AXES

_LEVEL = 100.0      # weight of a task beside that of the next level, as in `contact_qp`
_POSTURE, _FORCE = 1e-9, 1e-11  # weights of all accelerations and forces, beside the first task
_FIRST = 1e6        # weight of the first task: the solver adds 1e-8 to all accelerations and forces
_GREATEST = 1e4     # N, normal force
_STEP = 1e-3        # s, of bounds of the joints


class TsidProgram:
    """
    A robot on point feet or soles under TSID; arguments are those of `ContactProgram`.

    `compute_torque` returns the efforts of the joints with a drive, N·m, in Pinocchio's order.
    """

    def __init__(self, urdf_text, model, tasks, contacts, soles, acceleration):
        with tempfile.NamedTemporaryFile('w', suffix='.urdf') as file:
            file.write(urdf_text)
            file.flush()
            self._robot = tsid.RobotWrapper(
                file.name, pinocchio.StdVec_StdString(), pinocchio.JointModelFreeFlyer(), False)
        pin = self._robot.model()
        self._dofs = np.array([model.dof_index(name) for name in tuple(pin.names)[2:]])
        self._positions, self._contacts = model.q_index[self._dofs], contacts
        self._program = tsid.InverseDynamicsFormulationAccForce('law', self._robot, False)
        q = np.r_[model.neutral()[:7], model.neutral()[self._positions]]
        self._program.computeProblemData(0.0, q, np.zeros(pin.nv))
        self._add_bounds(model.effort_limits[self._dofs], acceleration)
        self._tasks = [(task, *made) for task, made in zip(
            tasks, map(self._make_task, tasks, _weights(tasks)), strict=True)]
        self._made = {contact: self._make_contact(contact, soles.get(contact.name))
                      for contact in contacts}
        self._active, self._solver, self._size = set(), tsid.SolverHQuadProgFast('solver'), None

    def compute_torque(self, state):
        """Return the efforts of a state, N·m."""
        q = np.r_[state.q[:7], state.q[self._positions]]
        R = pinocchio.Quaternion(q[6], *q[3:6]).matrix()
        v = np.r_[R.T @ state.v[:3], R.T @ state.v[3:6], state.v[self._dofs]]
        program = self._program
        for contact in self._contacts:
            if contact.closed != (contact in self._active):
                self._switch(contact)
        for task, made, weight, sample in self._tasks:
            if task.enabled != (task in self._active):
                self._switch_task(task, made, weight)
            if task.enabled:
                demand = task._record['acceleration']
                sample.second_derivative(demand[:3] if not task.frame else demand)
                made.setReference(sample)
        data = program.computeProblemData(0.0, q, v)
        size = program.nVar, program.nEq, program.nIn
        if size != self._size:
            self._solver.resize(*size)
            self._size = size
        found = self._solver.solve(data)
        if found.status != 0:
            raise ValueError(f'TSID ends with {found.status}')
        return program.getActuatorForces(found)

    def _add_bounds(self, efforts, acceleration):
        limits = tsid.TaskActuationBounds('efforts', self._robot)
        limits.setBounds(-efforts, efforts)
        self._program.addActuationTask(limits, 1.0, 0, 0.0)
        joints = tsid.TaskJointBounds('joints', self._robot, _STEP)
        most = np.full(len(efforts), acceleration)
        joints.setAccelerationBounds(-most, most)
        joints.setVelocityBounds(np.full(len(efforts), -1e6), np.full(len(efforts), 1e6))
        self._program.addMotionTask(joints, 1.0, 0, 0.0)
        posture = tsid.TaskJointPosture('posture', self._robot)
        posture.setKp(np.zeros(len(efforts)))
        posture.setKd(np.zeros(len(efforts)))
        posture.setReference(
            tsid.TrajectoryEuclidianConstant('rest', np.zeros(len(efforts))).computeNext())
        self._program.addMotionTask(posture, _FIRST * _POSTURE, 1, 0.0)
        self._bounds = limits, joints, posture

    def _make_task(self, task, weight):
        """Return a task of TSID's without gains, its weight, and the sample that it takes."""
        if not task.frame:
            made, size = tsid.TaskComEquality(task.name, self._robot), 3
            sample = tsid.TrajectoryEuclidianConstant('at', np.zeros(3)).computeNext()
        else:
            made, size = tsid.TaskSE3Equality(task.name, self._robot, task.frame), 6
            made.useLocalFrame(False)
            sample = tsid.TrajectorySE3Constant('at', pinocchio.SE3.Identity()).computeNext()
        made.setKp(np.zeros(size))
        made.setKd(np.zeros(size))
        made.setMask(np.array([float(AXES[k] in task.axes) for k in range(size)]))
        return made, weight, sample

    def _make_contact(self, contact, corners):
        normal, friction = np.array([0.0, 0.0, 1.0]), contact.friction / np.sqrt(2.0)
        name = f'contact of {contact.name}'  # tasks have names of the same kind
        if corners is None:
            made = tsid.ContactPoint(
                name, self._robot, contact.frame, normal, friction, 0.0, _GREATEST)
            made.useLocalFrame(False)
            gains = np.zeros(3)
        else:
            made = tsid.Contact6d(name, self._robot, contact.frame, corners.T.copy(),
                                  normal, friction, 0.0, _GREATEST)
            gains = np.zeros(6)
        made.setKp(gains)
        made.setKd(gains)
        return made

    def _switch(self, contact):
        """Engage or disengage a contact, where it is."""
        made = self._made[contact]
        if contact.closed:
            made.setReference(pinocchio.SE3.Identity())
            self._program.addRigidContact(made, _FIRST * _FORCE)
        else:
            self._program.removeRigidContact(made.name, 0.0)
        self._active ^= {contact}

    def _switch_task(self, task, made, weight):
        if task.enabled:
            self._program.addMotionTask(made, weight, 1, 0.0)
        else:
            self._program.removeTask(made.name, 0.0)
        self._active ^= {task}


def _weights(tasks):
    """Return the weight of each task, highest priority first."""
    weights = [_FIRST]
    for task, following in pairwise(tasks):
        weights.append(weights[-1] / (_LEVEL if following.priority != task.priority else 1.0))
    return weights
