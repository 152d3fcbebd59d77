# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A parameter of a node: a row of a table that declares, checks and documents it; needs no ROS."""

import math
import re
from dataclasses import dataclass, replace
from functools import partial

from opspace_control.errors import RosInterfaceError
from opspace_control.model.topology import nearest

# Parameters that list names with a block of their own.
LISTS = ('tasks', 'grasps', 'contacts', 'sensors', 'payloads', 'objects', 'shapes')


@dataclass(frozen=True)
class Parameter:
    """
    One row of a node's parameter table.

    ``default`` is None if the node computes it at declaration. ``minimum`` and ``maximum`` are
    allowed values. ``type`` is the ROS 2 type, or ``gain``: a double or a double_array of
    ``length`` values.
    """

    name: str
    type: str
    default: object
    description: str
    unit: str = ''
    minimum: float = -math.inf
    maximum: float = math.inf
    choices: tuple = ()
    length: int = 0              # of an array of fixed length
    read_only: bool = True

    def named(self, name):
        """Return this parameter under another name, such as one in the block of a task."""
        return replace(self, name=name)

    @property
    def range(self):
        """Return the range of a number as text, such as 'from 0 to 60'; '' if it has none."""
        if not math.isfinite(self.minimum):
            return ''
        if not math.isfinite(self.maximum):
            return f'at least {self.minimum:g}'
        return f'from {self.minimum:g} to {self.maximum:g}'

    def refusal(self, value):
        """Return why ``value``, of the right ROS 2 type, is refused; '' if it is accepted."""
        if value is None:
            return f'{self.name} needs a value'
        if self.type == 'gain':
            return self._gain_refusal(value)
        if self.type in ('double', 'integer'):
            return self._number_refusal(value)
        if self.choices and value not in self.choices:
            return f'{self.name} must be one of {", ".join(self.choices)}, not {value!r}'
        if self.length and len(value) != self.length:
            return f'{self.name} must have {self.length} values, not {len(value)}'
        return next(filter(None, map(self._number_refusal, value)), '') if self.length else ''

    def _gain_refusal(self, value):
        numbers = list(value) if hasattr(value, '__len__') else [value]
        if isinstance(value, str) or any(
                isinstance(number, bool) or not isinstance(number, (int, float))
                for number in numbers):
            return f'{self.name} must be a number or {self.length} numbers, not {value!r}'
        if len(numbers) not in (1, self.length):
            return f'{self.name} must be a number or {self.length} numbers, not {len(numbers)}'
        return next(filter(None, map(self._number_refusal, numbers)), '')

    def _number_refusal(self, value):
        if math.isnan(value):
            return f'{self.name} is not a number'
        if not self.minimum <= value <= self.maximum:
            return f'{self.name} must be {self.range} {self.unit}, not {value:g}'
        return ''


changeable = partial(Parameter, read_only=False)


def named_blocks(kind, names, rows, reserved):
    """
    Return the rows of a table for each block of these names, of tasks or another kind.

    A name that cannot be part of parameter and topic names, or is ``reserved``, is a
    RosInterfaceError.
    """
    for name in names:
        if not re.fullmatch('[A-Za-z][A-Za-z0-9_]*', name) or name in reserved:
            raise RosInterfaceError(
                f"No {kind} can be called '{name}'.", name=name,
                cure='Use letters, digits and _, and none of ' + ', '.join(reserved) + '.')
    return [row.named(f'{name}.{row.name}') for name in names for row in rows]


def names_in(values, kind):
    """Return the names that a parameter lists; [] without it."""
    names = values.get(kind) or ()
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def unknown_parameter(name, known):
    """
    Return the RosInterfaceError for a parameter that is not among ``known``, an iterable of names.

    It suggests the nearest name, for a misspelt name, a missing block or an unknown block.
    """
    block, first = name.rpartition('.')[0], name.partition('.')[0]
    if block.startswith('posture.') and block in known:
        _, gain, joint = name.split('.', 2)
        cure = f"Of one joint it is 'posture.joints.{joint}.{gain}'."
    elif not block or any(other.startswith(f'{first}.') for other in known):
        cure = nearest(name, [other for other in known if other.endswith(f'.{name}')] or known)
        if first == 'passive_forces':
            cure += ' Only passive joints have such parameters.'
    elif first == 'passive_forces':
        cure = 'Name its joint in passive_joints: only passive joints have such parameters.'
    else:
        lists = [kind for kind in LISTS if kind in known]
        *most, last = lists or ['']
        choice = f'{", ".join(most)} or {last}' if most else last
        cure = nearest(name, known) + (f" If '{first}' is one, name it in {choice}." * bool(lists))
    return RosInterfaceError(f'There is no parameter {name}.', cure=cure, parameter=name)
