# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A robot that is held where it is, by a model that is not quite the robot's."""

import re

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from opspace_control import OperationalSpaceController, RobotModel, RobotState
from opspace_control.control.brake import Brake
from opspace_control.control.controller import DAMPING_RATE
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot

STIFFNESS = DAMPING_RATE ** 2 / 4.0
START = {'shoulder_pitch': -0.4, 'elbow': -1.2}


def text(name):
    return (share_directory() / 'urdf' / f'{name}.urdf').read_text()


def heavier(urdf, factor):
    """Return the same robot with all masses and inertias times a factor."""
    def times(match):
        return re.sub(r'((?:value|i..)=")([^"]+)"',
                      lambda number: f'{number[1]}{factor * float(number[2]):.12g}"', match[0])
    return re.sub('<(mass|inertia) [^>]*>', times, urdf)


class Held:
    """
    A simulated robot without friction, and the Brake of its nominal model.

    Parameters
    ----------
    name : str
        Of the URDF.
    mass : float
        True masses, of those in the model.
    gravity : float
        True one, m/s².
    noise : float
        Standard deviation of the measured velocities, rad/s.
    velocities : dict of str to float, optional
        At the start.
    **options
        Of the nominal model.

    """

    def __init__(self, name, mass=1.0, gravity=9.81, noise=0.0, velocities=None, **options):
        self.model = RobotModel.from_urdf(text(name), **options)
        self.robot = SimulatedRobot(heavier(text(name), mass), gravity=(0.0, 0.0, -gravity),
                                    joint_friction=False)
        self.robot.reset({joint: value for joint in self.model.dof_names
                          for end, value in START.items() if joint.endswith(end)},
                         velocities=velocities)
        self.start = self.robot.positions
        self.controller = OperationalSpaceController(self.model)
        self.brake = Brake(self.controller)
        self._noise, self._rng = noise, np.random.default_rng(0)
        self._efforts = [self.measured()[1]] * 2  # 2 ms from a state to its effort

    def measured(self):
        """Return the state that is measured, and the efforts (nv,) that it leads to."""
        v = self.robot.velocities
        state = RobotState(self.model, self.robot.positions,
                           v + self._noise * self._rng.normal(size=v.size))
        out = np.empty(v.size)
        self.brake.gravity_hold(state, out)
        return state, out

    def run(self, seconds):
        """Return the efforts (k, nv) of some time of 1 ms cycles."""
        first = len(self._efforts)
        for _ in range(round(seconds / self.robot.timestep)):
            self._efforts.append(self.measured()[1])
            self.robot.set_effort(self._efforts[-3])
            self.robot.step()
        return np.array(self._efforts[first:])

    def drift(self, frame):
        """Return how far a frame is from where it was at the start, m."""
        here, there = (self.model.forward_kinematics(RobotState(self.model, q, 0.0 * q))[frame]
                       for q in (self.robot.positions, self.start))
        return np.linalg.norm((here - there)[:3, 3])


@pytest.mark.parametrize(('name', 'frame'), [('dual_arm', 'l_hand'), ('planar_3r', 'hand')])
def test_gravity_of_a_gazebo_world_moves_it_by_half_a_millimetre(name, frame):
    """By Δg/k where all joints fall alike; without stiffness it rises by 1 mm/s."""
    held = Held(name, gravity=9.8)
    held.run(2.5)
    before = held.drift(frame)
    held.run(2.5)
    assert 0.0002 < held.drift(frame) < 1.2 * 0.01 / STIFFNESS
    assert held.drift(frame) - before < 1e-6


@pytest.mark.parametrize('mass', [0.9, 1.1])
def test_wrong_masses_move_it_by_a_bounded_way(mass):
    """Without stiffness the hands move by 0.5 m within this time, and go on."""
    held = Held('dual_arm', mass=mass)
    held.run(2.5)
    before = held.drift('l_hand')
    held.run(2.5)
    assert held.drift('l_hand') < 1.2 * 0.1 * 9.81 / STIFFNESS
    assert abs(held.drift('l_hand') - before) < 1e-4


def test_noise_and_delay_do_not_shake_it():
    """Of velocities, 0.01 rad/s; the efforts shake by it as those of damping alone."""
    held = Held('dual_arm', noise=0.01)
    efforts = held.run(3.0)[1000:]
    assert held.drift('l_hand') < 0.0005
    assert abs(held.robot.velocities).max() < 0.01
    A = held.model.mass_matrix(RobotState(held.model, held.start, 0.0 * held.start))
    shaking = DAMPING_RATE * 0.01 * np.linalg.norm(A, axis=1)  # of damping alone
    assert (efforts.std(axis=0) < 1.05 * shaking).all()


def test_a_motion_is_stopped_sooner_and_ends_where_it_began():
    held = Held('dual_arm', velocities={'l_elbow': 0.5, 'torso_yaw': 0.3})
    furthest = 0.0
    for _ in range(20):
        held.run(0.1)
        furthest = max(furthest, abs(held.robot.positions - held.start).max())
    # 0.074 v/s critically damped, 0.1 v by damping alone; Coriolis forces aside.
    assert 0.03 < furthest < 0.045
    np.testing.assert_allclose(held.robot.positions, held.start, atol=0.002)


def test_passive_joints_hang_and_the_others_come_to_rest():
    """Where they began but for the error of gravity; without stiffness they drift by 9 mrad/s."""
    held = Held('dual_arm', gravity=9.8, passive_joints=['r_elbow'])
    held.robot.set_status(passive=['r_elbow'])
    efforts = held.run(5.0)
    assert not efforts[:, held.model.dof_index('r_elbow')].any()
    assert abs(held.robot.positions - held.start)[~held.model.passive].max() < 0.003
    assert abs(held.robot.velocities).max() < 1e-5
