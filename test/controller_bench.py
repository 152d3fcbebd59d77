# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A controller node under test, in a process of its own: the test plays the robot."""

import contextlib
import math

import numpy as np
import ros_nodes
from geometry_msgs.msg import PoseStamped
from lifecycle_msgs.srv import GetState
from rcl_interfaces.msg import Parameter
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.duration import Duration
from rclpy.parameter import Parameter as RosParameter
from rclpy.qos import QoSProfile
from ros_nodes import CONTROLLER, joint_state, robot_text
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import SetBool, Trigger

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.ros.middleware.conversions import fill_message

ROBOT = robot_text('dual_arm')
MODEL = RobotModel.from_urdf(ROBOT)
START = dict.fromkeys(MODEL.dof_names, 0.0) | {'l_elbow': -1.5, 'r_elbow': -1.5}
PARAMETERS = {
    'robot_description': ROBOT, 'tasks': ['left', 'right'], 'left.frame': 'l_hand',
    'right.frame': 'r_hand', 'left.max_linear_velocity': math.inf,
    'left.max_angular_velocity': math.inf, 'right.max_linear_velocity': math.inf,
    'right.max_angular_velocity': math.inf, 'safety.state_timeout': 0.0,
    # States are made up here, and what is commanded for them is compared with the bare law.
    'limits.keep': False, 'disturbance.max_force': 0.0, 'disturbance.max_moment': 0.0,
    'limits.effort_rate': 1e6, 'limits.velocity_scale': 1e6,
    'safety.position_jump': 1e6, 'safety.ramp_time': 0.0,
}


class Bench:
    """A controller node whose joint states the test publishes, and their time, in ms."""

    now = 1_000_000
    _answers = False  # whether the node has answered a state: the first ones may find nobody

    @classmethod
    @contextlib.contextmanager
    def around(cls, parameters):
        """Give a bench around a controller with these parameters, on a network of its own."""
        with ros_nodes.network() as network:
            bench = cls(network)
            bench.start(parameters)
            yield bench

    def __init__(self, network):
        self.network = network
        self.heard = []
        self.subscription = network.node.create_subscription(
            Float64MultiArray, ros_nodes.COMMANDS, self.heard.append, QoSProfile(depth=1000))

    def start(self, parameters, arguments=()):
        """Start the node; return when it waits for joint states."""
        self.process = self.network.start('controller', parameters, arguments)
        self.states = self.network.publisher(JointState, 'joint_states', ros_nodes.LATCHED)

    def command(self, message):
        """Send a joint state and return the effort commanded for it."""
        del self.heard[:]
        if self._answers:  # an answer to a second one could be taken for that to the next state
            self.states.publish(message)
            self.network.until(lambda: self.heard, 2.0)
        if not self.heard and self.network.send(self.states, message, lambda: self.heard) > 1:
            self.network.spin(0.05)  # let the answers to the rest in
        self._answers = True
        return np.array(self.heard[-1].data)

    def command_at(self, milliseconds, positions=None, velocities=None):
        """Send a joint state of this time and return the effort commanded for it."""
        message = joint_state(START if positions is None else positions, velocities)
        seconds, rest = divmod(milliseconds, 1000)
        message.header.stamp.sec, message.header.stamp.nanosec = seconds, rest * 1_000_000
        return self.command(message)

    def after(self, milliseconds, positions=None, velocities=None):
        """Return what is commanded so much later."""
        self.now += milliseconds
        return self.command_at(self.now, positions, velocities)

    def hold(self):
        """Let every goal become what is."""
        assert self.network.call(Trigger, f'{CONTROLLER}/hold').success

    def begin_anew(self):
        """Put the robot where it started, with nothing on its way."""
        self.after(1000)
        self.hold()
        self.after(1)

    def recover(self):
        """Send good states until the node controls again."""
        self.network.send(self.states, joint_state(START),
                          lambda: 'control resumes' in self.process.said())

    def log(self, text):
        """Wait until the node has said something."""
        self.network.expect(lambda: text in self.process.said())

    def change(self, **values):
        """Change parameters, let them take effect, and return the result."""
        result = self.network.call(
            SetParametersAtomically, f'{CONTROLLER}/set_parameters_atomically', parameters=[
                RosParameter(name.replace('__', '.'), value=value).to_parameter_msg()
                for name, value in values.items()]).result
        self.network.spin(0.05)
        return result

    def value(self, name):
        """Return the value of a parameter."""
        values = self.network.call(
            GetParameters, f'{CONTROLLER}/get_parameters', names=[name]).values
        return RosParameter.from_parameter_msg(Parameter(name=name, value=values[0])).value

    def transition(self, number):
        """Ask for a lifecycle transition; return whether it succeeded."""
        return self.network.transition(CONTROLLER, number)

    def lifecycle_state(self):
        """Return the id of the lifecycle state."""
        return self.network.call(GetState, f'{CONTROLLER}/get_state').current_state.id


class GoalBench(Bench):
    """A controller whose left hand gets goals."""

    def __init__(self, network):
        super().__init__(network)
        self.publishers = {}

    def send(self, topic, message):
        """Send a goal to the left hand, for certain and once, between two states."""
        publisher = self.publisher(topic, type(message))
        publisher.publish(message)
        assert publisher.wait_for_all_acked(Duration(seconds=ros_nodes.PATIENCE))
        # It has arrived, but a state might still overtake it on its way to the callback.
        self.lifecycle_state()

    def refused(self, topic, message, complaint):
        """Send a goal to the left hand until the node has said why it does not take it."""
        publisher = self.publisher(topic, type(message))
        self.network.send(publisher, message, lambda: complaint in self.process.said())

    def publisher(self, topic, kind):
        """Return a publisher that is known to be heard."""
        if topic not in self.publishers:
            publisher = self.network.publisher(kind, f'{CONTROLLER}/left/{topic}')
            refused = self.process.said().count('A goal is refused')
            self.network.send(publisher, kind(header=Header(frame_id='nowhere')), lambda: (
                self.process.said().count('A goal is refused') > refused))
            self.publishers[topic] = publisher
        return self.publishers[topic]

    def switch(self, on):
        """Switch the left hand's task on or off."""
        assert self.network.call(SetBool, f'{CONTROLLER}/left/enable', data=on).success


def close(a, b):
    """Return whether efforts are the same, but for rounding."""
    return np.allclose(a, b, rtol=1e-9, atol=1e-9)


def reference(**left):
    """Return a controller like the node's, in this process."""
    return OperationalSpaceController(
        MODEL, [PoseTask('l_hand', name='left', **left), PoseTask('r_hand', name='right')],
        PostureTask())


def robot_state(positions, velocities=None):
    """Return the state of a dict of positions."""
    v = np.zeros(MODEL.nv) if velocities is None else velocities
    return RobotState(MODEL, [positions[name] for name in MODEL.dof_names], v)


def torque(controller, positions, velocities=None):
    """Return the torque of a dict of positions, in the order of the model."""
    return controller.compute_torque(robot_state(positions, velocities))


def pose_message(pose, frame=''):
    """Return a PoseStamped of (7,) ``[x y z qx qy qz qw]``."""
    message = PoseStamped()
    message.header.frame_id = frame
    fill_message(message.pose, np.asarray(pose, float))
    return message


def moved(seed=0, scale=0.1):
    """Return a posture near the start."""
    rng = np.random.default_rng(seed)
    return {name: value + scale * rng.uniform(-1.0, 1.0) for name, value in START.items()}
