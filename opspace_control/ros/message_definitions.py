# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The definitions of message types as text, complete, as MCAP files carry them."""

import importlib
import os
import sys
from pathlib import Path

from opspace_control.errors import RosInterfaceError

_RULE = '=' * 80


def message_class(kind):
    """
    Return the class of a type of messages, such as 'sensor_msgs/msg/JointState'.

    Raises
    ------
    RosInterfaceError
        Its package is not installed.

    """
    package, _, name = kind.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError) as error:
        raise _unknown(kind) from error


def message_definition(kind):
    """
    Return the text of a type of messages, followed by those of all types that it is made of.

    Raises
    ------
    RosInterfaceError
        Its package, or that of a part of it, is not installed with its definitions.

    """
    texts, waiting = {}, [kind]
    while waiting:
        name = waiting.pop()
        if name not in texts:
            texts[name] = _read(name)
            waiting += reversed(_parts(texts[name], name.split('/')[0]))
    first, *others = texts.items()
    return '\n'.join([first[1], *(f'{_RULE}\nMSG: {name.replace("/msg/", "/")}\n{text}'
                                  for name, text in others)])


def _read(kind):
    package, _, name = kind.split('/')
    for prefix in (*os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep), sys.prefix):
        path = Path(prefix, 'share', package, 'msg', f'{name}.msg')
        if prefix and path.is_file():
            return path.read_text()
    raise _unknown(kind)


def _parts(text, package):
    """Return the types of the fields of a definition that are messages themselves."""
    found = []
    for line in text.splitlines():
        words = line.partition('#')[0].split()
        if len(words) < 2 or '=' in words[1]:
            continue
        kind = words[0].partition('[')[0].partition('<')[0]
        if '/' in kind:
            found.append(f'{kind.split("/")[0]}/msg/{kind.split("/")[-1]}')
        elif kind[0].isupper():
            found.append(f'{package}/msg/{kind}')
    return found


def _unknown(kind):
    return RosInterfaceError(f"Messages of type '{kind}' cannot be read here.", kind=kind,
                             cure=f'Install {kind.split("/")[0]}, and source its workspace.')
