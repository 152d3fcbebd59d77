# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""placo's DynamicsSolver with its AvoidSelfCollisionsDynamicsConstraint."""

import json
import tempfile
import time
from pathlib import Path

import numpy as np
import placo
from hand_goals import KP, MARGIN, PERIOD, POSTURE_KP
from placo_robot import urdf_for_placo

EFFORT_WEIGHT = 1e-6  # of squared efforts, of the hands' accelerations 1; placo's own is 1e-3
_TRIGGER = 0.3        # m, as our influence


class PlacoRobot:
    """The robot of `Hands` in placo, with the same shapes and pairs; braked joints are fixed."""

    def __init__(self, hands):
        text, names = urdf_for_placo(hands)
        self._model, self._joints = hands.model, [
            (name, k) for k, name in enumerate(hands.model.dof_names) if not hands.model.locked[k]]
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, 'robot.urdf').write_text(text)
            self.wrapper = placo.RobotWrapper(folder, placo.Flags.ignore_collisions)
            numbers = {shape.name: k for k, shape in enumerate(
                self.wrapper.collision_model.geometryObjects)}
            self.pairs = [[numbers[names[shape]] for shape in pair]
                          for pair in hands.collision.pairs]
            pairs = Path(folder, 'collisions.json')
            pairs.write_text(json.dumps(self.pairs))
            self.wrapper.load_collision_pairs(str(pairs))

    def by_joint(self, values):
        """Return those of values (nv,) that belong to joints without a brake, by joint."""
        return {name: values[k] for name, k in self._joints}

    def place(self, state):
        """Set the positions and velocities of a `RobotState`."""
        for name, value in self.by_joint(state.q[self._model.q_index]).items():
            self.wrapper.set_joint(name, value)
        for name, value in self.by_joint(state.v).items():
            self.wrapper.set_joint_velocity(name, value)

    def efforts(self, result):
        """Return the efforts (nv,) of a result of the solver, 0 of braked joints."""
        efforts, found = np.zeros(self._model.nv), result.tau_dict(self.wrapper)
        for name, k in self._joints:
            efforts[k] = found[name]
        return efforts

    def distances(self, state):
        """Return placo's distances of the pairs, m."""
        self.place(state)
        self.wrapper.update_kinematics()
        return np.array([found.min_distance for found in self.wrapper.distances()])


class Placo:
    """All goals of `Hands`, distances and limits are one quadratic problem."""

    def __init__(self, hands, goals, effort_weight=EFFORT_WEIGHT):
        self._robot = PlacoRobot(hands)
        self._solver = solver = placo.DynamicsSolver(self._robot.wrapper)
        solver.mask_fbase(True)
        solver.dt, solver.torque_cost = PERIOD, effort_weight
        solver.enable_joint_limits(True)
        solver.enable_velocity_limits(True)
        solver.enable_torque_limits(True)
        self._avoid = avoid = solver.add_avoid_self_collisions_constraint()
        avoid.configure('avoid', 'hard')
        avoid.self_collisions_margin, avoid.self_collisions_trigger = MARGIN, _TRIGGER
        self._cycle, self._ways, self._tasks = 0, hands.ways(goals), []
        for hand, start in hands.starts.items():
            task = solver.add_frame_task(hand, start)
            task.configure(hand, 'soft', 1.0, 1.0)
            self._tasks.append(task)
        self._posture = posture = solver.add_joints_task()
        posture.set_joints(self._robot.by_joint(hands.q[hands.model.q_index]))
        posture.configure('posture', 'soft', 1e-4)
        solver.set_kp(KP)
        posture.kp = POSTURE_KP

    def torque(self, state):
        """Return efforts (nv,) and how long they took, s; none if the problem has no solution."""
        for task, way in zip(self._tasks, self._ways, strict=True):
            task.T_world_frame = way.pose(self._cycle * PERIOD)
        self._cycle += 1
        self._robot.place(state)
        begun = time.process_time()
        self._robot.wrapper.update_kinematics()
        result = self._solver.solve()
        elapsed = time.process_time() - begun
        return self._robot.efforts(result) if result.success else None, elapsed
