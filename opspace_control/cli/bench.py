# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace bench`: run what is in benchmark/, of the checkout or installed in share/."""

import runpy
import sys

from opspace_control.errors import OpspaceError
from opspace_control.share import share_directory


def main(arguments):
    """Measure this package beside its peers; leave with the exit code."""
    directory = share_directory() / 'benchmark'
    if not directory.is_dir():
        raise OpspaceError(f'There is no {directory}.', cure='Install the package again.')
    sys.argv[1:] = arguments
    runpy.run_path(str(directory), run_name='__main__')
