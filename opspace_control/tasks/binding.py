# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The data of a controller's tasks and sensors, brought together for its cycle."""

import numpy as np

from opspace_control.tasks.pose import PoseTask
from opspace_control.tasks.pose_law import POSE_TASK
from opspace_control.tasks.sensor import bind_sensors


def bind_tasks(tasks, model):
    """
    Move the data of tasks, none of them in use, into one array, for a controller.

    Parameters
    ----------
    tasks : sequence of OperationalTask
        m of them.
    model : KinematicTree
        Has the frames of their axes.

    Returns
    -------
    records : (m,) array of POSE_TASK
        What `demand_pose` reads and writes; each task works on its record from now on.
    sensors : list of ForceSensor
        Of all tasks, each once.
    sensor_records : array of SENSOR
        What `measure_wrench` reads and writes.

    Raises
    ------
    ModelError
        For an unknown frame, of axes or of a sensor; then no task is in use.
    TaskError
        For a sensor of another controller, or two of the same name; likewise.

    """
    for name in [name for task in tasks for name in task.axes_frame if name]:
        model.frame_index(name)
    sensors, sensor_records = bind_sensors(tasks, model)
    records = np.zeros(len(tasks), POSE_TASK)
    for e, task in enumerate(tasks):
        records[e] = task._record
        task._bind(records[e], model)
    return records, sensors, sensor_records


def gather_travellers(tasks):
    """Return a set that has those of a controller's tasks whose goals travel, at any time."""
    travelling = set()
    for task in tasks:
        if isinstance(task, PoseTask):
            task.travel_with(travelling)
    return travelling


def gradual_fields(records):
    """Return by name the numbers of bound tasks that should change gradually, as in `Ramps`."""
    force, spring = records['force'], records['spring']
    return {'kp': records['kp'], 'kd': records['kd'], 'activation': records['activation'],
            'motion': records['motion'], 'impedance': records['impedance'],
            'stiffness': spring['stiffness'], 'damping_ratio': spring['damping_ratio'],
            'force.axes': force['axes'], 'force.kp': force['kp'], 'force.ki': force['ki'],
            'force.damping': force['damping']}
