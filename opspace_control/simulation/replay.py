# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A plan played to a simulated robot: its efforts, and a servo at the joints that have a drive."""

import numpy as np

from opspace_control.errors import SimulationError


def replay(plan, robot, *, stiffness=0.0, damping=0.0):
    """
    Reset a robot to the start of a plan and play the plan; return the motion and the commands.

    The drives get the plan's efforts, and ``stiffness (q_plan − q) + damping (v_plan − v)``, as any
    servo that follows a trajectory with feed-forward; with zero gains the efforts alone. Passive
    joints get nothing: that they follow shows that the plan was right.

    The robot has the plan's joints and gravity, and the plan's timestep is a multiple of its own,
    else a SimulationError is raised, as it is if the motion diverges. ``stiffness`` and ``damping``
    are numbers or (nv,), N·m/rad, N·m·s/rad, or N/m, N·s/m, in the order of ``plan.dof_names``.
    Returns positions (k, nq) at the plan's times, as in ``plan.q``, and the commanded efforts (k,
    nv), N·m or N.
    """
    steps = _check(plan, robot)
    names, base = robot.joint_names, 7 * robot.floating_base
    dofs = np.array([plan.dof_names.index(name) for name in names], int)
    scalars = np.array([plan.coordinate_names.index(name) for name in names], int)
    driven = np.array([name not in {*plan.passive, *plan.locked} for name in names])
    floating = {'base_pose': plan.q[0, :7], 'base_twist': plan.v[0, :6]} if base else {}
    robot.reset(plan.q[0, scalars], plan.v[0, dofs], **floating)
    robot.set_status(passive=[name for name in plan.passive if name in names],
                     locked=[name for name in plan.locked if name in names])
    q, efforts = np.empty_like(plan.q), np.zeros_like(plan.effort)
    stiffness, damping = (np.broadcast_to(gain, plan.v.shape[1:])[dofs]
                          for gain in (stiffness, damping))
    for k in range(len(plan.time)):
        q[k, :base], q[k, scalars] = robot.base_pose[:base], robot.positions
        effort = plan.effort[k, dofs] + driven * (
            stiffness * (plan.q[k, scalars] - robot.positions)
            + damping * (plan.v[k, dofs] - robot.velocities))
        efforts[k, dofs] = effort
        robot.set_effort(effort)
        if k + 1 < len(plan.time):
            robot.step(steps)
    return q, efforts


def _check(plan, robot):
    """Refuse a plan that does not fit the robot; return the robot's steps per step of the plan."""
    for name in robot.joint_names:
        if name not in plan.dof_names:
            raise SimulationError(f"The plan, of '{plan.robot}', has no joint '{name}'.",
                                  cure='Replay it on the robot that it was made for.', joint=name)
    if len(plan.dof_names) != len(robot.joint_names) + 6 * robot.floating_base:
        raise SimulationError(
            f'The plan has {len(plan.dof_names)} degrees of freedom, the robot '
            f'{len(robot.joint_names)} and {"a floating" if robot.floating_base else "a fixed"} '
            'base.', cure='Replay it on the robot that it was made for.')
    steps = round(plan.timestep / robot.timestep)
    if steps < 1 or abs(steps * robot.timestep - plan.timestep) > 1e-9 * plan.timestep:
        raise SimulationError(
            f'The plan has steps of {plan.timestep:g} s, the robot of {robot.timestep:g} s.',
            cure='Take a timestep of the simulation that divides that of the plan.')
    if not np.allclose(robot.model.opt.gravity, plan.gravity):
        raise SimulationError(
            f'The plan is for a gravity of {plan.gravity} m/s², the robot has '
            f'{robot.model.opt.gravity}.', cure='Make the robot with gravity=plan.gravity.')
    return steps
