# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A run as an MCAP file, as Foxglove and ros2 bag read it."""

import json
import os
import platform
import re
import time
from importlib import metadata
from pathlib import Path

from mcap.writer import Writer

import opspace_control
from opspace_control.errors import RosInterfaceError
from opspace_control.share import prefixes

# The metadata record that describes the run, and the version of its layout.
RUN, LAYOUT = 'opspace_run', '1'
ROBOT, PARAMETERS = 'robot.urdf', 'parameters.yaml'  # attachments
_PACKAGES = ('numpy', 'numba', 'mujoco', 'ros-jazzy-rclpy')
_PRIMITIVES = {'bool', 'byte', 'char', 'float32', 'float64', 'string', 'wstring',
               *(f'{sign}int{bits}' for sign in ('', 'u') for bits in (8, 16, 32, 64))}
_FIELD = re.compile(r'^\s*([A-Za-z][\w/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]\w*', re.MULTILINE)
_RULER = '=' * 80


class RunWriter:
    """
    A new MCAP file, to which messages are written as they come, in CDR.

    Pieces of a megabyte are compressed. A file whose writer was killed lacks its end; ``opspace
    report`` reads it nevertheless.
    """

    def __init__(self, path):
        self.path = path
        self.messages = 0
        self._schemas, self._channels = {}, {}
        self._file = open(path, 'xb')  # noqa: SIM115
        self._mcap = Writer(self._file)
        self._mcap.start(profile='ros2', library=f'opspace_control {opspace_control.__version__}')

    @property
    def topics(self):
        """Topics of which there is a message."""
        return tuple(self._channels)

    def channel(self, topic, kind, qos):
        """
        Return the number of a topic's channel, which is made if need be.

        ``kind`` is a type such as ``sensor_msgs/msg/JointState``; a RosInterfaceError tells that
        its definition is not installed. ``qos`` is that of the publisher, for a replay.
        """
        if topic not in self._channels:
            if kind not in self._schemas:
                self._schemas[kind] = self._mcap.register_schema(
                    kind, 'ros2msg', definition(kind).encode())
            self._channels[topic] = self._mcap.register_channel(
                topic, 'cdr', self._schemas[kind], {'offered_qos_profiles': _qos_text(qos)})
        return self._channels[topic]

    def write(self, channel, data, received, sent):
        """Write a serialized message, and when it was received and sent, ns of the system clock."""
        self._mcap.add_message(channel, received, data, sent, self.messages & 0xffffffff)
        self.messages += 1

    def describe(self, **facts):
        """Write facts about the run and the machine; they replace those of earlier calls."""
        self._mcap.add_metadata(RUN, {'layout': LAYOUT, 'machine': json.dumps(_machine()), **{
            name: json.dumps(fact) for name, fact in facts.items()}})

    def attach(self, name, text):
        """Add a further file, of text."""
        now = time.time_ns()
        self._mcap.add_attachment(now, now, name, 'text/plain', text.encode())

    def close(self, lost):
        """Write the end of the file; ``lost`` says how many messages of which topic were lost."""
        self._mcap.add_metadata(f'{RUN}_end', {'lost': json.dumps(lost)})
        self._mcap.finish()
        self._file.close()


def _qos_text(qos):
    """Return a quality of service as rosbag2 keeps it; numbers are read by all its versions."""
    for_ever = '{sec: 9223372036, nsec: 854775807}'
    return '\n'.join([
        f'- history: {int(qos.history)}', f'  depth: {qos.depth}',
        f'  reliability: {int(qos.reliability)}', f'  durability: {int(qos.durability)}',
        f'  deadline: {for_ever}', f'  lifespan: {for_ever}', '  liveliness: 1',
        f'  liveliness_lease_duration: {for_ever}', '  avoid_ros_namespace_conventions: false'])


def _machine():
    """Return the description of the machine: names -> words."""
    processor = next((line.partition(':')[2].strip()
                      for line in Path('/proc/cpuinfo').read_text().splitlines()
                      if line.startswith('model name')), '')
    facts = {
        'processor': processor or platform.machine(),
        'cores': str(len(os.sched_getaffinity(0))),
        'memory': f'{os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30:.0f} GiB',
        'system': f'{platform.system()} {platform.release()}',
        'Python': platform.python_version(),
        'ROS 2': os.environ.get('ROS_DISTRO', 'wheels'),
        'opspace_control': opspace_control.__version__}
    for package in _PACKAGES:
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return facts


def definition(kind):
    """
    Return the text of a message type in the encoding ``ros2msg``.

    It is the .msg file, and behind it those of all types that it contains, each under a ruler of
    80 equals signs and ``MSG: package/Name``: as rosbag2 writes it and Foxglove reads it. A
    RosInterfaceError tells which .msg file is not installed.
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
