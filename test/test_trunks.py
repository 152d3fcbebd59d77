# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Points that meet on a body share a trunk: how much is summed, and that the sum stays the same."""

import numpy as np
import pytest
from robots import joint, link, robot
from samples import difference, random_state, sample

from opspace_control import (
    CenterOfMassTask,
    JointLimits,
    JointTask,
    OperationalSpaceController,
    PoseTask,
    RelativeTask,
    RobotModel,
    operational_space,
)
from opspace_control.dynamics import trunks
from opspace_control.dynamics.data import make_points
from opspace_control.dynamics.trunks import plan_propagation


def chain(joints, *branches):
    """Return a URDF of links in a row, axes turning, and of further links on some of them."""
    body = {'moments': (0.002, 0.003, 0.004), 'inner': '<origin xyz="0.05 0 0.01"/>'}
    ways = [(f'link_{i}', f'link_{i + 1}') for i in range(joints)]
    ways += [(f'link_{i}', f'branch_{k}') for k, i in enumerate(branches)]
    axes = ('0 0 1', '0 1 0', '1 0 0')
    limit = '<limit lower="-3" upper="3" effort="100" velocity="10"/>'
    return robot(link('link_0', **body), *(link(child, **body) for _, child in ways), *(
        joint(f'to_{child}', parent, child, 'revolute',
              f'<origin xyz="0.1 0.02 0"/><axis xyz="{axes[k % 3]}"/>{limit}')
        for k, (parent, child) in enumerate(ways)))


def summed(model, frames):
    """Return how many products of unit wrenches at two points, or on bodies, are summed."""
    _, crossing, _ = plan_propagation(model.nodes, *make_points(model, frames))
    counts = crossing[:, 0, 0]
    return int((counts * (counts + 1) // 2).sum())


def test_what_is_summed_along_a_trunk_does_not_grow_with_the_points():
    model = RobotModel.from_urdf(chain(50))
    assert summed(model, ['link_50']) == 50
    for m in (2, 8, 32):
        assert summed(model, ['link_50'] * m) == 50
        spread = [f'link_{50 - k}' for k in range(m)]
        assert summed(model, spread) <= 50 + m * m


def test_a_trunk_that_does_not_pay_is_none():
    """Two joints: their yield has rank two, and a product of six by six would take longer."""
    model = RobotModel.from_urdf(chain(2))
    assert summed(model, ['link_2'] * 8) == 2 * 8 * 9 // 2


def test_trunks_are_ordered_from_the_root():
    """One of four joints is carried on by one of three bodies nearer the root, before it."""
    model = RobotModel.from_urdf(chain(40, 20, 20, 30))
    frames = ['link_40', 'branch_1', 'link_15', 'branch_2', 'branch_0', 'link_40']
    carried, crossing, coupling = plan_propagation(model.nodes, *make_points(model, frames))
    bodies = carried['frame']['node'][6:]
    assert (np.diff(bodies) > 0).all()
    assert bodies.size == 4
    assert coupling.shape == (24, 60)
    for trunk, node in zip(carried['trunk'][6:], bodies, strict=True):
        assert trunk < 0 or carried['frame']['node'][trunk] < node
    assert crossing[:bodies[0] + 1, 0].tolist() == [[1, 0]] * (bodies[0] + 1)


@pytest.mark.parametrize('floating_base', [False, True])
@pytest.mark.parametrize('passive', [(), (3, 11, 20, 33)], ids=['driven', 'passive'])
def test_many_points_are_what_the_joint_space_says(floating_base, passive):
    names = [f'to_link_{i}' for i in passive]
    model = RobotModel.from_urdf(chain(40, 20, 20, 30), floating_base=floating_base,
                                 passive_joints=names, locked_joints=['to_link_25'])
    frames = ['link_40', 'branch_1', 'link_15', 'branch_2', 'link_2', 'branch_0', 'link_40',
              'link_0', 'link_33']
    state = random_state(model, 1)
    osd = operational_space(model, state, frames)
    A, free = model.mass_matrix(state), ~model.locked
    mobility, response = np.zeros((54, 54)), np.zeros((model.nv, 54))
    for joints, sign in ((free, 1.0), (model.passive, -1.0)):
        J = osd.jacobian[:, joints]
        X = np.linalg.solve(A[np.ix_(joints, joints)], J.T)
        mobility += sign * J @ X
        response[joints] += sign * X
    assert difference(osd.inverse_inertia, mobility) < 1e-9
    assert difference(osd.dynamically_consistent_inverse @ osd.inverse_inertia,
                      response @ osd.inertia @ osd.inverse_inertia) < 1e-7


def everything():
    """Return tasks of every kind whose points do and do not meet."""
    return [PoseTask('l_hand'), PoseTask('r_hand', priority=1), PoseTask('l_palm', priority=2),
            RelativeTask('r_palm', 'l_hand', priority=2), CenterOfMassTask(priority=3),
            PoseTask('r_hand', name='again', priority=4),
            JointTask(['l_elbow', 'torso_yaw'], name='joints', priority=4)]


@pytest.mark.parametrize('passive', [(), ('l_shoulder_roll', 'r_elbow'), ('base',),
                                     ('base', 'l_shoulder_roll', 'r_elbow')],
                         ids=['driven', 'passive', 'floats', 'floats passively'])
def test_mobility_of_tasks_of_all_kinds(passive):
    model = RobotModel.from_urdf(sample('dual_arm').urdf, floating_base=True,
                                 passive_joints=passive)
    state = random_state(model, 2)
    controller = OperationalSpaceController(model, everything())
    controller.compute_torque(state)
    rows, points = [], controller._arguments.robot.points
    for task, point in zip(controller.tasks.values(), points, strict=True):
        if isinstance(task, JointTask):
            J = np.zeros((6, model.nv))
            for k, name in enumerate(('torso_yaw', 'l_elbow')):
                J[k, model.dof_index(name)] = 1.0
        else:
            J = np.vstack([axes.T @ part for axes, part in zip(
                point['axes'], np.split(task.jacobian(model, state), 2), strict=True)])
        rows.append(J)
    J, A = np.vstack(rows), model.mass_matrix(state)
    expected = J @ np.linalg.solve(A, J.T)
    if passive:
        J_p, A_pp = J[:, model.passive], A[np.ix_(model.passive, model.passive)]
        expected -= J_p @ np.linalg.solve(A_pp, J_p.T)
    assert difference(controller.inverse_inertia, expected) < 1e-10


def test_limits_of_joints_see_points_beyond_a_trunk(monkeypatch):
    """What joints of a trunk feel of the tasks, found for each task by itself and for all."""
    model = RobotModel.from_urdf(sample('dual_arm').urdf, floating_base=True)
    state, torques, projections = random_state(model, 3, speed=0.1), [], []
    for pays in (trunks.trunk_pays, lambda joints, points: False):
        monkeypatch.setattr(trunks, 'trunk_pays', pays)
        controller = OperationalSpaceController(
            model, [PoseTask(frame, kp=1e2, priority=k)
                    for k, frame in enumerate(('l_hand', 'r_hand', 'l_palm'))],
            limits=JointLimits(model))
        assert (controller._arguments.robot.carried.size > 3) == pays(8, 3)
        for task in controller.tasks.values():
            task.set_target(np.eye(4))
        torques.append(controller.compute_torque(state))
        assert controller._cycle['bound_count'][0] > 0
        projections.append(controller._arguments.storage.scratch.projection[:, :18].copy())
    assert difference(*projections) < 1e-12
    assert difference(*torques) < 1e-6
