# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How times grow with the number of joints: linearly, whichever of them are passive."""

import itertools

import numpy as np
from contest import Contest
from figures import Figure, Spread
from pinocchio_peer import PinocchioEngine
from timing import interleave

from opspace_control import RobotModel, RobotState
from opspace_control.dynamics.data import NODE_STATE, moment_nodes, nan_filled, points_on
from opspace_control.dynamics.hybrid_dynamics import responding_nodes, solve_hybrid

_JOINTS = (25, 50, 100, 200, 400)
_ROUNDS = 40
_DOUBLED = 2.3
_KEY = 'growth.joints_'
# Which joints of a chain are passive, by their numbers from the root.
_MASKS = {
    'none': lambda number: False,
    'the first': lambda number: number == 0,
    'every second': lambda number: number % 2 == 1,
    'one in ten': lambda number: number % 10 == 5,
    'all': lambda number: True,
}


def measure():
    """Return a figure of each length, of the worst doubling, and of that of hybrid dynamics."""
    contenders = {}
    for joints in _JOINTS:
        contest = Contest.set_up(chain(joints), [f'link_{joints}'], _coil(joints), states=10,
                                 deviation=0.02)
        contenders['ours', joints] = contest.ours()
        contenders['dense', joints] = contest.peer(PinocchioEngine)
    times = interleave(contenders, _ROUNDS)
    doubled = {who: [Spread.of(times[who, more] / times[who, fewer])
                     for fewer, more in itertools.pairwise(_JOINTS)]
               for who in ('ours', 'dense')}
    worst = max(doubled['ours'], key=lambda spread: spread.median)
    dense = max(spread.median for spread in doubled['dense'])
    return [*(Figure.ratio(f'{_KEY}{joints}', f'Chain of {joints} joints: whole cycle beside '
                           'the same law, NumPy over Pinocchio', times['ours', joints],
                           times['dense', joints]) for joints in _JOINTS),
            Figure('growth.doubling', 'Chains: what doubling the joints multiplies the time by, at '
                   f'most (NumPy over Pinocchio: {dense:.1f})', worst, _DOUBLED), _hybrid()]


def _hybrid():
    """Return the figure of hybrid dynamics: the worst doubling of any mask of passive joints."""
    contenders = {(mask, joints): (solve_hybrid, [_hybrid_arguments(joints, passive)])
                  for mask, passive in _MASKS.items() for joints in _JOINTS}
    times = interleave(contenders, _ROUNDS)
    doubled = {(mask, more): Spread.of(times[mask, more] / times[mask, fewer])
               for mask in _MASKS for fewer, more in itertools.pairwise(_JOINTS)}
    (mask, joints), worst = max(doubled.items(), key=lambda item: item[1].median)
    dearest = np.median(times['all', _JOINTS[-1]] / times['none', _JOINTS[-1]])
    return Figure('growth.hybrid', 'Hybrid dynamics of chains, no to all joints passive: what '
                  f'doubling the joints multiplies the time by, at most (passive: {mask}; {joints} '
                  f'joints; all passive take {dearest:.1f} times as long as none)', worst, _DOUBLED)


def _hybrid_arguments(joints, passive):
    """Return what `solve_hybrid` takes of a chain in a posture nowhere straight."""
    names = [f'joint_{number + 1}' for number in range(joints) if passive(number)]
    model = RobotModel.from_urdf(chain(joints), passive_joints=names)
    state = RobotState(model, np.full(model.nq, 0.5), np.full(model.nv, 0.1))
    nodes = moment_nodes(model)
    return (nodes, responding_nodes(nodes), state.q, state.v, points_on(model, ()),
            np.empty((0, 6)), np.array([0.0, 0.0, -9.81]), nan_filled(nodes.size, NODE_STATE),
            np.zeros(model.nv), np.zeros(model.nv))


def plot(figures, file):
    """
    Draw both curves.

    Parameters
    ----------
    figures : list of Figure
        Those of `measure` among them.
    file : path
        PNG to write.

    """
    import matplotlib as mpl
    mpl.use('Agg')
    from matplotlib import pyplot
    lengths = {int(figure.key.removeprefix(_KEY)): figure
               for figure in figures if figure.key.startswith(_KEY)}
    joints = np.array(list(lengths))
    picture, axes = pyplot.subplots(figsize=(5.0, 3.4), layout='constrained')
    for who, label, style in (('peer', 'NumPy over Pinocchio, dense A⁻¹', 's--'),
                              ('ours', 'opspace_control', 'o-')):
        axes.loglog(joints, [getattr(figure, who).median for figure in lengths.values()], style,
                    label=label)
    first = lengths[joints[0]].ours.median
    axes.loglog(joints, first * joints / joints[0], ':', color='gray',
                label='proportional to the joints')
    axes.set_xticks(joints, [str(count) for count in joints])
    axes.minorticks_off()
    axes.set_xlabel('joints of a serial chain, pose task at its tip')
    axes.set_ylabel('whole control cycle [µs]')
    axes.grid(True, alpha=0.3)
    axes.legend(frameon=False)
    picture.savefig(file, dpi=150)
    pyplot.close(picture)


def chain(joints):
    """Return a URDF of links in a row, their axes turning from joint to joint."""
    axes = ('0 0 1', '0 1 0', '1 0 0')
    inertial = ('<inertial><origin xyz="0.05 0 0"/><mass value="1"/><inertia ixx="0.002" '
                'iyy="0.003" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial>')
    links = ''.join(f'<link name="link_{i}">{inertial}</link>' for i in range(joints + 1))
    connections = ''.join(
        f'<joint name="joint_{i}" type="revolute"><parent link="link_{i - 1}"/>'
        f'<child link="link_{i}"/><origin xyz="0.1 0 0"/><axis xyz="{axes[i % 3]}"/>'
        '<limit lower="-3" upper="3" effort="1e6" velocity="10"/></joint>'
        for i in range(1, joints + 1))
    return f'<robot name="chain">{links}{connections}</robot>'


def _coil(joints):
    """Return a posture that is nowhere straight."""
    return {f'joint_{i}': 0.5 for i in range(1, joints + 1)}
