# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of joints as a controller may use them, those of the joints that mimic them included."""

import math
from typing import NamedTuple

from opspace_control.errors import ModelError

# Ranges that have this or less in common touch in one point, rad or m: rounding of files.
_POINT = 1e-6


class Limits(NamedTuple):
    """Limits of each degree of freedom of a joint, ±inf where there is none."""

    lower: float = -math.inf       # rad or m
    upper: float = math.inf
    velocity: float = math.inf     # rad/s or m/s
    effort: float = math.inf       # N·m or N
    soft_lower: float = -math.inf  # rad or m, within lower and upper
    soft_upper: float = math.inf


def limits_of(joints, mimics):
    """
    Return the `Limits` by name of the moving joints that mimic no other, and warnings.

    A joint whose coordinate is ``m q + o`` of the mimicked one stays within its limits where q is
    within ``(limit − o) / m`` and ``|q̇|`` at most its velocity limit by ``|m|``: the mimicked joint
    has what both allow. A mimic joint has no drive, so its effort limit bounds nothing. A
    ModelError says which joints leave each other no position.

    ``joints`` are those of a Description, ``mimics`` those of `resolve_mimics`.
    """
    limits, warnings = {}, []
    for name, joint in joints.items():
        if joint.type != 'fixed' and name not in mimics:
            limits[name], doubts = _own_limits(joint)
            warnings += doubts
    owners = {name: [name, name] for name in limits}  # of the lower and the upper limit
    for name, (mimicked, multiplier, offset) in mimics.items():
        limits[mimicked], doubts = _with_mimic(
            limits[mimicked], owners[mimicked], mimicked, joints[name], multiplier, offset)
        warnings += doubts
    return limits, warnings


def _own_limits(joint):
    """
    Return the Limits of a joint itself, and warnings.

    Exporters write zeros for unknown limits. A joint of zero range or zero velocity would be fixed,
    so such a zero means no limit. A joint without a motor is common, and the smaller torque limit
    is the safe one, so a zero effort stays zero. Both cases give a warning.
    """
    if joint.limit is None:
        if joint.type in ('revolute', 'prismatic'):
            return _softened(joint, Limits(), [
                f"joint '{joint.name}' has no <limit>: nothing bounds its position, velocity or "
                'effort'])
        return Limits(), []
    if joint.type in ('planar', 'floating'):
        return Limits(), [f"the <limit> of {joint.type} joint '{joint.name}' is not used: "
                          'its degrees of freedom differ in unit']
    lower, upper, velocity, effort = joint.limit
    warnings = []
    if joint.type == 'continuous':
        lower, upper = -math.inf, math.inf
    elif lower == upper:
        warnings.append(f"joint '{joint.name}' has equal lower and upper limits ({lower:g}), "
                        'taken for no position limits; if it may not move, make it fixed')
        lower, upper = -math.inf, math.inf
    if velocity == 0.0:
        warnings.append(f"joint '{joint.name}' has a velocity limit of 0, taken for none")
        velocity = math.inf
    if effort == 0.0:
        warnings.append(f"joint '{joint.name}' has an effort limit of 0: it will get no torque; "
                        'correct its <limit>, or name it in passive_joints')
    return _softened(joint, Limits(lower, upper, velocity, effort), warnings)


def _softened(joint, limits, warnings):
    """
    Return Limits with the soft ones of a joint, within which it is to be kept, and warnings.

    They are those of its <safety_controller>, within its limits of position; these where it has
    none, as all of its numbers are zero unless given.
    """
    lower, upper = limits.lower, limits.upper
    kept = limits._replace(soft_lower=lower, soft_upper=upper)
    if joint.soft_limit in (None, (0.0, 0.0)) or joint.type not in ('revolute', 'prismatic'):
        return kept, warnings
    soft = max(lower, joint.soft_limit[0]), min(upper, joint.soft_limit[1])
    if soft[0] < soft[1]:
        return limits._replace(soft_lower=soft[0], soft_upper=soft[1]), warnings
    return kept, [
        *warnings,
        f"joint '{joint.name}' has a <safety_controller> whose soft limits "
        f'({joint.soft_limit[0]:g}, {joint.soft_limit[1]:g}) leave it no room: they are not used']


def _with_mimic(limits, owners, mimicked, joint, multiplier, offset):
    """
    Return Limits with those of a joint that mimics the ``mimicked`` one, and warnings.

    ``owners`` are the joints that the position limits are from, and become those of the narrower
    ones. Zeros of a mimic joint are no limits either. Ranges with one position in common are not
    intersected: they are those of files that have the range of one joint for both, with opposite
    signs.
    """
    own, _ = _own_limits(joint)
    if multiplier == 0.0:
        return limits, []
    (lower, upper), soft = (
        sorted(((low - offset) / multiplier + 0.0, (high - offset) / multiplier + 0.0))  # no -0
        for low, high in ((own.lower, own.upper), (own.soft_lower, own.soft_upper)))
    limits = limits._replace(velocity=min(limits.velocity, own.velocity / abs(multiplier)))
    bounds = max(lower, limits.lower), min(upper, limits.upper)
    if bounds[1] - bounds[0] <= _POINT:
        what = (f"'{joint.name}' mimics '{mimicked}', and its limits allow this joint {lower:g} to "
                f"{upper:g}, while {_quoted(owners)} {limits.lower:g} to {limits.upper:g}")
        if bounds[0] - bounds[1] > _POINT:
            raise ModelError(
                f'The joint {what}: no position is within both.', element=joint.name,
                cure=f"Correct the <limit> of one of them, or multiplier and offset of the <mimic> "
                f"of '{joint.name}'.")
        return limits, [f'joint {what}: that is one position, and the range of the former is not '
                        'used; correct its <limit>, or the sign of its <mimic>']
    if lower > limits.lower:
        owners[0] = joint.name
    if upper < limits.upper:
        owners[1] = joint.name
    limits = limits._replace(lower=bounds[0], upper=bounds[1])
    soft = (max(soft[0], limits.soft_lower, bounds[0]), min(soft[1], limits.soft_upper, bounds[1]))
    if soft[0] < soft[1]:
        return limits._replace(soft_lower=soft[0], soft_upper=soft[1]), []
    return limits._replace(soft_lower=bounds[0], soft_upper=bounds[1]), [
        f"joint '{joint.name}' mimics '{mimicked}', and their soft limits leave no room: they are "
        'not used']


def _quoted(owners):
    """Return the names of the joints that a range is from, and a verb, as text."""
    names = [f"'{name}'" for name in dict.fromkeys(owners)]
    return f'{" and ".join(names)} {"allow" if len(names) > 1 else "allows"} it'
