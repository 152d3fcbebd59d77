# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameter tables as people read them: Markdown, and commented YAML files."""

import math
import textwrap

_WIDTH = 96


def markdown(table):
    """Return a Markdown table of these parameters."""
    rows = ['| parameter | type | default | unit | what it does |', '|---|---|---|---|---|']
    for parameter in table:
        notes = [parameter.description]
        if parameter.choices:
            notes.append(f'One of {", ".join(f"`{choice}`" for choice in parameter.choices)}.')
        if parameter.bounds:
            notes.append(f'Range {parameter.bounds}.')
        if parameter.read_only:
            notes.append('Read-only.')
        kind = 'double or double[6]' if parameter.type == 'gain' else parameter.type.replace(
            '_array', '[]')
        default = '' if parameter.default is None else f'`{yaml_value(parameter.default)}`'
        rows.append(f'| `{parameter.name}` | {kind} | {default} | {parameter.unit} | '
                    f'{" ".join(notes)} |')
    return '\n'.join(rows) + '\n'


def yaml_block(table, values, indent):
    """
    Return parameters as lines of YAML, each under its description.

    Parameters
    ----------
    table : sequence of Parameter
        In the order of the file; a dot in a name opens a nested block.
    values : mapping
        By name; the default stands for a parameter that is not there. None leaves one out.
    indent : int
        Spaces in front of each line.

    """
    lines, opened = [], ()
    for parameter in table:
        value = values.get(parameter.name, parameter.default)
        if value is None:
            continue
        *blocks, leaf = parameter.name.split('.')
        for depth, block in enumerate(blocks):
            if opened[:depth + 1] != tuple(blocks[:depth + 1]):
                lines.append(' ' * (indent + 2 * depth) + f'{block}:')
        opened = tuple(blocks)
        margin = ' ' * (indent + 2 * len(blocks))
        unit = f' [{parameter.unit}]' if parameter.unit else ''
        bounds = f' Range {parameter.bounds}.' if parameter.bounds else ''
        lines += textwrap.wrap(f'{parameter.description}{unit}{bounds}', _WIDTH,
                               initial_indent=f'{margin}# ', subsequent_indent=f'{margin}# ')
        lines.append(f'{margin}{leaf}: {yaml_value(value)}')
    return lines


def yaml_value(value):
    """Return a parameter's value as ROS 2 writes it: floats keep their point, infinity is .inf."""
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, float):
        return f'{value!r}' if math.isfinite(value) else f'{value!r}'.replace('inf', '.inf')
    if isinstance(value, (list, tuple)):
        return f'[{", ".join(map(yaml_value, value))}]'
    if isinstance(value, str):
        return value if value and value.replace('_', '').isalnum() else f"'{value}'"
    return repr(value)
