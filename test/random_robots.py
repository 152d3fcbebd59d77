# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Robots made at random: valid URDF text of any shape, from a seed or drawn by hypothesis.

Every moving joint carries a link of real inertia, so no robot here is singular by its masses.
"""

import math

import numpy as np
from hypothesis import strategies as st

MOVING_TYPES = ('revolute', 'continuous', 'prismatic', 'planar', 'floating')
SCALAR_TYPES = MOVING_TYPES[:3]


def random_urdf(seed, n_joints, joint_types=MOVING_TYPES, branching=0.3, n_fixed=0, n_mimics=0):
    """
    Return the URDF text of a random tree.

    Parameters
    ----------
    seed : int
        The same arguments give the same robot.
    n_joints : int
        Independent moving joints, ``joint_0`` ...; the links they carry are ``link_1`` ...
    joint_types : sequence of str
        To choose from; the first ``len(joint_types)`` joints have each type once.
    branching : float
        0 gives a serial chain; 1 hangs each joint on any link that exists.
    n_fixed, n_mimics : int
        Further joints, ``fixed_0`` ... and ``mimic_0`` ...; half of the fixed links are massless. A
        mimic follows a random scalar joint or another mimic, wherever in the file that stands.

    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(['moving'] * n_joints + ['fixed'] * n_fixed + ['mimic'] * n_mimics)
    types = [*joint_types, *rng.choice(joint_types, max(0, n_joints - len(joint_types)))]
    types = rng.permutation(types[:n_joints])
    leaders = [f'joint_{i}' for i, kind in enumerate(types) if kind in SCALAR_TYPES]
    count = {'moving': 0, 'fixed': 0, 'mimic': 0}
    links, joints = [_link(rng, 'link_0')], []
    for kind in order:
        number, child = count[kind], f'link_{len(links)}'
        count[kind] += 1
        recent = len(links) - 1
        parent = f'link_{rng.integers(len(links)) if rng.random() < branching else recent}'
        links.append(_link(rng, child, massless=kind == 'fixed' and rng.random() < 0.5))
        if kind == 'moving':
            joints.append(_joint(rng, f'joint_{number}', types[number], parent, child))
        elif kind == 'fixed' or not leaders:
            joints.append(_joint(rng, f'{kind}_{number}', 'fixed', parent, child))
        else:
            name = f'mimic_{number}'
            joints.append(_joint(rng, name, rng.choice(SCALAR_TYPES), parent, child,
                                 leader=rng.choice(leaders)))
            leaders.append(name)
    return '\n'.join(['<robot name="random">', *rng.permutation(links), *rng.permutation(joints),
                      '</robot>'])


@st.composite
def robots(draw, max_joints=60, joint_types=MOVING_TYPES, max_fixed=10, max_mimics=5):
    """Draw URDF text; hypothesis shrinks it to few joints of the first types."""
    return random_urdf(
        seed=draw(st.integers(0, 2**32 - 1)),
        n_joints=draw(st.integers(1, max_joints)),
        joint_types=draw(st.lists(st.sampled_from(joint_types), min_size=1, unique=True)),
        branching=draw(st.sampled_from([0.0, 0.3, 1.0])),
        n_fixed=draw(st.integers(0, max_fixed)),
        n_mimics=draw(st.integers(0, max_mimics)))


def _numbers(values):
    return ' '.join(repr(float(value)) for value in values)


def _origin(rng, reach):
    return (f'<origin xyz="{_numbers(rng.uniform(-reach, reach, 3))}" '
            f'rpy="{_numbers(rng.uniform(-math.pi, math.pi, 3))}"/>')


def _link(rng, name, massless=False):
    """Return a link with the inertia of a solid ellipsoid, or with none."""
    if massless:
        return f'<link name="{name}"/>'
    mass = 10.0 ** rng.uniform(-1.0, 1.0)
    squares = rng.uniform(0.02, 0.2, 3) ** 2
    moments = mass / 5.0 * (squares.sum() - squares)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    inertia = turn @ np.diag(moments) @ turn.T
    entries = ' '.join(f'i{"xyz"[r]}{"xyz"[c]}="{float(inertia[r, c])!r}"'
                       for r in range(3) for c in range(r, 3))
    return (f'<link name="{name}"><inertial>{_origin(rng, 0.2)}<mass value="{mass!r}"/>'
            f'<inertia {entries}/></inertial></link>')


def _joint(rng, name, kind, parent, child, leader=None):
    parts = [f'<parent link="{parent}"/><child link="{child}"/>{_origin(rng, 0.5)}'
             f'<axis xyz="{_numbers(rng.standard_normal(3))}"/>']
    far = 1 if leader is None else 100  # so mimics of mimics, at offsets < 70, can keep theirs
    if kind in SCALAR_TYPES:
        lower, upper = far * rng.uniform(-3, -1), far * rng.uniform(1, 3)
        parts.append(f'<limit lower="{lower}" upper="{upper}" '
                     f'velocity="{rng.uniform(1, 5)}" effort="{rng.uniform(10, 200)}"/>'
                     f'<dynamics damping="{rng.uniform(0, 2)}" friction="{rng.uniform(0, 1)}"/>')
    if leader is not None:
        parts.append(f'<mimic joint="{leader}" multiplier="{rng.uniform(-2, 2)}" '
                     f'offset="{rng.uniform(-1, 1)}"/>')
    return f'<joint name="{name}" type="{kind}">{"".join(parts)}</joint>'
