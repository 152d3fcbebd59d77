# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A servo whose cycles run in another process."""

import time

from opspace_control.control.grasping.grasp_records import resume
from opspace_control.control.saved import block_of
from opspace_control.errors import ControlError
from opspace_control.safety.servo_image import ServoImage
from opspace_control.safety.shared_memory import Request, SharedMemory

_WAIT = 1.0  # s, for a servo to take the messages of a node before


class AttachedServo:
    """
    A `Servo`, ``servo``, whose cycles run in another process, such as the plug-in of ros2_control.

    What is changed here, of the servo or of its controller, goes there with the next `synchronise`,
    as one transaction between two cycles; what the cycles write comes back with it. The
    SharedMemory ``memory`` is None while it is not attached.
    """

    def __init__(self, servo):
        self.servo, self.memory, self._image = servo, None, None

    def block(self):
        """Return the block of the servo as it is now, (size,) of bytes, for the other process."""
        return block_of(self.servo.controller, self.servo)

    def attach(self, path):
        """
        Attach to the memory of a servo at a ``path``; return whether this one has cycles.

        Then what it has in memory is taken, but for shapes; otherwise it gets what is here. A
        ControlError is raised if there is none, if another process is attached, or if it is of
        another robot, of other tasks or of another version.
        """
        memory = SharedMemory(path)
        try:
            image = self._image = ServoImage(self.servo)
            if not image.fits(memory.block):
                raise ControlError(
                    f'{path} is the memory of another controller: of another robot, of other tasks '
                    'or of another version.',
                    cure='Deactivate the plug-in; then activate this node again.')
            image.attach(memory.block)
            self._read(memory, image)
        except BaseException:
            memory.close()
            raise
        if memory.active:
            image.adopt()
            if self.servo.controller.shape_capacity:  # those that were there may have come later
                self.servo.controller._limits.restore_shapes()
            self._resume_grasps()
        else:
            image.note()
        self.memory = memory
        return memory.active

    def detach(self):
        """Leave the other process to itself: it must not expect signs of life any more."""
        if self.memory is not None:
            self.memory.frame['beat'][0] = 0
            self.memory.close()
            self.memory = None

    def synchronise(self, now):
        """
        Send what has changed here, and take what has changed there, at the steady time ``now``, s.

        Returns whether all is equal now: not before the other process has taken what was sent.
        A ControlError refuses a change of the layout of memory, such as another number of shapes.
        """
        self.memory.beat(now)
        if not (self.send_changes() and self.memory.read(self._image.look)):
            return False
        self._image.adopt()
        return True

    def send_changes(self):
        """Send what has changed here; return whether there was room for it."""
        image = self._image
        if not image.is_current():
            self._renew()
            image = self._image
        changes = image.changes()
        if changes and not self.memory.send(Request.NUMBERS, changes=changes):
            return False
        image.note_sent()
        return True

    def forget(self):
        """Take back what has changed here since the last `send_changes`, whether that had room."""
        self._image.restore()

    def tell(self, kind, number=0):
        """Send what has changed here, then a `Request`; return whether there was room."""
        return self.send_changes() and self.memory.send(kind, number)

    def _resume_grasps(self):
        """Go on with grasps that an earlier node has engaged, with their payloads as of here."""
        grasps = [*self.servo.controller.grasps.values()]
        present = [grasp.engaged for grasp in grasps]
        if not grasps:
            return
        with self.servo.ramps.smoothly():  # in here ramps are at their ends
            for grasp, was in zip(grasps, present, strict=True):
                if was or grasp.engaged:
                    resume(grasp)

    def _renew(self):
        """Go on with other arrays, which the controller has got, of the same layout."""
        image = ServoImage(self.servo)
        if not image.fits(self.memory.block):
            raise ControlError(
                'This change needs other memory than the plug-in has.',
                cure='Deactivate this node and activate it again: then the plug-in is configured '
                     'anew.')
        image.attach(self.memory.block)
        image.copy_baseline(self._image)
        self._image = image

    def _read(self, memory, image):
        """Read the block once all messages of an earlier node have been taken."""
        end = time.monotonic() + _WAIT
        while not memory.read(image.look):
            if time.monotonic() > end:
                raise ControlError('The servo does not take messages: messages of an earlier node '
                                   'are waiting.', cure='Configure the plug-in anew.')
            time.sleep(1e-3)
