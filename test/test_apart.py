# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Tests that run in forks fail as others do, and leave what they share as it is."""

import os

import pytest
from apart import apart

SHARED = []


@apart
def changes(value):
    SHARED.append(value)
    assert [value] == SHARED


def test_what_it_changes_is_changed_there_alone():
    changes(1)
    changes(value=2)
    assert not SHARED


def test_what_it_raises_is_told_with_its_place():
    with pytest.raises(AssertionError, match=r'(?s)test_apart.*in fails.*ValueError: three'):
        @apart
        def fails():
            raise ValueError('three')
        fails()


def test_a_fork_that_dies_is_a_failure():
    with pytest.raises(AssertionError, match='ended with -9'):
        apart(lambda: os.kill(os.getpid(), 9))()
