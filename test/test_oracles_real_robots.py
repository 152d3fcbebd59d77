# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The dynamics of real robots against Pinocchio and MuJoCo, on fixed and on floating bases."""

import numpy as np
import pytest
from oracles import assert_agrees, mujoco_oracle, pinocchio_forward_dynamics, pinocchio_oracle
from robots import REAL_ROBOTS, robot_file
from samples import by_base, by_real_robot, difference, random_state

from opspace_control import RobotModel


@by_base
@by_real_robot
@pytest.mark.parametrize('oracle_of', [pinocchio_oracle, mujoco_oracle],
                         ids=['pinocchio', 'mujoco'])
def test_everything_agrees(name, floating_base, oracle_of):
    urdf = robot_file(name).read_text()
    model = RobotModel.from_urdf(urdf, floating_base=floating_base)
    frames = REAL_ROBOTS[name]
    for seed in range(3):
        state = random_state(model, seed)
        assert_agrees(model, state, frames, oracle_of(model, urdf, state, frames))


@by_base
@by_real_robot
def test_articulated_bodies_agree_with_those_of_pinocchio(name, floating_base):
    urdf = robot_file(name).read_text()
    model = RobotModel.from_urdf(urdf, floating_base=floating_base)
    state = random_state(model, 7)
    oracle = pinocchio_oracle(model, urdf, state, REAL_ROBOTS[name])
    torque = np.random.default_rng(0).standard_normal(model.nv) / oracle.joint_units
    theirs = pinocchio_forward_dynamics(model, urdf, state, torque)
    ours = model.forward_dynamics(state, torque)
    assert difference(ours, theirs, oracle.joint_units) < max(1e-10, oracle.rounding)
