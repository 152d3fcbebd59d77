# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The page about safety names every safety test, trip and parameter of the envelope."""

import ast
import re
from pathlib import Path

from opspace_control.ros.parameters.controller_parameters import NODE
from opspace_control.safety import supervisor as trips
from opspace_control.safety.supervisor import Recovery, Trip

HERE = Path(__file__).parent
PAGE = (HERE.parent / 'doc' / 'reference' / 'safety.md').read_text()


def ids_of(path):
    """Yield the ids of the tests of a file, without parameters."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            yield from (f'{path.name}::{node.name}::{method.name}' for method in node.body
                        if isinstance(method, ast.FunctionDef) and method.name.startswith('test_'))
        elif isinstance(node, ast.FunctionDef) and node.name.startswith('test_'):
            yield f'{path.name}::{node.name}'


def test_table_names_every_safety_test_once_and_no_other():
    named = re.findall(r'`(test_safety_\w+\.py::[\w:]+)`', PAGE)
    there = [test for path in HERE.glob('test_safety_*.py') if path != Path(__file__)
             for test in ids_of(path)]
    assert sorted(named) == sorted(there)


def test_every_fault_with_the_plugin_has_a_test():
    faults = PAGE.split('## With the plug-in')[1].split('## ')[0].split('\n- **')[1:]
    assert faults
    for fault in faults:
        named = re.findall(r'`(test_\w+\.py)::(\w+)`', fault)
        assert named, fault
        for file, test in named:
            assert f'{file}::{test}' in ids_of(HERE / file)


def test_every_row_has_all_columns_and_a_test():
    rows = [line for line in PAGE.split('## Every fault and its test')[1].splitlines()
            if line.startswith('|')]
    assert {row.count('|') for row in rows} == {6}
    assert all('`test_safety_' in row for row in rows[2:])


def test_every_trip_is_told_as_it_is():
    for trip in [trip for trip in vars(trips).values() if isinstance(trip, Trip)]:
        row, = [line for line in PAGE.splitlines() if line.startswith(f'| `{trip.name}` |')]
        assert ('damped, then released' if trip.blind else
                'damped: it lies down' if trip is trips.FALLEN else
                'damped: it complies' if trip.compliant else 'held in position') in row
        assert ('`~/hold`' in row) == (trip.recovery != Recovery.AUTOMATIC)
        assert ('by itself' in row) == (trip.recovery != Recovery.ACKNOWLEDGED)


def test_every_parameter_of_the_envelope_is_told():
    for parameter in NODE:
        if parameter.name.startswith(('safety.', 'limits.')):
            name = re.sub('_(lower|upper)$', '_*', parameter.name)
            assert f'`{name}`' in PAGE, parameter.name
