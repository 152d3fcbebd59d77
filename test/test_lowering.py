# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Compiled code says what Python says: indices, slices, loops and variables of every kind.

Indices in variables are not negative; constant ones may be.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from opspace_control.compiled import called, inlined, kernel

RECORD = np.dtype([('flag', np.bool_), ('S', np.float64, 5), ('n', np.int64),
                   ('R', np.float64, (3, 4)), ('B', np.float64, (2, 3, 2))], align=True)
ENDS = -7, -5, -1, 0, 1, 4, 5, 9


def touch(numbers, cube, records, i, j, k, out):
    """Read and write single elements, rows and planes, of arrays and of fields of a record."""
    s = records[k]
    S, R, B = s.S, s.R, s.B
    plane, row = cube[k], R[i]
    pick = i, j
    out[0] = numbers[i, j] + cube[k, i, j] + plane[i, j] + S[j] + R[i, j] + row[j] + B[1, i, k]
    out[1] = numbers[-1, -2] + R[2, 1] + S[0] + R[pick] + B[k][i, -1] + records[-1].S[-1]
    out[2] = plane.size + row.shape[0] + R.size + B[k].shape[1] + numbers[i].size
    S[j] = 2.0 * S[0]
    R[i, j] += 1.0
    row[-1] = i
    numbers[i, j] = numbers[j, 0] - 1.0
    plane[pick] = 7
    numbers[2, 1], numbers[1, 2] = numbers[1, 2], numbers[2, 1]
    s.n += i * j
    s.flag = not s.flag
    out[3 + k] = s.n


def cut(line, numbers, cube, a, b, out):
    """Read and write slices of one and two axes."""
    out[0] = line[a:b].size + 100 * line[a:].size + 10000 * line[:b].size
    part, rows, sheet = line[a:b], numbers[a:b], cube[1, a:, :b]
    for r in range(part.size):
        out[1] += (r + 1) * part[r]
        part[r] = -r
    for r in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            out[2] += (r + 2 * c + 1) * rows[r, c]
    for r in range(sheet.shape[0]):
        for c in range(sheet.shape[1]):
            out[3] += (r + 2 * c + 1) * sheet[r, c]
            sheet[r, c] = 0.0
    whole = numbers[1, :]
    column = numbers[a:b, 2]
    for r in range(column.size):
        column[r] = r + whole[0]
    rows[:] = 0.5
    numbers[2][:a] = 3.0


def count(a, b, c, out):
    """Go through ranges up and down, in steps, and into one another."""
    for r in range(b):
        out[0] += r + 1
    for r in range(a, b):
        out[1] += r
        for inner in range(r, 7, 2):
            if inner == 5:
                continue
            out[2] += inner
    for r in range(b, a, -1):
        out[3] = 3.0 * out[3] + r
        if r == 2:
            break
    for r in range(a, b, 3):
        out[4] = 3.0 * out[4] + r
    for r in range(b, a, -4):
        out[5] = 3.0 * out[5] + r
    for r in range(3, -1, -1):
        out[r] += r
        out[r + 3] -= r
    for r in range(a, b, c):
        out[6] = 3.0 * out[6] + r
    for r in range(-2, 2):
        out[r + 4] -= r
        r = r + 2  # noqa: PLW2901 (the loop goes on from where it was)
        out[6] += r
    for r in range(1, -4, -1):
        out[r + 3] += 2.0 * r


def vary(a, b, out):
    """Assign to variables in branches and loops, and use them in others."""
    x, y = 1.0, 2.0
    for _ in range(b):
        x, y = y, x + y
        if x > a:
            z = x
            out[0] += 1.0
        else:
            z = -y
        out[0] += z
    if a > 0:
        u = y + b
    if a > 0:
        x = y + u
        w = 3.0
    elif b > 0:
        w = x
    else:
        w = 0.0
    out[1] = x + w
    while y > a:
        y -= 1.5
        last = y
        if y < b:
            break
    else:
        last = 100.0
    out[2] = last if a != b else y
    for k in range(out.size):
        v = k * k
        if v > a and (v < b or k == 2):
            out[3] += v


def reckon(x, y, i, j, out):
    """Operate on numbers of all kinds, and compare them."""
    out[0], out[1], out[2], out[3] = x + y, x - y, x * y, x / y
    out[4], out[5], out[6], out[7] = i + j, i - j, i * j, x * i - j
    out[8] += 1.0 * (x < y) + 2.0 * (x <= y) + 4.0 * (x > y) + 8.0 * (x >= y)
    out[8] += 16.0 * (x == y) + 32.0 * (x != y) + 64.0 * (x != x)  # noqa: PLR0124 (NaN)
    out[9] += 1.0 * (i < j) + 2.0 * (i <= j) + 4.0 * (i > j) + 8.0 * (i >= j)
    out[9] += 16.0 * (i == j) + 32.0 * (i != j) + 64.0 * (i < x)
    i += 3
    i *= j
    x -= y
    x /= 4.0
    out[10], out[11] = i, x
    out[12], out[13], out[14] = -x, abs(y), i // 3 + j % 4
    if not x > y or (i > 0 and 2.0 * x == y):
        out[15] = 1.0


class Inner(NamedTuple):
    """Arrays of one to three axes."""

    line: np.ndarray
    cube: np.ndarray
    nothing: None


class Outer(NamedTuple):
    """Arrays, a tuple of them, and a number."""

    plane: np.ndarray
    inner: Inner
    number: float
    words: np.ndarray


@called
def look(inner, words, k, out):
    """Write sizes, shapes and elements of arrays from a tuple in a tuple."""
    line, cube = inner.line, inner.cube
    out[0] = line.size + 10 * cube.size + 100 * words.size
    out[1] = cube.shape[0] + 10 * cube.shape[1] + 100 * cube.shape[2]
    out[2] = line[k] + 10.0 * cube[k, 1, 2] + 100.0 * words[k + 1]
    plane, column = cube[1], cube[:, 1, 0]
    out[3] = plane[k, 1] + 10.0 * plane[-1, -1] + 100.0 * column[-1]
    steps = line[::2]
    out[4] = steps[1] + 10.0 * steps.size
    plane[0, 0] = line[0] = words[0] = 5


@called
def unpack(outer, k, out):
    """Read and write the arrays of a tuple and of the tuple within."""
    plane, inner, number, words = outer
    look(inner, words, k, out)
    look(Inner(plane[k], inner.cube, inner.nothing), outer.words, 1, out[5:])
    out[10] = number * plane.shape[0] + plane.size
    for r in range(plane.shape[0]):
        plane[r, k] += out[r]
    if inner.nothing is not None:
        out[11] = 1.0


@kernel
def unpack_kernel(plane, line, cube, words, number, k, out):
    unpack(Outer(plane, Inner(line, cube, None), number, words), k, out)


@kernel
def unpack_given_kernel(outer, k, out):
    unpack(outer, k, out)


touch_inside, cut_inside, count_inside, vary_inside, reckon_inside = map(
    inlined, (touch, cut, count, vary, reckon))


@kernel
def touch_kernel(numbers, cube, records, i, j, k, out):
    touch_inside(numbers, cube, records, i, j, k, out)


@kernel
def cut_kernel(line, numbers, cube, a, b, out):
    cut_inside(line, numbers, cube, a, b, out)


@kernel
def count_kernel(a, b, c, out):
    count_inside(a, b, c, out)


@kernel
def vary_kernel(a, b, out):
    vary_inside(a, b, out)


@kernel
def reckon_kernel(x, y, i, j, out):
    reckon_inside(x, y, i, j, out)


def whole_numbers(rng, shape):
    """Return numbers whose sums are exact in any order."""
    return rng.integers(-8, 9, shape).astype(float)


def assert_same(compiled, plain, *arguments):
    """Assert that a kernel does to its arguments exactly what the function does as Python."""
    numbers = [value for value in arguments if not isinstance(value, np.ndarray)]
    theirs = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]
    compiled(*arguments)
    plain(*theirs)
    for mine, other in zip(arguments, theirs, strict=True):
        np.testing.assert_array_equal(mine, other, err_msg=f'with {numbers}')


def test_elements():
    for i, j, k in product((0, 1, 2), (0, 1, 3), (0, 1)):
        rng = np.random.default_rng(0)
        made = np.zeros(2, RECORD).view(np.recarray)
        for name in 'S', 'R', 'B':
            made[name] = whole_numbers(rng, made[name].shape)
        arguments = whole_numbers(rng, (4, 4)), rng.integers(-9, 9, (2, 3, 4)), made
        assert_same(touch_kernel, touch, *arguments, i, j, k, np.zeros(5))


def test_slices():
    for a, b in product((0, 1, 3, 5, 9), repeat=2):
        rng = np.random.default_rng(1)
        line, numbers, cube = (whole_numbers(rng, shape) for shape in (5, (5, 4), (2, 5, 4)))
        assert_same(cut_kernel, cut, line, numbers, cube, a, b, np.zeros(4))


def test_arrays_in_tuples():
    """They are given to other functions, with axes of length 0 and 1 too."""
    for shape in ((2, 3), (3, 4)), ((4, 3), (2, 3)):
        rng = np.random.default_rng(2)
        plane, line, cube, words = (whole_numbers(rng, each) for each in (
            shape[0], 4, (2, *shape[1]), 5))
        words = words.astype(int)
        for k in 0, 1:
            given = [each.copy() for each in (plane, line, cube, words)]
            theirs = [each.copy() for each in given]
            again = [each.copy() for each in given]
            expected, inside, outside = np.zeros((3, 12))
            unpack(Outer(theirs[0], Inner(*theirs[1:3], None), 2.0, theirs[3]), k, expected)
            unpack_kernel(*given, 2.0, k, inside)
            unpack_given_kernel(
                Outer(again[0], Inner(*again[1:3], None), 2.0, again[3]), k, outside)
            for mine in (inside, outside):
                np.testing.assert_array_equal(mine, expected)
            for arrays in (given, again):
                for mine, other in zip(arrays, theirs, strict=True):
                    np.testing.assert_array_equal(mine, other)


def test_ranges():
    for a, b, c in product(ENDS, ENDS, (-3, -1, 1, 2)):
        assert_same(count_kernel, count, a, b, c, np.zeros(7))


def test_variables():
    for a, b in product(ENDS, ENDS):
        assert_same(vary_kernel, vary, a, b, np.zeros(5))


def test_operators():
    with np.errstate(all='ignore'):
        for x, y, i, j in product((-3.0, 0.0, 2.0, np.inf, np.nan), (-3.0, 2.0, np.nan, np.inf),
                                  (-2, 0, 3), (-2, 0, 5)):
            assert_same(reckon_kernel, reckon, x, y, i, j, np.zeros(16))
