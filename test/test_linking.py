# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of kernels are all linked, whoever calls them first, and wherever from."""

import numpy as np
import pytest

from opspace_control.compilation import linking
from opspace_control.compiled import called, inlined, kernel, rare

NEVER = 0


@called
def leaf(x):
    return x + 1.0


@called
def through(x):
    return leaf(x)


@rare
def rarely(x):
    return through(x)


@inlined
def copied(x):
    return rarely(x) + leaf(x)


@called
def in_a_loop_without_rounds(x):
    for _ in range(NEVER):
        x = leaf(x)
    return 2.0 * x


@called
def behind_all_returns(x):
    if x > 0.0 or not x > 0.0:
        return 3.0 * x
    return leaf(x)


@kernel
def dead_in_the_kernel(out):
    for k in range(0):
        out[k] = leaf(-2.0)
    out[0] = through(4.0)


@kernel
def dead_in_a_part(out):
    out[0] = in_a_loop_without_rounds(4.0)
    out[1] = through(4.0)


@kernel
def dead_behind_returns(out):
    out[0] = behind_all_returns(4.0)
    out[1] = rarely(4.0)


@kernel
def through_all_kinds(out):
    out[0] = in_a_loop_without_rounds(behind_all_returns(1.0))
    out[1] = copied(4.0)


@pytest.mark.parametrize(('compiled', 'expected'), [
    (dead_in_the_kernel, (5.0, 0.0)), (dead_in_a_part, (8.0, 5.0)),
    (dead_behind_returns, (12.0, 5.0)), (through_all_kinds, (6.0, 10.0))])
def test_parts_whose_first_call_is_never_reached(compiled, expected):
    """LLVM drops such a call, and with it what it would ask for."""
    out = np.zeros(2)
    compiled(out)
    assert tuple(out) == expected


@called
def said_to_stay(x):
    return x + 1.0


@inlined
def said_to_be_copied(x):
    return said_to_stay(x)


@kernel
def uses_the_copied_first(out):
    out[0] = said_to_be_copied(4.0)


def test_a_part_is_inlined_if_its_decorator_says_so(monkeypatch):
    """And not if the first function that uses it is: code would depend on who was first."""
    monkeypatch.setattr(uses_the_copied_first.dispatcher._cache, 'load_overload', lambda *_: None)
    uses_the_copied_first(np.zeros(1))
    for part, inline in (said_to_stay, False), (said_to_be_copied, True):
        made, = part.dispatcher.overloads.values()
        assert made.fndesc.inline == inline


@kernel
def never_linked(out):
    out[0] = through(4.0)


def test_what_is_not_linked_is_noticed_before_it_is_called(monkeypatch):
    """Nothing else would: the call would lead nowhere."""
    usual = linking._all_used
    monkeypatch.setattr(linking, '_all_used', lambda libraries: [
        each for each in usual(libraries) if each.name != 'leaf'])
    monkeypatch.setattr(never_linked.dispatcher._cache, 'load_overload', lambda *_: None)
    with pytest.raises(RuntimeError, match=r'not been linked.*leaf'):
        never_linked(np.zeros(2))
