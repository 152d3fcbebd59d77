# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a controlled robot carries at the moment."""

from opspace_control.errors import ControlError
from opspace_control.model.bodies import Payload, attach_payloads


class Payloads:
    """
    The payloads of a controller's links; at first there are none.

    The nodes, (n,), are the controller's own, without payloads: their bodies change with these.
    ``gradual`` has, by name, those of their numbers that should change gradually.
    """

    def __init__(self, model, nodes):
        self._model, self._nodes, self._bare = model, nodes, nodes.copy()
        self._loads = {}
        self.gradual = {'payload.mass': nodes['mass'],
                        'payload.center_of_mass': nodes['center_of_mass'],
                        'payload.inertia': nodes['inertia'].reshape(-1, 9)}

    def __getitem__(self, name):
        return self._loads[name][1]

    def __contains__(self, name):
        return name in self._loads

    def put(self, name, link, payload):
        """
        Put a `Payload` on a link, in its frame, in place of what had its name; None takes that off.

        Raises a ModelError for an unknown link, and a ControlError if it is no payload.
        """
        if payload is None:
            self._loads.pop(name, None)
        elif isinstance(payload, Payload):
            frame = self._model.frames[self._model.frame_index(link)]
            self._loads[name] = frame, payload
        else:
            raise ControlError(f'{payload!r} is no payload.', value=payload,
                               cure='Give a Payload(mass, center_of_mass, inertia).')
        attach_payloads(self._nodes, self._bare, self._loads.values())
