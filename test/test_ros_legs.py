# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A controller node lets quadrupeds on a MuJoCo floor go where cmd_vel says, in lock-step."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import mujoco
import ros_nodes
from diagnostic_msgs.msg import DiagnosticArray
from legged_nodes import STEP, Legged, given, steps
from ros_nodes import CONTROLLER
from std_srvs.srv import SetBool
from visualization_msgs.msg import MarkerArray

from opspace_control.cli.robots import demo_robot
from opspace_control.ros.topics.contact_markers import CONES, FOOTHOLDS, FORCES, SLIP


@pytest.fixture(scope='module')
def b1():
    with ros_nodes.network() as network:
        robot = Legged(network, 'b1', {})
        robot.run(0.1)  # each test by itself finds an active controller
        yield robot


def test_it_stands_until_it_is_told_to_go(b1):
    b1.run(0.3)
    assert np.ptp(b1.heights) < 0.01
    assert np.max(b1.speeds) < 0.05 and max(b1.efforts) < 0.5
    b1.go(1.2, 0.5)
    assert b1.velocity[0] == pytest.approx(0.5, abs=0.15)
    assert b1.tilt < 0.1


def test_forces_cones_and_footholds_are_shown_and_told(b1):
    """While it trots: two feet carry it, two are to be put down ahead of where they are."""
    shown = b1.network.listen(MarkerArray, f'{CONTROLLER}/markers')
    told = b1.network.listen(DiagnosticArray, '/diagnostics')
    for _ in range(100):
        b1.go(0.1, 0.5)
        if told and len(shown) > 5:
            break
    kinds = [{space: [marker for marker in message.markers if marker.ns == space]
              for space in (FORCES, CONES, FOOTHOLDS)} for message in shown]
    two = [kind for kind in kinds if len(kind[FORCES]) == len(kind[FOOTHOLDS]) == 2]
    assert two
    lifted = [sum(marker.points[1].z - marker.points[0].z for marker in kind[FORCES])
              for kind in two]
    assert np.mean(lifted) == pytest.approx(0.5, rel=0.2)  # m, for the weight
    for kind in two:
        for cone in kind[CONES]:
            points = np.array([[point.x, point.y, point.z] for point in cone.points])
            rays = (points - points[0])[1:24:2]
            np.testing.assert_allclose(np.linalg.norm(rays[:, :2], axis=1), 0.7 * rays[:, 2],
                                       rtol=0.1)  # about a normal that is vertical but for noise
        assert all(marker.pose.position.z < 0.1 for marker in kind[FOOTHOLDS])
    values = {value.key: value.value for value in told[-1].status[0].values}
    assert values['gait'] == 'trot' and float(values['duty factor']) == 0.5
    assert values['velocity command'].startswith('0.50')
    assert 'contacts that slide' in values and 'contacts without load' in values
    # Two point feet control all directions that the tasks have, and no leg is nearly straight.
    assert values['cycles with singular directions'] == '0'
    assert told[-1].status[0].message == 'Active.'


def test_what_the_gait_sets_is_refused_to_others(b1):
    answer = b1.network.call(SetBool, f'{CONTROLLER}/FL_foot/engage', data=False)
    assert not answer.success and 'The gait sets' in answer.message
    answer = b1.network.call(SetBool, f'{CONTROLLER}/trunk_level/enable', data=False)
    assert not answer.success and "'external'" in answer.message


def test_the_gait_changes_while_it_goes_and_is_refused_where_it_cannot(b1):
    b1.go(0.2, 0.5)
    assert 'must be one of' in b1.change(legs__gait='gallop')
    assert 'stand' in b1.change(legs__gait='external')
    assert b1.change(legs__gait='running_trot') == ''
    b1.go(1.0, 0.5)
    assert np.ptp(b1.heights[-steps(0.3):]) > 0.004  # it has flights
    assert b1.tilt < 0.1 and b1.velocity[0] == pytest.approx(0.5, abs=0.2)


def test_hold_between_two_steps_stops_it_and_it_stands(b1):
    """Feet that swing are put down first."""
    b1.go(0.5, 0.5)
    b1.hold()
    b1.run(0.5 + 0.8)
    assert np.max(b1.speeds[-steps(0.1):]) < 0.03 and b1.tilt < 0.1
    assert b1.position[2] == pytest.approx(0.566, abs=0.01)
    b1.go(0.3, 0.5)


def test_without_commands_it_stops_and_stands(b1):
    b1.run(0.5 + 0.5 + 0.8)
    assert np.max(b1.speeds[-steps(0.1):]) < 0.03
    assert abs(b1.velocity).max() < 0.03
    assert b1.position[2] == pytest.approx(0.566, abs=0.01)
    assert b1.change(legs__gait='pronk') == ''
    b1.go(0.5, 0.0)
    assert np.ptp(b1.heights[-steps(0.4):]) > 0.03
    assert b1.tilt < 0.1


def test_feet_that_slide_are_shown(b1):
    """It stands on ice when it is shoved: all feet slide, as fast as MuJoCo says at that time."""
    b1.run(2.0)
    shown, speeds, slides = b1.network.listen(MarkerArray, f'{CONTROLLER}/markers'), {}, []
    for friction, shove in ((None, 0.0), (0.02, 0.4)):
        if friction:
            b1.physics.model.geom_friction[:, 0] = friction
            b1.physics.data.qvel[1] += shove
        before = len(shown)
        for _ in range(200):
            speeds[round(1e3 * b1.time)] = foot_speeds(b1.physics)
            b1.run(STEP)
            if len(shown) > before + 1:
                break
        slides.append([marker for marker in shown[-1].markers if marker.ns == SLIP])
    assert not slides[0] and len(slides[1]) == 4
    for marker in slides[1]:
        start, end = ([point.x, point.y, point.z] for point in marker.points)
        stamp = marker.header.stamp
        speed = speeds[1000 * stamp.sec + round(1e-6 * stamp.nanosec)][marker.id]
        assert speed[1] > 0.3
        # The ground is level only as far as its normal, of where the feet are, is exact.
        np.testing.assert_allclose(np.subtract(end, start), 0.3 * speed, atol=3e-4)
    told = b1.network.listen(DiagnosticArray, '/diagnostics')
    for _ in range(1000):
        b1.run(STEP)
        time.sleep(STEP)  # they come once a second, however fast this machine is
        if told:
            break
    values = {value.key: value.value for value in told[-1].status[0].values}
    sliding = values['contacts that slide'].split(', ')
    assert {one.partition(' (')[0] for one in sliding} <= set(b1.feet)  # not 'none'
    assert all(float(one.partition(' (')[2].removesuffix(' m/s)')) >= 0.1 for one in sliding)


def foot_speeds(physics):
    """Return the velocities along the ground of the feet of b1, (4, 3), m/s, by MuJoCo."""
    jacobian, speeds = np.zeros((3, physics.model.nv)), []
    mujoco.mj_kinematics(physics.model, physics.data)
    mujoco.mj_comPos(physics.model, physics.data)
    for foot in demo_robot('b1').feet:
        body = mujoco.mj_name2id(physics.model, mujoco.mjtObj.mjOBJ_BODY, foot)
        mujoco.mj_jacBody(physics.model, physics.data, jacobian, None, body)
        speeds.append((jacobian @ physics.data.qvel) * [1.0, 1.0, 0.0])
    return np.array(speeds)


def test_commands_with_stamps_are_followed_unless_they_are_late():
    """A stamp of zero is none."""
    with ros_nodes.network() as network:
        robot = Legged(network, 'go2', {'legs.cmd_vel_stamped': True})
        robot.run(0.1)
        for refusal, off in (('s older than', -5.0), ('s newer than', 5.0)):
            for _ in range(100):
                robot.command(0.4, robot.time + off)
                robot.run(0.002)
                if robot.said(refusal):
                    break
            assert robot.said(f'A cmd_vel is refused: it is 5.00 {refusal} the joint states.')
        robot.run(0.3)
        assert np.max(robot.speeds) < 0.05
        robot.go(0.9, 0.4)
        assert robot.velocity[0] == pytest.approx(0.4, abs=0.15)
        for _ in range(5):
            robot.command(0.4, 0.0)
            robot.run(0.1)
        assert robot.velocity[0] == pytest.approx(0.4, abs=0.15)


@pytest.mark.parametrize(('wrong', 'match'), [
    ({'floating_base': False}, 'base of the robot is fixed'),
    ({'FL_foot.kind': 'surface'}, 'no contact of kind point')])
def test_robots_without_such_legs_are_refused(wrong, match):
    with ros_nodes.network() as network:
        process = network.start('controller', {
            **given('go2', 'opspace_controller'), **wrong,
            'robot_description': demo_robot('go2').path().read_text()})
        network.expect(lambda: match in process.said())
