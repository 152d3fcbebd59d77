# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The notation page knows every symbol of the code, the references every paper cited."""

import dataclasses
import keyword
import re
import tokenize
from itertools import pairwise
from pathlib import Path

import pytest

from opspace_control.collision.body_pairs import BODY, BODY_PAIR
from opspace_control.collision.data import COUNTS, PAIR
from opspace_control.collision.distance import NEAR_PAIR
from opspace_control.collision.shapes import SHAPE
from opspace_control.control.brake_law import BRAKE, BRAKE_DOF
from opspace_control.control.constraints.constraint_law import CONSTRAINT
from opspace_control.control.cycle_record import CYCLE
from opspace_control.control.grasping.grasp_law import GRASP, GRIP
from opspace_control.control.limits.limit_law import LIMIT
from opspace_control.dynamics.data import NODE_STATE, POINT
from opspace_control.dynamics.operational_space import OperationalSpace
from opspace_control.dynamics.passive_forces import PASSIVE_DOF
from opspace_control.model import KinematicTree
from opspace_control.model.nodes import FRAME, NODE
from opspace_control.safety.accepted_state import STATE_INPUT
from opspace_control.safety.envelope import EFFORT_GUARD
from opspace_control.safety.ramps import RAMP, RAMPING
from opspace_control.safety.servo_data import SERVO
from opspace_control.safety.state_checks import BASE_GUARD, STATE_GUARD
from opspace_control.safety.state_clock import CLOCK
from opspace_control.safety.supervisor import SUPERVISOR
from opspace_control.tasks.force_law import FORCE_CONTROL
from opspace_control.tasks.impedance_law import SPRING
from opspace_control.tasks.joint import JOINT_TASK
from opspace_control.tasks.pose_law import POSE_TASK
from opspace_control.tasks.posture import POSTURE_DOF
from opspace_control.tasks.sensor import SENSOR
from opspace_control.tasks.trajectory_law import TRAJECTORY

ROOT = Path(__file__).parents[1]
NOTATION = (ROOT / 'doc' / 'reference' / 'notation.md').read_text()
RECORDS = {'NODE': NODE, 'FRAME': FRAME, 'NODE_STATE': NODE_STATE, 'POINT': POINT,
           'PASSIVE_DOF': PASSIVE_DOF, 'POSE_TASK': POSE_TASK,
           'FORCE_CONTROL': FORCE_CONTROL, 'SPRING': SPRING, 'SENSOR': SENSOR,
           'POSTURE_DOF': POSTURE_DOF, 'CYCLE': CYCLE,
           'CONSTRAINT': CONSTRAINT, 'JOINT_TASK': JOINT_TASK,
           'SHAPE': SHAPE, 'COUNTS': COUNTS, 'BODY': BODY, 'BODY_PAIR': BODY_PAIR, 'PAIR': PAIR,
           'NEAR_PAIR': NEAR_PAIR,
           'GRASP': GRASP, 'GRIP': GRIP, 'LIMIT': LIMIT,
           'EFFORT_GUARD': EFFORT_GUARD, 'STATE_GUARD': STATE_GUARD, 'BASE_GUARD': BASE_GUARD,
           'STATE_INPUT': STATE_INPUT, 'CLOCK': CLOCK, 'SUPERVISOR': SUPERVISOR,
           'SERVO': SERVO, 'RAMP': RAMP, 'RAMPING': RAMPING, 'TRAJECTORY': TRAJECTORY,
           'BRAKE': BRAKE, 'BRAKE_DOF': BRAKE_DOF}


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
    page = ROOT / 'doc' / 'reference' / 'references.md'
    known = set(re.findall(r'^\*\*\[(\w+)\]\*\*', page.read_text(), re.M))
    assert known == {'K86', 'K87', 'JR94', 'RKR95', 'CK00', 'DM03', 'DM05', 'WPO15', 'ADC94',
                     'AAH86', 'SGT97', 'WKS18', 'RW22', 'AM08', 'AW97'}
    files = [*(ROOT / 'opspace_control').glob('**/*.py'), *(ROOT / 'test').glob('*.py'),
             *(ROOT / 'doc').glob('**/*.md'), ROOT / 'README.md']
    for path in files:
        assert set(re.findall(r'\[([A-Z]{1,3}\d\d)\]', path.read_text())) <= known, path


# Words that say by a picture what has a name in the field: no identifier of the package has one.
OLD_WORDS = set(re.findall(r'\w+', """
    advised alone asked bear bears believe believed borne coast drifts eased ends exchange feel
    feelings feels felt firmness fold growth handed heir heirs held insist insistence intake journey
    keeper keepers laden leader leading leads leaves led miss missed nobody nudge patience planes
    poisoned pull pulls push pushes relief remember room ruled soften somebody spare spend stands
    stood travel travellers travelling travels unspent ways whoever workspace yielded yielding
    yields"""))
# And more in the rooms of the law, of what it is computed from, and of what runs it.
ROOMS = {'control', 'dynamics', 'tasks', 'ros', 'safety'}
OLD_WORDS_OF_ROOMS = {'bind', 'binding', 'binds', 'carry', 'carrying', 'carries', 'gives', 'giving',
                      'go', 'goes', 'let', 'others', 'squeeze', 'taken', 'way'}
# Words that are in order alone.
OLD_PHRASES_OF_ROOMS = {('given', 'up'), ('give', 'up'), ('give', 'back'), ('take', 'over'),
                        ('set', 'given'), ('hold', 'begun')}


def identifiers(rooms=None):
    """Return every identifier of these rooms, or of the package."""
    found = set()
    for path in (ROOT / 'opspace_control').glob('**/*.py'):
        if rooms is None or path.relative_to(ROOT / 'opspace_control').parts[0] in rooms:
            with tokenize.open(path) as file:
                found.update(token.string for token in tokenize.generate_tokens(file.readline)
                             if token.type == tokenize.NAME)
    return {name for name in found if not keyword.iskeyword(name)}


def words_of(name):
    """Return the words of an identifier, such as ``_two_words``, ``TwoWords``, ``TWO_WORDS``."""
    return [word.lower() for word in re.findall(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+', name)]


def test_old_words_do_not_come_back():
    assert not {name for name in identifiers() if OLD_WORDS.intersection(words_of(name))}


def test_old_words_of_rooms_do_not_come_back():
    found = set()
    for name in identifiers(ROOMS):
        words = words_of(name)
        if (OLD_WORDS_OF_ROOMS.intersection(words)
                or OLD_PHRASES_OF_ROOMS.intersection(pairwise(words))):
            found.add(name)
    assert not found


def test_words_of_identifiers():
    assert words_of('_held_rows') == words_of('HeldRows') == words_of('HELD_ROWS') == [
        'held', 'rows']
