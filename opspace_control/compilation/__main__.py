# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Build the library of kernels unless it is there: python -m opspace_control.compilation."""

import argparse
import sys

from opspace_control.compilation.targets import is_built
from opspace_control.errors import OpspaceError


def main(arguments=None):
    """Build the library unless it is there; return the exit code."""
    parser = argparse.ArgumentParser(
        prog='python -m opspace_control.compilation',
        description='Compile all kernels into a library, so that no start has to. It serves every '
        'processor of the level x86-64-v3 (of 2013 and later) or, on ARM64, ARMv8-A (all of them); '
        'on other architectures this kind of processor alone.')
    parser.add_argument('--native', action='store_true', help='for this kind of processor alone')
    native = parser.parse_args(arguments).native
    if is_built(native):
        return 0
    try:
        # Numba is not imported where there is nothing to be done.
        from opspace_control.compilation.build import build
        build(native)
    except ModuleNotFoundError as error:
        if error.name != 'numba':
            raise
        print("Numba, which compiles the kernels, is not installed. pip install 'opspace_control"
              "[jit]'.", file=sys.stderr)
        return 1
    except OpspaceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
