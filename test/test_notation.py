# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The notation page knows every symbol of the code, the references every paper cited."""

import dataclasses
import keyword
import re
import tokenize
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


# Words that say by a picture what has a name in the field, and how many identifiers of control/
# have them.
# The numbers may fall, never rise; a word at zero stays here.
OLD_WORDS = {
    'advised': 0, 'alone': 0, 'asked': 0, 'bear': 0, 'bears': 0, 'believe': 0, 'believed': 0,
    'borne': 0, 'coast': 0, 'drifts': 0, 'eased': 0, 'ends': 0, 'exchange': 0, 'feel': 0,
    'feelings': 0, 'feels': 0, 'felt': 0, 'firmness': 0, 'fold': 0, 'growth': 0, 'handed': 0,
    'heir': 0, 'heirs': 0, 'held': 0, 'insist': 0, 'insistence': 0, 'intake': 0, 'journey': 0,
    'keeper': 0, 'keepers': 0, 'laden': 0, 'leader': 0, 'leading': 0, 'leads': 0, 'leaves': 0,
    'led': 0, 'miss': 0, 'missed': 0, 'nobody': 0, 'nudge': 0, 'patience': 0, 'planes': 0,
    'poisoned': 0, 'pull': 0, 'pulls': 0, 'push': 0, 'pushes': 0, 'relief': 0, 'remember': 0,
    'room': 0, 'ruled': 0, 'soften': 0, 'somebody': 0, 'spare': 0, 'spend': 0, 'squeeze': 0,
    'stands': 0, 'stood': 0, 'travel': 0, 'travellers': 0, 'travelling': 0, 'travels': 0,
    'unspent': 0, 'ways': 0, 'whoever': 0, 'workspace': 0, 'yielded': 0, 'yielding': 0,
    'yields': 0}


# What rooms other than control/ take from it; these names go when it has others.
FROM_CONTROL = {'squeeze'}


def identifiers(in_control):
    """Return every identifier of control/, or of all other rooms."""
    found = set()
    for path in (ROOT / 'opspace_control').glob('**/*.py'):
        if (path.relative_to(ROOT / 'opspace_control').parts[0] == 'control') == in_control:
            with tokenize.open(path) as file:
                found.update(token.string for token in tokenize.generate_tokens(file.readline)
                             if token.type == tokenize.NAME)
    return {name for name in found if not keyword.iskeyword(name)}


def words_of(name):
    """Return the words of an identifier, such as ``_two_words``, ``TwoWords``, ``TWO_WORDS``."""
    return {word.lower() for word in re.findall(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+', name)}


def test_old_words_do_not_come_back():
    with_word = {word: set() for word in OLD_WORDS}
    for name in identifiers(in_control=True):
        for word in words_of(name) & OLD_WORDS.keys():
            with_word[word].add(name)
    risen = {word: sorted(names) for word, names in with_word.items()
             if len(names) > OLD_WORDS[word]}
    assert not risen, f'more identifiers than before have a word that the field does not: {risen}'


def test_no_room_but_control_has_old_words():
    found = {name for name in identifiers(in_control=False) if words_of(name) & OLD_WORDS.keys()}
    assert found <= FROM_CONTROL


def test_words_of_identifiers():
    assert words_of('_held_rows') == words_of('HeldRows') == words_of('HELD_ROWS') == {
        'held', 'rows'}
