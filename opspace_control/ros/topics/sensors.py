# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Wrench sensors on topics: readings, bias, and warnings about missing readings."""

from functools import partial

import numpy as np
from geometry_msgs.msg import WrenchStamped
from std_srvs.srv import Trigger

from opspace_control.ros.middleware.conversions import finite_six
from opspace_control.ros.middleware.endpoints import NEWEST, Part
from opspace_control.ros.middleware.serialized import MessageReader
from opspace_control.tasks.task import OperationalTask

_RARELY = 10.0  # s, between two warnings of one sensor


class Sensors(Part):
    """
    The topics ``~/<sensor>/wrench`` and the services ``~/<sensor>/zero``.

    A wrench is that of the tool and of the environment on the robot, as of
    force_torque_sensor_broadcaster. A wrench in another frame than the sensor's, one of ``frames``,
    is measured at the origin of that frame, which is fixed to the sensor.
    """

    def __init__(self, frames, *common):
        super().__init__(*common)
        self._frames = frames
        for sensor in self._controller.sensors.values():
            reader = MessageReader(WrenchStamped)
            self._endpoints.listen(WrenchStamped, f'~/{sensor.name}/wrench',
                                   partial(self._on_wrench, sensor, reader), NEWEST, raw=True)
            self._endpoints.serve(Trigger, f'~/{sensor.name}/zero', partial(self._zero, sensor))

    def watch(self):
        """Warn periodically about sensors of tasks without recent readings."""
        for sensor, task in self._silent():
            seen = f'for {sensor.age:.1f} s' if np.isfinite(sensor.age) else 'so far'
            self._warn(f"No reading of sensor '{sensor.name}' {seen}: '{task.name}' controls force "
                       'open loop.', sensor.name, _RARELY)

    def facts(self):
        """Return diagnostics of force control, a dict of text, and warnings."""
        values = {}
        for task in self._pressing:
            loop = 'closed loop' if task.force.closed_loop else 'open loop'
            values[f'force of {task.name}'] = f'{loop}, contact: {task.force.contact}'
        for sensor in self._controller.sensors.values():
            values[f'age of {sensor.name} [s]'] = f'{sensor.age:.4f}'
        silent = dict.fromkeys(sensor.name for sensor, _ in self._silent())
        return values, [f"Sensor '{name}' has no recent reading: force is controlled open loop."
                        for name in silent]

    def _on_wrench(self, sensor, reader, data):
        with self._refusing(f"A wrench of '{sensor.name}'"):
            sensor.update(self._in_sensor(sensor, reader.open(data)))

    def _in_sensor(self, sensor, opened):
        """Return the wrench of a message at the origin of the sensor's link, in its axes, (6,)."""
        wrench = finite_six(opened.numbers[0], 'wrench')
        frame = opened.like.header.frame_id.lstrip('/')
        if frame in ('', sensor.frame, self._frames.named(sensor.frame)):
            return wrench
        there = np.linalg.inv(self._frames.of_link(sensor.frame)) @ self._frames.in_base(frame)
        force, moment = (wrench.reshape(2, 3) @ there[:3, :3].T)
        return np.r_[force, moment + np.cross(there[:3, 3], force)]

    def _zero(self, sensor):
        sensor.zero()
        bias = ', '.join(f'{number:.3g}' for number in sensor.bias)
        message = f"The bias of '{sensor.name}' is now [{bias}]."
        self._logger.info(message)
        return message

    @property
    def _pressing(self):
        """The tasks that control force along some axis."""
        return [task for task in self._controller.tasks.values()
                if isinstance(task, OperationalTask) and task.force_axes]

    def _silent(self):
        """Yield the sensors of active tasks without recent readings, each with the task."""
        for task in self._pressing:
            sensor = task.force.sensor
            if sensor and task.enabled and not sensor.fresh:
                yield sensor, task
