# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The two-level architecture of [K87] (4.13): dynamics at one rate, servo at 1 kHz; what is lost.

A PUMA 560 follows a circle. The efforts of the whole law at every millisecond are compared with
those by an inertia Λ and by Coriolis and gravity forces that are only so often brought up to date,
while errors and Jacobian are. ``python benchmark/two_rates.py`` prints a table.
"""

import math

import numpy as np

from opspace_control import RobotModel, RobotState, operational_space
from opspace_control.cli.robots import demo_robot

_SERVO = 1000     # Hz
_RATES = (500, 200, 100, 50, 20)  # Hz, of the dynamics
_SPEED, _RADIUS = 0.5, 0.1        # m/s, m
_KP, _KD = 400.0, 40.0            # 1/s², 1/s


def effort_errors(rates=_RATES):
    """Return the worst error of the efforts at each rate, as a part of the largest: lengths."""
    robot = demo_robot('puma560')
    model = RobotModel.from_urdf_file(robot.path())
    q = np.array([robot.start.get(name, 0.0) for name in model.dof_names])
    state = RobotState(model, q, np.zeros(model.nv))
    center = model.forward_kinematics(state, robot.hands)['hand'].copy()
    center[1, 3] -= _RADIUS
    turn = _SPEED / _RADIUS
    exact, late, old = [], {rate: [] for rate in rates}, {}
    for k in range(round(_SERVO * 2.0 * math.pi / turn)):
        angle = turn * k / _SERVO
        radial = np.array([math.sin(angle), math.cos(angle), 0.0])
        along = np.array([math.cos(angle), -math.sin(angle), 0.0])
        space = operational_space(model, state, 'hand')
        twist = np.r_[_SPEED * along, np.zeros(3)]
        pose = model.forward_kinematics(state, robot.hands)['hand']
        error = np.r_[center[:3, 3] + _RADIUS * radial - pose[:3, 3], np.zeros(3)]
        wanted = np.r_[-_SPEED * turn * radial, np.zeros(3)] + _KP * error + _KD * (
            twist - space.jacobian @ state.v)
        # Λ, and all that does not depend on what is wanted.
        now = space.inertia, (model.bias_force(state) + model.gravity(state)
                              - space.jacobian.T @ space.inertia @ space.bias_acceleration)
        exact.append(space.jacobian.T @ now[0] @ wanted + now[1])
        for rate in rates:
            if k % (_SERVO // rate) == 0:
                old[rate] = now
            inertia, bias = old[rate]
            late[rate].append(space.jacobian.T @ inertia @ wanted + bias)
        acceleration = model.forward_dynamics(state, exact[-1])
        v = state.v + acceleration / _SERVO
        state.update(model.integrate(state.q, 0.5 * (state.v + v), 1.0 / _SERVO), v)
    exact = np.array(exact)
    return {rate: float(np.linalg.norm(np.array(late[rate]) - exact, axis=1).max()
                        / np.linalg.norm(exact, axis=1).max()) for rate in rates}


if __name__ == '__main__':
    for each, part in effort_errors().items():
        print(f'dynamics at {each:4d} Hz: efforts wrong by up to {100.0 * part:5.1f} %')
