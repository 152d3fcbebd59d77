# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What `opspace identify` found, as a parameter file and as text."""

import numpy as np
import yaml

from opspace_control.identification.inertia import body_of_parameters
from opspace_control.identification.regressor import PARAMETERS

_DIGITS = 4  # significant: friction changes by more from day to day
_PLACES = (0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)  # of an inertia, as parameters have it
# A parameter of less resolution has no influence of its own.
_NONE = 1e-6


def parameter_file(found, model, controller, payload, payloads, thresholds, made_by):
    """
    Return the text of a parameter file with the friction, and with a payload, of a fit.

    ``payload`` is its link, or None, ``payloads`` the names of those that the node has already;
    ``thresholds`` (nv,) are those of collisions, NaN where unknown.
    """
    values = {'drive_friction': {'fraction': 1.0, **{
        model.dof_names[dof]: {'coulomb': _rounded(found.coulomb[dof]),
                               'viscous': _rounded(found.viscous[dof])}
        for dof in np.flatnonzero(np.isfinite(found.coulomb))}}}
    if np.isfinite(thresholds).any():
        values['observer'] = {'joints': {
            model.dof_names[dof]: {'threshold': _rounded(thresholds[dof])}
            for dof in np.flatnonzero(np.isfinite(thresholds))}}
    if payload and found.bodies:
        name, count = 'payload', 2
        while name in payloads:
            name, count = f'payload_{count}', count + 1
        mass, center, inertia = body_of_parameters(found.bodies[0].after)
        values |= {'payloads': [*payloads, name], name: {
            'frame': payload, 'mass': _rounded(mass), 'center_of_mass': [*map(_rounded, center)],
            'inertia': [_rounded(inertia[place]) for place in _PLACES]}}
    return f'# Made by {made_by}\n' + yaml.safe_dump(
        {f'/**/{controller.rpartition("/")[2]}': {'ros__parameters': values}}, sort_keys=False,
        default_flow_style=None, allow_unicode=True)


def report(found, model, thresholds):
    """Return the lines of a report about an `Identification`, and about thresholds (nv,)."""
    fitted, validation = found.counts
    told = found.conditioning
    lines = [f'  {fitted} efforts of joints fitted, {validation} held out; {told.parameters} '
             f'parameters make {told.rank} combinations that the motion tells, condition number '
             f'{told.condition:.3g}', '']
    rows = [('joint', 'Coulomb', 'viscous', 'error before', 'after', 'collision')]
    for dof in np.flatnonzero(np.isfinite(found.coulomb)):
        unit = 'N' if model.slides[dof] else 'N·m'
        rows.append((model.dof_names[dof],
                     f'{found.coulomb[dof]:.3g} ± {found.coulomb_deviation[dof]:.1g} {unit}',
                     f'{found.viscous[dof]:.3g} ± {found.viscous_deviation[dof]:.1g}',
                     *(f'{values[dof]:.3g} {unit}'
                       for values in (found.before, found.after, thresholds))))
    lines += _table(rows)
    still = model.names_of(~np.isfinite(found.coulomb))
    if still:
        lines.append(f'  Not told, too slow or without a known effort: {", ".join(still)}')
    if found.bodies:
        lines += ['', *_table([('link', 'mass, kg', 'centre of mass, mm'),
                               *map(_body_row, found.bodies)]),
                  '  Before, after and its standard deviation; = where the motion does not tell it '
                  'and the URDF decides.']
        lines += _without_influence(found)
    return lines


def _body_row(body):
    before, after = (body_of_parameters(theta)[:2] for theta in (body.before, body.after))
    parts = [_changed(*numbers, scale) for numbers, scale in zip(
        zip(np.r_[before[0], before[1]], np.r_[after[0], after[1]], body.deviation,
            body.identified, strict=True), (1.0, 1e3, 1e3, 1e3), strict=True)]
    return body.link, parts[0], ', '.join(parts[1:])


def _changed(before, after, deviation, identified, scale):
    """Return a number before and after, or as it stays."""
    if not identified:
        return f'= {scale * before:.3g}'
    return f'{scale * before:.3g} → {scale * after:.3g} ± {scale * deviation:.1g}'


def _without_influence(found):
    """Return lines about the inertial parameters that no combination has."""
    resolution = found.conditioning.resolution[:10 * len(found.bodies)].reshape(-1, 10)
    idle = [f'{body.link} ({" ".join(np.array(PARAMETERS)[row < _NONE])})'
            for body, row in zip(found.bodies, resolution, strict=True) if (row < _NONE).any()]
    combined = int(((resolution >= _NONE) & (resolution < 1.0 - _NONE)).sum())
    lines = [f'  Without influence on the efforts: {", ".join(idle)}'] if idle else []
    if combined:
        lines.append(f'  {combined} inertial parameters are told in combinations with others only.')
    return lines


def _table(rows):
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ['  ' + '  '.join(f'{cell:<{width}}' for cell, width in zip(
        row, widths, strict=True)).rstrip() for row in rows]


def _rounded(value):
    return float(f'{value:.{_DIGITS}g}')
