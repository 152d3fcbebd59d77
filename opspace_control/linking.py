# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Linking of the parts of a kernel, each once."""

from numba.core.codegen import JITCodeLibrary


class KernelLibrary(JITCodeLibrary):
    """Code of a kernel, into which that of all its parts is linked, each once."""

    def finalize(self):
        """
        Link, optimise, make machine code.

        Raises
        ------
        RuntimeError
            A part is called that has not been linked: the call would lead nowhere.

        """
        libraries, defined = _all_used(self._linking_libraries), set()
        for library in libraries:
            if isinstance(library, PartLibrary):
                part = library.without_parts()
                defined |= {each.name for each in part.functions if not each.is_declaration}
                self._final_module.link_in(part, preserve=True)
        self._linking_libraries = [each for each in libraries if not isinstance(each, PartLibrary)]
        self._defined = defined
        super().finalize()

    def _finalize_final_module(self):
        """Make machine code; a call of a missing function would not be detected later."""
        missing = [each.name for each in self._final_module.functions
                   if each.is_declaration and each.name in self._defined]
        if missing:
            raise RuntimeError(f'{self.name} calls what has not been linked: {missing}')
        super()._finalize_final_module()


def _all_used(libraries):
    """
    Return libraries, and what parts among them use, each once, and after all that use it.

    LLVM links of a part only what earlier code uses.
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
    """Code to be linked into other code; there is nothing to be run."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.uses = []

    def add_linking_library(self, library):
        """Note what has to be linked wherever this is."""
        library._ensure_finalized()
        self.uses.append(library)

    def without_parts(self):
        """Return the code without what it uses."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self):
        """Return the code with what it uses, for Numba's own libraries."""
        module = self.without_parts().clone()
        for library in _all_used(self.uses):
            module.link_in(library.without_parts() if isinstance(library, PartLibrary)
                           else library._get_module_for_linking(), preserve=True)
        return module

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name):
        """Return no address: there is no machine code."""
        return 0

    @property
    def codegen(self):
        """What made this library, as far as it needs to know."""
        return self

    def set_env(self, name, env):
        """Put no environment anywhere: it is for messages of exceptions, and parts raise none."""
