# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM code of functions of `spatial`, in vectors of numbers, or in another order."""

import operator

from llvmlite import ir as llvm
from numba.core import cgutils, types
from numba.core.datamodel import PrimitiveModel
from numba.core.errors import TypingError
from numba.core.registry import cpu_target
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, register_model

_WIDTH = 4
_NUMBER, _INDEX = llvm.DoubleType(), llvm.IntType(64)
_VECTOR = llvm.VectorType(_NUMBER, _WIDTH)
_ORDERED = 'contract', 'nsz'
_RELAXED = *_ORDERED, 'reassoc'


def _check(*kinds):
    """Raise a TypingError unless all arrays are contiguous ones of floats."""
    for kind in kinds:
        if not (isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == 'C'
                and kind.dtype == types.float64):
            raise TypingError(f'Vectorised functions take contiguous arrays of floats, not {kind}.')


def _address(context, builder, kind, array, k, numbers):
    """Return the address of an array's numbers from k on, as one number or vector of that type."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [k]), numbers.as_pointer())


def _repeated(builder, number, kind):
    """Return a vector of the type with a number in each place."""
    numbers = llvm.Constant(kind, llvm.Undefined)
    for k in range(kind.count):
        numbers = builder.insert_element(numbers, number, llvm.IntType(32)(k))
    return numbers


def _loops(builder, count):
    """Yield the index of each vector of four numbers, then of each that is left, with its type."""
    whole = builder.and_(count, _INDEX(-_WIDTH))
    for start, stop, step, kind in ((_INDEX(0), whole, _WIDTH, _VECTOR),
                                    (whole, count, 1, _NUMBER)):
        with cgutils.for_range_slice(builder, start, stop, _INDEX(step), inc=True) as (k, _):
            yield k, kind


@intrinsic
def _dot_product(_typing, x, y, count):
    _check(x, y)

    def generate(context, builder, _signature, arguments):
        a, b, n = arguments
        sums = {kind: cgutils.alloca_once_value(builder, llvm.Constant(kind, zero))
                for kind, zero in ((_VECTOR, [0.0] * _WIDTH), (_NUMBER, 0.0))}
        for k, numbers in _loops(builder, n):
            total = sums[numbers]
            u, w = (builder.load(_address(context, builder, kind, array, k, numbers), align=8)
                    for kind, array in ((x, a), (y, b)))
            builder.store(builder.fadd(builder.load(total), builder.fmul(u, w, _RELAXED),
                                       flags=_RELAXED), total)
        vector, total = (builder.load(each) for each in sums.values())
        for k in range(_WIDTH):
            part = builder.extract_element(vector, llvm.IntType(32)(k))
            total = builder.fadd(total, part, flags=_RELAXED)
        return total

    return types.float64(x, y, types.intp), generate


@intrinsic
def _add_scaled(_typing, y, factor, x, count):
    _check(x, y)

    def generate(context, builder, _signature, arguments):
        b, scale, a, n = arguments
        factors = {_VECTOR: _repeated(builder, scale, _VECTOR), _NUMBER: scale}
        for k, numbers in _loops(builder, n):
            source = _address(context, builder, x, a, k, numbers)
            target = _address(context, builder, y, b, k, numbers)
            part = builder.fmul(factors[numbers], builder.load(source, align=8), flags=_RELAXED)
            builder.store(builder.fadd(builder.load(target, align=8), part, flags=_RELAXED),
                          target, align=8)
        return context.get_dummy_value()

    return types.none(y, types.float64, x, types.intp), generate


class _Six(types.Type):
    """Six numbers in registers."""


_SIX = _Six('six')
# Four and two: LLVM would keep a vector of six in six registers from one block to the next, and
# put it together again in each turn of a loop.
_PARTS = _VECTOR, llvm.VectorType(_NUMBER, 2)


@register_model(_Six)
class _SixModel(PrimitiveModel):

    def __init__(self, manager, kind):
        super().__init__(manager, kind, llvm.LiteralStructType(_PARTS))


def _places(context, builder, kind, array, first):
    """Return the addresses of the parts of six numbers of an array."""
    return [_address(context, builder, kind, array, builder.add(first, _INDEX(k)), part)
            for k, part in zip((0, _WIDTH), _PARTS, strict=True)]


def _parts(builder, kind, value):
    """Return the parts of six numbers, or of one number for all six."""
    if kind is _SIX:
        return [builder.extract_value(value, k) for k in range(len(_PARTS))]
    return [_repeated(builder, value, part) for part in _PARTS]


def _assembled(builder, parts):
    """Return six numbers of their parts."""
    value = llvm.Constant(llvm.LiteralStructType(_PARTS), llvm.Undefined)
    for k, part in enumerate(parts):
        value = builder.insert_value(value, part, k)
    return value


@intrinsic
def _six(_typing, x, first):
    _check(x)

    def generate(context, builder, _signature, arguments):
        return _assembled(builder, [builder.load(place, align=8) for place in _places(
            context, builder, x, *arguments)])

    return _SIX(x, types.intp), generate


@intrinsic
def _put(_typing, x, first, numbers):
    _check(x)
    kind = _SIX if numbers is _SIX else types.float64

    def generate(context, builder, _signature, arguments):
        array, start, values = arguments
        for part, place in zip(_parts(builder, kind, values), _places(
                context, builder, x, array, start), strict=True):
            builder.store(part, place, align=8)
        return context.get_dummy_value()

    return types.none(x, types.intp, kind), generate


@intrinsic
def _dot(_typing, x, y):
    _check(x, y)

    def generate(context, builder, _signature, arguments):
        products = []
        for k in range(6):
            u, w = (builder.load(_address(context, builder, kind, array, _INDEX(k), _NUMBER),
                                 align=8)
                    for kind, array in zip((x, y), arguments, strict=True))
            products.append(builder.fmul(u, w, _ORDERED))
        # Two sums, neither of which waits for the other: recursions wait for their dot products.
        halves = [builder.fadd(builder.fadd(*products[k:k + 2], _ORDERED), products[k + 2],
                               _ORDERED) for k in (0, 3)]
        return builder.fadd(*halves, _ORDERED)

    return types.float64(x, y), generate


def _define(function, operation, kinds):
    """Let Numba compile an operator of these kinds of operands."""

    @lower_builtin(function, *kinds)
    def generate(_context, builder, _signature, operands):
        parts = [_parts(builder, *each) for each in zip(kinds, operands, strict=True)]
        return _assembled(builder, [getattr(builder, operation)(*pair, flags=_RELAXED)
                                    for pair in zip(*parts, strict=True)])


for _function, _operation, _kinds in (
        (operator.add, 'fadd', [(_SIX, _SIX)]), (operator.sub, 'fsub', [(_SIX, _SIX)]),
        (operator.mul, 'fmul', [(types.float64, _SIX), (_SIX, types.float64), (_SIX, _SIX)])):
    infer_global(_function)(type(f'Six_{_operation}', (ConcreteTemplate,), {
        'cases': [signature(_SIX, *each) for each in _kinds]}))
    for _each in _kinds:
        _define(_function, _operation, _each)


_FUNCTIONS = {'dot_product': _dot_product, 'add_scaled': _add_scaled, 'six': _six, 'put': _put,
              'dot': _dot}


def vectorised(function):
    """Return what Numba compiles in place of a function of `spatial.dense` or `spatial.six`."""
    compiled = _FUNCTIONS[function.__name__]
    cpu_target.typing_context.refresh()  # it learns of the intrinsics
    cpu_target.target_context.refresh()
    compiled._numba_type_ = cpu_target.typing_context.resolve_value_type(compiled)
    return compiled
