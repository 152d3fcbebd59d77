# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Lowering of functions to short LLVM code, for short compilation.

For ``s.S[3]`` Numba generates an array structure in memory, for ``for r in range(6)`` a division,
which LLVM then removes. The expressions that kernels consist of are lowered directly here, all
others by Numba. Indices in variables are not negative, which LLVM need not check: only constants
count from the end of an array.
"""

from llvmlite import ir as llvm
from numba.core import cgutils, ir, types
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.lowering import Lower
from numba.np.arrayobj import load_item, store_item

from opspace_control.compilation.folding import (
    INDEX,
    ONE,
    ZERO,
    FoldingBuilder,
    product,
    remove_unused,
)

# Fields of Numba's arrays and slices, of what iterates over a range, and of a range.
_ITEM_SIZE, _DATA, _SHAPE, _STRIDES = 3, 4, 5, 6
_START, _STOP, _STEP = 0, 1, 2
_NEXT, _COUNT = 0, 3


class LeanLower(Lower):
    """Lowering of a function without Numba's memory management."""

    _disable_sroa_like_opt = False

    def setup_function(self, fndesc):
        """Begin a function."""
        super().setup_function(fndesc)
        self.builder = FoldingBuilder(self.entry_block)
        self.call_helper = self.call_conv.init_call_helper(self.builder)

    def post_lower(self):
        """End a function: remove unused instructions."""
        super().post_lower()
        remove_unused(self.function)

    # Variables: memory only where there is more than one assignment.

    def _find_singly_assigned_variable(self):
        blocks = self.func_ir.blocks
        assigned, used = {}, {}
        for label, block in blocks.items():
            for assignment in block.find_insts(ir.Assign):
                assigned.setdefault(assignment.target.name, []).append(label)
        for label, names in compute_use_defs(blocks).usemap.items():
            for name in names:
                used.setdefault(name, []).append(label)
        dominators = compute_cfg_from_blocks(blocks).dominators()
        if self.func_ir.is_generator:  # its variables live across yields
            dominators = {}
        self._singly_assigned_vars = {
            name for name, (label, *more) in assigned.items()
            if not more and all(label < user and label in dominators.get(user, ())
                                for user in used.get(name, ()))}
        self._blk_local_varmap = {}

    def storevar(self, value, name, argidx=None):
        """Assign to a variable."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self._alloca_var(name, self.typeof(name))
            self.builder.store(value, self.getvar(name))

    def delvar(self, name):
        """Do nothing: there is no memory to be freed."""

    # Statements and expressions.

    def lower_inst(self, inst):
        """Generate a statement."""
        if isinstance(inst, (ir.SetItem, ir.StaticSetItem)) and self._set_element(inst):
            return None
        return super().lower_inst(inst)

    def lower_expr(self, resty, expr):
        """Generate an expression and return its value."""
        lean = getattr(self, f'_lean_{expr.op}', None)
        value = lean(resty, expr) if lean else None
        return super().lower_expr(resty, expr) if value is None else value

    def _lean_pair_first(self, resty, expr):
        return self.builder.extract_value(self.loadvar(expr.value.name), 0)

    def _lean_pair_second(self, resty, expr):
        return self.builder.extract_value(self.loadvar(expr.value.name), 1)

    # Arrays.

    def _lean_getattr(self, resty, expr):
        """Return the array that a field of a record is."""
        record = self.typeof(expr.value.name)
        if not (isinstance(record, types.Record) and isinstance(resty, types.NestedArray)):
            return None
        self.context.sentry_record_alignment(record, expr.attr)
        data = cgutils.get_record_member(
            self.builder, self.loadvar(expr.value.name), record.offset(expr.attr),
            self.context.get_data_type(resty.dtype))
        return self._array(resty, data, [INDEX(n) for n in resty.shape],
                           [INDEX(n) for n in resty.strides], INDEX(resty.size))

    def _array(self, ty, data, shape, strides, item_size):
        kind = self.context.get_value_type(ty)
        size = ONE
        for n in shape:
            size = product(self.builder, size, n)
        return self.builder.aggregate(kind, [
            kind.elements[0](None), kind.elements[1](None), size, item_size, data, shape, strides])

    def _lean_getitem(self, resty, expr):
        """Return an element of an array, or a view of several."""
        return self._get(resty, expr.value, expr.index)

    def _lean_static_getitem(self, resty, expr):
        return self._get(resty, expr.value, expr.index_var)

    def _get(self, resty, array, index):
        ty = self.typeof(array.name)
        indices = self._indices(ty, index)
        if indices is None:
            return None
        value = self.loadvar(array.name)
        data, shape, strides = self._locate(ty, value, indices)
        if isinstance(resty, types.Array):
            return self._array(resty, data, shape, strides,
                               self.builder.extract_value(value, _ITEM_SIZE))
        element = load_item(self.context, self.builder, ty, data)
        return self.context.cast(self.builder, element, ty.dtype, resty)

    def _set_element(self, inst):
        """Generate the assignment of one array element; return False for any other."""
        ty, given = self.typeof(inst.target.name), self.typeof(inst.value.name)
        if not isinstance(given, (types.Number, types.Boolean)):
            return False
        indices = self._indices(
            ty, inst.index if isinstance(inst, ir.SetItem) else inst.index_var)
        if indices is None or len(indices) < ty.ndim or any(
                isinstance(kind, types.SliceType) for kind, _ in indices):
            return False
        data = self._locate(ty, self.loadvar(inst.target.name), indices)[0]
        value = self.context.cast(self.builder, self.loadvar(inst.value.name), given, ty.dtype)
        store_item(self.context, self.builder, ty, value, data)
        return True

    def _indices(self, ty, index):
        """Return types and values of indices, or None if these or the array are left to Numba."""
        if (not isinstance(ty, types.Array) or ty.layout != 'C' or index is None
                or self.context.enable_boundscheck):
            return None
        kind = self.typeof(index.name)
        kinds = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
        if len(kinds) > ty.ndim or not all(
                isinstance(each, types.Integer)
                or (isinstance(each, types.SliceType) and not each.has_step) for each in kinds):
            return None
        value = self.loadvar(index.name)
        if not isinstance(kind, types.BaseTuple):
            return [(kind, value)]
        return [(each, self.builder.extract_value(value, k)) for k, each in enumerate(kinds)]

    def _locate(self, ty, array, indices):
        """Return the address of an element or view, its shape and its strides."""
        builder, offset, shape, strides = self.builder, ZERO, [], []
        for axis in range(ty.ndim):
            size = builder.extract_value(array, [_SHAPE, axis])
            first = ZERO
            if axis >= len(indices):
                shape.append(size)
            else:
                kind, value = indices[axis]
                if isinstance(kind, types.SliceType):
                    first, stop = (self._within(builder.extract_value(value, end), size)
                                   for end in (_START, _STOP))
                    length = builder.sub(stop, first)
                    shape.append(builder.select(
                        builder.icmp_signed('>', length, ZERO), length, ZERO))
                else:
                    first = self._from_end(
                        self.context.cast(builder, value, kind, types.intp), size)
            if len(strides) < len(shape):
                strides.append(builder.extract_value(array, [_STRIDES, axis]))
            offset = builder.total(product(builder, offset, size), first)
        return builder.gep(builder.extract_value(array, _DATA), [offset]), shape, strides

    def _from_end(self, index, size):
        """Return the non-negative index for a constant that may be negative."""
        if isinstance(index, llvm.Constant) and index.constant < 0:
            return self.builder.add(index, size)
        return index

    def _within(self, end, size):
        """Return a bound of a slice, clipped to the array."""
        builder, end = self.builder, self._from_end(end, size)
        if end == ZERO:
            return end
        return builder.select(builder.icmp_signed('<', end, size), end, size)

    # Loops over a range, as in Numba but without divisions.

    def _lean_call(self, resty, expr):
        function = getattr(self.typeof(expr.func.name), 'typing_key', None)
        signature = self.fndesc.calltypes[expr]
        if (function is not range or expr.vararg
                or signature.return_type != types.range_state64_type):
            return None
        bounds = [self._cast_var(bound, types.int64) for bound in expr.args]
        bounds = [ZERO, *bounds] if len(bounds) == 1 else bounds
        return self.builder.aggregate(
            self.context.get_value_type(resty), [*bounds, ONE][:3])

    def _lean_getiter(self, resty, expr):
        if resty != types.range_iter64_type:
            return None
        builder, bounds = self.builder, self.loadvar(expr.value.name)
        start, stop, step = (builder.extract_value(bounds, k) for k in (_START, _STOP, _STEP))
        if not (isinstance(step, llvm.Constant) and step.constant):
            return None
        following, count = (cgutils.alloca_once(builder, INDEX) for _ in range(2))
        builder.store(start, following)
        builder.store(self._iterations(start, stop, step.constant), count)
        return builder.aggregate(
            self.context.get_value_type(resty), [following, stop, step, count])

    def _iterations(self, start, stop, step):
        """Return the number of iterations of a loop, below one for none."""
        builder = self.builder
        if isinstance(start, llvm.Constant) and isinstance(stop, llvm.Constant):
            return INDEX(len(range(start.constant, stop.constant, step)))
        span = builder.sub(stop, start) if step > 0 else builder.sub(start, stop)
        if abs(step) == 1:
            return span
        return builder.sdiv(builder.add(span, INDEX(abs(step) - 1)), INDEX(abs(step)))

    def _lean_iternext(self, resty, expr):
        if self.typeof(expr.value.name) != types.range_iter64_type:
            return None
        builder, iterator = self.builder, self.loadvar(expr.value.name)
        following, step, count = (
            builder.extract_value(iterator, k) for k in (_NEXT, _STEP, _COUNT))
        left, value = builder.load(count), builder.load(following)
        builder.store(builder.sub(left, ONE, flags=['nsw']), count)
        builder.store(builder.add(value, step), following)
        return builder.aggregate(self.context.get_value_type(resty), [
            value, builder.icmp_signed('>', left, ZERO)])
