# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Unknown forces are compensated, and friction is overcome, by parameters of the node."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import mujoco
import ros_nodes
from controller_bench import MODEL, PARAMETERS, ROBOT, START, Bench, close, robot_state
from own_ramps import Ramps
from ros_lockstep import LockStepRobot

from opspace_control import (
    DisturbanceObserver,
    DriveFriction,
    JointLimits,
    OperationalSpaceController,
    OpspaceError,
    PoseTask,
    PostureTask,
)
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.robot import make_controller
from opspace_control.safety.supervisor import GOOD_STATES

TASKS = {'tasks': ['left', 'right'], 'left.frame': 'l_hand', 'right.frame': 'r_hand'}
LOAD = 1.0  # N
JOINT = 'l_elbow'


def test_a_load_sags_until_bounds_let_it_be_compensated():
    """As they do by default; and again after them; half a load with half of it."""
    with ros_nodes.network() as network:
        robot = LockStepRobot(network, 'dual_arm', TASKS, START)
        robot.run(0.3)
        goal = robot.physics.frame_pose('l_hand').copy()
        physics = robot.physics
        hand = mujoco.mj_name2id(physics.model, mujoco.mjtObj.mjOBJ_BODY, 'l_hand')
        physics.data.xfrc_applied[hand, 2] = -LOAD
        robot.run(2.0)
        assert robot.off('l_hand', goal) < 1e-4
        sags = []
        for force in (0.0, 0.5 * LOAD, 2.0 * LOAD, 0.0):
            assert robot.change(disturbance__max_force=force,
                                disturbance__max_moment=force).successful
            robot.run(2.0)
            sags.append(robot.off('l_hand', goal))
        robot.check()
        assert sags[0] > 5e-3
        assert sags[1] == pytest.approx(0.5 * sags[0], rel=0.1)
        assert sags[2] < 1e-4
        assert sags[3] == pytest.approx(sags[0], rel=0.02)


def library(limits, **numbers):
    """Return the node's controller."""
    controller = OperationalSpaceController(
        MODEL, [PoseTask('l_hand', name='left'), PoseTask('r_hand', name='right')], PostureTask(),
        limits=limits)
    controller.disturbance = DisturbanceObserver(**numbers)
    return controller


def test_commands_are_those_of_the_library():
    """Also after changes, and after a gap of the states."""
    numbers = {'rate': 40.0, 'max_force': 30.0, 'max_moment': 8.0}
    with Bench.around(PARAMETERS | {
            f'disturbance.{name}': value for name, value in numbers.items()}) as node:
        controller, rng = library(None, **numbers), np.random.default_rng(0)
        bare = library(None, rate=1.0, max_force=0.0, max_moment=0.0)
        positions = START

        node.after(1)  # the first command is the robot's weight
        controller.compute_torque(robot_state(START), dt=0.0)
        bare.compute_torque(robot_state(START))

        def same(steps):
            nonlocal positions
            largest = 0.0
            for _ in range(steps):
                v = 0.05 * rng.normal(size=MODEL.nv)
                state = robot_state(positions, v)
                expected = controller.compute_torque(state, dt=1e-3).copy()
                assert close(node.after(1, positions, v), expected)
                difference = expected - bare.compute_torque(state)
                largest = max(largest, abs(difference).max())
                positions = {name: q + 1e-3 * speed for (name, q), speed in zip(
                    positions.items(), v, strict=True)}
            return largest
        assert same(20) > 1.0
        assert node.change(disturbance__rate=10.0, disturbance__max_force=5.0).successful
        controller.disturbance.set(rate=10.0, max_force=5.0)
        same(10)
        controller.disturbance.interrupt()  # states have a gap
        assert close(node.after(500, positions),
                     controller.compute_torque(robot_state(positions), dt=0.1))
        same(10)


@pytest.mark.parametrize('acknowledged', [False, True])
def test_what_compensates_begins_at_zero_after_a_trip(acknowledged):
    """
    It ramps up with the activations at first, stands still in the trip, and ramps up again.

    Of a state that is not finite, and of a velocity limit, which ends with ~/hold.
    """
    numbers, ramp_time = {'rate': 40.0, 'max_force': 30.0, 'max_moment': 8.0}, 0.05
    with Bench.around(PARAMETERS | {
            f'disturbance.{name}': value for name, value in numbers.items()} | {
            'safety.ramp_time': ramp_time, 'safety.release_time': 10.0, 'publish_rate': 0.0,
            'limits.velocity_scale': 1.0}) as node:
        controller, rng = library(None, **numbers), np.random.default_rng(1)
        observer, ramps = controller.disturbance, Ramps(
            controller.gradual, ramp_time, ('activation', 'posture.kp'))
        positions = START
        ramps.start_from_zero()

        def same(steps):
            """Compare commands with those of the library; return the compensating forces."""
            nonlocal positions
            found = []
            for _ in range(steps):
                v = 0.02 * rng.normal(size=MODEL.nv)
                command = node.after(1, positions, v)
                ramps.advance(1e-3)
                expected = controller.compute_torque(robot_state(positions, v), dt=1e-3)
                assert close(command, expected)
                found.append(np.linalg.norm(observer.rejected['left']))
                positions = {name: q + 1e-3 * speed for (name, q), speed in zip(
                    positions.items(), v, strict=True)}
            return found
        node.after(1)  # the first command is the robot's weight
        controller.compute_torque(robot_state(START), dt=0.0)
        before = same(60)
        assert before[0] < 0.01 and before[-1] > 1.0
        if acknowledged:
            node.after(1, positions, np.full(MODEL.nv, 1e3))
        else:
            node.after(1, dict.fromkeys(positions, float('nan')))
        for _ in range(GOOD_STATES - 1):
            node.after(1, positions)
        if acknowledged:
            node.after(1, positions)
            node.hold()
            controller.hold()
        observer.restart()
        ramps.start_from_zero()
        after = same(60)
        assert after[0] == 0.0 and after[-1] > 1.0
        node.log('is over: control resumes with its goals')


def test_friction_that_is_overcome_is_that_of_the_library():
    """The fraction of what the parameters of joints say, or else of the URDF's."""
    given = {f'drive_friction.{JOINT}.coulomb': 3.0, f'drive_friction.{JOINT}.breakaway': 4.0,
             f'drive_friction.{JOINT}.viscous': 0.2, 'drive_friction.horizon': 0.3,
             'drive_friction.slip_velocity': 0.05, f'drive_friction.{JOINT}.stribeck_velocity': 0.1}
    with Bench.around(PARAMETERS | given | {'drive_friction.fraction': 0.8}) as node:
        limits = JointLimits(MODEL, keep=False)
        controller = library(limits, rate=20.0, max_force=0.0, max_moment=0.0)
        friction = controller.drive_friction = DriveFriction(
            MODEL, coulomb=0.8 * MODEL.friction, viscous=0.8 * MODEL.damping, horizon=0.3,
            slip_velocity=0.05)
        friction.set(coulomb={JOINT: 2.4}, viscous={JOINT: 0.16}, breakaway={JOINT: 3.2},
                     stribeck_velocity={JOINT: 0.1})
        node.after(1)
        controller.compute_torque(robot_state(START), dt=0.0)
        v = np.zeros(MODEL.nv)
        v[MODEL.dof_index(JOINT)] = 0.04

        def same():
            command = node.after(1, START, v)
            assert close(command, controller.compute_torque(robot_state(START, v), dt=1e-3))
            return friction.effort[MODEL.dof_index(JOINT)]
        for _ in range(20):  # until the filter of the motion has followed
            same()
        assert abs(same()) > 2.0
        assert node.change(drive_friction__fraction=0.0).successful
        friction.set(coulomb=0.0, viscous=0.0, breakaway=0.0)
        assert same() == 0.0
        result = node.change(**{f'drive_friction__{JOINT}__coulomb': -2.0})
        assert not result.successful and f'drive_friction.{JOINT}.coulomb' in result.reason


@pytest.mark.parametrize(('given', 'complaint'), [
    ({'drive_friction.fraction': 0.5, 'contact_model': 'large_inertia'},
     'drive_friction.fraction does not go with contact_model large_inertia'),
    ({'drive_friction.l_elbaw.coulomb': 1.0}, "drive_friction.l_elbaw: .*'l_elbow'"),
    ({'drive_friction.fraction': 1.0, 'drive_friction.l_elbow.breakaway': 1e4},
     "breakaway of 'l_elbow' is 10000, more than its effort limit")])
def test_what_is_refused(given, complaint):
    given = PARAMETERS | given
    values = {parameter.name: parameter.default for parameter in table_of(given)}
    with pytest.raises(OpspaceError, match=complaint):
        make_controller(ROBOT, values | given)
