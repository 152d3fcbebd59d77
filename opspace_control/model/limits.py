# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The limits of a joint as a controller uses them.

Exporters write zeros for unknown limits. A joint of zero range or zero velocity would be fixed, so
such a zero means no limit. A joint without a motor is common, and the smaller torque limit is the
safe one, so a zero effort stays zero. The model's ``warnings`` have both cases.
"""

import math

UNLIMITED = (-math.inf, math.inf, math.inf, math.inf)


def usable_limits(joint):
    """
    Return (lower, upper, velocity, effort) of a joint's degree of freedom, and warnings.

    Units are rad or m, rad/s or m/s, N·m or N; ±inf where there is no limit.
    """
    if joint.limit is None:
        if joint.type in ('revolute', 'prismatic'):
            return UNLIMITED, [f"joint '{joint.name}' has no <limit>: nothing bounds its position, "
                               'velocity or effort']
        return UNLIMITED, []
    if joint.type in ('planar', 'floating'):
        return UNLIMITED, [f"the <limit> of {joint.type} joint '{joint.name}' is not used: "
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
    return (lower, upper, velocity, effort), warnings


def soft_limits(joint, lower, upper):
    """
    Return (lower, upper), in rad or m, within which a joint is to be kept, and warnings.

    They are those of its <safety_controller>, within its limits of position; these where it has
    none, as all of its numbers are zero unless given.
    """
    if joint.soft_limit in (None, (0.0, 0.0)) or joint.type not in ('revolute', 'prismatic'):
        return (lower, upper), []
    soft = max(lower, joint.soft_limit[0]), min(upper, joint.soft_limit[1])
    if soft[0] < soft[1]:
        return soft, []
    return (lower, upper), [
        f"joint '{joint.name}' has a <safety_controller> whose soft limits "
        f'({joint.soft_limit[0]:g}, {joint.soft_limit[1]:g}) leave it no room: they are not used']
