# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Object files of kernels, whose functions read the arguments from a table."""

from llvmlite import binding
from llvmlite import ir as llvm
from numba.core import cgutils, types
from numba.core.compiler import Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.registry import cpu_target

from opspace_control.compilation.arguments import ContiguousArray
from opspace_control.compilation.compilers import KernelCompiler, KernelLowering
from opspace_control.compilation.folding import INDEX
from opspace_control.compilation.linking import KernelLibrary
from opspace_control.compilation.lowering import LeanLower

_RESULT = llvm.IntType(64)


def compile_object(function, kinds, options, symbol):
    """Return the object code of a kernel for arguments of these types of Numba."""
    flags = Flags()
    cpu_target.options.parse_as_flags(flags, {'nopython': True, **options})
    flags.no_compile = flags.no_cfunc_wrapper = True
    flags.no_cpython_wrapper = False
    compiler = ObjectCompiler(cpu_target.typing_context, cpu_target.target_context, None, kinds,
                              None, flags, {})
    compiler.symbol = symbol
    with global_compiler_lock:
        compiler.compile_extra(function)
    return compiler.object_code


class ObjectLibrary(KernelLibrary):
    """Code of a kernel as an object file, with one public function, the ``symbol``."""

    symbol = object_code = None

    def _optimize_final_module(self):
        """Optimise the code for its only public function."""
        module = self._final_module
        for each in (*module.functions, *module.global_variables):
            if not each.is_declaration and each.name != self.symbol:
                each.linkage = 'internal'
        super()._optimize_final_module()

    def _generate(self):
        self.object_code = object_code(self._final_module)
        self._finalized = True


def object_code(module):
    """Return a module of LLVM as an object file for the processor that Numba compiles for."""
    codegen = cpu_target.target_context.codegen()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=codegen._get_host_cpu_name(), features=codegen._tm_features, opt=3, reloc='pic',
        codemodel='default').emit_object(module)


def text_object(name, text):
    """Return an object file with a public text that ends with a zero."""
    module, code = llvm.Module(), bytearray(text.encode() + b'\0')
    module.triple = binding.get_default_triple()
    content = llvm.Constant(llvm.ArrayType(llvm.IntType(8), len(code)), code)
    llvm.GlobalVariable(module, content.type, name).initializer = content
    return object_code(binding.parse_assembly(str(module)))


def caller_object(name, api_name):
    """
    Return an object file with the function ``name``, which calls any function of a table.

    Python calls it as one of its own, of a capsule with the address of eight numbers: addresses of
    the function and of the table, then target, source and size in bytes of what is copied before
    the call, and of what is copied after it. The addresses of PyCapsule_GetPointer and
    PyLong_FromLongLong are to be written to the variable ``api_name``: the library does not depend
    on Python.
    """
    module = llvm.Module()
    module.triple = binding.get_default_triple()
    pointer, pointers = INDEX.as_pointer(), llvm.ArrayType(INDEX.as_pointer(), 2)
    api = llvm.GlobalVariable(module, pointers, api_name)
    api.initializer = llvm.Constant(pointers, None)
    function = llvm.Function(module, llvm.FunctionType(pointer, [pointer, pointer]), name)
    builder = llvm.IRBuilder(function.append_basic_block())

    def number(numbers, k, kind):
        place = builder.gep(builder.bitcast(numbers, kind.as_pointer()), [INDEX(k)])
        return builder.load(place)

    def copy(first):
        cgutils.raw_memcpy(builder, *(number(numbers, first + k, pointer) for k in range(2)),
                           number(numbers, first + 2, INDEX), 1)

    get, make = (number(api, k, llvm.FunctionType(pointer, kinds).as_pointer())
                 for k, kinds in enumerate(([pointer, pointer], [_RESULT])))
    numbers = builder.call(get, [function.args[0], pointer(None)])
    copy(2)
    called = number(numbers, 0, llvm.FunctionType(_RESULT, [pointer]).as_pointer())
    result = builder.call(called, [number(numbers, 1, pointer)])
    copy(5)
    builder.ret(builder.call(make, [result]))
    return object_code(binding.parse_assembly(str(module)))


class ObjectLower(LeanLower):
    """Lowering of a kernel that a table of arguments is given to."""

    def lower_normal_function(self, fndesc):
        """Generate the code; inlined into the function of the table it would be another one."""
        super().lower_normal_function(fndesc)
        self.function.attributes.add('noinline')

    def create_cpython_wrapper(self, release_gil=False):
        """Add the function of the table; Python is not called."""
        add_shim(self, self.library.symbol)


@register_pass(mutates_CFG=True, analysis_only=False)
class ObjectLowering(KernelLowering):
    """`KernelLowering` into an `ObjectLibrary`."""

    _name, _lower, _library = 'object_lowering', ObjectLower, ObjectLibrary

    def _prepare(self, state):
        state.library.symbol = state.pipeline.symbol

    def run_pass(self, state):
        """Generate the object code of one kernel."""
        super().run_pass(state)
        state.library.finalize()
        state.pipeline.object_code = state.library.object_code
        return True


class ObjectCompiler(KernelCompiler):
    """Compiler of a kernel into ``object_code`` with the function ``symbol``."""

    symbol = object_code = None
    _lowering = ObjectLowering


def add_shim(lower, name):
    """Add the function ``name`` around the kernel of a lowering to its library."""
    context, description = lower.context, lower.fndesc
    module = lower.library.create_ir_module(f'{description.unique_name}.shim')
    kernel = llvm.Function(
        module, context.call_conv.get_function_type(description.restype, description.argtypes),
        description.llvm_func_name)
    shim = llvm.Function(module, llvm.FunctionType(_RESULT, [INDEX.as_pointer()]), name)
    builder = llvm.IRBuilder(shim.append_basic_block())
    table = _Table(context, builder, shim.args[0])
    arguments = [table.argument(kind) for kind in description.argtypes]
    _status, result = context.call_conv.call_function(
        builder, kernel, description.restype, description.argtypes, arguments)
    builder.ret(_number(context, builder, result, description.restype))
    lower.library.add_ir_module(module)


def _number(context, builder, result, kind):
    """Return a result as a number of 64 bits."""
    if kind == types.none:
        return _RESULT(0)
    if not isinstance(kind, (types.Integer, types.Boolean)):
        raise TypeError(f'A kernel returns None, a whole number or a truth value, not {kind}.')
    return context.cast(builder, result, kind, types.int64)


class _Table:
    """Reader of a table of arguments, in the order of `library.describe`."""

    def __init__(self, context, builder, pointer):
        self._context, self._builder = context, builder
        self._pointer, self._place = pointer, 0

    def _next(self, kind=INDEX):
        address = self._builder.gep(self._pointer, [INDEX(self._place)])
        self._place += 1
        number = self._builder.load(self._builder.bitcast(address, kind.as_pointer()))
        # Nothing writes to the table meanwhile: LLVM may load where a number is needed.
        number.set_metadata('invariant.load', self._builder.module.add_metadata([]))
        return number

    def argument(self, kind):
        """Return the next argument, of a type of Numba."""
        context, builder = self._context, self._builder
        if kind == types.none:
            return context.get_dummy_value()
        if kind == types.float64:
            return self._next(llvm.DoubleType())
        if isinstance(kind, types.BaseTuple):
            return context.make_tuple(builder, kind, [self.argument(each) for each in kind.types])
        if isinstance(kind, types.Array) and kind.layout == 'C':
            array = ContiguousArray(context, kind)
            data, shape = array.get_argument_type()
            return array.from_argument(builder, (self._next(data), [*map(self._next, shape)]))
        raise TypeError(
            f'A kernel takes C-contiguous arrays, tuples of them, floats and None, not {kind}.')
