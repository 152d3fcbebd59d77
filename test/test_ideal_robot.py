# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What simulates ideal robots for tests is held against the package's own functions."""

import numpy as np
from ideal_robot import Distances, IdealRobot
from samples import random_state, sample

from opspace_control.cli.robots import demo_robot


def test_it_accelerates_as_forward_dynamics_says():
    _, model, frames = sample('dual_arm', locked_joints=('torso_yaw',))
    random, robot = np.random.default_rng(0), IdealRobot(model, loaded=frames[0])
    for seed in range(5):
        state = random_state(model, seed)
        torque, wrench = random.uniform(-9.0, 9.0, model.nv), random.uniform(-9.0, 9.0, 6)
        np.testing.assert_array_equal(
            robot.accelerations(state, torque), model.forward_dynamics(state, torque))
        loaded = torque + model.jacobian(state, frames[0]).T @ wrench
        np.testing.assert_allclose(
            robot.accelerations(state, torque, wrench), model.forward_dynamics(state, loaded),
            atol=1e-8)


def test_its_distances_are_those_of_the_collision_model():
    collision = demo_robot('dual_arm').collision().model(sample('dual_arm')[1])
    distances = Distances(collision)
    for seed in range(3):
        q = random_state(collision.robot, seed).q
        found = [pair[:3] for pair in distances.at(q)]
        assert found == [pair[:3] for pair in collision.distances(q)]
