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

_TRIGGER = 0.3  # m, as our influence


class Placo:
    """All goals of `Hands`, distances and limits are one quadratic problem."""

    def __init__(self, hands, goals):
        model, collision = hands.model, hands.collision
        links = {shape.name: shape.link for shape in collision.shapes}
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, 'robot.urdf').write_text(hands.robot.path().read_text())
            Path(folder, 'collisions.json').write_text(json.dumps(sorted(
                {tuple(sorted((links[a], links[b]))) for a, b in collision.pairs})))
            self._robot = placo.RobotWrapper(folder)
        self._names, self._model = model.dof_names, model
        self._solver = solver = placo.DynamicsSolver(self._robot)
        solver.mask_fbase(True)
        solver.dt = PERIOD
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
        posture.set_joints({name: hands.q[model.q_index[k]] for k, name in enumerate(self._names)})
        posture.configure('posture', 'soft', 1e-4)
        solver.set_kp(KP)
        posture.kp = POSTURE_KP

    def torque(self, state):
        """Return efforts (nv,) and how long they took, s; none if the problem has no solution."""
        robot = self._robot
        for task, way in zip(self._tasks, self._ways, strict=True):
            task.T_world_frame = way.pose(self._cycle * PERIOD)
        self._cycle += 1
        for k, name in enumerate(self._names):
            robot.set_joint(name, state.q[self._model.q_index[k]])
            robot.set_joint_velocity(name, state.v[k])
        begun = time.perf_counter()
        robot.update_kinematics()
        result = self._solver.solve()
        elapsed = time.perf_counter() - begun
        tau = result.tau_dict(robot) if result.success else None
        return tau and np.array([tau[name] for name in self._names]), elapsed
