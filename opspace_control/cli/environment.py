# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A private ROS 2 domain on this machine."""

import contextlib
import fcntl
import os
import sys
import tempfile
from pathlib import Path

from opspace_control.errors import OpspaceError
from opspace_control.share import share_directory

# Domains whose ports lie below the ephemeral ones of Linux; 0 is everybody's default.
_DOMAINS = range(1, 102)


@contextlib.contextmanager
def own_domain():
    """
    Reserve a ROS_DOMAIN_ID on this machine for as long as the context lasts.

    Raises
    ------
    OpspaceError
        All are taken.

    """
    first = os.getpid()
    for i in range(len(_DOMAINS)):
        domain = _DOMAINS[(first + i) % len(_DOMAINS)]
        lock = _lock(domain)
        if lock is not None:
            with lock:
                yield domain
            return
    raise OpspaceError('Every ROS_DOMAIN_ID is taken.', cure='End other demos and tests.')


def _lock(domain):
    """Return a file locked by this process until it is closed, or None."""
    try:
        file = _lock_file(domain).open('w')
    except OSError:  # another user's
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def _lock_file(domain):
    return Path(tempfile.gettempdir(), f'opspace_control_domain_{domain}')


def private_environment(domain):
    """
    Return the environment of processes that communicate on this machine only.

    A demo must not command a robot on the ROS 2 network of the user's shell.
    """
    environment = dict(os.environ)
    environment.pop('ROS_LOCALHOST_ONLY', None)
    environment.update(
        ROS_DOMAIN_ID=str(domain),
        ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST',
        PYTHONUNBUFFERED='1')
    # The ROS 2 wheels leave this to their user.
    environment.setdefault('AMENT_PREFIX_PATH', sys.prefix)
    profile = str(share_directory() / 'config' / 'quick_discovery.xml')
    for variable in ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE'):
        environment.setdefault(variable, profile)
    return environment
