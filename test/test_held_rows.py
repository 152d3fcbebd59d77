# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Joints held at their limits beside constraints and passive joints: the optimum, and in motion."""

import numpy as np
import pytest
from carrying import Carriers, as_transform
from lockstep import LockStep
from robots import TALOS
from test_cycle import TALOS_FEET, TALOS_HANDS
from test_cycle_constrained import ALL_AXES, BASE, POSITION, Case

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    Payload,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.share import share_directory
from opspace_control.simulation import Box, SimulatedRobot

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
        self.bounds = self.controller._limits.records
        for name, value in (('lower', -np.inf), ('upper', np.inf), ('velocity', np.inf),
                            ('slow', -1.0), ('acceleration', FAR)):
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
    assert case.controller.active_limits == ()
    free, advice = case.run(), case.advice()
    moved = np.where(case.active & (abs(advice) < 0.4 * abs(free)), abs(free), 0.0)
    for k in np.argsort(-moved)[:3]:
        case.bounds['acceleration'] = FAR
        case.bounds['acceleration'][k] = 0.5 * abs(free[k])
        case.fixed = {int(k): 0.5 * free[k]}
        a = case.run()
        assert [held.name for held in case.controller.active_limits] == [case.model.dof_names[k]]
        assert a[k] == pytest.approx(0.5 * free[k], rel=1e-7)
        case.check(1e-6)


@pytest.mark.parametrize(('name', 'goals', 'arguments'), [
    *CASES[:2],
    ('dual_arm.urdf', [('l_hand', ALL_AXES)],
     {'passive': ['torso_yaw'], 'locked': ['r_shoulder_yaw']}),
    ('free_flyer_3d.urdf', [('r_hand', POSITION)], {'floating': True, 'passive': BASE}),
    (TALOS, [(TALOS_HANDS[0], POSITION)],
     {'floating': True, 'passive': (*BASE, 'torso_1_joint', 'arm_left_3_joint')})])
def test_efforts_at_their_limits_leave_the_tasks_to_other_joints(name, goals, arguments):
    """Passive joints doing what that induces; one effort at its limit, then two at a time."""
    case = Held(name, goals, **arguments)
    limits, free = case.controller._arguments.limits.efforts, np.where(case.active, case.tau, 0.0)
    strongest = [int(k) for k in np.argsort(-abs(free))[:3]]
    for chosen in (*([k] for k in strongest), strongest[:2]):
        case.controller._limits.memory.bound_active[:] = 0
        limits[:] = np.inf
        limits[chosen] = 0.7 * abs(free[chosen])
        case.efforts = dict(zip(chosen, 0.7 * free[chosen], strict=True))
        case.run()  # is cut, and noted
        case.run()
        assert {(held.name, held.limit) for held in case.controller.active_limits} == {
            (case.model.dof_names[k], 'effort') for k in chosen}
        np.testing.assert_allclose(case.tau[chosen], 0.7 * free[chosen], rtol=1e-9)
        case.check(1e-7)


def test_an_effort_of_what_no_constraint_holds_is_chosen_beside_constraints():
    """One hand is held in place: the other arm's efforts are a matter of the motion alone."""
    case = Held('dual_arm.urdf', [('l_hand', POSITION)],
                constraints=[('r_hand', None, ALL_AXES)])
    limits, free = case.controller._arguments.limits.efforts, case.tau.copy()
    names = case.model.dof_names
    for k in (case.model.dof_index(name) for name in ('l_shoulder_pitch', 'l_elbow')):
        case.controller._limits.memory.bound_active[:] = 0
        limits[:] = np.inf
        limits[k] = 0.7 * abs(free[k])
        for _ in range(2):  # is cut, and noted
            case.run()
        assert [(held.name, held.limit) for held in case.controller.active_limits] == [
            (names[k], 'effort')]
        assert case.tau[k] == pytest.approx(0.7 * free[k], rel=1e-9)
        assert case.controller.limited_joints == 0
        case.efforts = {k: case.tau[k]}
        case.check(1e-6)


def test_an_open_chain_is_one_whether_or_not_constraints_could_close_it():
    """Efforts hold joints as if there were none."""
    case = Held('dual_arm.urdf', [('l_hand', POSITION)],
                constraints=[('r_hand', 'l_hand', ALL_AXES)])
    for held in case.held:
        held.open()
    case.held.clear()
    free, limits = case.run().copy(), case.controller._arguments.limits.efforts
    assert abs(free).max() > 0.0
    k = int(np.argmax(abs(case.tau)))
    limit = 0.7 * abs(case.tau[k])
    case.efforts = {k: np.copysign(limit, case.tau[k])}
    limits[k] = limit
    case.run()
    case.run()
    assert [(held.name, held.limit) for held in case.controller.active_limits] == [
        (case.model.dof_names[k], 'effort')]
    case.check(1e-7)


def test_what_holds_joints_does_not_press_on_constraints():
    """Without tasks: a joint is held by forces of all of a closed chain, not against it."""
    case = Held('dual_arm.urdf', [], constraints=[('r_hand', 'l_hand', ALL_AXES)])
    (a, force, _), advice = case.motion(), case.advice()
    chosen = np.flatnonzero(abs(advice) < 0.4 * abs(a))
    assert len(chosen) > 2
    for k in chosen:
        case.bounds['acceleration'] = FAR
        case.bounds['acceleration'][k] = 0.5 * abs(a[k])
        case.run()
        held, pressed, _ = case.motion()
        assert held[k] == pytest.approx(0.5 * a[k], rel=1e-7)
        np.testing.assert_allclose(pressed, force, atol=1e-7 * abs(force).max())
        np.testing.assert_allclose(case.held[0].force, pressed, atol=1e-7 * abs(force).max())


def test_an_effort_at_its_limit_lets_no_joint_go_too_fast():
    """A wrist without a drive is flung around; efforts that were but cut let others be too fast."""
    start = {'shoulder': 2.9705, 'elbow': 0.8091, 'wrist': 0.4283}
    moving = {'shoulder': 1.632, 'elbow': 4.957, 'wrist': 13.8503}
    task = PoseTask('hand', kp=100.0, axes='x')
    scene = LockStep(share_directory() / 'urdf' / 'planar_3r.urdf', [task],
                     PostureTask(target=[0.9, -1.2, -0.6]), start=start, velocities=moving,
                     keep_limits=True, passive_joints=['wrist'])
    scene.robot.model.jnt_limited[:] = False
    goal = task.target
    goal[0] = 0.7141
    task.set_target(goal)
    kinds = set()
    course = scene.run(0.5, lambda _: kinds.update(
        held.limit for held in scene.controller.active_limits))
    assert 'effort' in kinds
    lower, upper = scene.model.lower_position_limits, scene.model.upper_position_limits
    beyond = np.maximum(lower - course.positions, course.positions - upper)
    assert beyond[:, :2].max() < np.deg2rad(0.5)
    assert (abs(course.velocities) <= 1.01 * scene.model.velocity_limits)[:, :2].all()


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


def test_two_hands_with_a_box_keep_the_limits_of_their_joints():
    """It is sent where elbows and torso cannot go, faster than they can; MuJoCo's welds hold it."""
    known = demo_robot('dual_arm')
    box = Box('box', (0.2, 0.58, 0.2), 3.0, (0.3764, 0.0, 1.1004, 0, 0, 0, 1))
    scene = Carriers(known.path(), ('r_hand', 'l_hand'), [box], Payload.of_box(3.0, box.size),
                     known.start, limited=True, joint_friction=False, minimum=20.0)
    scene.robot.model.jnt_limited[:] = False
    scene.hold()
    scene.run(0.6)
    model, task, controller = scene.model, scene.grasp.task, scene.controller
    task.max_linear_velocity, task.max_angular_velocity = 0.5, 1.0
    rng, fastest, nearest = np.random.default_rng(0), 0.0, np.inf
    for cycle in range(3500):
        if cycle % 1000 == 0:
            goal = as_transform(task.pose)
            goal[:3, 3] += rng.uniform(-0.6, 0.6, 3)
            task.set_target(goal)
        scene.state.update(scene.robot.positions, scene.robot.velocities)
        effort = controller.compute_torque(scene.state)
        assert controller.limited_joints == 0
        scene.robot.set_effort(effort)
        scene.robot.step()
        left = np.minimum(model.upper_position_limits - scene.robot.positions,
                          scene.robot.positions - model.lower_position_limits)
        assert left.min() > -np.deg2rad(0.5)
        nearest = min(nearest, left.min())
        fastest = max(fastest, (abs(scene.robot.velocities) / model.velocity_limits).max())
    assert 0.95 < fastest < 1.05
    assert nearest < 0.01
    assert scene.grasp.closure_residual[0] < 1e-3
