# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of numbers that users give; all errors have one form: what is wrong, and the cure."""

import math

import numpy as np

# No quantity is larger in any unit; the products of larger ones could overflow. Limits beyond are
# none.
HUGE = 1e30
_MANY = 20  # numbers that a message does not show


def read_numbers(values):
    """Return a new array of floats, of any shape; one NaN, of shape (), for anything else."""
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return np.array(np.nan)


def usable(numbers):
    """Return whether all of an array's numbers can be used: they are finite, and below `HUGE`."""
    return bool((abs(numbers) < HUGE).all())


def checked(values, name, error, shape=(), *, each=False, lowest=-math.inf, above=-math.inf,
            highest=math.inf, infinite=False, **data):
    """
    Return numbers of a shape, a float for ``()``, an array of its own else; or raise an ``error``.

    They are at least ``lowest``, above ``above``, at most ``highest``, and below `HUGE` unless they
    may be ``infinite``, which larger ones become then. With ``each`` one number stands for all; the
    shape None is any. ``name`` is that of owner and parameter in the message, such as "task 'hand':
    kp"; the error has ``data``.
    """
    numbers = read_numbers(np.nan if isinstance(values, (bool, str)) else values)
    if each and numbers.size == 1:
        numbers = np.full(shape, numbers.item())
    large = abs(numbers) >= HUGE
    if infinite and large.any():
        numbers = np.where(large, np.copysign(math.inf, numbers), numbers)
    allowed = (numbers >= lowest) & (numbers <= highest) & (infinite | ~large)
    if above > -math.inf:
        allowed &= numbers > above
    if shape not in (None, numbers.shape) or not allowed.all():
        said = repr(values) if numbers.size < _MANY else f'an array of shape {numbers.shape}'
        wanted = _wanted(shape, each, lowest, above, highest, infinite)
        if highest == math.inf and (large & np.isfinite(numbers)).any():
            wanted += f', below {HUGE:g}'
        raise error(f'{name} = {said} is not allowed.', value=values, **data,
                    cure=f'Give {wanted}.')
    return float(numbers) if shape == () else numbers


def _wanted(shape, each, lowest, above, highest, infinite):
    """Return which numbers are wanted, as text."""
    several = ' × '.join(map(str, shape or ())) + ' numbers'
    parts = ['numbers' if shape is None else 'a number' if shape in ((), (1,)) else
             f'{several} or one for all' if each else several]
    if math.isfinite(highest):
        return (f'{parts[0]} from {lowest:g} to {highest:g}' if above == -math.inf else
                f'{parts[0]} above {above:g}, {highest:g} at most')
    if math.isfinite(max(lowest, above)):
        parts.append('positive' if above == 0.0 else
                     'zero or more' if lowest == 0.0 else f'{lowest:g} or more')
    return ', '.join([*parts, 'or inf' if infinite else 'finite'])
