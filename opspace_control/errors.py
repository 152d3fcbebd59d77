# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of opspace_control: each names what is wrong, where, and the cure, and has the data."""


class OpspaceError(Exception):
    """
    Base of every error this package raises on purpose.

    ``message`` says what is wrong and where; ``cure``, appended to it, what the user can do about
    it. ``data`` are the facts behind the message (``joint``, ``frame``, ``value``, ...), which are
    attributes, too.
    """

    def __init__(self, message, *, cure='', **data):
        super().__init__(f'{message} {cure}'.strip())
        self.cure = cure
        self.data = data

    def __getattr__(self, name):
        try:
            return self.__dict__['data'][name]
        except KeyError:
            raise AttributeError(name) from None


class ModelError(OpspaceError):
    """The robot description, or a name looked up in it, is not usable."""


class StateError(OpspaceError):
    """A joint state does not fit the model: shape, finiteness or quaternion norm."""


class TaskError(OpspaceError):
    """A task's frame, gain, axis or target is not usable."""


class ControlError(OpspaceError):
    """The controller was put together, or called, in a way that cannot work."""


class SafetyError(OpspaceError):
    """
    The safety envelope was left: the robot must not be controlled with the last state.

    ``trip``, a `safety.supervisor.Trip`, is the kind of reason; the message has the details.
    """

    def __init__(self, trip, message, **data):
        super().__init__(message, trip=trip, **data)


class SimulationError(OpspaceError):
    """The simulated robot cannot be built or was given something it cannot do."""


class RosInterfaceError(OpspaceError):
    """A parameter, topic or message does not fit the node's interface."""
