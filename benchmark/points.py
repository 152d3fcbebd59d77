# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How the inverse operational-space inertia grows with the number of points: beside Pinocchio's.

The points are on a few links in turns, or all along a chain. `computeDelassusMatrix` gives the same
matrix, in the axes of the links; what `computeDampedDelassusMatrixInverse` gives to Python, in pin
4.1, is ``1 / μ`` for any robot, so it is no peer.
"""

from itertools import cycle, islice

import numpy as np
import pinocchio
from contest import DisagreementError
from figures import Figure
from growth import chain
from timing import interleave

from opspace_control import RobotModel, RobotState
from opspace_control.cli.robots import demo_robot, real_robot
from opspace_control.dynamics.data import (
    NODE_STATE,
    make_points,
    moment_nodes,
    nan_filled,
    nodes_in_inertia,
)
from opspace_control.dynamics.operational_space_inertia import inverse_inertia
from opspace_control.dynamics.trunks import plan_propagation

COUNTS = (2, 4, 8, 16, 32)
_ROUNDS = 40
_AGREEMENT = 1e-9  # of the largest entry
_ALLEGRO = 'allegro_hand_description/urdf/allegro_left_hand.urdf'


def robots():
    """Return name, URDF text and links for each robot; points are on these in turns."""
    talos = demo_robot('talos')
    feet = ('leg_left_6_link', 'leg_right_6_link')
    tips = tuple(f'link_{number}.0_tip' for number in (3, 7, 11, 15))
    return (('Talos, hands and feet', 'talos', talos.path().read_text(), (*talos.hands, *feet)),
            ('Allegro hand, fingertips', 'allegro', real_robot(_ALLEGRO).read_text(), tips),
            ('Chain of 200 joints, its tip', 'tip', chain(200), ('link_200',)),
            ('Chain of 200 joints, all along it', 'along', chain(200), None))


def measure():
    """Return a figure of each robot, for the number of points with the worst ratio."""
    figures = []
    for words, key, text, links in robots():
        times = interleave({(who, count): part for count in COUNTS
                            for who, part in contenders(text, links, count).items()}, _ROUNDS)
        ratios = {count: np.median(times['ours', count] / times['peer', count])
                  for count in COUNTS}
        worst = max(ratios, key=ratios.get)
        more = {who: np.median(times[who, 32] / times[who, 2]) for who in ('ours', 'peer')}
        figures.append(Figure.ratio(
            f'points.{key}', f"{words}: Λ⁻¹ of 2 to 32 points beside Pinocchio's "
            f'`computeDelassusMatrix`, at worst ({worst} points; 32 take '
            f'{more["ours"]:.1f} times as long as 2, Pinocchio {more["peer"]:.1f})',
            times['ours', worst], times['peer', worst], 1.0))
    return figures


def contenders(text, links, count):
    """
    Return functions and inputs of ours and of the peer, for so many points.

    Raises
    ------
    DisagreementError
        The peer's matrix is not ours.

    """
    links = ([f'link_{200 * (k + 1) // count}' for k in range(count)] if links is None
             else list(islice(cycle(links), count)))
    model = RobotModel.from_urdf(text)
    state = RobotState(model, model.neutral() + 0.3, np.zeros(model.nv))
    points, supports = make_points(model, links)
    plan = plan_propagation(model.nodes, points, supports)
    rows = 6 * count
    L = nan_filled((rows, rows))
    inputs = (moment_nodes(model), state.q, nodes_in_inertia(model.nodes, supports), plan,
              points[:0], np.empty((0, 6)), nan_filled(model.nodes.size, NODE_STATE),
              np.empty((0, 0)), L)
    ours = inverse_inertia.partial(*inputs)
    peer, arguments = delassus(text, model, state, links)
    ours()
    turn = np.zeros((rows, rows))
    for e, point in enumerate(plan[0][:count]):
        turn[6 * e:6 * e + 6, 6 * e:6 * e + 6] = np.kron(np.eye(2), point['R'].T)
    difference = abs(turn @ L @ turn.T - peer(*arguments)).max() / abs(L).max()
    if not difference < _AGREEMENT:
        raise DisagreementError(f'Pinocchio differs by {difference:.1e} of the largest entry.')
    return {'ours': (ours, [()]), 'peer': (peer, [arguments])}


def delassus(text, model, state, links):
    """Return Pinocchio's `computeDelassusMatrix` for 6-axis points at links, and its arguments."""
    robot = pinocchio.buildModelFromXML(text)
    q = np.array([state.q[model.dof_index(name)] for name in tuple(robot.names)[1:]])
    models = pinocchio.StdVec_RigidConstraintModel()
    datas = pinocchio.StdVec_RigidConstraintData()
    for name in links:
        frame = robot.frames[robot.getFrameId(name)]
        models.append(pinocchio.RigidConstraintModel(
            pinocchio.ContactType.CONTACT_6D, robot, frame.parentJoint, frame.placement,
            pinocchio.ReferenceFrame.LOCAL))
        datas.append(models[len(models) - 1].createData())
    data = robot.createData()
    pinocchio.initConstraintDynamics(robot, data, models, datas)
    return pinocchio.computeDelassusMatrix, (robot, data, q, models, datas)
