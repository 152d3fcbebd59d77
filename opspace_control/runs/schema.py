# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Message types as MCAP files tell them: the definition of a type and of all that it contains."""

import re
from pathlib import Path

from opspace_control.errors import RosInterfaceError
from opspace_control.share import prefixes

_PRIMITIVES = {'bool', 'byte', 'char', 'float32', 'float64', 'string', 'wstring',
               *(f'{sign}int{bits}' for sign in ('', 'u') for bits in (8, 16, 32, 64))}
_FIELD = re.compile(r'^\s*([A-Za-z][\w/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]\w*', re.MULTILINE)
_RULER = '=' * 80


def definition(kind):
    """
    Return the text of a message type in the encoding ``ros2msg``.

    It is the .msg file, and behind it those of all types that it contains, each under a ruler of
    80 equals signs and ``MSG: package/Name``: as rosbag2 writes it and Foxglove reads it.

    Parameters
    ----------
    kind : str
        As in the ROS graph, such as ``sensor_msgs/msg/JointState``.

    Raises
    ------
    RosInterfaceError
        A .msg file is not installed here.

    """
    package, _, name = kind.split('/')
    found = {}
    _collect(f'{package}/{name}', found)
    first, *others = found.items()
    return ''.join([first[1], *(f'{_RULER}\nMSG: {name}\n{text}' for name, text in others)])


def _collect(name, found):
    """Add the text of a type, ``package/Name``, and of what it contains, in order of need."""
    package, short = name.split('/')
    text = _message_file(package, short).read_text()
    found[name] = text if text.endswith('\n') else f'{text}\n'
    for field in _FIELD.findall(re.sub('#.*', '', text)):
        if field not in _PRIMITIVES:
            inner = field if '/' in field else f'{package}/{field}'
            inner = inner.replace('/msg/', '/')
            if inner not in found:
                _collect(inner, found)


def _message_file(package, name):
    for prefix in prefixes():
        path = Path(prefix, 'share', package, 'msg', f'{name}.msg')
        if path.is_file():
            return path
    raise RosInterfaceError(f'The definition of {package}/msg/{name} is not installed here.',
                            cure=f'Install {package} and source its workspace.',
                            searched=list(prefixes()))
