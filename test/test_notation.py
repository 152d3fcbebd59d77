# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The notation page knows every symbol of the code, the references every paper cited."""

import dataclasses
import re
from pathlib import Path

import pytest

from opspace_control.control.constraints.constraint_law import CONSTRAINT
from opspace_control.control.cycle_record import CYCLE
from opspace_control.control.grasping.grasp_law import GRASP, GRIP
from opspace_control.control.limits.limit_law import LIMIT
from opspace_control.dynamics import OperationalSpace
from opspace_control.dynamics.passive_forces import PASSIVE_DOF
from opspace_control.dynamics.workspace import NODE_STATE, POINT
from opspace_control.model import KinematicTree
from opspace_control.model.nodes import FRAME, NODE
from opspace_control.safety.envelope import GUARD
from opspace_control.tasks.force_law import FORCE
from opspace_control.tasks.impedance_law import SPRING
from opspace_control.tasks.joint_law import JOINT_TASK
from opspace_control.tasks.pose_law import POSE_TASK
from opspace_control.tasks.posture_law import POSTURE_DOF
from opspace_control.tasks.sensor_law import SENSOR

ROOT = Path(__file__).parents[1]
NOTATION = (ROOT / 'doc' / 'notation.md').read_text()
RECORDS = {'NODE': NODE, 'FRAME': FRAME, 'NODE_STATE': NODE_STATE, 'POINT': POINT,
           'PASSIVE_DOF': PASSIVE_DOF,
           'POSE_TASK': POSE_TASK, 'FORCE': FORCE, 'SPRING': SPRING, 'SENSOR': SENSOR,
           'POSTURE_DOF': POSTURE_DOF, 'CYCLE': CYCLE,
           'CONSTRAINT': CONSTRAINT, 'JOINT_TASK': JOINT_TASK,
           'GRASP': GRASP, 'GRIP': GRIP, 'GUARD': GUARD, 'LIMIT': LIMIT}


def section(heading):
    """Return the text of the section whose heading begins like this."""
    return re.search(rf'^(#+) {re.escape(heading)}.*?(?=^#|\Z)', NOTATION, re.M | re.S).group()


def test_every_field_of_a_record_is_there():
    for name, record in RECORDS.items():
        assert f'`{name}`' in NOTATION
        missing = [field for field in record.names if f'`{field}`' not in NOTATION]
        assert not missing, name


@pytest.mark.parametrize(('heading', 'kind'), [
    ('model/', KinematicTree), ('What users get', OperationalSpace)])
def test_every_public_field_is_there(heading, kind):
    text = section(heading)
    missing = [field.name for field in dataclasses.fields(kind)
               if f'`{field.name}`' not in text and field.name not in ('frames',)]
    assert not missing


def test_every_helper_of_the_spatial_room_is_there():
    text = section('spatial/')
    for path in (ROOT / 'opspace_control' / 'spatial').glob('*.py'):
        for name in re.findall(r'^def ([a-z]\w*)', path.read_text(), re.M):
            assert f'`{name}' in text, name


def test_every_paper_cited_is_in_the_references():
    known = set(re.findall(r'^\*\*\[(\w+)\]\*\*', (ROOT / 'doc/references.md').read_text(), re.M))
    assert known == {'K87', 'JR94', 'RKR95', 'CK00', 'WPO15'}
    files = [*(ROOT / 'opspace_control').glob('**/*.py'), *(ROOT / 'test').glob('*.py'),
             *(ROOT / 'doc').glob('*.md'), ROOT / 'README.md']
    for path in files:
        assert set(re.findall(r'\[([A-Z]{1,3}\d\d)\]', path.read_text())) <= known, path
