# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Compilers of kernels and their parts, with short compilation.

Numba optimises each function with all that it calls and generates its machine code, then does so
again in the caller. Here functions that only compiled functions call stay LLVM code, which is
linked into the kernel and optimised once.
"""

from contextlib import nullcontext
from types import SimpleNamespace

from numba.core import config, event, ssa
from numba.core.base import BaseContext
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.errors import WarningsFixer
from numba.core.postproc import PostProcessor
from numba.core.typed_passes import NativeLowering
from numba.core.types import BaseFunction, Type

from opspace_control.compilation.arguments import memoised_packers
from opspace_control.compilation.linking import KernelLibrary, PartLibrary
from opspace_control.compilation.lowering import LeanLower
from opspace_control.compilation.replacements import (
    few_collections,
    memoise_call_types,
    memoise_hashes,
    omit_lifetimes,
    replaced,
    short_name,
)

# Passes for features that parts do not use (closures, inlined overloads, array expressions, `with`
# blocks, exceptions with arguments, literal arguments) and reports.
_UNUSED_PASSES = {
    'WithLifting', 'InlineClosureLikes', 'RewriteSemanticConstants', 'RewriteDynamicRaises',
    'MakeFunctionToJitFunction', 'InlineInlinables', 'FindLiterallyCalls', 'LiteralUnroll',
    'LiteralPropagationSubPipelinePass', 'InlineOverloads', 'NopythonRewrites', 'AnnotateTypes',
    'NoPythonSupportedFeatureValidation', 'DumpParforDiagnostics'}

# First and last supported version of Numba.
_SUPPORTED = (0, 58), (0, 68)


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(NativeLowering):
    """The pass that generates LLVM code."""

    _name, _lower, _library = 'kernel_lowering', LeanLower, KernelLibrary
    lowering_class = property(lambda self: self._lower, doc='The lowering class.')

    def run_pass(self, state):
        """Generate the code of one function."""
        state.library = self._library(state.targetctx.codegen(), state.func_id.func_qualname)
        self._prepare(state)
        return super().run_pass(state)

    def _prepare(self, state):
        state.library.enable_object_caching()


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(KernelLowering):
    """`KernelLowering` into a `PartLibrary`."""

    _name, _library = 'part_lowering', PartLibrary

    def _prepare(self, _state):
        pass


class SharedLower(LeanLower):
    """Lowering of functions that several places use: LLVM does not copy them to these."""

    _attributes = 'noinline',

    def lower_normal_function(self, fndesc):
        """Generate the code and set the attributes, except where Numba inlines it."""
        super().lower_normal_function(fndesc)
        if not fndesc.inline:
            for each in self._attributes:
                self.function.attributes.add(each)


class RareLower(SharedLower):
    """Lowering of functions that run rarely: for size, and away from where they are called."""

    _attributes = 'noinline', 'optsize', 'cold'


@register_pass(mutates_CFG=True, analysis_only=False)
class SharedLowering(PartLowering):
    """`PartLowering` of functions that several places use."""

    _name, _lower = 'shared_lowering', SharedLower


@register_pass(mutates_CFG=True, analysis_only=False)
class RareLowering(PartLowering):
    """`PartLowering` of functions that run rarely."""

    _name, _lower = 'rare_lowering', RareLower


def _passes(state, lowering, unused=()):
    """Return Numba's passes without unused ones and with another lowering."""
    passes = DefaultPassBuilder.define_nopython_pipeline(state)
    passes.passes = [(lowering if each is NativeLowering else each, description)
                     for each, description in passes.passes if each.__name__ not in unused]
    passes.finalize()
    return passes


class KernelCompiler(CompilerBase):
    """Compiler of kernels; it also compiles their parts."""

    _lowering = KernelLowering

    def define_pipelines(self):
        """Return the passes."""
        return [_passes(self.state, self._lowering)]

    def _compile_bytecode(self):
        # Loops are over three or six numbers: LLVM need not vectorise them. Events and reports
        # about assignments have no reader.
        with (few_collections(),
              replaced(BaseFunction, 'get_call_type',
                       memoise_call_types(BaseFunction.get_call_type)),
              replaced(BaseContext, 'get_arg_packer', memoised_packers()),
              replaced(BaseContext, 'mangler', short_name(BaseContext.mangler)),
              replaced(Type, '__hash__', memoise_hashes(Type.__hash__)),
              replaced(PostProcessor, 'run', omit_lifetimes(PostProcessor.run)),
              replaced(config, 'LOOP_VECTORIZE', 0),
              replaced(event, 'broadcast', lambda _event: None),
              replaced(ssa, '_logger', SimpleNamespace(debug=lambda *_: None)),
              # It would look for warnings after each step of the inference of types.
              replaced(WarningsFixer, 'catch_warnings', lambda *_, **__: nullcontext())):
            return super()._compile_bytecode()


class PartCompiler(CompilerBase):
    """Compiler of functions that only compiled functions call."""

    _lowering = PartLowering

    def define_pipelines(self):
        """Return the passes."""
        return [_passes(self.state, self._lowering, _UNUSED_PASSES)]


class SharedPartCompiler(PartCompiler):
    """Compiler of parts that several places use."""

    _lowering = SharedLowering


class RarePartCompiler(PartCompiler):
    """Compiler of parts that run rarely."""

    _lowering = RareLowering


def is_supported(version):
    """Return whether these compilers know a version (major, minor) of Numba."""
    first, last = _SUPPORTED
    return first <= tuple(version) <= last


def compilers_for(version):
    """
    Return the compilers of kernels, of their parts, of shared parts, and of rare ones.

    For unsupported versions (major, minor) Numba's own, with equivalent code and five times the
    compilation time.
    """
    if is_supported(version):
        return KernelCompiler, PartCompiler, SharedPartCompiler, RarePartCompiler
    return (Compiler,) * 4
