# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Message types by the names that the ROS graph has for them."""

import importlib

from opspace_control.errors import RosInterfaceError


def message_type(kind):
    """Return the class of ``package/msg/Name``; a RosInterfaceError if it is not installed."""
    package, folder, name = kind.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.{folder}'), name)
    except (ModuleNotFoundError, AttributeError) as error:
        raise RosInterfaceError(f'{kind} is not installed here.',
                                cure=f'Install {package} and source its workspace.') from error
