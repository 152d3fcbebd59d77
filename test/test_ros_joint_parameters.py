# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of single joints: gains of the posture, forces of passive joints."""

import numpy as np
import pytest

from opspace_control import (
    OperationalSpaceController,
    OpspaceError,
    PassiveForces,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.joints import robot_joint_table
from opspace_control.ros.parameters.parameter_file import refusals
from opspace_control.ros.parameters.parameter_table import unknown_parameter
from opspace_control.ros.parameters.robot import make_controller
from opspace_control.share import share_directory

TEXT = (share_directory() / 'urdf' / 'dual_arm.urdf').read_text()
MODEL = RobotModel.from_urdf(TEXT, passive_joints=['l_elbow'])
START = dict.fromkeys(MODEL.dof_names, 0.0) | {'l_elbow': -1.5, 'r_elbow': -1.5}
MOVED = START | {'r_elbow': -1.4, 'l_elbow': -1.3, 'torso_yaw': 0.1}
GIVEN = {
    'tasks': ['right'], 'right.frame': 'r_hand', 'passive_joints': ['l_elbow'],
    'limits.keep': False, 'disturbance.max_force': 0.0, 'disturbance.max_moment': 0.0,
    'posture.kp': 16.0, 'posture.kd': 3.0,
    'posture.joints.torso_yaw.kp': 90.0, 'posture.joints.r_elbow.kd': 7.0,
    'passive_forces.l_elbow.stiffness': 20.0, 'passive_forces.l_elbow.rest': -1.0,
    'passive_forces.l_elbow.friction': 0.0}


def values(**changes):
    """Return all parameters of the controller node; dots in names are double underscores."""
    given = GIVEN | {name.replace('__', '.'): value for name, value in changes.items()}
    return {row.name: row.default for row in table_of(given)} | given


def reference(kp, kd, **forces):
    """Return a controller that is made with the library alone."""
    own = {'damping': MODEL.damping, 'friction': MODEL.friction} | forces
    return OperationalSpaceController(
        MODEL, [PoseTask('r_hand', name='right', max_linear_velocity=0.5,
                         max_angular_velocity=1.5)],
        PostureTask(kp, kd), passive_forces=PassiveForces(MODEL, **own))


def torque(controller, positions, velocity=0.2):
    """Return the torque of a dict of positions, in the order of the model."""
    return controller.compute_torque(RobotState(
        controller.model, [positions[name] for name in MODEL.dof_names],
        np.full(MODEL.nv, velocity)))


@pytest.mark.parametrize(('name', 'cure'), [
    ('posture.joints.l_elbo.kp', "Did you mean 'posture.joints.l_elbow.kp'"),
    ('passive_forces.r_elbow.damping', 'Only passive joints have such parameters.'),
    ('rigth.force.kp', "If 'rigth' is one, name it in tasks")])
def test_unknown_parameter_of_a_block(name, cure):
    """A joint is not one that lists of tasks would name."""
    known = [row.name for row in (*table_of(GIVEN), *robot_joint_table(MODEL, MODEL.passive))]
    reason = str(unknown_parameter(name, known))
    assert cure in reason
    assert ('name it in' in reason) == ('name it in' in cure)


def test_forces_where_no_joint_is_passive():
    known = [row.name for row in table_of({'tasks': ['right']})]
    assert 'Name its joint in passive_joints' in str(
        unknown_parameter('passive_forces.l_elbow.damping', known))


def friction_but(joint):
    return np.where(np.array(MODEL.dof_names) == joint, 0.0, MODEL.friction)


def expected():
    """Return the controller that `GIVEN` describes."""
    return reference({'default': 16.0, 'torso_yaw': 90.0}, {'default': 3.0, 'r_elbow': 7.0},
                     friction=friction_but('l_elbow'), stiffness={'l_elbow': 20.0},
                     rest={'l_elbow': -1.0})


def test_a_controller_has_the_gains_and_the_springs_of_its_joints():
    controller, _ = make_controller(TEXT, values())
    like = expected()
    np.testing.assert_array_equal(controller.posture.kp, like.posture.kp)
    np.testing.assert_array_equal(controller.posture.kd, like.posture.kd)
    np.testing.assert_array_equal(controller.passive_forces.dofs, like.passive_forces.dofs)
    for each in (controller, like):
        torque(each, START, 0.0)
    np.testing.assert_allclose(torque(controller, MOVED), torque(like, MOVED), rtol=1e-12)


def test_a_negative_gain_is_that_of_all_joints():
    controller, _ = make_controller(TEXT, values(
        posture__joints__torso_yaw__kp=-1.0, posture__joints__r_elbow__kd=-1.0))
    assert set(controller.posture.kp) == {16.0}
    assert set(controller.posture.kd) == {3.0}


@pytest.mark.parametrize(('given', 'complaint'), [
    ({'posture.joints.r_elbov.kp': 1.0}, "posture.joints.r_elbov: .*'r_elbow'"),
    ({'passive_forces.l_elbov.stiffness': 1.0}, "passive_forces.l_elbov.*'l_elbow'")])
def test_a_joint_that_is_none_is_named_beside_the_nearest(given, complaint):
    with pytest.raises(OpspaceError, match=complaint):
        make_controller(TEXT, {**values(), **given})


@pytest.mark.parametrize(('given', 'complaint'), [
    ({'posture.joints.r_elbow.kq': 1.0}, "'posture.joints.r_elbow.kp'"),
    ({'posture.joints.r_elbow.kp': -2.0}, 'from -1'),
    ({'posture.joints.r_elbow.kp': 5}, '5.0'),
    ({'posture.kp.r_elbow': 5.0}, "'posture.joints.r_elbow.kp'"),
    ({'passive_forces.l_elbow.stifness': 1.0}, "'passive_forces.l_elbow.stiffness'"),
    ({'passive_forces.l_elbow.stiffness': -1.0}, 'from 0')])
def test_a_file_is_judged_without_the_robot(given, complaint):
    refusal, = refusals(given, table_of(given))
    assert complaint in str(refusal)
    assert list(refusals(GIVEN, table_of(GIVEN))) == []


@pytest.fixture(scope='module')
def bench():
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    from controller_bench import PARAMETERS, Bench
    others = {name: value for name, value in PARAMETERS.items()
              if not name.startswith(('left', 'right'))}
    with Bench.around({**others, **GIVEN}) as bench:
        yield bench


class TestNode:

    @staticmethod
    def becomes(bench, like):
        """Wait until the node commands what a controller like this one would, where it is."""
        from ros_nodes import joint_state
        torque(like, START, 0.0)
        bench.command(joint_state(START))
        bench.hold()
        bench.command(joint_state(START, [0.0] * MODEL.nv))
        wanted = torque(like, MOVED)
        for _ in range(100):
            got = bench.command(joint_state(MOVED, [0.2] * MODEL.nv))
            if np.allclose(got, wanted, rtol=1e-9, atol=1e-9):
                return
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)

    def test_it_commands_by_them(self, bench):
        self.becomes(bench, expected())

    def test_they_change_live(self, bench):
        assert bench.change(posture__joints__r_shoulder_pitch__kp=60.0).successful
        assert bench.change(passive_forces__l_elbow__rest=-1.2,
                            passive_forces__l_elbow__damping=0.3).successful
        damping = np.where(np.array(MODEL.dof_names) == 'l_elbow', 0.3, MODEL.damping)
        self.becomes(bench, reference(
            {'default': 16.0, 'torso_yaw': 90.0, 'r_shoulder_pitch': 60.0},
            {'default': 3.0, 'r_elbow': 7.0}, damping=damping,
            friction=friction_but('l_elbow'), stiffness={'l_elbow': 20.0},
            rest={'l_elbow': -1.2}))
        assert bench.change(posture__joints__r_shoulder_pitch__kp=-1.0,
                            passive_forces__l_elbow__rest=-1.0,
                            passive_forces__l_elbow__damping=-1.0).successful
        self.becomes(bench, expected())

    def test_one_number_for_all_leaves_those_of_single_joints(self, bench):
        assert bench.change(posture__kp=36.0).successful
        self.becomes(bench, reference(
            {'default': 36.0, 'torso_yaw': 90.0}, {'default': 3.0, 'r_elbow': 7.0},
            friction=friction_but('l_elbow'), stiffness={'l_elbow': 20.0},
            rest={'l_elbow': -1.0}))
        assert bench.change(posture__kp=16.0).successful

    def test_every_joint_has_gains_and_every_passive_one_forces(self, bench):
        assert bench.value('posture.joints.r_wrist_roll.kp') == -1.0
        assert not bench.change(posture__joints__r_elbow__kp=-3.0).successful
        result = bench.network.call(*_listing())
        names = set(result.result.names)
        assert {f'posture.joints.{joint}.kd' for joint in MODEL.joint_dofs} <= names
        assert {name.split('.')[1] for name in names if name.startswith('passive_forces.')} == {
            'l_elbow'}

    def test_a_joint_whose_drive_dies_gets_them(self, bench):
        from ros_nodes import joint_state
        assert bench.change(passive_joints=['l_elbow', 'r_elbow']).successful
        bench.command(joint_state(START))
        bench.network.expect(lambda: 'passive_forces.r_elbow.stiffness' in set(
            bench.network.call(*_listing()).result.names))
        assert bench.change(passive_forces__r_elbow__stiffness=5.0).successful
        assert bench.change(passive_joints=['l_elbow']).successful


def _listing():
    from rcl_interfaces.srv import ListParameters
    from ros_nodes import CONTROLLER
    return ListParameters, f'{CONTROLLER}/list_parameters'
