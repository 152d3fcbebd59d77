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
_KINDS = {bool: 'bool', int: 'integer', float: 'double', str: 'string'}
_GAIN = {'double', 'integer', 'double_array', 'integer_array'}


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
        """Return why a value is refused, and the cure; '' and '' if it is accepted."""
        if value is None:
            return f'{self.name} needs a value', ''
        is_empty = value == [] and self.type.endswith('_array')
        kind = self.type if is_empty else _kind(value)
        if kind not in (_GAIN if self.type == 'gain' else {self.type}):
            return self._type_refusal(value, kind)
        if kind == 'string_array' and self.name in LISTS and len(set(value)) < len(value):
            return f'{self.name} = {value!r} names one twice', 'Give each its own name.'
        if self.choices and value not in self.choices:
            return f'{self.name} must be one of {", ".join(self.choices)}, not {value!r}', ''
        return self._numbers_refusal(value if isinstance(value, list) else [value]), ''

    def _type_refusal(self, value, kind):
        if kind is None and value != []:
            return (f'{self.name} = {value!r} mixes types',
                    'Write all numbers of an array with a decimal point, or all without.')
        cure = ''
        if self.type == 'double' and kind == 'integer':
            cure = f'Write it with a decimal point: {value}.0.'
        elif self.type.startswith('string') and kind and kind.startswith('bool'):
            cure = 'Put it in quotes.'
        wanted = f'a number or {self.length} numbers' if self.type == 'gain' else self.type
        return f'{self.name} = {value!r} is {kind or "empty"}, not {wanted}', cure

    def _numbers_refusal(self, numbers):
        if self.type == 'gain' and len(numbers) not in (1, self.length):
            return f'{self.name} must be a number or {self.length} numbers, not {len(numbers)}'
        if self.type.endswith('_array') and self.length and len(numbers) != self.length:
            return f'{self.name} must have {self.length} values, not {len(numbers)}'
        if self.length or self.type in ('double', 'integer'):
            return next(filter(None, map(self._number_refusal, numbers)), '')
        return ''

    def _number_refusal(self, value):
        if math.isnan(value):
            return f'{self.name} is not a number'
        if not self.minimum <= value <= self.maximum:
            return f'{self.name} must be {self.range} {self.unit}, not {value:g}'
        return ''


def _kind(value):
    """Return the ROS 2 type of a value; None for an array of several types, or no type at all."""
    if isinstance(value, list):
        kinds = {_KINDS.get(type(item)) for item in value}
        return f'{kinds.pop()}_array' if len(kinds) == 1 and None not in kinds else None
    return _KINDS.get(type(value))


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
