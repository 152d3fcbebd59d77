# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The data of a controller's tasks and sensors, in one array each for the control cycle."""

import numpy as np

from opspace_control.tasks.pose import PoseTask
from opspace_control.tasks.pose_law import POSE_TASK
from opspace_control.tasks.sensor import bind_sensors


def bind_tasks(tasks, model):
    """
    Move the data of a controller's m tasks, none of them in use, into one array.

    Returns the records (m,) of POSE_TASK, input and output of `demand_pose`, which the tasks use
    from now on, and the result of `bind_sensors`.
    """
    for name in [name for task in tasks for name in task.axes_frame if name]:
        model.frame_index(name)
    sensors, sensor_records = bind_sensors(tasks, model)
    records = np.zeros(len(tasks), POSE_TASK)
    for e, task in enumerate(tasks):
        records[e] = task._record
        task._bind(records[e], model)
    return records, sensors, sensor_records


def gather_moving_targets(tasks):
    """Return the set of a controller's tasks whose targets move; the tasks keep it up to date."""
    moving_targets = set()
    for task in tasks:
        if isinstance(task, PoseTask):
            task.share_moving_targets(moving_targets)
    return moving_targets


def gradual_fields(records):
    """Return by name the numbers of bound tasks that change gradually, for `Ramps`."""
    force, spring = records['force'], records['spring']
    return {'kp': records['kp'], 'kd': records['kd'], 'activation': records['activation'],
            'motion': records['motion'], 'impedance': records['impedance'],
            'stiffness': spring['stiffness'], 'damping_ratio': spring['damping_ratio'],
            'force.axes': force['axes'], 'force.kp': force['kp'], 'force.ki': force['ki'],
            'force.damping': force['damping']}
