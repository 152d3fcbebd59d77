# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A viewer without a browser: it speaks with the page's server as the page's own program does."""

import time

import msgspec
import viser
import zstandard
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

PATIENCE = 120.0  # s


class Viewer:
    """
    What a browser would know and show.

    Attributes
    ----------
    nodes : dict
        Nodes of the scene by name, each with what the server told of it.
    controls : dict
        Elements of the panel by id.
    notices : list of str
        Notifications, oldest first.

    """

    def __init__(self, url):
        self.nodes, self.controls, self.notices = {}, {}, []
        # A test that looks elsewhere for a while answers no pings.
        self._socket = connect(url.replace('http', 'ws', 1), proxy=None, max_size=None,
                               ping_interval=None, close_timeout=0.5,
                               subprotocols=[f'viser-v{viser.__version__}'])
        # It counts as a viewer when it says where it looks from.
        self._send('ViewerCameraMessage', wxyz=(1, 0, 0, 0), position=(1, 0, 0), image_width=640,
                   image_height=480, fov=1.0, near=0.01, far=100.0, look_at=(0, 0, 0),
                   up_direction=(0, 0, 1))

    def close(self):
        self._socket.close()

    def look(self, seconds=0.02):
        """Take what the server sends within some time; return whether it is still there."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            try:
                data = self._socket.recv(left)
            except TimeoutError:
                return True
            except ConnectionClosed:
                return False
            packed = int.from_bytes(data[8:16], 'little')
            window = msgspec.msgpack.decode(zstandard.decompress(data[16:16 + packed]))
            for message in window['messages']:
                self._take(message)
        return True

    def until(self, condition, seconds):
        """Look until a condition holds; return whether it does."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            self.look()
        return True

    def expect(self, condition, seconds=PATIENCE):
        """Look until a condition holds, or fail with what is to be seen."""
        assert self.until(condition, seconds), self._summary()

    def set_until(self, control, value, condition):
        """Set an element, and again where nobody heeds it: what comes too early is lost."""
        for _ in range(10):
            self.set(control, value)
            if self.until(condition, 3.0):
                return
        self.expect(condition)

    def control(self, label, nth=0):
        """Return the id of the nth element with a label, with or without a unit."""
        found = [uuid for uuid, props in self.controls.items() if _is(props, label)]
        return found[nth]

    def has(self, label):
        """Return whether there is an element with a label."""
        return any(_is(props, label) for props in self.controls.values())

    def text(self):
        """Return all texts of the panel, as HTML."""
        return '\n'.join(props.get('content', '') for props in self.controls.values())

    def set(self, uuid, value):
        """Move a slider, tick a box, type a text."""
        self._send('GuiUpdateMessage', uuid=uuid, updates={'value': value})

    def drag(self, name, position, wxyz):
        """Drag a handle to a place and let it go."""
        self._send('TransformControlsDragStartMessage', name=name, owner='')
        self._send('TransformControlsUpdateMessage', name=name, position=position, wxyz=wxyz,
                   owner='')
        self._send('TransformControlsDragEndMessage', name=name, owner='')

    def _send(self, kind, **fields):
        self._socket.send(msgspec.msgpack.encode({'type': kind, **fields}))

    def _take(self, message):
        kind, name = message['type'], message.get('name')
        if kind == 'RemoveSceneNodeMessage':
            self.nodes = {node: what for node, what in self.nodes.items()
                          if node != name and not node.startswith(f'{name}/')}
        elif kind == 'GuiRemoveMessage':
            self._remove(message['uuid'])
        elif kind == 'NotificationShowMessage':
            self.notices.append(message['props']['body'])
        elif kind == 'GuiUpdateMessage':
            if message['uuid'] in self.controls:
                self.controls[message['uuid']].update(message['updates'])
        elif 'uuid' in message and 'props' in message:
            self.controls[message['uuid']] = {
                **message['props'], 'value': message.get('value'),
                'within': message.get('container_uuid')}
        elif name is not None:
            node = self.nodes.setdefault(name, {})
            node.update(message.get('props') or {})
            node.update({key: value for key, value in message.items()
                         if key in ('position', 'wxyz', 'visible')})

    def _remove(self, uuid):
        props = self.controls.pop(uuid, {})
        for container in (uuid, *props.get('_tab_container_ids', ())):
            for inner in [key for key, other in self.controls.items()
                          if other['within'] == container]:
                self._remove(inner)

    def _summary(self):
        labels = [props.get('label') for props in self.controls.values() if props.get('label')]
        return f'nodes {list(self.nodes)[:20]}, labels {labels}, {self.notices}\n{self.text()}'


def _is(props, label):
    """Return whether an element has a label, perhaps with a unit behind it."""
    shown = props.get('label') or ''
    return shown == label or shown.startswith(f'{label}, ')
