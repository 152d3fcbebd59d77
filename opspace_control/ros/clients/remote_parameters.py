# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of another node: read, monitored and changed."""

from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import qos_profile_parameter_events


class RemoteParameters:
    """
    The parameters of another node, by its full name ``target``; ``changed(name)`` follows a change.

    ``values`` and ``descriptors``, rcl_interfaces/ParameterDescriptor, are by name.
    """

    def __init__(self, node, target, changed):
        self.values, self.descriptors = {}, {}
        self._target = target
        self._changed = changed
        self._requested = 0
        self._client = AsyncParameterClient(node, target)
        node.create_subscription(ParameterEvent, '/parameter_events', self._on_event,
                                 qos_profile_parameter_events)

    def ready(self):
        """Return whether the other node would answer."""
        return self._client.services_are_ready()

    def load(self, loaded):
        """Read all parameters; call ``loaded()`` afterwards, unless `load` is called again."""
        self._requested += 1
        ask = self._requested

        def listed(future):
            names = list(future.result().result.names)
            self._client.describe_parameters(names, lambda answer: described(names, answer))

        def described(names, future):
            descriptors = dict(zip(names, future.result().descriptors, strict=False))
            self._client.get_parameters(names, lambda answer: read(descriptors, answer))

        def read(descriptors, future):
            if ask != self._requested:
                return
            self.descriptors = descriptors
            self.values = {name: _plain(value) for name, value in zip(
                descriptors, future.result().values, strict=False)}
            loaded()
        self._client.list_parameters(callback=listed)

    def set(self, name, value, answered):
        """Request a change; ``answered(reason)`` gets why it is refused, or ''."""
        def done(future):
            result = future.result().result
            answered('' if result.successful else result.reason or 'The node gives no reason.')
        self._client.set_parameters_atomically(
            [Parameter(name, value=value).to_parameter_msg()], done)

    def _on_event(self, event):
        if event.node != self._target:
            return
        for parameter in (*event.new_parameters, *event.changed_parameters):
            if parameter.name in self.values:
                self.values[parameter.name] = _plain(parameter.value)
                self._changed(parameter.name)


def _plain(value):
    """Return a ParameterValue as Python has it; arrays as lists."""
    plain = parameter_value_to_python(value)
    return plain.tolist() if hasattr(plain, 'tolist') else plain
