# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The drawing of a robot's tree: deeper only where the robot branches, a long run in one line."""

from collections import Counter

from opspace_control.model.topology import depth_first

# Robots with more joints than this are drawn a run of joints at a time.
_MANY_JOINTS = 30
_SHORTEST_RUN = 3


def moving_bodies(description):
    """
    Return the moving bodies of a `Description`, parents first, as a list of dicts.

    The first one is the root's; any other hangs by its ``joint``, of ``type``, on the one of number
    ``parent``, and perhaps ``mimics`` a joint. ``links`` are fixed to each other; ``mass`` in kg.
    """
    root, joints = depth_first(description)
    bodies = [_body(None, None, None, None, description.links[root])]
    number = {root: 0}  # of the body that a link belongs to
    for joint in joints:
        parent, link = number[joint.parent], description.links[joint.child]
        if joint.type == 'fixed':
            number[link.name] = parent
            bodies[parent]['links'].append(link.name)
            bodies[parent]['mass'] += link.mass
        else:
            number[link.name] = len(bodies)
            mimics = joint.mimic and joint.mimic[0]
            bodies.append(_body(joint.name, joint.type, mimics, parent, link))
    return bodies


def draw(bodies):
    """
    Return the lines of a drawing of `moving_bodies`.

    Each is (branches and names, types of the joints, mass in kg, links of the last body).
    """
    children = [[] for _ in bodies]
    for number, body in enumerate(bodies[1:], 1):
        children[body['parent']].append(number)
    compact = len(bodies) - 1 > _MANY_JOINTS
    lines = [(bodies[0]['links'][0], 'root', bodies[0]['mass'], bodies[0]['links'][1:])]
    stack = _branches(children[0], '')
    while stack:
        number, prefix, last = stack.pop()
        run = [number]
        while len(children[run[-1]]) == 1:
            run += children[run[-1]]
        inside = prefix + ('   ' if last else '│  ')
        start = prefix + ('└─ ' if last else '├─ ')
        if compact and len(run) >= _SHORTEST_RUN:
            parts = [bodies[i] for i in run]
            lines.append((f'{start}{parts[0]["joint"]} … {parts[-1]["joint"]}', _kinds(parts),
                          sum(part['mass'] for part in parts), parts[-1]['links']))
        else:
            for i in run:
                lines.append((start + bodies[i]['joint'], _kinds([bodies[i]]), bodies[i]['mass'],
                              bodies[i]['links']))
                start = inside
        stack += _branches(children[run[-1]], inside)
    return lines


def _body(joint, kind, mimics, parent, link):
    return {'joint': joint, 'type': kind, 'mimics': mimics, 'parent': parent,
            'links': [link.name], 'mass': link.mass}


def _branches(numbers, prefix):
    """Return what is to be drawn of these bodies, the first on top of the stack."""
    return [(number, prefix, number == numbers[-1]) for number in reversed(numbers)]


def _kinds(bodies):
    """Return the types of joints in words, with their number if there are several."""
    kinds = Counter('mimic' if body['mimics'] else body['type'] for body in bodies)
    return ', '.join(kind if len(bodies) == 1 else f'{count} {kind}'
                     for kind, count in kinds.items())
