# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The process that nodes of tests are forks of: its death is told, and not for ever."""

import os
import re

import forked
import pytest


def test_death_of_a_server_is_told_and_another_takes_its_place(tmp_path):
    environment = {**os.environ, 'OF_THIS_TEST': 'yes'}
    for _ in range(2):
        with pytest.raises(forked.ServerDiedError, match=re.compile(
                "OF_THIS_TEST=yes has ended with 1 when .* start .*KeyError: 'juggle'", re.DOTALL)):
            forked.Fork('juggle', [], environment, tmp_path / 'log')
