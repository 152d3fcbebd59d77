# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the parameter tables: Markdown, and commented YAML files."""

import re
import textwrap

_WIDTH = 96
# Words that YAML does not read as text.
_NOT_WORDS = ('yes', 'no', 'on', 'off', 'true', 'false', 'null')


def markdown(table):
    """Return a Markdown table of these parameters."""
    rows = ['| parameter | type | default | unit | what it does |', '|---|---|---|---|---|']
    for parameter in table:
        notes = [parameter.description]
        if len(parameter.choices) > 1:
            notes.append(f'One of {", ".join(f"`{choice}`" for choice in parameter.choices)}.')
        if parameter.bounds:
            notes.append(f'{parameter.bounds.capitalize()}.')
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
    lines, opened, said = [], (), set()
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
        comment = _comment(parameter)
        if comment not in said:  # once for all tasks and joints
            lines += textwrap.wrap(comment, _WIDTH, initial_indent=f'{margin}# ',
                                   subsequent_indent=f'{margin}# ')
            said.add(comment)
        lines += textwrap.wrap(f'{leaf}: {yaml_value(value)}', _WIDTH, initial_indent=margin,
                               subsequent_indent=f'{margin}  ', break_on_hyphens=False)
    return lines


def _comment(parameter):
    unit = f' [{parameter.unit}]' if parameter.unit else ''
    bounds = f' {parameter.bounds.capitalize()}.' if parameter.bounds else ''
    choices = f' One of: {", ".join(parameter.choices)}.' if len(parameter.choices) > 1 else ''
    return f'{parameter.description}{unit}{choices}{bounds}'


def yaml_value(value):
    """Return a parameter's value as ROS 2 writes it: floats keep their point, infinity is .inf."""
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, float):
        digits, _, exponent = repr(value + 0.0).replace('inf', '.inf').partition('e')  # no -0.0
        return digits if not exponent else f'{digits}{"" if "." in digits else ".0"}e{exponent}'
    if isinstance(value, (list, tuple)):
        return f'[{", ".join(map(yaml_value, value))}]'
    if isinstance(value, str):
        plain = re.fullmatch('[A-Za-z_][A-Za-z0-9_]+', value) and value.lower() not in _NOT_WORDS
        return value if plain else f"'{value}'"
    return repr(value)
