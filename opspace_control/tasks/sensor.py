# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A force-torque sensor: its readings without bias and weight of the tool."""

import numpy as np

from opspace_control.dynamics import GRAVITY
from opspace_control.errors import TaskError
from opspace_control.spatial import read_numbers
from opspace_control.tasks.gains import RecordedNumber, one_number, recorded
from opspace_control.tasks.sensor_law import SENSOR
from opspace_control.tasks.targets import read_six


class ForceSensor:
    """
    A force-torque sensor on a link, in a wrist or under a foot.

    It measures the wrench of the tool and of the environment on the robot at the origin of its
    frame, in its axes; with a tool at rest that is the tool's weight. Each cycle subtracts bias and
    weight for the present orientation of the link.

    While the last reading is older than ``timeout``, tasks with this sensor control force open
    loop.

    Parameters
    ----------
    frame : str
        Link in whose frame it measures.
    name : str, optional
        Key in ``controller.sensors``; the frame's name if not given.
    bias : (6,) array, optional
        Reading without a tool, N and N·m; zero if not given.
    tool_mass, tool_center : float, (3,) array
        Mass of the tool, kg, and its centre of mass, in the sensor's frame, m.
    cutoff : float
        Of its low-pass filter, Hz; inf for none.
    timeout : float
        Age up to which a reading is used, in control time, s.

    """

    cutoff = RecordedNumber('cutoff', 'Cut-off frequency of the low-pass filter, Hz, inf for none.',
                            positive=True, finite=False)
    timeout = RecordedNumber('timeout', 'Age up to which a reading is used, s.', positive=True,
                             finite=False)
    bias = recorded('bias', 'Reading without load, (6,), N and N·m.')
    tool_mass = recorded('mass', 'Mass of the tool, kg.')
    tool_center = recorded('center', "Centre of that mass, (3,), in the sensor's frame, m.")
    reading = recorded('reading', 'Last reading, (6,), N and N·m.')
    wrench = recorded('filtered', "Last cycle's wrench without bias and weight, filtered, (6,), in "
                      "the sensor's axes.")
    age = recorded('age', 'Age of the last reading at the last cycle, s; inf before the first.')
    in_use = property(lambda self: self._in_use, doc='Whether it belongs to a controller.')

    def __init__(self, frame, *, name=None, bias=None, tool_mass=0.0, tool_center=(0.0, 0.0, 0.0),
                 cutoff=100.0, timeout=0.1):
        self.frame = frame
        self.name = frame if name is None else name
        self._record = np.zeros(1, SENSOR)[0]
        self._record['age'] = np.inf
        self._in_use = False
        self.set_bias(bias)
        self.set_tool(tool_mass, tool_center)
        self.cutoff = cutoff
        self.timeout = timeout

    def __repr__(self):
        return f'ForceSensor({self.frame!r}, name={self.name!r})'

    def update(self, wrench):
        """Take a reading ``[f; n]`` (6,) of the wrench on the robot, sensor axes, N and N·m."""
        self._record['reading'] = read_six(wrench, 'reading', self._owner)
        self._record['age'] = 0.0

    def zero(self):
        """
        Set the bias so that the present wrench is zero: only the tool may act on the sensor.

        A TaskError refuses it if the last reading is older than ``timeout``.
        """
        if not self.fresh:
            raise TaskError(f'{self._owner} has no recent reading.',
                            cure='Check that its readings arrive.', value=self.age)
        self._record['bias'] += self._record['filtered']
        self._record['filtered'] = 0.0

    def set_bias(self, bias=None):
        """Set the bias, the reading (6,) without load, N and N·m; zero if not given."""
        self._record['bias'] = read_six(bias, 'bias', self._owner)

    def set_tool(self, mass, center=(0.0, 0.0, 0.0)):
        """Set the mass of the tool, kg, and its centre of mass (3,) in the sensor's frame, m."""
        mass = one_number(mass, 'tool_mass', self._owner)
        place = read_numbers(center)
        if place.shape != (3,) or not np.isfinite(place).all():
            raise TaskError(f'{self._owner}: tool_center = {center!r} is not allowed.',
                            cure='Give three finite numbers.', parameter='tool_center',
                            value=center)
        self._record['mass'], self._record['center'] = mass, place

    @property
    def fresh(self):
        """Whether the age of the last reading is within ``timeout``."""
        return self.age <= self.timeout

    @property
    def _owner(self):
        """Owner of a refused value, for the error."""
        return f"sensor '{self.name}'"


def bind_sensors(tasks, model):
    """
    Move the data of the sensors of a controller's tasks, which may share some, into one array.

    Returns the sensors, each once, and their records, input and output of `measure_wrench`, which
    the sensors use from now on. A TaskError refuses a sensor of another controller, and two of the
    same name.
    """
    sensors = list(dict.fromkeys(task.force.sensor for task in tasks if task.force.sensor))
    names = [sensor.name for sensor in sensors]
    for sensor in sensors:
        if sensor.in_use or names.count(sensor.name) > 1:
            why = 'belongs to another controller' if sensor.in_use else 'is the name of two'
            raise TaskError(f'{sensor._owner} {why}.', sensor=sensor.name,
                            cure='Make a sensor for each controller, each with its own name.')
    frames = [model.frames[model.frame_index(sensor.frame)] for sensor in sensors]
    records = np.zeros(len(sensors), SENSOR)
    for i, sensor in enumerate(sensors):
        records[i] = sensor._record
        sensor._record = records[i]
        sensor._record['frame'], sensor._record['gravity'] = frames[i], GRAVITY
        sensor._in_use = True
    for task in tasks:
        if task.force.sensor:
            task._record['force']['sensor'] = sensors.index(task.force.sensor)
    return sensors, records
