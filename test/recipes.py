# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A robot under its parameter file, in lock-step, without ROS: each hand goes to a near goal.

`python test/recipes.py my.urdf my.yaml` runs a robot whose URDF is not here.
"""

import sys
from pathlib import Path

import numpy as np

from opspace_control import RobotState
from opspace_control.control.planning import postures
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.parameter_file import ParameterFile
from opspace_control.ros.parameters.robot import make_controller
from opspace_control.ros.parameters.simulator_parameters import simulator_table
from opspace_control.simulation import SimulatedRobot

SHIFT = (0.04, 0.04, 0.04)  # m, of each hand
SECONDS = 4.0


def complete(values, table):
    """Return the parameters of a node: those of a file, defaults elsewhere."""
    return {row.name: values.get(row.name, row.default) for row in table}


def run(urdf, path):
    """
    Return the errors of each hand at the end, and the greatest effort and velocity.

    Errors are (mm, degrees), the latter 0 of a task without rotation; efforts and velocities are in
    parts of the joints' limits, the effort limits being those of the file.
    """
    file = ParameterFile(path)
    given = file.of_node('opspace_controller')
    parameters = complete(given, table_of(given))
    controller, joints = make_controller(urdf, parameters)
    model = controller.model
    given = file.of_node('opspace_simulator')
    simulated = complete(given, simulator_table(given))
    start = {name.removeprefix('initial_positions.'): value for name, value in given.items()
             if name.startswith('initial_positions.')}
    robot = SimulatedRobot(
        urdf, timestep=simulated['timestep'], gravity=simulated['gravity'],
        joint_friction=simulated['joint_friction'],
        locked_joints=[name for name, locked in zip(model.dof_names, model.locked, strict=True)
                       if locked])
    robot.reset(start)
    order = [robot.joint_names.index(name) for name in model.dof_names]
    state = RobotState(model, postures.named_posture(model, start), np.zeros(model.nv))
    controller.compute_torque(state, dt=robot.timestep)
    goals = {}
    for name in parameters['tasks']:
        goals[name] = controller.tasks[name].pose
        goals[name][:3] += SHIFT
        controller.tasks[name].set_target(goals[name])
    effort, most, fastest = np.zeros(model.nv), 0.0, 0.0
    driven = np.array([model.dof_index(joint) for joint in joints])
    limits = parameters['limits.effort_scale'] * model.effort_limits[driven]
    for _ in range(round(SECONDS / robot.timestep)):
        q = postures.named_posture(
            model, dict(zip(robot.joint_names, robot.positions, strict=True)))
        state.update(q, robot.velocities[order])
        tau = controller.compute_torque(state, dt=robot.timestep)
        effort[order] = tau
        robot.set_effort(effort)
        robot.step()
        most = max(most, (abs(tau[driven]) / limits).max())
        fastest = max(fastest, (abs(state.v[driven]) / model.velocity_limits[driven]).max())
    errors = {}
    for name, goal in goals.items():
        task = controller.tasks[name]
        turns = 'rx' in parameters[f'{name}.axes'].split()
        errors[name] = (1e3 * float(np.linalg.norm(task.pose[:3] - goal[:3])),
                        turns * float(np.degrees(np.linalg.norm(task.error[3:]))))
    return errors, most, fastest


if __name__ == '__main__':
    errors, most, fastest = run(urdf_text(Path(sys.argv[1])), Path(sys.argv[2]))
    for name, (position, rotation) in errors.items():
        print(f'{name}: {position:.3f} mm and {rotation:.3f} degrees from its goal')
    print(f'at most {100 * most:.0f} % of the effort and {100 * fastest:.0f} % of the velocity')
