# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What rank-deficient levels cost: Talos with more rows of tasks than joints, beside Pinocchio.

A whole cycle beside one call of `aba`, and beside `computeDelassusMatrix`, which gives only the
matrix that the cycle has to decompose.
"""

import numpy as np
import pinocchio
from contest import POSTURE, TASK, near_goal
from figures import Figure
from points import delassus
from timing import interleave

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot

# Four have fewer rows than the 32 joints, for comparison.
COUNTS = {4: 'four', 6: 'six', 12: 'twelve'}
_SIDES = ('arm_{}_4_link', 'arm_{}_6_link', 'leg_{}_4_link')
_LINKS = ('leg_left_6_link', 'leg_right_6_link', 'head_2_link', 'torso_2_link',
          *(link.format(side) for link in _SIDES for side in ('left', 'right')))
_STATES, _ROUNDS = 20, 100


def measure():
    """Return the figures of each number of tasks, beside `aba` and beside the Delassus matrix."""
    robot = demo_robot('talos')
    text, links = robot.path().read_text(), (*robot.hands, *_LINKS)
    model = RobotModel.from_urdf(text)
    middle, random = model.neutral(), np.random.default_rng(seed=0)
    middle[[model.dof_index(name) for name in robot.start]] = list(robot.start.values())
    states = [RobotState(model, middle + 0.2 * random.normal(size=model.nq),
                         0.3 * random.normal(size=model.nv)) for _ in range(_STATES)]
    contenders = {'aba': _forward_dynamics(text, model, states)}
    for count in COUNTS:
        contenders['ours', count] = _cycle(model, links[:count], middle, states, random)
        function, arguments = delassus(text, model, states[0], links[:count])
        contenders['delassus', count] = function, [arguments]
    times = interleave(contenders, _ROUNDS)
    return [Figure.ratio(f'redundant_rows.{count}.{key}',
                         f'Talos, {word} 6-axis tasks ({6 * count} rows for {model.nv} joints): '
                         f"whole cycle beside Pinocchio's `{peer}`",
                         times['ours', count], times[which])
            for count, word in COUNTS.items()
            for key, peer, which in (('aba', 'aba', 'aba'), ('delassus', 'computeDelassusMatrix',
                                                             ('delassus', count)))]


def _cycle(model, links, posture, states, random):
    """Return our cycle with a pose task for each link, and its inputs."""
    controller = OperationalSpaceController(
        model, [PoseTask(link, **TASK) for link in links], PostureTask(**POSTURE, target=posture))
    poses = model.forward_kinematics(states[0], links)
    for task, pose in zip(controller.tasks.values(), poses.values(), strict=True):
        task.set_target(near_goal(pose, random))
    return controller.compute_torque, [(state,) for state in states]


def _forward_dynamics(text, model, states):
    """Return Pinocchio's articulated-body algorithm, and its inputs."""
    robot = pinocchio.buildModelFromXML(text)
    data, order = robot.createData(), [model.dof_index(name) for name in tuple(robot.names)[1:]]
    return pinocchio.aba, [(robot, data, state.q[order], state.v[order], np.zeros(robot.nv))
                           for state in states]
