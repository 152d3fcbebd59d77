# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The order of a tree and who follows whom; the refusals are in test_model_cleaning.py."""

import pytest
from robots import joint, link, robot

from opspace_control.errors import ModelError
from opspace_control.model.topology import depth_first, nearest, resolve_mimics
from opspace_control.model.urdf import read_urdf


def test_depth_first_with_children_in_the_order_of_the_document():
    text = robot(*(link(name) for name in 'fedcba'),
                 joint('late', 'e', 'f'), joint('right', 'a', 'd'), joint('left', 'a', 'b'),
                 joint('beyond', 'b', 'c'), joint('far', 'd', 'e'))
    root, order = depth_first(read_urdf(text))
    assert root == 'a'
    assert [found.name for found in order] == ['right', 'far', 'late', 'left', 'beyond']


def followers(*mimics):
    """Return the joints of a fan robot: (name, leader, multiplier, offset) or a name alone."""
    parts = [link('root')]
    for name, *rule in (mimic if isinstance(mimic, tuple) else (mimic,) for mimic in mimics):
        inner = ''
        if rule:
            inner = '<mimic joint="{}" multiplier="{}" offset="{}"/>'.format(*rule)
        parts += [link(f'link of {name}'), joint(name, 'root', f'link of {name}', inner=inner)]
    return read_urdf(robot(*parts)).joints


def test_followers_of_followers_are_led_by_the_first():
    # c = 2 b + 1 and b = 3 a + 5, whatever comes first in the file.
    expected = {'b': ('a', 3.0, 5.0), 'c': ('a', 6.0, 11.0)}
    assert resolve_mimics(followers('a', ('b', 'a', 3, 5), ('c', 'b', 2, 1))) == expected
    assert resolve_mimics(followers(('c', 'b', 2, 1), ('b', 'a', 3, 5), 'a')) == expected


def test_a_long_row_of_followers():
    count = 5000
    rows = [(f'j{i}', f'j{i + 1}', 1.0, 1.0) for i in range(count)]
    assert resolve_mimics(followers(*rows, f'j{count}'))['j0'] == (f'j{count}', 1.0, count)


def test_followers_in_a_circle():
    with pytest.raises(ModelError, match='mimics itself'):
        resolve_mimics(followers('x', ('a', 'b', 1, 0), ('b', 'c', 1, 0), ('c', 'b', 1, 0)))


def test_a_leader_must_move_by_one_number():
    text = robot(link('a'), link('b'), link('c'), joint('k', 'b', 'c', 'fixed'),
                 joint('j', 'a', 'b', inner='<mimic joint="k"/>'))
    with pytest.raises(ModelError, match="'j' mimics 'k', a fixed joint"):
        resolve_mimics(read_urdf(text).joints)


def test_nearest_names():
    names = ['left_elbow', 'right_elbow', 'left_wrist']
    assert nearest('left_elbw', names).startswith("Did you mean 'left_elbow'")
    assert nearest('xyz', names) == "Valid names: 'left_elbow', 'right_elbow' and 'left_wrist'."
    assert nearest('xyz', []) == 'Valid names: none.'
    assert nearest('xyz', map(str, range(100))).endswith('... (100 in all).')
