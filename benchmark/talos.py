# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A whole control cycle of a humanoid with 32 joints, beside what others need."""

import pinocchio
from contest import Contest
from figures import Figure
from mujoco_peer import MujocoEngine
from pinocchio_peer import PinocchioEngine
from timing import interleave

from opspace_control.cli.robots import demo_robot

_FEET = ('leg_left_6_link', 'leg_right_6_link')
_ROUNDS = 200


def measure():
    """Return the figures of two hands, and of two hands and two feet."""
    robot = demo_robot('talos')
    text = robot.path().read_text()
    return [*_compare('Talos, two hands', 'two_hands', (0.7, 0.5, 0.2),
                      Contest.set_up(text, robot.hands, robot.start)),
            *_compare('Talos, hands and feet', 'four_points', (1.4, None, None),
                      Contest.set_up(text, (*robot.hands, *_FEET), robot.start))]


def _compare(words, key, limits, contest):
    contenders = {
        'ours': contest.ours(),
        'mujoco': contest.peer(MujocoEngine),
        'pinocchio': contest.peer(PinocchioEngine),
        **_forward_dynamics(contest)}
    times = interleave(contenders, _ROUNDS)
    # Pinocchio has two versions of it; the faster one counts.
    aba = min((times[name] for name in times if name.startswith('aba')), key=lambda t: t.sum())
    peers = (('aba', "one call of Pinocchio's `aba`", aba),
             ('mujoco', 'the same law, NumPy over MuJoCo', times['mujoco']),
             ('pinocchio', 'the same law, NumPy over Pinocchio', times['pinocchio']))
    return [Figure.ratio(f'talos.{key}.{peer}', f'{words}: whole cycle beside {beside}',
                         times['ours'], theirs, limit)
            for (peer, beside, theirs), limit in zip(peers, limits, strict=True)]


def _forward_dynamics(contest):
    """Return Pinocchio's articulated-body algorithm at the same states, under our torques."""
    model = pinocchio.buildModelFromXML(contest.urdf_text)
    data = model.createData()
    order = contest.order(tuple(model.names)[1:])
    inputs = [(model, data, state.q[order], state.v[order],
               contest.controller.compute_torque(state)[order]) for state in contest.states]
    versions = getattr(pinocchio, 'Convention', None)
    if versions is None:
        return {'aba': (pinocchio.aba, inputs)}
    return {f'aba {version}': (pinocchio.aba, [(*arguments, version) for arguments in inputs])
            for version in (versions.LOCAL, versions.WORLD)}
