# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Products of long vectors, compiled to vector instructions and as plain Python."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from opspace_control.spatial.dense import add_scaled, dot_product


@njit
def compiled(x, y, factor, count):
    """Return the product, and add to y."""
    product = dot_product(x, y, count)
    add_scaled(y, factor, x, count)
    return product


def plain(x, y, factor, count):
    """Do the same, not compiled."""
    product = dot_product(x, y, count)
    add_scaled(y, factor, x, count)
    return product


@pytest.mark.parametrize('function', [compiled, plain])
@pytest.mark.parametrize('count', range(14))
def test_products_of_any_length(function, count):
    """Whole vectors of four numbers and what is left; nothing beyond is read or written."""
    random = np.random.default_rng(count)
    x, y = random.standard_normal((2, 14))
    x[count:] = np.nan
    expected = y.copy()
    expected[:count] -= 0.7 * x[:count]
    product = x[:count] @ y[:count]
    assert function(x, y, -0.7, count) == pytest.approx(product, abs=1e-14)
    assert y == pytest.approx(expected, abs=1e-14)


def test_numbers_that_are_not_numbers_stay_visible():
    for count in range(1, 10):
        x, y = np.ones((2, 10))
        x[count - 1] = np.nan
        assert np.isnan(compiled(x, y, 1.0, count))
        assert np.isnan(y[count - 1])


def test_arrays_that_are_not_contiguous_do_not_compile():
    x, y = np.ones((2, 12))
    with pytest.raises(TypingError, match='contiguous arrays'):
        compiled(x[::2], y, 1.0, 6)
