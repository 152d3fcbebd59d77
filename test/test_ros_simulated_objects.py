# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Boxes around a simulated robot, and the service that closes and opens its grips."""

import re

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import robots
import ros_nodes
from geometry_msgs.msg import PoseStamped
from reference_topics import NODES
from std_srvs.srv import SetBool, Trigger
from test_ros_simulated_sensors import ALL, FLOATING, Bench

from opspace_control.ros.middleware.conversions import TFMessage

# Two arms that reach down from a beam, each with a slide and a hand.
LIMIT = '<limit lower="-1" upper="1" effort="100" velocity="1"/>'
ROBOT = robots.robot(
    robots.link('beam'), robots.link('left'), robots.link('right'),
    *(robots.joint(f'j_{side}', 'beam', side, 'prismatic',
                   f'<origin xyz="0 {y} 1"/><axis xyz="0 0 1"/>{LIMIT}')
      for side, y in (('left', 0.15), ('right', -0.15))))
PARAMETERS = {
    'robot_description': ROBOT, 'pace': 'lock_step',
    'objects': ['box', 'table'], 'grasps': ['lift', 'pair'],
    'box.size': [0.1, 0.3, 0.2], 'box.mass': 2.0, 'box.pose': [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
    'table.size': [1.0, 1.0, 0.1], 'table.pose': [0.0, 0.0, 0.85, 0.0, 0.0, 0.0, 1.0],
    'table.fixed': True,
    'lift.effectors': ['left', 'right'], 'lift.object': 'box',
    'pair.effectors': ['left', 'right'], 'pair.kind': 'point'}
# Each arm is 1 kg; upwards against its weight, and half of the box's and 1 N more.
HOLD = [9.81, 9.81]
LIFT = [9.81 + 9.81 + 1.0] * 2


@pytest.fixture
def network():
    with ros_nodes.network() as network:
        yield network


def engage(network, name, on):
    return network.call(SetBool, f'opspace_simulator/{name}/engage', data=on)


def test_lifts_a_box_and_lets_it_fall(network):
    bench = Bench(network, PARAMETERS)
    poses = network.listen(PoseStamped, 'opspace_simulator/box/pose', ALL)

    def height():
        del poses[:]
        bench.step(HOLD, 2)
        network.expect(lambda: poses)
        assert poses[-1].header.frame_id == 'world'
        return poses[-1].pose.position.z

    bench.step(HOLD, 20)
    start = height()
    assert start == pytest.approx(1.0, abs=1e-3)
    response = engage(network, 'lift', True)
    assert response.success, response.message
    bench.step(LIFT, 200)
    assert height() == pytest.approx(start + 0.5 * 2.0 / 4.0 * 0.2 ** 2, abs=2e-3)
    assert engage(network, 'lift', True).success  # already
    assert engage(network, 'lift', False).success
    bench.step(HOLD, 1500)  # the arms go on upwards
    assert height() == pytest.approx(start, abs=1e-3)
    response = engage(network, 'lift', True)
    assert not response.success
    assert "mm from 'box'" in response.message


def test_two_links_hold_each_other(network):
    """Without an object the first effector is what the others grasp; reset lets go."""
    bench = Bench(network, PARAMETERS)
    assert engage(network, 'pair', True).success
    bench.step([9.81 + 4.0, 9.81 - 4.0], 100)
    left, right = bench.newest.position
    assert abs(left - right) < 1e-4
    bench.states.clear()
    assert network.call(Trigger, 'opspace_simulator/reset').success
    network.expect(lambda: 0 in bench.states)
    bench.step([9.81 + 4.0, 9.81 - 4.0], 100)
    left, right = bench.newest.position
    assert left > 0.015 > -0.015 > right


def test_grips_follow_the_controller_that_is_named(network):
    network.start('simulator', {**PARAMETERS, 'controller': 'other',
                                'pair.follow_controller': False})
    network.expect(lambda: network.node.count_subscribers('other/lift/engaged') == 1)
    assert network.node.count_subscribers('other/pair/engaged') == 0
    assert network.node.count_subscribers('opspace_controller/lift/engaged') == 0


@pytest.mark.parametrize(('parameters', 'complaint'), [
    ({'lift.effectors': ['left', 'rihgt']}, "'right'"),
    ({'lift.effectors': ['']}, 'no link or object'),
    ({'pair.effectors': ['left']}, 'no effectors'),
    ({'lift.object': 'bxo'}, "'box'"),
    ({'box.size': [0.1, 0.1]}, '3 values'),
    ({'box.mass': -1.0}, 'box.mass'),
    ({'objects': ['left', 'box', 'table']}, "called 'left'"),
    ({'grasps': ['reset']}, "can be called 'reset'"),
    ({'box.sise': [0.1, 0.1, 0.1]}, "'box.size'")])
def test_refuses_bad_parameters_with_the_reason(network, parameters, complaint):
    process = network.start('simulator', {**PARAMETERS, **parameters})
    network.until(lambda: process.exit_code() is not None)
    assert process.exit_code()
    assert complaint in process.said()


def test_reference_has_all_that_the_node_subscribes_and_publishes(network):
    """No topic and no service more, none less."""
    network.start('simulator', FLOATING | {
        'wrench_sensors': ['tool'], 'contact_sensors': ['sole'], 'objects': ['box'],
        'grasps': ['grip'], 'grip.effectors': ['tool'], 'grip.object': 'box'})
    node = ros_nodes.SIMULATOR.removeprefix('/')
    network.expect(lambda: node in network.node.get_node_names())

    def found():
        endpoints = [endpoint for what in ('publisher', 'subscriber', 'service') for endpoint in
                     getattr(network.node, f'get_{what}_names_and_types_by_node')(node, '/')]
        names = [name.replace(f'/{node}/', '~/') for name, (kind, *_) in endpoints
                 if not kind.startswith(('rcl_interfaces', 'type_description_interfaces'))]
        for own, kind in (('tool|sole', 'link'), ('box', 'object'), ('grip', 'grasp')):
            names = [re.sub(rf'\b({own})/', f'<{kind}>/', name) for name in names]
        return {re.sub('^/(?!clock|tf)', '', name) for name in names}
    told = NODES[node].keys() - (set() if TFMessage else {'/tf'})
    assert len(told) > 10
    network.until(lambda: found() >= told)
    assert found() == told
