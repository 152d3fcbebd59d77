# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Arguments of compiled functions: of a contiguous array, its address and shape.

Numba passes what else it knows of an array, too: its owner, its size and its strides. The arrays of
a cycle are 1,500 arguments that way, and 500 this way.
"""

from llvmlite import ir as llvm
from numba.core import types
from numba.core.datamodel import ArgPacker

from opspace_control.compilation.folding import INDEX, ONE, product

# Fields of Numba's arrays; the one of the size of an item is between the first two.
_SIZE, _DATA, _SHAPE, _STRIDES = 2, 4, 5, 6


def memoised_packers():
    """
    Return a memoised `BaseContext.get_arg_packer`.

    Where arrays are parts of named tuples, it passes their address and shape only.
    """
    packers, models = {}, {}

    def get_arg_packer(context, kinds):
        kinds = tuple(kinds)
        if kinds not in packers:
            packers[kinds] = _Packer(_Models(context, models), kinds)
        return packers[kinds]

    return get_arg_packer


class _Packer(ArgPacker):
    """A packer of arguments without names."""

    def assign_names(self, args, names):
        """Do nothing: names are for readers of the code."""


class _Models:
    """Data models of arguments, each made once."""

    def __init__(self, context, made):
        self._context, self._made = context, made

    def lookup(self, kind):
        if kind not in self._made:
            self._made[kind] = self._make(kind)
        return self._made[kind]

    def _make(self, kind):
        if isinstance(kind, types.BaseNamedTuple):
            return _Tuple(self._context, kind, [
                ContiguousArray(self._context, each)
                if isinstance(each, types.Array) and each.layout == 'C' else self.lookup(each)
                for each in kind])
        return self._context.data_model_manager[kind]


class _Tuple:
    """How a named tuple is passed: as its parts."""

    def __init__(self, context, kind, parts):
        self._parts = parts
        self._empty = context.get_value_type(kind)(llvm.Undefined)
        self._types = tuple(each.get_argument_type() for each in parts)

    def get_argument_type(self):
        return self._types

    def as_argument(self, builder, value):
        return tuple(each.as_argument(builder, builder.extract_value(value, k))
                     for k, each in enumerate(self._parts))

    def from_argument(self, builder, arguments):
        value = self._empty
        for k, (part, argument) in enumerate(zip(self._parts, arguments, strict=True)):
            value = builder.insert_value(value, part.from_argument(builder, argument), k)
        return value


class ContiguousArray:
    """How a contiguous array is passed: as its address and shape."""

    def __init__(self, context, kind):
        value = context.get_value_type(kind)
        size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        self._item_size, self._nothing = INDEX(size), INDEX(llvm.Undefined)
        # What all arrays of this type have in common; they have no owner.
        self._known = value([each(None) for each in value.elements[:_SIZE]] + [
            self._nothing, self._item_size, value.elements[_DATA](llvm.Undefined),
            *([self._nothing] * kind.ndim,
              [self._nothing] * (kind.ndim - 1) + [self._item_size])])
        self._types = value.elements[_DATA], (INDEX,) * kind.ndim

    def get_argument_type(self):
        """Return the types of LLVM."""
        return self._types

    def as_argument(self, builder, value):
        """Return the address and the shape of an array."""
        return builder.extract_value(value, _DATA), tuple(
            builder.extract_value(value, (_SHAPE, axis)) for axis in range(len(self._types[1])))

    def from_argument(self, builder, parts):
        """Return the array of an address and a shape."""
        (data, shape), count = parts, ONE
        value = builder.insert_value(self._known, data, _DATA)
        for axis in reversed(range(len(shape))):
            value = builder.insert_value(value, shape[axis], (_SHAPE, axis))
            count = product(builder, count, shape[axis])
            if axis:
                value = builder.insert_value(
                    value, product(builder, self._item_size, count), (_STRIDES, axis - 1))
        return builder.insert_value(value, count, _SIZE)
