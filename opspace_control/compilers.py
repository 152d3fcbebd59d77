# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Compilers of kernels and their parts, with short compilation.

Functions that only compiled functions call get no machine code of their own. Numba optimises each
function with all that it calls and makes machine code of that, then does the same again in the
caller. For a kernel of many small steps that is most of the time. The code of a part is only linked
into the kernel, which is optimised as a whole, once.
"""

import contextlib
import gc

from numba.core import config, event
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.postproc import PostProcessor
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NativeLowering
from numba.core.types import BaseFunction

from opspace_control.linking import KernelLibrary, PartLibrary
from opspace_control.lowering import LeanLower

# Steps for what parts do not do: closures, overloads to be copied in, array expressions, `with`
# blocks, exceptions with arguments, literal arguments; and those that only report.
_NEEDLESS = {
    'WithLifting', 'InlineClosureLikes', 'RewriteSemanticConstants', 'RewriteDynamicRaises',
    'MakeFunctionToJitFunction', 'InlineInlinables', 'FindLiterallyCalls', 'LiteralUnroll',
    'LiteralPropagationSubPipelinePass', 'InlineOverloads', 'NopythonRewrites', 'AnnotateTypes',
    'NoPythonSupportedFeatureValidation', 'DumpParforDiagnostics'}

# First and last version of Numba whose insides this has been tried with.
_TRIED = (0, 58), (0, 68)

# Objects made before Python looks for garbage, and how often it looks at older ones; its usual
# thresholds cost a fifth of the time of compilation.
_COLLECTION = 100_000, 1000, 1000


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(NativeLowering):
    """The last step of compilation."""

    _name = 'kernel_lowering'

    @property
    def lowering_class(self):
        """What makes the code."""
        return LeanLower

    def run_pass(self, state):
        """Make the code of one function."""
        state.library = self._library(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().run_pass(state)

    @staticmethod
    def _library(codegen, name):
        library = KernelLibrary(codegen, name)
        library.enable_object_caching()
        return library


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(KernelLowering):
    """The same, into a `PartLibrary`."""

    _name, _library = 'part_lowering', PartLibrary


class RareLower(LeanLower):
    """What makes the code of a function that runs rarely: short, and in one place."""

    def lower_normal_function(self, fndesc):
        """Make it, and tell LLVM, but for what Numba itself has it copied."""
        super().lower_normal_function(fndesc)
        if not fndesc.inline:
            self.function.attributes.add('noinline')
            self.function.attributes.add('optsize')


@register_pass(mutates_CFG=True, analysis_only=False)
class RareLowering(PartLowering):
    """The same for parts that run rarely."""

    _name = 'rare_lowering'

    @property
    def lowering_class(self):
        """What makes the code."""
        return RareLower


@contextlib.contextmanager
def few_collections():
    """
    Have Python look less often for garbage among what it has had for long.

    A compiler makes objects by the million and keeps most of them until its end.
    """
    usual = gc.get_threshold()
    gc.set_threshold(*_COLLECTION)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@contextlib.contextmanager
def remembered_operators():
    """
    Have Numba look up only once what an operator makes of operands of some types.

    For each ``a[i, j]`` and each product it would try one implementation after the other.
    """
    usual, known = BaseFunction.get_call_type, {}

    def get_call_type(operator, context, args, kws):
        key = operator, context, args, tuple(kws.items())
        if key not in known:
            known[key] = usual(operator, context, args, kws)
        return known[key]

    BaseFunction.get_call_type = get_call_type
    try:
        yield
    finally:
        BaseFunction.get_call_type = usual


@contextlib.contextmanager
def short_loops():
    """
    Have LLVM leave loops as they are instead of working on several rounds at once.

    Ours are over three or six numbers: code for many of them is never reached, but checked for.
    """
    usual, config.LOOP_VECTORIZE = config.LOOP_VECTORIZE, 0
    try:
        yield
    finally:
        config.LOOP_VECTORIZE = usual


@contextlib.contextmanager
def no_lifetimes():
    """
    Have Numba not find out, five times a function, where variables live and die.

    It is for those whose memory is to be freed.
    """
    def run(processor, *arguments, **options):
        function = processor.func_ir
        if function.is_generator:
            usual(processor, *arguments, **options)
            return
        function.blocks = canonicalize_cfg(function.blocks)
        function.generator_info = None

    usual, PostProcessor.run = PostProcessor.run, run
    try:
        yield
    finally:
        PostProcessor.run = usual


@contextlib.contextmanager
def no_events():
    """Have Numba not tell those who time it of each call of LLVM."""
    usual, event.broadcast = event.broadcast, lambda _event: None
    try:
        yield
    finally:
        event.broadcast = usual


def _steps(state, lowering, needless=()):
    """Return the steps of Numba's compiler, but for those that are needless, and for the last."""
    passes = DefaultPassBuilder.define_nopython_pipeline(state)
    passes.passes = [(lowering if step is NativeLowering else step, description)
                     for step, description in passes.passes if step.__name__ not in needless]
    passes.finalize()
    return passes


class KernelCompiler(CompilerBase):
    """Numba's compiler for functions of many parts, in the course of which it compiles these."""

    def define_pipelines(self):
        """Return the usual steps, but for the last."""
        return [_steps(self.state, KernelLowering)]

    def _compile_bytecode(self):
        with (few_collections(), remembered_operators(), short_loops(), no_lifetimes(),
              no_events()):
            return super()._compile_bytecode()


class PartCompiler(CompilerBase):
    """Numba's compiler for functions that only compiled functions call."""

    _lowering = PartLowering

    def define_pipelines(self):
        """Return what is needed of the usual steps, but for the last."""
        return [_steps(self.state, self._lowering, _NEEDLESS)]


class RarePartCompiler(PartCompiler):
    """The same for functions that run rarely."""

    _lowering = RareLowering


def compilers_for(version):
    """
    Return the compilers of kernels, of their parts, and of parts that run rarely.

    Numba's own for versions of it, (major, minor), that these have not been tried with: what they
    make is as right, and takes five times as long.
    """
    first, last = _TRIED
    if first <= tuple(version) <= last:
        return KernelCompiler, PartCompiler, RarePartCompiler
    return Compiler, Compiler, Compiler
