# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Faults of a wrench sensor, of the wrenches that are wanted, and of what is pressed on."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from geometry_msgs.msg import WrenchStamped
from ros_nodes import CONTROLLER, NEWEST
from safety_bench import Robot, robot_under_control

from opspace_control.ros.middleware.conversions import fill_message
from opspace_control.simulation.objects import Box

WANTED = 15.0  # N, against a wall in front of the left hand
PALM = {'wrist.frame': 'l_palm', 'wrist.tool_mass': 0.5, 'wrist.tool_center': [0.0, 0.0, -0.09]}
PARAMETERS = {'sensors': ['wrist'], 'left.sensor': 'wrist', 'left.force_axes': 'x', **PALM}


class RobotAtWall(Robot):
    """A robot whose left wrist feels, and whose hand is a centimetre from a wall."""

    def __init__(self, network):
        super().__init__(network, contacts=True, wrench_sensors=['l_palm'], objects=[
            Box('wall', (0.1, 1.0, 1.0), pose=(0.626, 0.25, 1.16, 0, 0, 0, 1), fixed=True)])
        self.physics.model.geom_condim[:] = 1  # without friction

    def start(self, parameters=(), kind=None):
        """Start the controller node and its sensor."""
        super().start(parameters)
        self._sensor = self.network.publisher(WrenchStamped, f'{CONTROLLER}/wrist/wrench', NEWEST)
        self.wrenches = self.network.publisher(WrenchStamped, f'{CONTROLLER}/left/target_wrench')
        self.reading = self.felt

    def felt(self):
        """Return what the sensor reads, and in which frame."""
        return self.physics.wrench('l_palm'), 'l_palm'

    def state(self):
        """Return the joint state; the sensor says what it reads."""
        if self.reading:
            message = WrenchStamped()
            wrench, message.header.frame_id = self.reading()
            fill_message(message.wrench, wrench)
            self._sensor.publish(message)
        return super().state()

    def want(self, wrench, frame=''):
        message = WrenchStamped()
        message.header.frame_id = frame
        fill_message(message.wrench, np.array(wrench, float))
        self.wrenches.publish(message)

    def press(self):
        """Press on the wall until the force is there."""
        self.want([WANTED, 0, 0, 0, 0, 0])
        for _ in range(100):
            self.lock_step(0.05)
            if abs(self.pressed() - WANTED) < 0.02 * WANTED:
                self.lock_step(0.2)
                return
        self.network.fail()

    def pressed(self):
        """Return how hard the hand presses on the wall, N."""
        return np.linalg.norm(self.physics.contact_wrench('l_palm')[:3])


@pytest.fixture
def robot():
    with robot_under_control(PARAMETERS, make=RobotAtWall) as robot:
        robot.press()
        yield robot


@pytest.mark.parametrize('reading', [
    None, lambda: (np.full(6, np.nan), 'l_palm'), lambda: (np.zeros(6), 'nowhere')],
    ids=['silent', 'nan', 'frame'])
def test_sensor_fails_while_it_presses(robot, reading):
    robot.reading = reading
    forces = []
    for _ in range(50):
        robot.lock_step(0.02)
        forces.append(robot.pressed())
    assert abs(np.array(forces) - WANTED).max() < 0.1 * WANTED
    robot.log("'left' controls force open loop")
    if reading:
        robot.log("A wrench of 'wrist' is refused")
    robot.reading = robot.felt
    robot.lock_step(1.0)
    assert robot.pressed() == pytest.approx(WANTED, rel=0.02)


def test_wrench_that_cannot_be_wanted(robot):
    for wrench, frame, complaint in (
            ([np.nan, 0, 0, 0, 0, 0], '', 'not finite'), ([1e3, 0, 0, 0, 0, 0], '', 'max_force'),
            ([5, 0, 0, 0, 0, 0], 'nowhere', 'nowhere')):
        for _ in range(100):
            robot.want(wrench, frame)
            robot.lock_step(0.01)
            robot.network.spin(0.02)  # complaints are a second apart
            if complaint in robot.process.said():
                break
        else:
            robot.network.fail()
        assert robot.pressed() == pytest.approx(WANTED, rel=0.02)


def test_wall_that_goes_away(robot):
    """It is looked for again, no faster than force.approach_velocity but for a moment."""
    wall = robot.physics.model.body('wall').geomadr[0]
    robot.physics.model.geom_conaffinity[wall] = robot.physics.model.geom_contype[wall] = 0
    places = []
    for _ in range(400):
        robot.lock_step(0.002)
        places.append(robot.hand('left')[0])
    speeds = np.diff(places) / 0.002
    assert speeds.max() < 0.2
    assert np.median(speeds[200:]) == pytest.approx(0.05, abs=0.01)


def test_hold_while_it_presses(robot):
    robot.hold()
    robot.lock_step(1.5)
    assert robot.pressed() < 0.5
