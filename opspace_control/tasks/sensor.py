# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A force-torque sensor and its filter: readings without bias and weight of the tool."""

import math

import numpy as np

from opspace_control.compiled import inlined, recorded
from opspace_control.dynamics.kinematics import place_point
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import TaskError
from opspace_control.model.nodes import FRAME
from opspace_control.tasks.arguments import (
    RecordedNumber,
    TaskPart,
    read_six,
    task_numbers,
)

# One sensor. Wrenches are those of the tool and of the environment on the robot.
SENSOR = np.dtype([
    ('frame', FRAME),
    ('gravity', np.float64, (3,)),    # m/s², base axes
    ('reading', np.float64, (6,)),    # the last one, sensor axes, at its origin, N and N m
    ('bias', np.float64, (6,)),       # reading without load, N and N m
    ('mass', np.float64),             # of the tool, kg
    ('center', np.float64, (3,)),     # its centre of mass, in the sensor frame, m
    ('cutoff', np.float64),           # of the low-pass filter, Hz, inf for none
    ('timeout', np.float64),          # age up to which a reading is used, s
    ('age', np.float64),              # of the last reading, s, inf before the first
    ('validity', np.float64),         # of the wrench, from 0 (too old, or none) to 1
    ('filtered', np.float64, (6,)),   # without bias and weight, filtered, sensor axes
    ('wrench', np.float64, (6,)),     # the same in base axes, at the sensor's origin
    ('R', np.float64, (3, 3)),        # axes of the sensor
    ('p', np.float64, (3,)),          # its origin, from the root link's origin, m
], align=True)

# Time in which the validity goes from 1 to 0 when readings stop, and back, s.
VALIDITY_TIME = 0.1


@inlined
def measure_wrench(sensors, i, states, dt):
    """
    Write the wrench of sensor i without bias and weight of the tool, filtered.

    ``w = reading − bias − [m g; c × m g]``, g in the axes of the sensor; then a low-pass filter of
    first order. Inertial forces of the tool remain; they are small while force is controlled.
    """
    sensor = sensors[i]
    place_point(sensors, i, states)
    R, filtered, wrench, center = sensor.R, sensor.filtered, sensor.wrench, sensor.center
    g0, g1, g2 = sensor.gravity[0], sensor.gravity[1], sensor.gravity[2]
    w0 = sensor.mass * (R[0, 0] * g0 + R[1, 0] * g1 + R[2, 0] * g2)
    w1 = sensor.mass * (R[0, 1] * g0 + R[1, 1] * g1 + R[2, 1] * g2)
    w2 = sensor.mass * (R[0, 2] * g0 + R[1, 2] * g1 + R[2, 2] * g2)
    wrench[0], wrench[1], wrench[2] = w0, w1, w2
    wrench[3] = center[1] * w2 - center[2] * w1
    wrench[4] = center[2] * w0 - center[0] * w2
    wrench[5] = center[0] * w1 - center[1] * w0
    gain = 1.0
    if sensor.validity > 0.0 and sensor.cutoff < math.inf:
        gain = -math.expm1(-2.0 * math.pi * sensor.cutoff * dt)
    for r in range(6):
        external = sensor.reading[r] - sensor.bias[r] - wrench[r]
        filtered[r] += gain * (external - filtered[r])
    for k in range(0, 6, 3):
        x, y, z = filtered[k], filtered[k + 1], filtered[k + 2]
        for r in range(3):
            wrench[k + r] = R[r, 0] * x + R[r, 1] * y + R[r, 2] * z
    step = dt / VALIDITY_TIME if sensor.age <= sensor.timeout else -dt / VALIDITY_TIME
    sensor.validity = min(max(sensor.validity + step, 0.0), 1.0)
    sensor.age += dt


class ForceSensor(TaskPart):
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
                            above=0.0, infinite=True)
    timeout = RecordedNumber('timeout', 'Age up to which a reading is used, s.', above=0.0,
                             infinite=True)
    bias = recorded('bias', 'Reading without load, (6,), N and N·m.')
    tool_mass = recorded('mass', 'Mass of the tool, kg.')
    tool_center = recorded('center', "Centre of that mass, (3,), in the sensor's frame, m.")
    reading = recorded('reading', 'Last reading, (6,), N and N·m.')
    wrench = recorded('filtered', "Last cycle's wrench without bias and weight, filtered, (6,), in "
                      "the sensor's axes.")
    age = recorded('age', 'Age of the last reading at the last cycle, s; inf before the first.')

    def __init__(self, frame, *, name=None, bias=None, tool_mass=0.0, tool_center=(0.0, 0.0, 0.0),
                 cutoff=100.0, timeout=0.1):
        self.frame = frame
        self.name = frame if name is None else name
        super().__init__(f"sensor '{self.name}'", SENSOR)
        self._record['age'] = np.inf
        self.set_bias(bias)
        self.set_tool(tool_mass, tool_center)
        self.cutoff = cutoff
        self.timeout = timeout

    def _belong_to(self, owner, record):
        super()._belong_to(owner, record)
        self._reading = record['reading']  # a view

    def __repr__(self):
        return f'ForceSensor({self.frame!r}, name={self.name!r})'

    def update(self, wrench):
        """Take a reading ``[f; n]`` (6,) of the wrench on the robot, sensor axes, N and N·m."""
        self._reading[:], self._record['age'] = read_six(wrench, 'reading', self._owner), 0.0

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
        mass = task_numbers(mass, 'tool_mass', self._owner, lowest=0.0)
        center = task_numbers(center, 'tool_center', self._owner, (3,))
        self._record['mass'], self._record['center'] = mass, center

    @property
    def fresh(self):
        """Whether the age of the last reading is within ``timeout``."""
        return self.age <= self.timeout


def register_sensors(tasks, model):
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
        sensor._belong_to(sensor._owner, records[i])
        sensor._record['frame'], sensor._record['gravity'] = frames[i], GRAVITY
    for task in tasks:
        if task.force.sensor:
            task._record['force']['sensor'] = sensors.index(task.force.sensor)
    return sensors, records
