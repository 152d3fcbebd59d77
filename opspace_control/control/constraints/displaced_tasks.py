# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The tasks that a contact or a grasp replaces while it is engaged."""


class DisplacedTasks:
    """
    Some of a controller's ``tasks``, which may be disabled and enabled again.

    Which these are is in the tasks' records, as the ``number``, from 1, of who has disabled them:
    another process that goes on with the controller knows it, too.
    """

    def __init__(self, tasks, number):
        self._tasks, self._number = tasks, number

    def disable(self):
        """Disable those tasks that are enabled."""
        for task in self._tasks:
            if task.enabled:
                task._record['displaced_by'], task.enabled = self._number, False

    def enable(self):
        """Enable those tasks that `disable` has disabled, at their present poses."""
        for task in self._tasks:
            if task._record['displaced_by'] == self._number:
                task._record['displaced_by'] = 0
                task.clear_target()
                task.enabled = True
