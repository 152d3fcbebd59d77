# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The topics and services of doc/reference/topics.md: what the page says of each, by node, name."""

import re
from pathlib import Path

_PAGE = Path(__file__).parents[1] / 'doc' / 'reference' / 'topics.md'
NODES = {node: {name: ' '.join(words.split()) for name, words in re.findall(
    r'^- `(.+?)`(.*(?:\n  .*)*)', section, re.MULTILINE)}
    for node, section in re.findall(r'^## `(\w+)`\n((?:.|\n(?!## ))*)', _PAGE.read_text(),
                                    re.MULTILINE)}
