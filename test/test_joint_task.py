# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Joint tasks: met exactly, at their level, also for joints without a drive."""

import numpy as np
import pytest
from robots import TALOS
from test_cycle import TALOS_HANDS, random_state, robot

from opspace_control import JointTask, OperationalSpaceController, PoseTask, PostureTask, TaskError
from opspace_control.control.split import split_efforts

GROUP = ['l_elbow', 'torso_yaw', 'r_shoulder_pitch', 'l_wrist_roll', 'r_elbow', 'l_shoulder_yaw',
         'r_wrist_roll']


def controller(name, tasks, **arguments):
    model, dense = robot(name, (), arguments.pop('floating', False))
    return OperationalSpaceController(
        model, tasks, PostureTask(kp=20.0, kd=4.0), effort_limits=np.inf,
        singularity_threshold=1e-9, **arguments), dense


def motion(controller, dense, state, tau):
    """Return what the dense robot does; passive joints give way."""
    dense.at(state.q, state.v)
    free = ~controller.locked
    friction = controller.passive_forces.torque(state) if controller.passive.any() else 0.0
    a = np.zeros(controller.model.nv)
    a[free] = np.linalg.solve(dense.A[np.ix_(free, free)], (tau + friction - dense.bias)[free])
    return a


@pytest.mark.parametrize('seed', range(3))
def test_joints_are_met_exactly_beside_a_hand(seed):
    group = JointTask(GROUP, kp=50.0, kd=7.0)
    hand = PoseTask('l_hand', axes='x y z')
    both, dense = controller('dual_arm.urdf', [hand, group])
    model = both.model
    rng = np.random.default_rng(seed)
    state, goal = random_state(model, rng), rng.normal(size=len(GROUP))
    group.set_target(goal, velocity=0.1 * goal, acceleration=goal)
    a = motion(both, dense, state, both.compute_torque(state))
    dofs = [model.dof_index(name) for name in GROUP]
    x, v = state.q[model.q_index[dofs]], state.v[dofs]
    expected = goal + 50.0 * (goal - x) + 7.0 * (0.1 * goal - v)
    np.testing.assert_allclose(a[dofs], expected, atol=1e-8 * abs(expected).max())
    np.testing.assert_allclose(group.error, goal - x, atol=1e-12)
    _, J, h = dense.frame('l_hand')
    wanted = np.zeros(6)
    wanted[:3] = (-20.0 * (J @ state.v))[:3]
    np.testing.assert_allclose((J @ a + h)[:3], wanted[:3], atol=1e-7 * abs(expected).max())


def test_a_lower_group_does_not_disturb_a_hand():
    group = JointTask(['l_elbow', 'l_shoulder_yaw', 'l_shoulder_pitch', 'l_wrist_roll',
                       'l_wrist_pitch', 'l_shoulder_roll', 'torso_yaw'], priority=1)
    beside, dense = controller('dual_arm.urdf', [PoseTask('l_hand'), group])
    state = random_state(beside.model, np.random.default_rng(4))
    group.set_target({'l_elbow': 0.3})
    group.set_target({'torso_yaw': -0.4})
    assert group.target[[0, 6]].tolist() == [0.3, -0.4]
    a = motion(beside, dense, state, beside.compute_torque(state))
    _, J, h = dense.frame('l_hand')
    np.testing.assert_allclose(J @ a + h, -20.0 * J @ state.v, atol=1e-6 * abs(a).max())


def test_passive_joints_are_disturbed_as_little_as_can_be():
    """Rows of the identity are J_D of [JR94] (6.9): one arm moves, the other keeps still."""
    hand = PoseTask('l_hand', axes='x y z')
    calm = JointTask(['r_elbow', 'r_wrist_roll'], kp=0.0, kd=5.0, priority=1)
    careful, dense = controller('dual_arm.urdf', [hand, calm])
    careless, _ = controller('dual_arm.urdf', [PoseTask('l_hand', axes='x y z')])
    passive = [careful.model.dof_index(name) for name in calm.joints]
    state = random_state(careful.model, np.random.default_rng(5))
    for one in (careful, careless):
        one.set_status(calm.joints)
    tau = careful.compute_torque(state)
    assert (tau[passive] == 0.0).all()
    a = motion(careful, dense, state, tau)
    np.testing.assert_allclose(a[passive], -5.0 * state.v[passive], atol=1e-6 * abs(a).max())
    other = motion(careless, dense, state, careless.compute_torque(state))
    assert abs(other[passive] + 5.0 * state.v[passive]).max() > 1e-3 * abs(other).max()
    _, J, h = dense.frame('l_hand')
    np.testing.assert_allclose((J @ a + h)[:3], (-20.0 * J @ state.v)[:3],
                               atol=1e-6 * abs(a).max())


def test_split_adds_up():
    group = JointTask(GROUP, priority=1)
    both, _ = controller(TALOS, [PoseTask(TALOS_HANDS[0], priority=0)])
    state = random_state(both.model, np.random.default_rng(6))
    parts = split_efforts(both, state, both.compute_torque(state))
    assert abs(parts['limits']).max() < 1e-7 * abs(parts['task']).max()
    both, _ = controller('dual_arm.urdf', [PoseTask('l_hand'), group])
    both.set_status(['r_wrist_roll'])
    state = random_state(both.model, np.random.default_rng(7))
    group.set_target(np.zeros(len(GROUP)))
    parts = split_efforts(both, state, both.compute_torque(state))
    assert abs(parts['limits']).max() < 1e-7 * abs(parts['task']).max()


def test_comes_and_goes():
    group = JointTask(['l_elbow'])
    one, _ = controller('dual_arm.urdf', [group])
    state = random_state(one.model, np.random.default_rng(8))
    group.set_target([1.0])
    group.enabled = False
    off = one.compute_torque(state)
    steps = []
    for activation in np.linspace(0.0, 1.0, 101):
        group.activation = activation
        steps.append(one.compute_torque(state))
    np.testing.assert_allclose(steps[0], off, atol=1e-9)
    jumps = abs(np.diff(steps, axis=0)).max()
    assert jumps < 0.04 * abs(steps[-1] - steps[0]).max()


@pytest.mark.parametrize('make, message', [
    (lambda: JointTask([]), 'one or more joints'),
    (lambda: JointTask(['a', 'a']), 'each once'),
    (lambda: JointTask(['a'], kp=-1.0), 'kp'),
    (lambda: JointTask(['a'], priority=1.5), 'priority'),
    (lambda: JointTask(['a'], kd=0.0, max_velocity=1.0), 'needs damping'),
    (lambda: JointTask(['a']).set_target([1.0, 2.0]), '1 finite'),
    (lambda: JointTask(['a']).set_target({'b': 1.0}), "no joint 'b'"),
    (lambda: JointTask(['a']).set_target([np.nan]), '1 finite'),
])
def test_what_cannot_be_used_is_refused(make, message):
    with pytest.raises(TaskError, match=message):
        make()


def test_orientations_are_not_for_joint_tasks():
    model = robot(TALOS, (), True)[0]
    with pytest.raises(TaskError, match='part of an orientation'):
        OperationalSpaceController(model, [JointTask(['base/rx'])])
