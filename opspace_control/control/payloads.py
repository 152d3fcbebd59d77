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
    ``change_shapes(gone, shapes, touching)`` takes shapes of these names out of the controller's
    distances and puts others in, or raises an OpspaceError and changes nothing. ``changed()`` is
    called after each change.
    """

    def __init__(self, model, nodes, change_shapes, changed):
        self._model, self._nodes, self._bare = model, nodes, nodes.copy()
        self._change_shapes, self._changed = change_shapes, changed
        self._loads, self._shapes = {}, {}
        self.gradual = {'payload.mass': nodes['mass'],
                        'payload.center_of_mass': nodes['center_of_mass'],
                        'payload.inertia': nodes['inertia'].reshape(-1, 9)}

    def __getitem__(self, name):
        return self._loads[name][1]

    def __contains__(self, name):
        return name in self._loads

    def put(self, name, link, payload, *, shapes=(), touching=()):
        """
        Put a `Payload` on a link, in its frame, in place of what had its name; None takes that off.

        Its ``shapes`` keep a distance as those of the link, at once, where mass may be put on
        gradually. They go with it, unless other `distances` of the controller were set meanwhile,
        which count as they are. Raises a ModelError for an unknown link, or for shapes that cannot
        be used, a ControlError if it is no payload, or if the controller keeps no distances; then
        nothing changes.

        Parameters
        ----------
        name : str
            Of the payload.
        link : str
            That carries it.
        payload : Payload or None
            In the link's frame.
        shapes : sequence of Shape
            On this link, or without a link, in this link's frame; bounded, with names of their own.
        touching : sequence of (str, str)
            Pairs that may touch, as of `CollisionModel.with_shapes`.

        """
        load, shapes = None, tuple(shape.carried_by(link) for shape in shapes)
        if isinstance(payload, Payload):
            load = self._model.frames[self._model.frame_index(link)], payload
        elif payload is not None or shapes:
            raise ControlError(f'{payload!r} is no payload.', value=payload,
                               cure='Give a Payload(mass, center_of_mass, inertia).')
        gone, names = self._shapes.get(name, ()), tuple(shape.name for shape in shapes)
        if gone or shapes:
            self._change_shapes(gone, shapes, touching)
        for kept, value in ((self._loads, load), (self._shapes, names)):
            if value:
                kept[name] = value
            else:
                kept.pop(name, None)
        attach_payloads(self._nodes, self._bare, self._loads.values())
        self._changed()
