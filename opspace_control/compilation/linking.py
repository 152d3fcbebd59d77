# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The code of a kernel, linked with the code of its parts, and optimised once.

A part stays LLVM code. What a kernel uses of it becomes a private function of the kernel's module.
"""

from llvmlite import binding
from numba import version_info
from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.itanium_mangler import PREFIX

from opspace_control.compilation.replacements import replaced

# Loops of a length that is known at run time alone are short. Where LLVM unrolls them kernels are
# 15 % larger, and a cycle that finds them in no cache takes 8 % longer.
binding.set_option('opspace_control', '--unroll-runtime=false')

_NEW_PASSES = version_info.short >= (0, 62)  # those of llvmlite from 0.45 on

_GROUP = 25  # parts that are linked first, about the square root of the number of a cycle's parts


class KernelLibrary(JITCodeLibrary):
    """Code of a kernel, linked with all its parts."""

    def finalize(self):
        """
        Link, optimise and generate machine code.

        Parts become private, so that LLVM drops the arguments that they do not use: a part that
        takes the data of a cycle has some 500, and some passes take time by their square. An
        internal part would do for that, but the JIT linker finds internal symbols of other modules
        by name, and calls them with all arguments.
        A RuntimeError refuses calls of a part that has not been linked.
        """
        libraries, defined = _all_used(self._linking_libraries), set()
        parts = [each.code for each in libraries if isinstance(each, PartLibrary)]
        # Group by group: LLVM goes through all that it links something to.
        for k in range(0, len(parts), _GROUP):
            group = parts[k].clone()
            for part in parts[k + 1:k + _GROUP]:
                group.link_in(part, preserve=True)
            defined |= {each.name for each in group.functions if not each.is_declaration}
            self._final_module.link_in(group)
        self._linking_libraries = [each for each in libraries if not isinstance(each, PartLibrary)]
        for each in self._final_module.functions:
            if each.name in defined and not each.is_declaration:
                each.linkage = 'private'
        super().finalize()

    def _optimize_final_module(self):
        """Drop unused arguments of private functions, then optimise once; Numba does so twice."""
        if not _NEW_PASSES:
            super()._optimize_final_module()
            return
        unused = binding.create_new_module_pass_manager()
        unused.add_dead_arg_elimination_pass()
        unused.run(self._final_module, self._codegen._pass_builder())
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def _finalize_final_module(self):
        """Generate machine code; LLVM does not report calls of missing functions."""
        missing = [each.name for each in self._final_module.functions
                   if each.is_declaration and each.name.startswith(PREFIX)]
        if missing:
            raise RuntimeError(f'{self.name} calls what has not been linked: {missing}')
        self._generate()

    def _generate(self):
        super()._finalize_final_module()


def _all_used(libraries):
    """
    Return libraries and those that parts use, each once and after its users.

    LLVM links only functions that earlier code uses.
    """
    order, seen = [], set()

    def visit(library):
        if library not in seen:
            seen.add(library)
            for each in library.uses if isinstance(library, PartLibrary) else ():
                visit(each)
            order.append(library)
    for library in libraries:
        visit(library)
    return order[::-1]


class PartLibrary(JITCodeLibrary):
    """LLVM code without machine code, to be linked into other code."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.uses = []

    def add_linking_library(self, library):
        """Add a library that this one uses."""
        library._ensure_finalized()
        self.uses.append(library)

    @property
    def code(self):
        """The module of LLVM, without what it uses."""
        return self._final_module

    def _get_module_for_linking(self):
        """Return the code with what it uses, for Numba's own libraries."""
        module = super()._get_module_for_linking().clone()
        for library in _all_used(self.uses):
            module.link_in(
                super(PartLibrary, library)._get_module_for_linking()
                if isinstance(library, PartLibrary) else library._get_module_for_linking(),
                preserve=True)
        return module

    def add_llvm_module(self, module):
        """Optimise the functions of a module, and take it, or link it where there is one."""
        self._optimize_functions(module)
        if any(self._final_module.functions):
            self._final_module.link_in(module)
        else:
            self._final_module = module

    def _optimize_functions(self, module):
        with replaced(config, 'OPT', 1):  # for shorter code: all of it is optimised in the kernel
            if not _NEW_PASSES:
                super()._optimize_functions(module)
                return
            module.data_layout = self._codegen._data_layout
            passes, builder = self._codegen._function_pass_manager()
            for each in module.functions:
                if not each.is_declaration:  # most are, and Numba makes passes for each
                    passes.run(each, builder)

    def finalize(self):
        """Add no more: checks and machine code are those of the kernel."""
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name):
        """Return no address: there is no machine code."""
        return 0

    @property
    def codegen(self):
        """The library itself, which creates no other."""
        return self

    def set_env(self, name, env):
        """Do nothing: environments are for exceptions, which parts do not raise."""
