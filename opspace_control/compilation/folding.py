# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A builder of LLVM code that folds constants in Python."""

from llvmlite import ir as llvm
from llvmlite.ir.instructions import InsertValue

INDEX = llvm.IntType(64)
ZERO, ONE = INDEX(0), INDEX(1)


class FoldingBuilder(llvm.IRBuilder):
    """Builder that folds sums and extractions from known aggregates."""

    def extract_value(self, agg, idx, name=''):
        """Return a part of an aggregate."""
        path = [idx] if isinstance(idx, int) else list(idx)
        while path:
            if isinstance(agg, InsertValue):
                place = list(agg.indices)
                if path[:len(place)] == place:
                    agg, path = agg.operands[1], path[len(place):]
                elif place[:len(path)] == path:
                    break  # a part of what is wanted
                else:
                    agg = agg.operands[0]
            elif isinstance(agg, llvm.Constant) and isinstance(agg.constant, (list, tuple)):
                agg, path = agg.constant[path[0]], path[1:]
            else:
                break
        return super().extract_value(agg, path, name) if path else agg

    def total(self, a, b):
        """Return the sum of values or constants."""
        if isinstance(a, llvm.Constant) and isinstance(b, llvm.Constant):
            return INDEX(a.constant + b.constant)
        if b == ZERO:
            return a
        return b if a == ZERO else self.add(a, b)

    def aggregate(self, kind, parts):
        """Return a structure or array of these parts, values or lists of parts."""
        made = _known(kind, parts)
        for place, value in _unknown(parts):
            made = self.insert_value(made, value, place)
        return made


def product(builder, a, b):
    """Return the product of values or constants."""
    if isinstance(a, llvm.Constant) and isinstance(b, llvm.Constant):
        return INDEX(a.constant * b.constant)
    if b == ONE or a == ZERO:
        return a
    return b if a == ONE else builder.mul(a, b)


def _known(kind, parts):
    """Return the aggregate of the constants among the parts, others undefined."""
    if isinstance(parts, list):
        return kind([_known(kind.elements[k], part) for k, part in enumerate(parts)])
    return parts if isinstance(parts, llvm.Constant) else kind(llvm.Undefined)


def _unknown(parts, place=()):
    """Yield the other parts, each with its indices."""
    for k, part in enumerate(parts):
        if isinstance(part, list):
            yield from _unknown(part, (*place, k))
        elif not isinstance(part, llvm.Constant):
            yield (*place, k), part


# Instructions without effects.
_PURE = {'insertvalue', 'extractvalue', 'mul', 'add', 'sub', 'getelementptr', 'bitcast', 'icmp',
         'select'}


def remove_unused(function):
    """Remove instructions without effects that no other instruction uses."""
    needed, pending = set(), [
        each for block in function.blocks for each in block.instructions
        if each.opname not in _PURE]
    while pending:
        each = pending.pop()
        if id(each) not in needed:
            needed.add(id(each))
            pending += getattr(each, 'operands', ())
            pending += [value for value, _ in getattr(each, 'incomings', ())]
    for block in function.blocks:
        block.instructions[:] = [each for each in block.instructions if id(each) in needed]
