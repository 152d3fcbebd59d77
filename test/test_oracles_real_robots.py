# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The dynamics of real robots against Pinocchio and MuJoCo, on fixed and on floating bases."""

import numpy as np
import pytest
from oracles import (
    assert_agrees,
    mujoco_oracle,
    pinocchio_forward_dynamics,
    pinocchio_oracle,
)
from robots import BAXTER, PR2, TALOS, TIAGO_DUAL, robot_file
from samples import difference, random_state

from opspace_control import RobotModel

# Humanoids, wheeled and armed, four-legged, hands, arms; with mimic and continuous joints, massless
# links, prismatic torsos, 2 to 107 degrees of freedom.
ROBOTS = {
    TALOS: ('gripper_left_base_link', 'gripper_right_base_link'),
    'talos_full_v2.urdf': ('gripper_left_base_link', 'left_sole_link'),
    PR2: ('l_gripper_tool_frame', 'r_gripper_tool_frame'),
    TIAGO_DUAL: ('arm_left_tool_link', 'arm_right_tool_link', 'hand_left_index_flex_3_link'),
    'tiago_pro.urdf': ('arm_left_tool_link', 'arm_right_tool_link'),
    BAXTER: ('left_gripper', 'right_gripper'),
    'icub.urdf': ('l_hand', 'r_hand', 'l_sole'),
    'romeo_small.urdf': ('l_wrist', 'r_wrist'),
    'g1_29dof_with_hand_rev_1_0.urdf': ('left_hand_palm_link', 'right_hand_palm_link'),
    'human.urdf': ('left_hand', 'right_hand', 'left_foot'),
    'simple_humanoid.urdf': ('l_wrist', 'r_wrist'),
    'centauro.urdf': ('ball1', 'ball2', 'wheel_1'),
    'anymal-kinova.urdf': ('LF_FOOT', 'j2s6s200_link_finger_tip_1'),
    'anymal_b_simple_description/robots/anymal.urdf': ('LF_FOOT', 'RH_FOOT'),
    'go2.urdf': ('FL_foot', 'RR_foot'),
    'solo12.urdf': ('FL_FOOT', 'HR_FOOT'),
    'allegro_left_hand.urdf': ('link_3.0_tip', 'link_15.0_tip'),
    'panda.urdf': ('panda_hand_tcp',),
    'ur5_robot.urdf': ('tool0',),
    'kinova.urdf': ('j2s6s200_link_finger_tip_1',),
    'xarm7.urdf': ('link_eef',),
    'double_pendulum_continuous.urdf': ('link2',),
}
by_robot = pytest.mark.parametrize('name', ROBOTS, ids=lambda name: name.split('/')[-1][:-5])
by_base = pytest.mark.parametrize('floating_base', [False, True], ids=['fixed', 'floating'])


@by_base
@by_robot
@pytest.mark.parametrize('oracle_of', [pinocchio_oracle, mujoco_oracle],
                         ids=['pinocchio', 'mujoco'])
def test_everything_agrees(name, floating_base, oracle_of):
    urdf = robot_file(name).read_text()
    model = RobotModel.from_urdf(urdf, floating_base=floating_base)
    for seed in range(3):
        state = random_state(model, seed)
        assert_agrees(model, state, ROBOTS[name], oracle_of(model, urdf, state, ROBOTS[name]))


@by_base
@by_robot
def test_articulated_bodies_agree_with_those_of_pinocchio(name, floating_base):
    urdf = robot_file(name).read_text()
    model = RobotModel.from_urdf(urdf, floating_base=floating_base)
    state = random_state(model, 7)
    oracle = pinocchio_oracle(model, urdf, state, ROBOTS[name])
    torque = np.random.default_rng(0).standard_normal(model.nv) / oracle.joint_units
    theirs = pinocchio_forward_dynamics(model, urdf, state, torque)
    ours = model.forward_dynamics(state, torque)
    assert difference(ours, theirs, oracle.joint_units) < max(1e-10, oracle.rounding)
