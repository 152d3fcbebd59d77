# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Write a parameter file for a robot, from guesses that a user then corrects, and check it.

Guessed are the links of hands and feet, their axes, a start posture, and first limits. The exit
code is that of `opspace check`. A robot that walks takes config/b1.yaml, or
config/talos_standing.yaml, as its pattern instead.
"""

import re
import sys
from pathlib import Path

import numpy as np

from opspace_control.arguments import make_parser, names, refuse_existing, writing
from opspace_control.cli import check
from opspace_control.cli.parameters import parameter_file
from opspace_control.cli.preflight.collision import fit_beside
from opspace_control.cli.preflight.tree import moving_bodies, tool_frames
from opspace_control.cli.robots import DemoRobot
from opspace_control.collision.description import collision_file
from opspace_control.control.planning import postures
from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.errors import ModelError, OpspaceError, RosInterfaceError
from opspace_control.model.urdf import read_urdf, urdf_text
from opspace_control.ros.parameters.controller_parameters import controller_table

# Axes of all tasks, the most first: the first set of which the posture leaves every row this free,
# m per rad, a radian of rotation counted as 0.3 m.
_AXES = ('x y z rx ry rz', 'x y z', 'x y rz', 'x z ry', 'x z', 'x y', 'y z', 'x', 'y', 'z')
_FREE = 0.03
_TRIES = 60
# Of the first runs: m/s, rad/s, and the part of effort limits, unless gravity needs more than half
# of that.
_LINEAR, _ANGULAR, _EFFORT = 0.25, 0.7, 0.5


def main(arguments):
    """Write the file and check it; return the exit code of the check."""
    parser = make_parser('new', __doc__)
    parser.add_argument('urdf', metavar='URDF', type=Path, help='the robot, a URDF or xacro file')
    parser.add_argument('--frames', metavar='A,B', type=names, default=(),
                        help='links that tasks move (default: guessed from the tree)')
    parser.add_argument('--output', type=Path, metavar='YAML',
                        help='the file (default: that of the URDF, ending in .yaml)')
    parser.add_argument('--no-distances', action='store_true',
                        help='fit no collision shapes: links do not keep a distance')
    parser.add_argument('--force', action='store_true', help='replace existing files')
    options = parser.parse_args(arguments)
    output = options.output or Path(f'{options.urdf.name.split(".")[0]}.yaml')
    refuse_existing(output, options)
    robot, values = guess_parameters(options.urdf, options.frames)
    command = f'opspace new {options.urdf.name}' + (
        f' --frames {",".join(options.frames)}' if options.frames else '')
    distances = {} if options.no_distances else _keep_distances(
        options.urdf, collision_file(output), robot.start, options.force)
    with writing(output):
        output.write_text(parameter_file(robot, values | distances, command))
    print(f'{output}: tasks {", ".join(robot.hands)} along {robot.axes}. Correct the '
          'frames, the start posture (initial_positions) and the limits of the first runs.\n')
    sys.stdout.flush()
    return check.main([str(options.urdf), str(output)])


def guess_parameters(urdf, frames=()):
    """
    Return a `DemoRobot` and further parameters of its controller, for a URDF or xacro file, a Path.

    ``frames`` are the links of the tasks; by default those of hands and feet, by their place in the
    tree. Raises a ModelError if the file cannot be used, a frame is unknown, or no joint can move
    one of them.
    """
    from opspace_control.cli.showcase.schedule import Reach
    from opspace_control.simulation import SimulatedRobot

    text = urdf_text(urdf)
    model = RobotModel.from_urdf(text)
    hands = tuple(frames) or tuple(tool_frames(moving_bodies(read_urdf(text))))
    simulated = SimulatedRobot(text)
    for axes in _AXES:
        reach = Reach(simulated, hands, axes)
        driven = reach.carriers(np.clip(0.3, reach.lower, reach.upper))
        reach = Reach(simulated, hands, axes, driven)
        load = _Load(model, reach.joints, driven)
        posture = np.round(reach.bent_posture(_TRIES, load.reserve), 2)
        J = reach.jacobian(posture)
        freedom = np.linalg.svd(J, compute_uv=False)[-1] if len(J) <= len(driven) else 0.0
        if freedom > _FREE:
            break
    else:
        raise ModelError(f'No posture lets {", ".join(hands)} move freely.',
                         cure='Choose fewer links by --frames.')
    start = load.start(posture)
    robot = DemoRobot(model.name, 'guessed from its URDF', str(urdf), hands, start,
                      () if model.effort_joints else driven, axes, joint_friction=False,
                      tasks=tuple(map(_task_name, hands)))
    values = {'limits.effort_scale': 1.0 if load.of(posture) > 0.5 * _EFFORT else _EFFORT}
    for task in robot.tasks:
        values |= {f'{task}.max_linear_velocity': _LINEAR, f'{task}.max_angular_velocity': _ANGULAR}
    return robot, values


def _keep_distances(urdf, path, start, force):
    """Fit collision shapes; return the parameter that keeps distances if the fit is good."""
    model = RobotModel.from_urdf(urdf_text(urdf))
    try:
        wrong = fit_beside(urdf, path, model, postures.named_posture(model, start),
                           anew=force)
    except OpspaceError as error:
        print(f'Links keep no distance from each other: {error}\n')
        return {}
    if wrong:
        print('\n  '.join([
            f'Links keep no distance from each other: {path} is to be corrected first.', *wrong,
            'Then set collision.file to its path.\n']))
        return {}
    print(f'Links keep a distance from each other, by the shapes in {path}; without: set '
          "collision.file to ''.\n")
    return {'collision.file': str(path.resolve())}


class _Load:
    """Gravity torques at postures of the simulated robot's joints, of which some are driven."""

    def __init__(self, model, joints, driven):
        self._model, self._joints, self._driven = model, joints, driven
        limited = [model.dof_index(name) for name in driven]
        self._limited = [k for k in limited if 0.0 < model.effort_limits[k] < np.inf]

    def start(self, positions):
        """Return the positions of driven joints by name."""
        return {name: position for name, position in zip(
            self._joints, positions.tolist(), strict=True) if name in self._driven}

    def of(self, positions):
        """Return the greatest gravity torque, in parts of the effort limit of its joint."""
        q = postures.named_posture(self._model, self.start(positions))
        share = abs(postures.gravity_forces(self._model, q))[self._limited]
        return float(np.max(share / self._model.effort_limits[self._limited], initial=0.0))

    def reserve(self, positions):
        """Return the part of its effort limit that gravity leaves to the weakest joint, or 0."""
        return max(0.0, 1.0 - self.of(positions))


def _task_name(link):
    """Return the name of the task of a link, which can be part of names of parameters."""
    name = re.sub(r'[^A-Za-z0-9_]', '_', link)
    try:
        controller_table([name])
    except RosInterfaceError:
        name = f'task_{name}'
    return name
