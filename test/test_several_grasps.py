# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""[RKR95] (17): objects in several grasps at once, and effectors that hold nothing."""

import numpy as np
import pytest
from closed_chains import consistent, dense_chain
from samples import random_state
from test_grasp import BOX, three_arms, weld

from opspace_control import (
    Closure,
    Grasp,
    OperationalSpaceController,
    Payload,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.dynamics.passive_forces import PassiveForces
from opspace_control.spatial.rotations import matrix_from_quaternion

BAR = Payload.of_box(1.5, (0.1, 0.6, 0.1), (0.0, 0.1, 0.0))
PAIRS = {'box': ('arm0_5', 'arm1_5'), 'bar': ('arm3_5', 'arm2_5')}
CLOSURES = [Closure('arm1_5', 'arm0_5'), Closure('arm2_5', 'arm3_5', axes='x y z')]
FREE = 'arm4_5'


@pytest.fixture(scope='module')
def scene():
    """Five arms: two on a box, two on a bar with one point contact, and a free one."""
    urdf = three_arms(arms=5)
    model = RobotModel.from_urdf(urdf)
    state = random_state(model, 3)
    state.update(state.q, consistent(model, urdf, state, CLOSURES))
    grasps = [Grasp(PAIRS['box'], name='box', payload=BOX),
              Grasp(PAIRS['bar'], name='bar', payload=BAR, kind='point')]
    controller = OperationalSpaceController(
        model, PoseTask(FREE), PostureTask(kp=20.0, kd=3.0), grasps=grasps,
        passive_forces=PassiveForces(model), effort_limits=np.inf, singularity_threshold=1e-9)
    controller.compute_torque(state)
    for grasp in grasps:
        grasp.engage(state)
    controller.compute_torque(state)
    rng = np.random.default_rng(3)
    for task in controller.tasks.values():
        goal = task.pose
        goal[:3] += rng.uniform(-0.1, 0.1, 3)
        task.set_target(goal, rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 6))
    return urdf, controller, state


def dense_of(urdf, controller, state):
    """Return the dense equations with both objects welded on; its tasks are those, then the arm."""
    model = controller.model
    for name, body in (('box', BOX), ('bar', BAR)):
        there, pose = np.eye(4), controller.tasks[name].pose
        there[:3, :3], there[:3, 3] = matrix_from_quaternion(pose[3:]), pose[:3]
        carrier = PAIRS[name][0]
        link = model.forward_kinematics(state, [carrier])[carrier]
        urdf = weld(urdf, carrier, body, np.linalg.inv(link) @ there)
        urdf = urdf.replace('"object"', f'"{name}"').replace('"weld"', f'"weld {name}"')
    loaded = RobotModel.from_urdf(urdf)
    return dense_chain(loaded, urdf, RobotState(loaded, state.q, state.v), ('box', 'bar', FREE),
                       CLOSURES)


def wanted(controller):
    return np.concatenate([controller.tasks[name]._record['acceleration']
                           for name in ('box', 'bar', FREE)])


def test_both_objects_and_the_free_effector_do_as_their_tasks_ask(scene):
    urdf, controller, state = scene
    dense = dense_of(urdf, controller, state)
    tau = controller.compute_torque(state)
    v_dot, _ = dense.accelerations(tau + dense.torque_p)
    best, residual = dense.gauss(wanted(controller), -controller.posture.kd * state.v)
    assert residual < 1e-7
    asked = wanted(controller)
    np.testing.assert_allclose(dense.J @ v_dot + dense.bias, asked, atol=1e-8 * abs(asked).max())
    np.testing.assert_allclose(v_dot, best, atol=1e-7 * abs(best).max())


def test_each_is_squeezed_by_itself(scene):
    """Internal forces of one object move neither of them, and are not felt in the other."""
    urdf, controller, state = scene
    before = controller.compute_torque(state)
    others = controller.grasps['bar'].wrenches
    controller.grasps['box'].set_internal_forces(-40.0, 1.0)
    squeezed = controller.compute_torque(state)
    assert abs(squeezed - before).max() > 1.0
    dense = dense_of(urdf, controller, state)
    v_dot, _ = dense.accelerations(before + dense.torque_p)
    v_dot_squeezed, _ = dense.accelerations(squeezed + dense.torque_p)
    np.testing.assert_allclose(v_dot_squeezed, v_dot, atol=1e-9 * abs(v_dot).max())
    np.testing.assert_allclose(controller.grasps['bar'].wrenches, others, atol=1e-9)
    assert controller.grasps['box'].internal_forces[0] == pytest.approx(-40.0)


def test_one_is_let_go_while_the_other_is_held(scene):
    _, controller, state = scene
    controller.grasps['bar'].disengage()
    controller.compute_torque(state)
    assert controller.grasps['box'].engaged
    assert [held.closed for held in controller.constraints.values()] == [True, False]
    controller.grasps['bar'].engage(state)
    controller.compute_torque(state)
    assert all(held.closed for held in controller.constraints.values())
