# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers that change gradually."""

import numpy as np
import pytest
from own_ramps import Ramps


@pytest.fixture
def numbers():
    """Return a scalar's and a table's worth of numbers, views as of a controller's records."""
    return np.array([1.0, 1.0]), np.full((2, 6), 100.0)[:, ::2]


def ramps_of(numbers, time, from_zero=('a', 'b')):
    return Ramps({'a': numbers[0], 'b': numbers[1]}, time, from_zero)


def test_reach_what_is_set_evenly_in_the_given_time(numbers):
    ramps = ramps_of(numbers, 0.5)
    with ramps.smoothly():
        numbers[0][0] = 0.0
        numbers[1][:] = 400.0
    np.testing.assert_array_equal(numbers[0], 1.0)
    np.testing.assert_array_equal(numbers[1], 100.0)
    for k in range(1, 11):
        ramps.advance(0.05)
        np.testing.assert_allclose(numbers[0], [1.0 - 0.1 * k, 1.0], atol=1e-12)
        np.testing.assert_allclose(numbers[1], 100.0 + 30.0 * k)
    assert numbers[0][0] == 0.0
    assert (numbers[1] == 400.0).all()


def test_a_change_on_the_way_starts_from_there_and_leaves_the_others_alone(numbers):
    ramps = ramps_of(numbers, 1.0)
    with ramps.smoothly():
        numbers[0][:] = 0.0
        numbers[1][:] = 200.0
    ramps.advance(0.5)
    with ramps.smoothly():
        assert (numbers[0] == 0.0).all()  # what is set is seen, not where it is on its way
        numbers[0][0] = 1.0
    ramps.advance(0.25)
    np.testing.assert_allclose(numbers[0], [0.625, 0.25])
    np.testing.assert_allclose(numbers[1], 175.0)
    ramps.advance(0.25)
    np.testing.assert_allclose(numbers[1], 200.0)


def test_never_more_than_their_share_of_time_whatever_is_set_how_often(numbers):
    """A storm of changes: each step is bounded by what the largest change may take."""
    rng = np.random.default_rng(0)
    ramps = ramps_of(numbers, 0.5)
    for _ in range(500):
        with ramps.smoothly():
            numbers[1][:] = rng.uniform(50.0, 150.0)
        before = numbers[1].copy()
        ramps.advance(0.001)
        assert abs(numbers[1] - before).max() <= 100.0 * 0.001 / 0.5 + 1e-12


def test_what_is_set_when_setting_fails_is_still_gradual(numbers):
    ramps = ramps_of(numbers, 1.0)
    with pytest.raises(ValueError, match='refused'), ramps.smoothly():
        numbers[0][0] = 0.0
        raise ValueError('refused')
    np.testing.assert_array_equal(numbers[0], 1.0)
    ramps.advance(2.0)
    np.testing.assert_array_equal(numbers[0], [0.0, 1.0])


def test_to_a_finite_number_and_back_to_infinity_before_a_step(numbers):
    """The number is at infinity still: there is no way, and NumPy warns of inf - inf."""
    numbers[0][:] = np.inf
    ramps = ramps_of(numbers, 1.0)
    with np.errstate(all='raise'):
        for value in (5.0, np.inf):
            with ramps.smoothly():
                numbers[0][:] = value
        ramps.advance(0.1)
    assert (numbers[0] == np.inf).all()


def test_what_is_set_without_a_ramp_stays(numbers):
    """Before a ramp, beside one, and in the middle of its own, which ends."""
    ramps = ramps_of(numbers, 1.0)
    numbers[0][1] = 7.0
    with ramps.smoothly():
        assert numbers[0][1] == 7.0
        numbers[0][0] = 0.0
        numbers[1][:] = 200.0
    ramps.advance(0.25)
    numbers[1][0, 0] = 5.0
    ramps.advance(0.25)
    np.testing.assert_allclose(numbers[0], [0.5, 7.0])
    np.testing.assert_allclose(numbers[1], [[5.0, 150.0, 150.0], [150.0] * 3])
    numbers[1][0, 1] = 6.0
    with ramps.smoothly():
        np.testing.assert_allclose(numbers[1], [[5.0, 6.0, 200.0], [200.0] * 3])
    ramps.advance(2.0)
    np.testing.assert_allclose(numbers[1], [[5.0, 6.0, 200.0], [200.0] * 3])


def test_start_from_zero(numbers):
    ramps = ramps_of(numbers, 0.5)
    ramps.start_from_zero()
    assert not numbers[0].any()
    ramps.advance(0.25)
    np.testing.assert_allclose(numbers[0], 0.5)
    np.testing.assert_allclose(numbers[1], 50.0)
    with ramps.smoothly():
        numbers[0][0] = 0.0
    ramps.advance(1.0)
    np.testing.assert_array_equal(numbers[0], [0.0, 1.0])
    np.testing.assert_array_equal(numbers[1], 100.0)


def test_start_from_zero_with_some_and_the_end_with_the_others(numbers):
    ramps = ramps_of(numbers, 0.5, ['b'])
    with ramps.smoothly():
        numbers[0][:] = 2.0
        numbers[1][:] = 300.0
    ramps.start_from_zero()
    np.testing.assert_array_equal(numbers[0], 2.0)
    assert not numbers[1].any()


@pytest.mark.parametrize('wanted', [np.inf, -np.inf, 3.0])
def test_from_and_to_infinity_at_once_and_without_time_too(numbers, wanted):
    """A repeated state has no time: an infinite rate times 0 left NaN for good."""
    numbers[0][0] = 5.0 if np.isinf(wanted) else np.inf
    ramps = ramps_of(numbers, 0.5)
    with ramps.smoothly():
        numbers[0][:] = wanted, 2.0
    ramps.advance(0.0)
    np.testing.assert_array_equal(numbers[0], [wanted, 1.0])
    ramps.advance(0.25)
    np.testing.assert_allclose(numbers[0], [wanted, 1.5])


def test_of_nothing():
    ramps = ramps_of([np.zeros((0, 6)), np.zeros(0)], 0.5)
    ramps.start_from_zero()
    with ramps.smoothly():
        pass
    ramps.advance(0.1)


def test_no_time_is_at_once(numbers):
    ramps = ramps_of(numbers, 0.5)
    ramps.start_from_zero()
    ramps.time = 0.0
    with ramps.smoothly():
        numbers[1][:] = 7.0
    assert (numbers[1] == 7.0).all()
    ramps.start_from_zero()
    assert (numbers[0] == 1.0).all()
