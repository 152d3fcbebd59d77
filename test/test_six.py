# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Six numbers at once, compiled to vector instructions and as plain Python."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from opspace_control.spatial.six import put, six


def plain(x, factor, out):
    """Write a sum, a difference and products by numbers on either side."""
    put(out, 1, factor * six(x, 0) + six(x, 2) * 3.0 - six(out, 0))


compiled = njit(plain)


@pytest.mark.parametrize('function', [compiled, plain])
def test_sums_and_products(function):
    """Nothing beyond the six numbers is read or written."""
    x, out = np.random.default_rng(0).standard_normal((2, 9))
    x[8] = np.nan
    expected = out.copy()
    expected[1:7] = -0.7 * x[:6] + 3.0 * x[2:8] - out[:6]
    function(x, -0.7, out)
    assert out == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize('function', [compiled, plain])
def test_numbers_are_read_before_anything_is_written(function):
    x = np.arange(9.0)
    expected = np.r_[x[0], 2.0 * x[:6] + 3.0 * x[2:8] - x[:6], x[7:]]
    function(x, 2.0, x)
    assert x == pytest.approx(expected)


def test_numbers_that_are_not_numbers_stay_visible():
    x, out = np.ones((2, 9))
    x[3] = np.nan
    compiled(x, 0.0, out)
    assert np.isnan(out).nonzero()[0].tolist() == [2, 4]


def test_arrays_that_are_not_contiguous_do_not_compile():
    x = np.ones(18)
    with pytest.raises(TypingError, match='contiguous arrays'):
        compiled(x[::2], 1.0, x)
