# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Talos that is not its model stands on two flat feet, and both hands go to goals."""

from dataclasses import replace

import numpy as np

from opspace_control import (
    CenterOfMassTask,
    Contact,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PositionTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.cli.showcase.reality import PERIOD, ArmTrial, limits_used
from opspace_control.simulation import Shape, SimulatedRobot

NAME = 'talos on its feet'
FEET = 'left_sole_link', 'right_sole_link'
SECONDS = 5.0
_SOLE, _SAFE = np.array([[-0.1, -0.06, 0.0], [0.1, 0.06, 0.0]]), 0.9
_SETTLING = 1.0  # s, before the goals
_WAY = 0.4       # of the goals of arms on a fixed base, which reach farther than balance allows
_BENT = {'leg_{}_3': -0.4, 'leg_{}_4': 0.8, 'leg_{}_5': -0.4, 'arm_{}_4': -1.2, 'arm_{}_2': 0.3}


def stand(reality, goals, prepare):
    """Return the `ArmTrial` of both hands' positions to a part of goals, as `seek` does."""
    robot = demo_robot('talos')
    model = RobotModel.from_urdf_file(
        robot.path(), floating_base=True, passive_joints=('base',))
    q = _posture(model)
    plant, dofs = _simulated(robot, model, reality, q)
    hands = [PositionTask(hand, max_linear_velocity=0.4, priority=2)
             for hand in robot.hands]
    balance = CenterOfMassTask(axes='x y', kp=20.0, kd=9.0, priority=0)
    contacts = [Contact(foot, friction=0.5, sole=_SAFE * _SOLE, normal_force=(20.0, np.inf))
                for foot in FEET]
    controller = OperationalSpaceController(
        model, [balance, PoseTask('base_link', axes='z rx ry rz', kp=50.0, priority=1), *hands],
        PostureTask(target=q, kp=20.0, kd=9.0), constraints=contacts, limits=JointLimits(model))
    prepare(controller)
    state = RobotState(model, q, np.zeros(model.nv))
    controller.compute_torque(state, dt=0.0)
    for contact in contacts:
        contact.set_gains(100.0)
        contact.close()
    targets, away, efforts, limits = {}, [], [], []
    for k in range(round((_SETTLING + SECONDS) / PERIOD)):
        seen, q, v = plant.measured, state.q.copy(), state.v.copy()
        q[:7], v[:6] = seen.base_pose, seen.base_twist
        q[model.q_index[dofs]], v[dofs] = seen.positions, seen.velocities
        state.update(q, v)
        if k == round(_SETTLING / PERIOD):
            for task, (way, _) in zip(hands, goals, strict=True):
                targets[task.frame] = plant.frame_pose(task.frame)[:3] + _WAY * way
                task.set_target(targets[task.frame])
        tau = controller.compute_torque(state, dt=PERIOD)
        plant.set_effort(tau[dofs])
        plant.step()
        if targets:
            away.append(max(np.linalg.norm(target - plant.frame_pose(hand)[:3])
                            for hand, target in targets.items()))
            efforts.append(tau[dofs] / model.effort_limits[dofs])
            limits.append(limits_used(model, dofs, plant))
    return ArmTrial(np.array(away), np.zeros(len(away)), np.array(efforts), np.array(limits))


def _posture(model):
    q = model.neutral()
    for side, sign in (('left', 1.0), ('right', -1.0)):
        for joint, angle in _BENT.items():
            dof = model.dof_index(f'{joint.format(side)}_joint')
            q[model.q_index[dof]] = angle * (sign if joint == 'arm_{}_2' else 1.0)
    state = RobotState(model, q, np.zeros(model.nv))
    q[2] -= model.forward_kinematics(state, FEET[:1])[FEET[0]][2, 3]
    return q


def _simulated(robot, model, reality, q):
    """Return the SimulatedRobot on a floor, and the indices of its joints."""
    driven = np.isfinite(model.effort_limits) & (model.effort_limits > 0.0)
    friction = {name: reality.coulomb_ratio * limit for name, limit, yes in zip(
        model.dof_names, model.effort_limits.tolist(), driven, strict=True) if yes}
    plant = SimulatedRobot(
        robot.path().read_text(), floating_base=True, floor=True, friction=0.7,
        joint_friction=False, timestep=PERIOD,
        shapes=[Shape(foot, (0.2, 0.12, 0.02), (0.0, 0.0, 0.01)) for foot in FEET],
        reality=replace(reality, coulomb_ratio=0.0, coulomb=friction))
    dofs = [model.dof_index(name) for name in plant.joint_names]
    plant.reset(dict(zip(plant.joint_names, q[model.q_index[dofs]].tolist(), strict=True)),
                base_pose=q[:7])
    return plant, dofs
