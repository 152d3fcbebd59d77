# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The base class of all tasks: name, priority and activation."""

from numbers import Integral

from opspace_control.checks import checked
from opspace_control.errors import TaskError


class RankedTask:
    """
    A task of a controller: ``name`` is its key in ``controller.tasks``.

    ``priority`` is a whole number, 0 the highest; tasks of a larger number act in the null space of
    those of smaller ones.
    """

    _model = None   # of the controller, if in use
    _record = None  # for compiled code, one or several, with an ``activation``

    priority = property(lambda self: self._priority, doc='Level of the task, 0 the highest.')

    def __init__(self, name, priority):
        self.name = name
        if isinstance(priority, bool) or not isinstance(priority, Integral) or priority < 0:
            raise TaskError(f'{self._owner}: priority = {priority!r} is not allowed.',
                            cure='Give a whole number, 0 for the highest priority.',
                            parameter='priority', value=priority)
        self._priority = int(priority)

    @property
    def activation(self):
        """
        Activation a of the task, from 0 to 1.

        With 1 its axes are controlled exactly, with 0 they belong to the null space. In between
        the diagonal of Λ⁻¹ is larger by ``((1 − a) / a)²``, so forces change continuously between
        the two, near singularities, too.
        """
        return float(self._record['activation'].flat[0])

    @activation.setter
    def activation(self, value):
        self._record['activation'] = checked(
            value, f'{self._owner}: activation', TaskError, lowest=0.0, highest=1.0,
            parameter='activation')

    @property
    def enabled(self):
        """Whether the activation is above 0; axes of a disabled task belong to the null space."""
        return self.activation > 0.0

    @enabled.setter
    def enabled(self, value):
        self.activation = float(bool(value))

    @property
    def in_use(self):
        """Whether the task belongs to a controller."""
        return self._model is not None

    @property
    def _owner(self):
        """Owner of a refused value, for the error."""
        return f"task '{self.name}'"
