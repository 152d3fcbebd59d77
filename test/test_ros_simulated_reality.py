# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The simulator node with a robot that is not its model."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import robots
import ros_nodes
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.parameter import Parameter
from test_ros_simulated_sensors import Bench

from opspace_control.simulation import Reality, SimulatedRobot

LIMITS = '<limit effort="50" velocity="5" lower="-9" upper="9"/>'
ROBOT = robots.chain('revolute', 'revolute', inner=LIMITS)
LOCK_STEP = {'robot_description': ROBOT, 'pace': 'lock_step', 'gravity': [0.0, 0.0, 0.0]}
RESOLUTION = 1e-3
EFFORTS = [3.0, -4.0]


@pytest.fixture
def network():
    with ros_nodes.network() as network:
        yield network


def test_joint_states_are_those_of_the_library(network):
    """Friction, masses, noise, delays and resolution; all of one seed."""
    numbers = {'viscous_ratio': 0.01, 'mass_deviation': 0.2, 'position_noise': 2e-3,
               'velocity_noise': 0.05, 'position_resolution': RESOLUTION, 'state_delay': 0.002,
               'command_delay': 0.003, 'seed': 7}
    bench = Bench(network, LOCK_STEP | {
        'reality.coulomb_ratio': 0.02, 'reality.coulomb.j2': 0.5,
        **{f'reality.{name}': value for name, value in numbers.items()}})
    bench.step(EFFORTS, 50)
    robot = SimulatedRobot(ROBOT, gravity=(0.0, 0.0, 0.0), reality=Reality(
        coulomb_ratio=0.02, coulomb={'j2': 0.5}, **numbers))
    robot.set_effort(EFFORTS)
    for k in range(51):
        seen, state = robot.measured, bench.states[k]
        np.testing.assert_allclose(state.position, seen.positions, atol=1e-12)
        np.testing.assert_allclose(state.velocity, seen.velocities, atol=1e-12)
        np.testing.assert_allclose(state.effort, robot.efforts, atol=1e-12)
        robot.step()
    positions = np.array([bench.states[k].position for k in range(51)])
    np.testing.assert_allclose(positions / RESOLUTION, np.round(positions / RESOLUTION), atol=1e-9)
    answer = network.call(GetParameters, f'{ros_nodes.SIMULATOR}/get_parameters', names=[
        f'reality.{kind}.{joint}' for kind in ('coulomb', 'viscous') for joint in ('j1', 'j2')])
    assert [value.double_value for value in answer.values] == [1.0, 0.5, 0.5, 0.5]


def test_noise_and_delay_change_live(network):
    bench = Bench(network, LOCK_STEP)
    bench.step([0.0, 0.0], 5)
    assert not any(bench.newest.position)
    changes = {'reality.position_noise': 0.01, 'reality.command_delay': 0.004}
    assert network.call(
        SetParametersAtomically, f'{ros_nodes.SIMULATOR}/set_parameters_atomically', parameters=[
            Parameter(name, Parameter.Type.DOUBLE, value).to_parameter_msg()
            for name, value in changes.items()]).result.successful
    bench.step(EFFORTS, 20)
    moved = [k for k, state in bench.states.items() if any(state.velocity)]
    assert min(moved) == 5 + 4 + 1
    noisy = np.array([bench.states[k].position for k in range(6, 9)])
    assert (abs(noisy) > 1e-5).all()


@pytest.mark.parametrize(('parameters', 'complaint'), [
    ({'reality.coulomb_ratio': -0.1}, 'reality.coulomb_ratio'),
    ({'reality.state_delay': 2.0}, 'reality.state_delay'),
    ({'reality.coulomb.j9': 1.0}, "'reality.coulomb.j1' or"),
    ({'reality.viscous_ratio': 0.1, 'robot_description': robots.chain('continuous')},
     "viscous_ratio: joint 'j1' has no effort limit. Give its friction in viscous")])
def test_refuses_by_the_name_of_the_parameter(network, parameters, complaint):
    process = network.start('simulator', LOCK_STEP | parameters)
    network.expect(lambda: process.exit_code() is not None)
    assert complaint in process.said()
    assert 'Traceback' not in process.said()
