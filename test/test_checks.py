# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers that users give: what is taken, and what the error says of all else."""

import math

import numpy as np
import pytest

from opspace_control.checks import checked
from opspace_control.errors import TaskError


def test_numbers_are_copied():
    given = np.ones(3)
    taken = checked(given, 'p', TaskError, (3,))
    taken[0] = 2.0
    assert given[0] == 1.0
    assert checked(np.float32(0.5), 'm', TaskError) == 0.5
    assert isinstance(checked(np.array(1), 'm', TaskError), float)


@pytest.mark.parametrize('given', [2.0, [2.0], np.full(3, 2.0)], ids=str)
def test_one_stands_for_all(given):
    np.testing.assert_array_equal(checked(given, 'kp', TaskError, (3,), each=True), [2.0] * 3)


@pytest.mark.parametrize(('given', 'bounds'), [
    (0.0, {'lowest': 0.0}), (math.inf, {'infinite': True}), (1.0, {'lowest': 0.0, 'highest': 1.0}),
    ([[1.0, 2.0]], {'shape': (1, 2)}), ([1.0, 2.0, 3.0], {'shape': None})], ids=str)
def test_what_is_taken(given, bounds):
    np.testing.assert_array_equal(checked(given, 'x', TaskError, **bounds), given)


@pytest.mark.parametrize(('given', 'bounds', 'cure'), [
    (-1.0, {'lowest': 0.0}, 'Give a number, zero or more, finite.'),
    (0.0, {'above': 0.0, 'infinite': True}, 'Give a number, positive, or inf.'),
    (math.nan, {'infinite': True}, 'Give a number, or inf.'),
    (1.5, {'lowest': 0.0, 'highest': 1.0}, 'Give a number from 0 to 1.'),
    (0.0, {'above': 0.0, 'highest': 1.0}, 'Give a number above 0, 1 at most.'),
    (0.0, {'lowest': 0.5}, 'Give a number, 0.5 or more, finite.'),
    ([1.0, 2.0], {'shape': (3,)}, 'Give 3 numbers, finite.'),
    ([1.0, 2.0], {'shape': (3,), 'each': True}, 'Give 3 numbers or one for all, finite.'),
    (np.ones((2, 3)), {'shape': (3, 3)}, 'Give 3 × 3 numbers, finite.'),
    ([math.inf], {'shape': None}, 'Give numbers, finite.'),
    ('1.0', {}, 'Give a number, finite.'), (True, {}, 'Give a number, finite.'),
    (1e30, {'lowest': 0.0}, 'Give a number, zero or more, finite, below 1e+30.'),
    ([0.0, -1e300], {'shape': (2,)}, 'Give 2 numbers, finite, below 1e+30.'),
    (1e300, {'lowest': 0.0, 'highest': 1e4}, 'Give a number from 0 to 10000.'),
    (-1e300, {'lowest': 0.0, 'infinite': True}, 'Give a number, zero or more, or inf.'),
    (None, {}, 'Give a number, finite.'), ([1.0], {}, 'Give a number, finite.')], ids=str)
def test_what_is_refused(given, bounds, cure):
    with pytest.raises(TaskError) as caught:
        checked(given, "task 'hand': x", TaskError, task='hand', **bounds)
    assert str(caught.value) == f"task 'hand': x = {given!r} is not allowed. {cure}"
    assert caught.value.cure == cure
    assert caught.value.task == 'hand'


def test_a_limit_beyond_all_quantities_is_none():
    """Programs write the largest number for no limit; its square is none."""
    assert checked(1e300, 'x', TaskError, infinite=True) == math.inf
    np.testing.assert_array_equal(
        checked([-1e30, 9e29], 'x', TaskError, (2,), infinite=True), [-math.inf, 9e29])
