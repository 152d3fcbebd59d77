# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Properties of objects whose numbers are in a record."""


def recorded(name, doc, writable=False):
    """Return a property with a number of ``_numbers``, a dict of arrays of one, of an object."""
    def write(owner, value):
        owner._numbers[name][0] = value
    return property(lambda owner: owner._numbers[name].item(), write if writable else None, doc=doc)
