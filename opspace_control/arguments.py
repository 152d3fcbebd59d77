# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parsers, and kinds of arguments that several verbs take."""

import argparse
import math
from contextlib import contextmanager

from opspace_control.errors import OpspaceError


def make_parser(verb, description, **options):
    """Return the ArgumentParser of a verb, which keeps the lines of its description."""
    return argparse.ArgumentParser(prog=f'opspace {verb}', description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter, **options)


def add_controller(parser):
    """Add the option for the name of the controller node."""
    parser.add_argument('--controller', metavar='NAME', default='opspace_controller',
                        help='the controller node, if it is not called opspace_controller')


def refuse_existing(path, options):
    """Raise an OpspaceError for an output file that is there already, without ``--force``."""
    if path.exists() and not options.force:
        raise OpspaceError(f'{path} exists.', cure='Choose another --output, or use --force.')


@contextmanager
def writing(path):
    """Turn an OSError while an output file is written into an OpspaceError."""
    try:
        yield
    except OSError as error:
        raise OpspaceError(f'{path} cannot be written: {error.strerror}.',
                           cure='Choose another --output.') from error


def names(text):
    """Return the tuple of names of ``a,b``."""
    return tuple(filter(None, (name.strip() for name in text.split(','))))


def positions(text):
    """Return joint -> position of ``a=0.5,b=-1``."""
    found = {}
    for part in names(text):
        name, equals, value = part.rpartition('=')
        number = numbers(value)
        if not equals or len(number) != 1:
            raise argparse.ArgumentTypeError(f'{part!r} is not JOINT=NUMBER')
        found[name.strip()] = number[0]
    return found


def numbers(text):
    """Return the finite numbers of ``1,-0.5``; none if one of them is not."""
    try:
        values = [float(part) for part in text.split(',')]
    except ValueError:
        return []
    return values if all(map(math.isfinite, values)) else []
