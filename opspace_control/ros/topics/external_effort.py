# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What acts on the robot beyond its model: joint forces, and wrenches at the tasks' frames."""

from functools import partial

import numpy as np
from geometry_msgs.msg import WrenchStamped

from opspace_control.dynamics.estimated_wrench import explain
from opspace_control.errors import ModelError
from opspace_control.ros.middleware.endpoints import Part
from opspace_control.ros.middleware.joint_messages import joint_state
from opspace_control.safety.state_clock import LONGEST_LEAP
from opspace_control.tasks import CenterOfMassTask, JointTask


class ExternalEffort(Part):
    """
    The `MomentumObserver` of the node, and its topics.

    It learns of each accepted state before the next command, with the efforts sent since the last
    one, without those that overcome friction. After a gap of the states of more than `LONGEST_LEAP`
    it begins anew.
    """

    def __init__(self, frames, *common):
        super().__init__(*common)
        self._frames, self._is_on, self._time = frames, False, None
        self._observer = self._controller.momentum_observer(1.0)
        self._observer.warm_up()
        self._cycle.observe = self._observe

    def add_to(self, feedback):
        """Add ``external_effort``, and ``estimated_wrench`` of each task of a link."""
        controller = self._controller
        message = joint_state(controller.model.dof_names, 'effort')
        feedback.add('~/external_effort', message, partial(self._fill, message))
        objects = [grasp.task for grasp in controller.grasps.values()]
        for task in controller.tasks.values():
            if not (isinstance(task, (JointTask, CenterOfMassTask)) or task in objects):
                feedback.add_numbers(f'~/{task.name}/estimated_wrench', WrenchStamped,
                                     self._frames.named(task.frame), partial(self._wrench, task))

    def apply(self, parameters):
        """Apply the rate of the observer; 0 turns it off."""
        rate = parameters['observer.rate']
        self._is_on = rate > 0.0
        if self._is_on:
            self._observer.rate = rate
        else:
            self._time = None

    def _observe(self):
        if not self._is_on:
            return
        before, self._time = self._time, self._cycle.time
        dt = np.inf if before is None else 1e-9 * (self._time - before)
        if not 0.0 <= dt <= LONGEST_LEAP:
            self._observer.restart()
            dt = 0.0
        self._observer.update(self._cycle.state, self._cycle.exerted, dt)

    def _fill(self, message, stamp):
        if not self._is_on:
            return False
        message.header.stamp = stamp
        np.frombuffer(message.effort)[:] = self._observer.residual
        return True

    def _wrench(self, task):
        """Return the estimated wrench that the robot applies there, (6,), in the frame's axes."""
        if not (self._is_on and self._cycle.known):
            return None
        model = self._controller.model
        try:
            found = explain(model, self._cycle.state, task.frame, self._observer.residual, False,
                            self._controller.locked)
        except ModelError:  # no joint moves it any more
            return None
        return -(found.wrench.reshape(2, 3) @ task.rotation_in_base).reshape(6)
