# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Somebody who cannot make up his mind: random goals, gains and switches of tasks."""

import array
from functools import partial
from itertools import chain

import numpy as np
import rclpy
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from opspace_control.errors import OpspaceError
from opspace_control.model import RobotState
from opspace_control.ros.middleware.conversions import fill_message
from opspace_control.ros.middleware.endpoints import RELIABLE
from opspace_control.ros.middleware.executor import make_executor
from opspace_control.spatial.rotations import matrix_from_vector, quaternion_from_matrix

_NODES = ('/controller/opspace_controller', '/echo/echo')  # the echo is to be as busy as we are
_PERIOD = 0.2     # s between two actions; each node has its turn
_PATIENCE = 30.0  # s
_FAR = 0.12       # m about where the hands begin: within the reach of the arms, whatever they do
_TURN = 0.3       # rad
_SWAY = 0.2       # rad or m, of the posture


class User:
    """
    A node that acts at random, on the controller and then on the echo, never on both at once.

    What one of them does with it would be in the other's way: nobody has two controllers.

    Parameters
    ----------
    stack : contextlib.ExitStack
        Ends it.
    domain : int
    model : RobotModel
    robot : DemoRobot
    seed : int

    Attributes
    ----------
    actions : int
        How often it has acted.

    """

    def __init__(self, stack, domain, model, robot, seed):
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=domain)
        stack.callback(context.try_shutdown)
        self._node = rclpy.create_node('user', context=context)
        stack.callback(self._node.destroy_node)
        self._executor = make_executor(context)
        self._executor.add_node(self._node)
        self._random = np.random.default_rng(seed)
        self._posture = {name: robot.start.get(name, 0.0) for name in model.dof_names}
        state = RobotState(model, list(self._posture.values()), np.zeros(model.nv))
        self._hands = model.forward_kinematics(state, robot.hands)
        self._goals = {hand: self._publishers(PoseStamped, f'{hand}/target_pose')
                       for hand in robot.hands}
        self._joints = self._publishers(JointState, 'target_joint')
        self._switches = {hand: self._clients(SetBool, f'{hand}/enable') for hand in robot.hands}
        self._set = self._clients(SetParametersAtomically, 'set_parameters_atomically')
        self._hold = self._clients(Trigger, 'hold')
        self._acts = (*[self._send_goal] * 3, self._send_posture, self._change_gains,
                      self._switch_task, self._call_hold)
        self.actions = 0

    def get_ready(self):
        """Wait until everything that is to be called is there."""
        clients = [*chain(*self._switches.values()), *self._set, *self._hold]
        for _ in range(round(_PATIENCE / _PERIOD)):
            if all(client.service_is_ready() for client in clients):
                return
            self.spin(_PERIOD)
        raise OpspaceError('The services of the controller cannot be found.')

    def act(self):
        """Do something to one node after the other, and let it work for a while."""
        for do in self._acts[self._random.integers(len(self._acts))]():
            do()
            self.spin(_PERIOD / len(_NODES))
        self.actions += 1

    def spin(self, seconds):
        """Let messages in."""
        self._executor.spin_until_future_complete(Future(), seconds)

    def _publishers(self, kind, topic):
        return [self._node.create_publisher(kind, f'{node}/{topic}', RELIABLE) for node in _NODES]

    def _clients(self, kind, service):
        return [self._node.create_client(kind, f'{node}/{service}') for node in _NODES]

    def _hand(self):
        return str(self._random.choice(list(self._goals)))

    def _send_goal(self):
        hand = self._hand()
        pose = self._hands[hand]
        R = matrix_from_vector(self._random.uniform(-_TURN, _TURN, 3)) @ pose[:3, :3]
        message = PoseStamped()
        fill_message(message.pose, np.concatenate([
            pose[:3, 3] + self._random.uniform(-_FAR, _FAR, 3), quaternion_from_matrix(R)]))
        return _publish(self._goals[hand], message)

    def _send_posture(self):
        name = str(self._random.choice(list(self._posture)))
        position = self._posture[name] + self._random.uniform(-_SWAY, _SWAY)
        return _publish(self._joints,
                        JointState(name=[name], position=array.array('d', [position])))

    def _change_gains(self):
        gains = {f'{self._hand()}.kp': self._random.uniform(50.0, 200.0),
                 'posture.kp': self._random.uniform(10.0, 50.0)}
        return _call(self._set, SetParametersAtomically.Request(parameters=[
            Parameter(name, value=float(value)).to_parameter_msg()
            for name, value in gains.items()]))

    def _switch_task(self):
        on = bool(self._random.random() < 0.7)
        return _call(self._switches[self._hand()], SetBool.Request(data=on))

    def _call_hold(self):
        return _call(self._hold, Trigger.Request())


def _publish(publishers, message):
    """Return what sends a message to each of the nodes."""
    return [partial(publisher.publish, message) for publisher in publishers]


def _call(clients, request):
    """Return what asks each of the nodes."""
    return [partial(client.call_async, request) for client in clients]
