# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Every path, name of the code, parameter and topic that README and documentation name exists."""

import ast
import functools
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest
from reference_topics import NODES
from test_pages import DOC, ROOT, offences

import opspace_control
from opspace_control.ros.parameters import controller_parameters, simulator_parameters
from opspace_control.ros.parameters.joints import JOINT_BLOCKS, joint_table

ROOMS = [ROOT, DOC, *(ROOT / name for name in ('benchmark', 'test', 'config', 'urdf', 'launch')),
         *(path for room in ('opspace_control', 'native') for path in (ROOT / room).glob('**')
           if path.is_dir())]
# Files of the reader, and those that a page tells the reader to write.
READERS = re.compile(r'my|x(_law)?\.|run\.|palm|params|send_goal')
# Objects as pages call them.
OBJECTS = {'controller': 'OperationalSpaceController', 'contact': 'Contact', 'grasp': 'Grasp',
           'model': 'RobotModel', 'state': 'RobotState', 'locomotion': 'Locomotion'}
# Blocks of parameters that are not attributes of anything.
BLOCKS = ('goals', 'legs', 'limits', 'passive_forces', 'safety')
# What has its name elsewhere: in Linux, C, LLVM, Numba, ROS 2, gz_ros2_control and placo.
OTHERS = {'taskset', 'pow', 'nnan', 'ninf', 'helper', 'signatures', 'rosbag2_storage_mcap',
          'launch_test', 'hold_joints', 'AvoidSelfCollisionsDynamicsConstraint'}
# Of the user, in examples.
EXAMPLES = {'left_tool', 'right_tool', 'cup'}


def spans(page):
    """Return what a page has between backticks, without its blocks of code."""
    text = re.sub(r'^```.*?^```$', '', page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return set(re.findall(r'(?<!`)`([^`\n]+)`(?!`)', text))


def names_in(path):
    """Return the names in a Python file and the words of its texts, but not of its docstrings."""
    tree, named = ast.parse(path.read_text()), []
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        named += [value for field in ('id', 'attr', 'arg', 'name', 'asname', 'module')
                  if isinstance(value := getattr(node, field, None), str)]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            named.append(node.value)
    return named


def defined_in(path):
    """Return the names of the functions and classes of a Python file."""
    return [node.name for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))]


@functools.cache
def words():
    """
    Return every word of the sources that is a name, or part of a text that they use.

    What comments, docstrings and tests alone tell of does not exist.
    """
    texts = [(ROOT / name).read_text()
             for name in ('Makefile', 'setup.cfg', 'setup.py', 'pyproject.toml')]
    for room in ('opspace_control', 'native', 'benchmark', 'config', 'urdf', 'launch', 'examples',
                 'doc', 'test'):
        for path in (ROOT / room).glob('**/*'):
            if path.suffix == '.py':
                texts += defined_in(path) if room == 'test' else names_in(path)
            elif path.suffix in ('.yaml', '.urdf', '.xacro', '.json', '.txt', '.h', '.hpp', '.cpp'):
                texts.append(path.read_text())
    return set(re.findall(r'\w+', ' '.join(texts)))


@functools.cache
def pattern_of(names):
    """Return the pattern of names, in which names of the user are in angle brackets."""
    return re.compile('|'.join(re.sub(r'<\w+>', r'(<\\w+>|\\w+)', re.escape(name).replace(
        '\\<', '<').replace('\\>', '>')) for name in names))


@functools.cache
def parameters():
    """Return the pattern of the names of parameters, and of their blocks."""
    tables = [controller_parameters.NODE, controller_parameters.WATCHDOG,
              simulator_parameters.NODE, [simulator_parameters.INITIAL_POSITION],
              *(joint_table(block, ['<joint>']) for block in JOINT_BLOCKS)]
    names = {row.name for table in tables for row in table}
    for blocks in (controller_parameters.BLOCKS, simulator_parameters.BLOCKS):
        names |= {f'<{kind}>.{row.name}' for kind, rows in blocks.items() for row in rows}
    names |= {name.rpartition('.')[0] for name in names}
    return pattern_of(tuple(sorted(filter(None, names))))


@functools.cache
def topics():
    """Return the pattern of the names of topics and services."""
    return pattern_of(tuple(sorted({name for topics in NODES.values() for name in topics})))


def resolves(span):
    """Return whether what a page names exists; true where it is no name."""
    if re.fullmatch(r'[\w.*/-]+\.(py|md|yaml|xacro|urdf|json|png|toml|cfg|txt)', span):
        return bool(READERS.match(Path(span).name)) or any(
            next(iter(room.glob(span)), None) for room in ROOMS)
    if re.fullmatch(r'~/[\w<>/]+', span):
        return span.endswith('/<what>') or bool(topics().fullmatch(span))
    if indexed := re.fullmatch(r'([\w.]+)\[(\w+)\]', span):
        return all(map(is_name, indexed.groups()))
    if re.fullmatch(r'opspace_control(\.\w+)+', span):
        return attribute_of(opspace_control, span.split('.')[1:])
    symbol = re.fullmatch(r'[A-Za-z]_\w{1,3}', span)  # with an index
    name = re.fullmatch(r'([A-Za-z_<][\w<>]*(\.[\w<>]+)*)(\(.*\))?', span)
    return bool(symbol) or not name or is_name(name.group(1))


def attribute_of(value, names):
    """Return whether an attribute of an attribute, and so on, of a value exists."""
    for name in names:
        if isinstance(value, ModuleType) and not hasattr(value, name):
            try:
                importlib.import_module(f'{value.__name__}.{name}')
            except ImportError:
                return False
        elif isinstance(value, type) and not hasattr(value, name):
            sources = ''.join(inspect.getsource(each) for each in value.__mro__[:-1])
            return bool(re.search(rf'self\.{name} =|^    {name}:', sources, re.MULTILINE))
        value = getattr(value, name, None)
    return True


def is_name(name):
    """Return whether a name, with dots or without, is one of the sources."""
    first, *rest = name.split('.')
    if rest and (first in OBJECTS or first in opspace_control.__all__):
        return attribute_of(getattr(opspace_control, OBJECTS.get(first, first)), rest)
    if rest and first in BLOCKS:
        return bool(parameters().fullmatch(name))
    return all(part in words() or part in OTHERS | EXAMPLES or part.startswith('<')
               for part in name.split('.'))


def test_names_exist():
    assert offences(lambda page: [span for span in spans(page) if not resolves(span)]) == {}


@pytest.mark.parametrize('span', [
    'control/no_such.py', '~/no_such', 'opspace_control.control.no_such', 'controller.no_such_word',
    'limits.margin', 'NoSuchTask', 'leads[BORNE]', 'controller.trips',
    'Goldfarb', 'test_no_such'])
def test_other_names_do_not(span):
    assert not resolves(span)
