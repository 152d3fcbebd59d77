# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The topology of the tree: one root, all links connected to it, all mimicked joints present."""

import difflib

from opspace_control.errors import ModelError
from opspace_control.model.urdf import SCALAR_TYPES


def depth_first(description):
    """
    Return the root link's name and all joints, depth first, children in document order.

    A ModelError is raised for no link, a joint between links that do not exist, a link with two
    parents, no root, two roots, or a loop.
    """
    links, joints = description.links, description.joints
    if not links:
        raise ModelError('The robot has no link.', element='robot',
                         cure='Give it at least one; a xacro file must be expanded first.')
    children = {name: [] for name in links}
    parent_joint = {}
    for joint in joints.values():
        for link in (joint.parent, joint.child):
            if link not in links:
                raise ModelError(f"The joint '{joint.name}' names link '{link}', which is missing.",
                                 cure=nearest(link, links), element=joint.name)
        if joint.child in parent_joint:
            raise ModelError(
                f"The link '{joint.child}' has two parents, by joints "
                f"'{parent_joint[joint.child].name}' and '{joint.name}'.",
                cure='A URDF is a tree: remove one of these joints.', element=joint.child)
        parent_joint[joint.child] = joint
        children[joint.parent].append(joint)
    root = _only_root(links, parent_joint)
    order, stack = [], list(reversed(children[root]))
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack.extend(reversed(children[joint.child]))
    if len(order) < len(joints):
        reached = {root, *(joint.child for joint in order)}
        raise _loop(next(name for name in links if name not in reached), parent_joint)
    return root, order


def _only_root(links, parent_joint):
    roots = [name for name in links if name not in parent_joint]
    if not roots:
        raise _loop(next(iter(links)), parent_joint)
    if len(roots) > 1:
        raise ModelError(
            f'The robot has {len(roots)} root links: {enumerate_names(roots)}.',
            cure='Connect all but one of them to a parent link, with a fixed joint for example.',
            element=roots[1])
    return roots[0]


def _loop(link, parent_joint):
    """Return the error of the loop on the way from ``link`` to a root."""
    path = []
    while link not in path:
        path.append(link)
        link = parent_joint[link].parent
    members = path[path.index(link):]
    what = (f'The links {enumerate_names(members)} form a loop.'
            if len(members) > 1 else f"The link '{link}' is its own parent.")
    return ModelError(what, cure='A URDF is a tree: remove a joint of the loop.', element=link)


def resolve_mimics(joints):
    """
    Return name -> (mimicked joint, multiplier, offset) of the joints that mimic independent ones.

    A mimic of a mimic joint is resolved to the independent joint. A ModelError is raised if a
    mimicked joint is missing, has not one degree of freedom, or mimics its own mimic.
    """
    resolved = {}
    for first in joints.values():
        joint, chain = first, {}
        while joint.mimic is not None and joint.name not in resolved:
            if joint.name in chain:
                raise ModelError(f"The joint '{joint.name}' mimics itself.", element=joint.name,
                                 cure='Remove one <mimic> of the loop.')
            chain[joint.name] = joint
            mimicked = joints.get(joint.mimic[0])
            if mimicked is None:
                raise ModelError(
                    f"The joint '{joint.name}' mimics '{joint.mimic[0]}', which is missing.",
                    cure=nearest(joint.mimic[0], joints), element=joint.name)
            if mimicked.type not in SCALAR_TYPES:
                raise ModelError(
                    f"The joint '{joint.name}' mimics '{mimicked.name}', a {mimicked.type} joint.",
                    cure='A mimicked joint is revolute, continuous or prismatic.',
                    element=joint.name)
            joint = mimicked
        for follower in reversed(chain.values()):
            mimicked, multiplier, offset = follower.mimic
            root, scale, shift = resolved.get(mimicked, (mimicked, 1.0, 0.0))
            resolved[follower.name] = (root, multiplier * scale, multiplier * shift + offset)
    return resolved


def nearest(name, names):
    """Return a sentence with the valid names nearest to a wrong one."""
    names = list(dict.fromkeys(names))
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    if close:
        return f'Did you mean {enumerate_names(close, "or")}?'
    return f'Valid names: {enumerate_names(names) or "none"}.'


def enumerate_names(names, conjunction='and'):
    """Return quoted names as a phrase, the first eight of many."""
    quoted = [f"'{name}'" for name in names[:8]]
    if len(names) > 8:
        return ', '.join(quoted) + f', ... ({len(names)} in all)'
    if len(quoted) < 2:
        return ''.join(quoted)
    return f'{", ".join(quoted[:-1])} {conjunction} {quoted[-1]}'
