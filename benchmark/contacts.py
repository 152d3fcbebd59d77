# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Robots on legs: whole cycles with contacts, friction and limits of joints.

Beside one call of Pinocchio's `aba`, and beside one dense quadratic program, on the same states in
the same run: `contact_qp` by quadprog, and by daqp and as TSID has it where these are installed.
The tasks of the programs are weighted, their contacts exact.
"""

import time
from functools import partial

import numpy as np
import pinocchio
from contact_qp import SOLVERS, ContactProgram
from figures import Figure

from opspace_control import (
    CenterOfMassTask,
    Contact,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PositionTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.cli.showcase.legged_scene import STEP, LeggedScene

try:
    from tsid_peer import TsidProgram
except ImportError:
    TsidProgram = None

# What is beside ours.
_PEERS = {'aba': "one call of Pinocchio's `aba`",
          **{name: f'one quadratic program, Pinocchio and {name}' for name in SOLVERS},
          **({'tsid': 'one quadratic program of TSID'} if TsidProgram else {})}
_MOST_ABA = 3.0
_SPEED = 2.0  # m/s
_SETTLING, _CYCLES = 3.0, 1000  # s; cycles that are measured
_FEET, _HANDS = ('left_sole_link', 'right_sole_link'), (
    'gripper_left_base_link', 'gripper_right_base_link')
_SOLE = np.array([[-0.09, -0.054, 0.0], [0.09, 0.054, 0.0]])


def measure():
    """Return the figures of a quadruped that trots and of a humanoid that stands."""
    return [*_figures('b1', f'B1 in a running trot at {_SPEED:g} m/s', *_trot()),
            *_figures('talos_standing', 'Talos on two soles, five tasks', *_stand())]


def _figures(key, words, ours, *theirs):
    return [
        Figure.ratio(f'contacts.{key}.{peer}', f'{words}, contact forces and limits kept: whole '
                     f'cycle beside {beside}', ours, times, _MOST_ABA if peer == 'aba' else None)
        for (peer, beside), times in zip(_PEERS.items(), theirs, strict=True)]


class TimedScene(LeggedScene):
    """A quadruped whose cycles are timed, ours and the peers' in turn."""

    peers = None

    def compute_torque(self, state, tau):
        """Compute the torque; time it if there are peers."""
        begun = time.perf_counter_ns()
        super().compute_torque(state, tau)
        if self.peers:
            self.times.append([time.perf_counter_ns() - begun, *self.peers.times(state, tau)])


class Peers:
    """Articulated-body algorithm and quadratic programs, on states of a controller."""

    def __init__(self, text, controller, soles, acceleration):
        model = controller.model
        self._pin = pinocchio.buildModelFromXML(text, pinocchio.JointModelFreeFlyer())
        self._data = self._pin.createData()
        arguments = (text, model, list(controller.tasks.values()),
                     list(controller.constraints.values()), soles, acceleration)
        program = ContactProgram(*arguments)
        self._programs = [partial(program.compute_torque, solve=solve)
                          for solve in SOLVERS.values()]
        if TsidProgram:
            self._programs.append(TsidProgram(*arguments).compute_torque)
        self._dofs = [model.dof_index(name) for name in tuple(self._pin.names)[2:]]
        self._positions = model.q_index[self._dofs]

    def times(self, state, tau):
        """Return the times of `aba` and of each program, ns."""
        q = np.r_[state.q[:7], state.q[self._positions]]
        v, tau = np.r_[state.v[:6], state.v[self._dofs]], np.r_[tau[:6], tau[self._dofs]]
        begun = time.perf_counter_ns()
        pinocchio.aba(self._pin, self._data, q, v, tau)
        times = [time.perf_counter_ns() - begun]
        for compute_torque in self._programs:
            begun = time.perf_counter_ns()
            compute_torque(state)
            times.append(time.perf_counter_ns() - begun)
        return times


def _trot():
    """Return the times of a quadruped, ours and those of `_PEERS`, µs."""
    scene = TimedScene('b1')
    scene.locomotion.gait = 'running_trot'
    scene.locomotion.command(_SPEED)
    scene.run(_SETTLING)
    scene.peers, scene.times = Peers(
        demo_robot('b1').path().read_text(), scene.controller, {}, 1e3), []
    scene.run(_CYCLES * STEP)
    return 1e-3 * np.array(scene.times[10:]).T  # the first ones are not in any cache


def _stand():
    """Return the same of a humanoid on two soles, at random states about a stance."""
    text = demo_robot('talos_standing').path().read_text()
    model = RobotModel.from_urdf(text, floating_base=True, passive_joints=('base',))
    q = model.neutral()
    for name, angle in demo_robot('talos_standing').start.items():
        q[model.q_index[model.dof_index(name)]] = angle
    controller = OperationalSpaceController(
        model, [CenterOfMassTask(axes='x y', kp=20.0, kd=9.0),
                PoseTask('base_link', axes='rx ry rz', kp=50.0, kd=14.0, priority=1),
                PositionTask('torso_2_link', axes='z', kp=30.0, kd=11.0, priority=2),
                *(PositionTask(hand, kp=40.0, kd=12.0, priority=3) for hand in _HANDS)],
        PostureTask(target=q, kp=20.0, kd=9.0), limits=JointLimits(model),
        constraints=[Contact(foot, friction=0.5, sole=_SOLE) for foot in _FEET])
    random, tau, times = np.random.default_rng(seed=0), np.empty(model.nv), []
    controller.compute_torque(RobotState(model, q, np.zeros(model.nv)), tau)
    for contact in controller.constraints.values():
        contact.close()
    corners = np.array([[x, y, 0.0] for x in _SOLE[:, 0] for y in _SOLE[:, 1]])
    peers = Peers(text, controller, dict.fromkeys(_FEET, corners), 1e3)
    for _ in range(_CYCLES):
        state = RobotState(model, q, 0.02 * random.normal(size=model.nv))
        begun = time.perf_counter_ns()
        controller.compute_torque(state, tau)
        times.append([time.perf_counter_ns() - begun, *peers.times(state, tau)])
    return 1e-3 * np.array(times[10:]).T
