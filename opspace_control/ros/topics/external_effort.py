# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What acts on the robot beyond its model: joint forces, and wrenches at the tasks' frames."""

from functools import partial

import numpy as np
from geometry_msgs.msg import WrenchStamped

from opspace_control.dynamics.estimated_wrench import WrenchEstimator
from opspace_control.errors import SafetyError
from opspace_control.identification.residual_parts import PARTS, ResidualSplitter
from opspace_control.ros.middleware.endpoints import Part
from opspace_control.ros.parameters.joints import collision_thresholds, external_effort_limits
from opspace_control.safety.state_clock import LONGEST_LEAP
from opspace_control.safety.supervisor import COLLISION_COMPLY, COLLISION_STOP
from opspace_control.tasks.joint import JointTask
from opspace_control.tasks.pose_kinds import CenterOfMassTask

# Of the parameter observer.reaction.
_REACTIONS = {'none': None, 'stop': COLLISION_STOP, 'comply': COLLISION_COMPLY}


class ExternalEffort(Part):
    """
    The `MomentumObserver` of the node, and its topics.

    It learns of each accepted state, with the efforts sent since the last one, without those that
    overcome friction. After a gap of the states of more than `LONGEST_LEAP` it begins anew. A
    residual beyond the threshold of a joint is a collision: it is logged, and with a ``reaction``
    it trips. Without one the observer learns of a state after its command, which so is not late.
    """

    def __init__(self, frames, *common):
        super().__init__(*common)
        self._frames, self._is_on, self._time = frames, False, None
        self._thresholds = np.full(self._controller.model.nv, np.inf)
        self._collides, self._detects, self._reaction = False, False, None
        self._observer = self._controller.momentum_observer(1.0)
        self._observer.warm_up()
        self._cycle.observe = self._observe

    def add_to(self, feedback):
        """Add ``external_effort``, its parts, and ``estimated_wrench`` of each task of a link."""
        controller = self._controller
        objects = [grasp.task for grasp in controller.grasps.values()]
        tasks = [task for task in controller.tasks.values() if not (
            isinstance(task, (JointTask, CenterOfMassTask)) or task in objects)]
        frames = tuple(dict.fromkeys(task.frame for task in tasks))
        estimate = WrenchEstimator(controller.model, frames).estimate
        wrenches = feedback.once(lambda: dict(zip(frames, estimate(
            self._cycle.state, self._observer.residual, controller.locked), strict=True)))
        for task in tasks:
            feedback.add_numbers(
                f'~/{task.name}/estimated_wrench', WrenchStamped, self._frames.named(task.frame),
                partial(self._wrench, task, wrenches))
        self._splitter = ResidualSplitter(controller.model, frames, 1.0)
        parts, joints = feedback.once(self._split), controller.model.dof_names
        feedback.add_joints('~/external_effort', joints, effort=lambda: (
            self._observer.residual if self._is_on else None))
        for part in PARTS:
            feedback.add_joints(f'~/external_effort/{part}', joints, effort=(
                lambda part=part: parts()[part] if self._is_on else None))

    def apply(self, parameters):
        """Apply the rate of the observer, 0 turns it off, its bounds, thresholds and reaction."""
        rate = parameters['observer.rate']
        self._is_on = rate > 0.0
        if self._is_on:
            self._observer.rate = rate
        else:
            self._time = None
        self._thresholds = collision_thresholds(self._controller.model, parameters)
        self._observer.limit = external_effort_limits(
            self._controller.model, parameters, self._thresholds)
        self._detects = np.isfinite(self._thresholds).any()
        self._collides = self._collides and self._detects
        self._reaction = _REACTIONS[parameters['observer.reaction']]
        self._cycle.observes_first = bool(self._detects and self._reaction)

    def _observe(self):
        if not self._is_on:
            return
        before, self._time = self._time, self._cycle.time
        dt = np.inf if before is None else 1e-9 * (self._time - before)
        if not 0.0 <= dt <= LONGEST_LEAP:
            self._observer.restart()
            dt = 0.0
        self._observer.update(self._cycle.state, self._cycle.exerted, dt)
        if self._detects:
            self._detect()

    def _detect(self):
        """Log a collision when it begins; raise its SafetyError at each state while it lasts."""
        residual, before = self._observer.residual, self._collides
        excess = abs(residual) - self._thresholds
        k = excess.argmax()
        self._collides = excess[k] > 0.0
        if not self._collides:
            return
        reason = (f"The external effort of '{self._controller.model.dof_names[k]}' is "
                  f'{residual[k]:.3g}, beyond its threshold of {self._thresholds[k]:g}.')
        if self._reaction:
            raise SafetyError(self._reaction, reason)
        if not before:
            self._warn(reason, 'collision')

    def _split(self):
        """Return the parts of the residual, (nv,) each, by name."""
        self._splitter.rate = self._observer.rate
        return self._splitter.split(1e-9 * self._cycle.time, self._cycle.state,
                                    self._observer.residual, self._controller.locked)

    def _wrench(self, task, wrenches):
        """Return the estimated wrench that the robot applies there, (6,), in the frame's axes."""
        found = wrenches()[task.frame] if self._is_on and self._cycle.known else None
        return found and -(found.wrench.reshape(2, 3) @ task.rotation_in_base).reshape(6)
