# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of gains and other numbers of a task, named in errors with their ``owner``."""

from numbers import Real

import numpy as np

from opspace_control.errors import TaskError


def read_gains(kp, kd, shape, owner):
    """
    Return ``kp``, 1/s², and ``kd``, 1/s, as arrays of ``shape``; TaskError unless usable.

    [K87] (4.3): the decoupled end-effector is a unit mass. A negative kd is critical damping,
    ``2 sqrt(kp)``.
    """
    kp = axis_numbers(kp, 'kp', owner, shape)
    kd = axis_numbers(kd, 'kd', owner, shape, lowest=-np.inf)
    return kp, np.where(kd < 0.0, 2.0 * np.sqrt(kp), kd)


def axis_numbers(value, name, owner, shape=(6,), lowest=0.0):
    """Return ``value`` as an array of ``shape``; TaskError unless finite and ≥ ``lowest``."""
    try:
        gain = np.broadcast_to(np.asarray(value, dtype=float), shape).copy()
    except (TypeError, ValueError):
        raise TaskError(f'{owner}: {name} = {value!r} does not fit.',
                        cure=f'Give one number or {" x ".join(map(str, shape))} of them.',
                        parameter=name, value=value) from None
    if not np.isfinite(gain).all() or (gain < lowest).any():
        allowed = 'finite, zero or more' if lowest == 0.0 else 'finite; negative means critical'
        raise TaskError(f'{owner}: {name} = {value!r} is not allowed.',
                        cure=f'Give numbers that are {allowed}.', parameter=name, value=value)
    return gain


def one_number(value, name, owner, *, positive=False, finite=True):
    """
    Return ``value`` as a float; TaskError unless it is a number that is not negative.

    ``positive`` refuses zero, ``finite`` infinity.
    """
    usable = isinstance(value, (Real, np.number)) and not isinstance(value, bool)
    if not (usable and value >= 0.0 and not (positive and value == 0.0)
            and not (finite and value == np.inf)):
        raise TaskError(
            f'{owner}: {name} = {value!r} is not allowed.', parameter=name, value=value,
            cure=(f"Give a {'positive' if positive else 'finite'} number"
                  f"{'' if positive else ', zero or more'}{'' if finite else ', or inf'}."))
    return float(value)


def recorded(field, doc):
    """Return a property that copies a field of the owner's record."""
    def read(self):
        value = self._record[field]
        return value.copy() if value.ndim else value.item()

    return property(read, doc=doc)


class RecordedNumber:
    """A number of the owner's record, or one of a pair, checked by `one_number` when it is set."""

    def __init__(self, field, doc, part=(), **check):
        self._field, self._part, self._check, self.__doc__ = field, part, check, doc

    def __set_name__(self, _owner, name):
        self._name = name

    def __get__(self, owner, _type=None):
        return self if owner is None else float(owner._record[self._field][self._part])

    def __set__(self, owner, value):
        number = one_number(value, self._name, owner._owner, **self._check)
        if self._part == ():
            owner._record[self._field] = number
        else:
            owner._record[self._field][self._part] = number


class TaskPart:
    """An object of a task, such as its force law, with a record of its own until it is in use."""

    def __init__(self, owner, kind):
        self._owner, self._record, self._in_use = owner, np.zeros(1, kind)[0], False

    in_use = property(lambda self: self._in_use, doc='Whether it belongs to a task.')

    def _belong_to(self, owner, record):
        """Become part of a task: set the owner that errors name, and the record."""
        self._owner, self._record, self._in_use = owner, record, True
