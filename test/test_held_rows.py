# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Joints held at their limits beside constraints and passive joints: the optimum, and in motion."""

import numpy as np
import pytest
from robots import TALOS
from test_cycle import TALOS_FEET, TALOS_HANDS
from test_cycle_constrained import ALL_AXES, BASE, POSITION, Case

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
)
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot

FAR = 1e4  # rad/s², beyond what anything asks for

CASES = [
    ('dual_arm.urdf', [('l_hand', ALL_AXES)], {'passive': ['r_elbow']}),
    (TALOS, [(TALOS_HANDS[0], ALL_AXES)], {'floating': True, 'passive': BASE}),
    ('dual_arm.urdf', [('l_hand', POSITION)], {'constraints': [('r_hand', 'l_hand', ALL_AXES)]}),
    ('dual_arm.urdf', [('l_hand', POSITION)],  # redundant rows
     {'constraints': [('r_hand', 'l_hand', ALL_AXES), ('r_hand', 'l_hand', POSITION)]}),
    (TALOS, [(TALOS_HANDS[0], POSITION)],
     {'floating': True, 'passive': BASE,
      'constraints': [(foot, None, ALL_AXES) for foot in TALOS_FEET]}),
    (TALOS, [(TALOS_HANDS[0], POSITION)],
     {'floating': True, 'passive': (*BASE, 'arm_right_4_joint'),
      'constraints': [(TALOS_HANDS[1], TALOS_HANDS[0], ALL_AXES)]}),
]


class Held(Case):
    """A case whose joints have no limits but of their accelerations."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, limits=JointLimits, **options)
        self.bounds = self.controller._kept.records
        for name, value in (('lower', -np.inf), ('upper', np.inf), ('velocity', np.inf),
                            ('slow', -1.0), ('acceleration', FAR),
                            ('motion', 0), ('effort', 0)):
            self.bounds[name] = value
        self.run()

    def run(self):
        """Run a cycle and return the accelerations that it causes."""
        self.tau = self.controller.compute_torque(self.state)
        return self.motion()[0]


@pytest.mark.parametrize('name, goals, arguments', CASES)
def test_what_is_held_is_held_and_the_rest_is_the_optimum(name, goals, arguments):
    """The joint does half of what it would, the tasks get what they want by the other joints."""
    case = Held(name, goals, **arguments)
    case.check(1e-7)
    assert case.controller.held_joints == ()
    free, advice = case.run(), case.advice()
    moved = np.where(case.active & (abs(advice) < 0.4 * abs(free)), abs(free), 0.0)
    for k in np.argsort(-moved)[:3]:
        case.bounds['acceleration'] = FAR
        case.bounds['acceleration'][k] = 0.5 * abs(free[k])
        case.fixed = {int(k): 0.5 * free[k]}
        a = case.run()
        assert [held.joint for held in case.controller.held_joints] == [case.model.dof_names[k]]
        assert a[k] == pytest.approx(0.5 * free[k], rel=1e-7)
        case.check(1e-6)


def test_a_free_flyer_keeps_the_limits_of_its_joints():
    """Its base gives way to arms that are sent anywhere."""
    text = (share_directory() / 'urdf' / 'free_flyer_3d.urdf').read_text()
    model = RobotModel.from_urdf(text, floating_base=True, passive_joints=['base'])
    robot = SimulatedRobot(text, floating_base=True, joint_friction=False, gravity=(0.0, 0.0, 0.0))
    robot.model.jnt_limited[:] = False
    robot.reset({'l_elbow': -1.2, 'r_elbow': -1.2, 'l_shoulder_roll': 0.5, 'r_shoulder_roll': -0.5})
    tasks = [PoseTask(hand) for hand in ('l_hand', 'r_hand')]
    controller = OperationalSpaceController(
        model, tasks, limits=JointLimits(model), gravity_compensation=False)
    dofs = [model.dof_index(name) for name in robot.joint_names]
    state = RobotState(model, model.neutral(), np.zeros(model.nv))
    rng, fastest = np.random.default_rng(0), 0.0
    for cycle in range(1500):
        q, v = state.q.copy(), state.v.copy()
        q[:7], v[:6] = robot.base_pose, robot.base_twist
        q[model.q_index[dofs]], v[dofs] = robot.positions, robot.velocities
        state.update(q, v)
        if cycle % 500 == 0:
            for task in tasks:
                pose = model.forward_kinematics(state, task.frame)[task.frame]
                pose[:3, 3] += rng.uniform(-1.0, 1.0, 3)
                task.set_target(pose)
        tau = controller.compute_torque(state)[dofs]
        assert (abs(tau) <= model.effort_limits[dofs]).all()
        robot.set_effort(tau)
        robot.step()
        beyond = np.maximum(model.lower_position_limits[dofs] - robot.positions,
                            robot.positions - model.upper_position_limits[dofs])
        assert beyond.max() < np.deg2rad(0.5)
        fastest = max(fastest, (abs(robot.velocities) / model.velocity_limits[dofs]).max())
    assert 0.98 < fastest < 1.05
