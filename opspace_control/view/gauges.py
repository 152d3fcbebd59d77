# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Texts and bars of the page, as HTML."""

from html import escape

import numpy as np

_FULL = 0.999  # of a limit
_COLORS = ('#2a9d3a', '#d98a00', '#d62728', '#d62728')  # OK, warning, error, stale
_BOX = 'font-size:0.85em;line-height:1.5;padding:0 0.8em 0.4em'


def status(level, text):
    """Return the line that says how the controller is; level as in DiagnosticStatus."""
    return (f'<div style="{_BOX}"><span style="color:{_COLORS[level]}">&#9679;</span> '
            f'{escape(text)}</div>')


def words(lines):
    """Return lines of text, the last one first."""
    return f'<div style="{_BOX}">' + ''.join(
        f'<div>{escape(line)}</div>' for line in reversed(lines)) + '</div>'


def error(six, wrench):
    """Return the line of a task: its error (6,), m and rad, and what it commands, N and N·m."""
    parts = []
    if six is not None:
        parts.append(f'error {1e3 * np.linalg.norm(six[:3]):.1f} mm, '
                     f'{np.degrees(np.linalg.norm(six[3:])):.2f}°')
    if wrench is not None:
        parts.append(f'commands {np.linalg.norm(wrench[:3]):.1f} N, '
                     f'{np.linalg.norm(wrench[3:]):.1f} N·m')
    return f'<div style="{_BOX}">{" &middot; ".join(parts) or "no word yet"}</div>'


def joint_error(joints):
    """Return the line of a task of joints: (error, effort) by joint, the largest of each."""
    if not joints:
        return error(None, None)
    parts = []
    for k, (word, figures, units) in enumerate((
            ('error', '.4f', 'rad or m'), ('commands', '.1f', 'N·m or N'))):
        joint = max(joints, key=lambda name: abs(joints[name][k]))
        of = f' ({escape(joint)})' if len(joints) > 1 else ''
        parts.append(f'{word} {abs(joints[joint][k]):{figures}} {units}{of}')
    return f'<div style="{_BOX}">{" &middot; ".join(parts)}</div>'


def wrenches(rows):
    """Return a table of wrenches: (what, frame, six, measured)."""
    return _table((f'{what}{" (measured)" if measured else ""}',
                   ' '.join(f'{x:.1f}' for x in six[:3]) + ' N, '
                   + ' '.join(f'{x:.2f}' for x in six[3:]) + ' N·m')
                  for what, _, six, measured in rows)


def facts(values):
    """Return a table of names and texts."""
    return _table(values.items())


def efforts(values, limits):
    """
    Return a bar for each joint: its effort against its limit.

    Parameters
    ----------
    values : dict of str to float
        N·m or N.
    limits : dict of str to float
        Infinite where there is none.

    """
    rows = []
    for joint, effort in values.items():
        limit = limits.get(joint, np.inf)
        part = min(abs(effort) / limit, 1.0) if limit > 0.0 else 1.0
        color = _COLORS[2 if part > _FULL else 1 if part > 0.8 else 0]
        side = 'left' if effort >= 0.0 else 'right'
        against = f' / {limit:g}' if np.isfinite(limit) else ''
        rows.append(
            f'<div style="display:flex;gap:0.6em;align-items:center">'
            f'<span style="width:40%;overflow:hidden;text-overflow:ellipsis">{escape(joint)}</span>'
            f'<span style="position:relative;flex:1;height:0.7em;background:#8883">'
            f'<span style="position:absolute;{side}:50%;width:{50 * part:.1f}%;height:100%;'
            f'background:{color}"></span></span>'
            f'<span style="width:27%;text-align:right">{effort:.1f}{against}</span></div>')
    return f'<div style="{_BOX}">{"".join(rows) or "no word yet"}</div>'


def load(values, limits):
    """Return the largest effort as a part of its limit, 0 where nothing is limited."""
    return max((abs(effort) / limits[joint] for joint, effort in values.items()
                if 0.0 < limits.get(joint, np.inf) < np.inf), default=0.0)


def _table(rows):
    cells = ''.join(f'<tr><td style="padding-right:1em;vertical-align:top">{escape(name)}</td>'
                    f'<td>{escape(text)}</td></tr>' for name, text in rows)
    return f'<div style="{_BOX}"><table>{cells}</table></div>'
