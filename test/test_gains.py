# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from opspace_control.errors import TaskError
from opspace_control.tasks.arguments import read_gains

NOT_GAINS = [np.nan, np.inf, 'stiff', [1.0, 2.0], [[1.0] * 6], [1.0] * 5 + [np.nan], {}, 1j]


def test_one_number_is_for_all():
    np.testing.assert_array_equal(read_gains(9.0, 5, (6,), 'task')[0], np.full(6, 9.0))
    np.testing.assert_array_equal(read_gains(9.0, 5, (6,), 'task')[1], np.full(6, 5.0))


def test_numbers_are_copied():
    given = np.arange(6.0)
    kp, kd = read_gains(given, given, (6,), 'task')
    given[:] = 7.0
    np.testing.assert_array_equal(kp, np.arange(6.0))
    np.testing.assert_array_equal(kd, np.arange(6.0))


def test_negative_damping_is_critical_axis_by_axis():
    kp = np.array([0.0, 1.0, 4.0, 25.0, 100.0, 400.0])
    np.testing.assert_allclose(read_gains(kp, -1.0, (6,), 'task')[1], [0, 2, 4, 10, 20, 40])
    np.testing.assert_allclose(read_gains(kp, [3.0, -1.0, 0.0, -9.0, 5.0, -1e-9], (6,), 'task')[1],
                               [3, 2, 0, 10, 5, 40])


@pytest.mark.parametrize('value', [*NOT_GAINS, -1.0, [1.0] * 5 + [-1e-3]], ids=str)
def test_what_is_no_stiffness_is_refused(value):
    with pytest.raises(TaskError, match=r"task 'hand': kp = .*Give") as caught:
        read_gains(value, 1.0, (6,), "task 'hand'")
    assert caught.value.parameter == 'kp'
    assert caught.value.value is value


@pytest.mark.parametrize('value', NOT_GAINS, ids=str)
def test_what_is_no_damping_is_refused(value):
    with pytest.raises(TaskError, match=r'posture: kd = .*Give') as caught:
        read_gains(1.0, value, (6,), 'posture')
    assert caught.value.parameter == 'kd'
