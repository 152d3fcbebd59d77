# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The drawing of a robot's tree: one line for each unbranched chain."""

import re
from collections import Counter

from opspace_control.model.topology import depth_first

# Of robots with more joints than this, a line shows a run of joints.
_MANY_JOINTS = 30
_SHORTEST_RUN = 3
# Names of joints of jaws and fingers, of joints that end in no tool, and of the links that tasks
# move, the best first.
_JAW = re.compile('finger|jaw|knuckle|thumb|gripper', re.IGNORECASE)
_NO_TOOL = re.compile('wheel|caster|rotor|head|neck|eye|gaze', re.IGNORECASE)
_TOOLS = tuple(re.compile(words, re.IGNORECASE) for words in (
    'tool|tcp|grasp|end_?eff|(^|_)ee(_|$)', 'hand$|palm|gripper|flange|foot|sole'))


def moving_bodies(description):
    """
    Return the moving bodies of a `Description`, parents first, as a list of dicts.

    The first one is the root's; any other hangs by its ``joint``, of ``type``, on the one of number
    ``parent``, and perhaps ``mimics`` a joint. ``links`` are fixed to each other; ``mass`` in kg.
    """
    root, joints = depth_first(description)
    bodies = [{'joint': None, 'type': None, 'mimics': None, 'parent': None, 'links': [root],
               'mass': description.links[root].mass}]
    number = {root: 0}  # of the body that a link belongs to
    for joint in joints:
        parent, link = number[joint.parent], description.links[joint.child]
        if joint.type == 'fixed':
            number[link.name] = parent
            bodies[parent]['links'].append(link.name)
            bodies[parent]['mass'] += link.mass
        else:
            number[link.name] = len(bodies)
            bodies.append({
                'joint': joint.name, 'type': joint.type, 'mimics': joint.mimic and joint.mimic[0],
                'parent': parent, 'links': [link.name], 'mass': link.mass})
    return bodies


def tool_frames(bodies):
    """
    Return the links of `moving_bodies` that a task would move: of hands and feet, not of fingers.

    Jaws and fingers are chains of joints on a body that are all shorter than the chain which leads
    to that body, or joints named so. Wheels and heads are at most half as many joints away from the
    root as what is furthest, or named so. A mimic joint does not count.
    """
    children, height = _children(bodies), [0] * len(bodies)
    depth, lead = [0] * len(bodies), [0] * len(bodies)  # from the root, from the last branching
    for number, body in enumerate(bodies[1:], 1):
        parent, counts = body['parent'], not body['mimics']
        depth[number] = depth[parent] + counts
        lead[number] = counts + lead[parent] * (len(children[parent]) == 1)
    for number in range(len(bodies) - 1, 0, -1):
        parent = bodies[number]['parent']
        height[parent] = max(height[parent], height[number] + (not bodies[number]['mimics']))
    tips, stack = [], [0]
    while stack:
        number = stack.pop()
        names = [bodies[i]['joint'] for i in (number, *children[number]) if i]
        named = not _JAW.search(names[0]) and any(map(_JAW.search, names[1:])) if number else False
        shorter = len(children[number]) > 1 and height[number] < lead[number]
        if named or shorter or not children[number]:
            tips.append(number)
        else:
            stack += reversed(children[number])
    furthest = max(depth[number] for number in tips)
    tools = [number for number in tips if 2 * depth[number] > furthest
             and not _NO_TOOL.search(bodies[number]['joint'] or '')]
    return [_tool_of(bodies[number]['links']) for number in tools or tips]


def draw(bodies):
    """
    Return the lines of a drawing of `moving_bodies`.

    Each is (branches and names, types of the joints, mass in kg, links of the last body).
    """
    children = _children(bodies)
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


def _children(bodies):
    """Return the numbers of the children of each body."""
    children = [[] for _ in bodies]
    for number, body in enumerate(bodies[1:], 1):
        children[body['parent']].append(number)
    return children


def _tool_of(links):
    """Return the link of a body, of those fixed to each other, whose name is that of a tool."""
    return next((link for words in _TOOLS for link in reversed(links) if words.search(link)),
                links[-1])


def _branches(numbers, prefix):
    """Return (number, prefix, whether it is the last) of bodies, the first on top of a stack."""
    return [(number, prefix, number == numbers[-1]) for number in reversed(numbers)]


def _kinds(bodies):
    """Return the types of joints in words, with their number if there are several."""
    kinds = Counter('mimic' if body['mimics'] else body['type'] for body in bodies)
    return ', '.join(kind if len(bodies) == 1 else f'{count} {kind}'
                     for kind, count in kinds.items())
