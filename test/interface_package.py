# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Interface packages that no wheel has, where ROS 2 is not installed: built for the tests, once."""

import contextlib
import ctypes
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

SOURCES = Path(__file__).parent / 'interfaces'
_BUILT = {}  # where a package is installed, by its name


class NotHereError(Exception):
    """The package is not installed and cannot be built here; says what is missing."""


def prefix(cache, name='controller_manager_msgs'):
    """
    Return where the package is installed, or None if it needs no path of its own.

    Parameters
    ----------
    cache : Path
        Directory that outlives the tests. The package is built in there, in some 6 s, unless the
        same has been built before.
    name : str
        Of the package; its source is in interfaces/.

    Raises
    ------
    NotHereError
        Something to build it with is missing.

    """
    if name in _BUILT:  # this process may find it since then; those that it starts do not
        return _BUILT[name]
    if importlib.util.find_spec(name):
        return None
    _look_for_tools(name)
    installed = Path(cache, f'{name}_{_digest(name)}')
    with _alone(cache):
        if not installed.is_dir():
            _build(SOURCES / name, Path(cache, 'build'), installed)
    _BUILT[name] = installed
    return installed


def environment(prefix, base):
    """Return an environment in which processes find the package; ``base`` stays as it is."""
    if prefix is None:
        return dict(base)
    return {**base, **{name: os.pathsep.join(filter(None, (str(path), base.get(name))))
                       for name, path in _paths(prefix).items()}}


def use(prefix):
    """Let this process find the package."""
    if prefix is not None:
        sys.path.append(str(_paths(prefix)['PYTHONPATH']))
        # The loader reads LD_LIBRARY_PATH at the start only, but finds what is loaded already.
        for library in _paths(prefix)['LD_LIBRARY_PATH'].glob('*.so'):
            ctypes.CDLL(str(library))


def _paths(prefix):
    version = f'python{sys.version_info.major}.{sys.version_info.minor}'
    return {'PYTHONPATH': prefix / 'lib' / version / 'site-packages',
            'LD_LIBRARY_PATH': prefix / 'lib'}


def _look_for_tools(name):
    for tool in ('cmake', 'gcc', 'g++', 'make'):
        if not shutil.which(tool):
            raise NotHereError(f'{name} is not installed and cannot be built without {tool}')
    if not Path(sysconfig.get_path('include'), 'Python.h').is_file():
        raise NotHereError(f'{name} is not installed and cannot be built without Python.h')
    prefixes = (*os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep), sys.prefix)
    for package in ('ament_cmake', 'rosidl_default_generators'):
        if not any(Path(prefix, 'share', package, 'cmake').is_dir() for prefix in prefixes):
            raise NotHereError(f'{name} is not installed and cannot be built without {package} '
                               "(pip install '.[interfaces]')")


def _digest(name):
    digest = hashlib.sha256(repr((sys.version, sys.prefix)).encode())
    for file in sorted((SOURCES / name).rglob('*')):
        if file.is_file():
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _build(source, folder, installed):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    target = folder / 'installed'
    # The libraries find each other wherever the finished package is moved.
    settings = {'CMAKE_BUILD_TYPE': 'None', 'CMAKE_INSTALL_PREFIX': target,
                'CMAKE_INSTALL_RPATH': installed / 'lib', 'CMAKE_PREFIX_PATH': sys.prefix,
                'Python3_EXECUTABLE': sys.executable, 'BUILD_TESTING': 'OFF'}
    _run(folder, 'cmake', source, *(f'-D{name}={value}' for name, value in settings.items()))
    _run(folder, 'cmake', '--build', folder, '--target', 'install', '--parallel', '2')
    target.rename(installed)
    shutil.rmtree(folder)


def _run(folder, *command):
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ['PATH']))
    ended = subprocess.run(
        command, cwd=folder, env={'AMENT_PREFIX_PATH': sys.prefix, **os.environ, 'PATH': path},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if ended.returncode:
        raise AssertionError(f'It cannot be built:\n{ended.stdout[-4000:]}')


@contextlib.contextmanager
def _alone(cache):
    """Keep other workers of the same test run waiting."""
    with open(Path(cache, 'lock'), 'w') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
