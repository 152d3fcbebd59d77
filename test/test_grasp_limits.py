# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of joints that hold an object together: grips follow what it gets, not what it asks."""

import numpy as np
import pytest
from carrying import Carriers
from contact_optimum import Held
from test_grasp import bench

from opspace_control import JointLimits, Payload
from opspace_control.cli.robots import demo_robot
from opspace_control.simulation import Box

FAR = 1e6  # beyond what anything asks for


def unlimited(model):
    """Return limits that no motion comes to."""
    return JointLimits(model, acceleration=FAR)


def weak(made, part=0.8, count=1, chosen=None):
    """Leave some drives, the strongest, so much of what they exert; return the dofs and efforts."""
    records, limits = made.controller._limits.records, made.controller._arguments.limits.efforts
    for name, value in (('lower', -np.inf), ('upper', np.inf), ('velocity', np.inf),
                        ('slow', -1.0), ('gravity_torque', np.inf)):
        records[name] = value
    limits[:] = np.inf
    effort = made.controller.compute_torque(made.state).copy()
    strongest = np.argsort(-abs(effort))[:count] if chosen is None else np.array(chosen)
    limits[strongest] = part * abs(effort[strongest])
    for _ in range(3):  # is cut, and noted
        made.controller.compute_torque(made.state, made.tau)
    return strongest, part * effort[strongest]


@pytest.mark.parametrize('count', [1, 2])
@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('name', ['dual_arm', 'talos', 'three arms'])
def test_an_effort_at_its_limit_leaves_grips_as_planned(name, seed, count):
    """Against the dense robot with the object on it: what misses is the object's acceleration."""
    made = bench(name, seed, limits_of=unlimited, minimum=30.0)
    strongest, efforts = weak(made, count=count)
    controller, names = made.controller, made.controller.model.dof_names
    held = {(held.name, held.limit) for held in controller.active_limits}
    assert held
    for k, effort in zip(strongest, efforts, strict=True):
        if (names[k], 'effort') in held:  # else it is spared by what holds the other one
            assert abs(made.tau[k]) == pytest.approx(abs(effort), rel=1e-9)
            held.remove((names[k], 'effort'))
    assert not held
    assert controller.limited_joints == 0
    assert (abs(made.tau) <= (1.0 + 1e-9) * controller._arguments.limits.efforts).all()
    asked = made.grasp.task._record['acceleration']
    missed = controller.residual_accelerations.get('carry', np.zeros(6))
    a = made.motion()[1]
    np.testing.assert_allclose(a, asked - missed, atol=1e-6 * abs(asked).max())
    planned = made.grasp.wrenches[1:]
    np.testing.assert_allclose(made.wrenches(), planned, atol=1e-6 * abs(planned).max())
    assert made.grasp.internal_forces[0] == pytest.approx(-30.0)


def test_efforts_that_contradict_each_other_are_told():
    """Three arms with an object have six motions left, and 14 efforts whose limits leave none."""
    made = bench('three arms', 1, limits_of=unlimited, minimum=30.0)
    weak(made, part=0.95, count=14)
    controller = made.controller
    limits = controller._arguments.limits.efforts
    at_limit = {controller.model.dof_names[k]
                for k in np.flatnonzero(abs(made.tau) >= (1.0 - 1e-9) * limits)}
    assert controller.limited_joints > 5
    assert at_limit <= {held.name for held in controller.active_limits}
    assert (abs(made.tau) <= limits).all()


@pytest.mark.parametrize(('how', 'options', 'accuracy'), [
    ({'impedance': 1.0}, {}, 1e-9), ({'impedance': 0.5}, {}, 1e-9),
    ({'activation': 0.5}, {}, 1e-2),
    ({}, {'friction': 0.2, 'minimum': 0.0, 'maximum': 2000.0}, 1e-6),
    ({}, {'axes': 'x y z'}, 1e-9)], ids=['yields', 'half', 'coming in', 'friction', 'some axes'])
@pytest.mark.parametrize('joint', ['l_shoulder_roll', 'l_elbow', 'r_elbow'])
def test_grips_do_what_is_planned_however_the_object_is_moved(how, options, accuracy, joint):
    """Springs, a squeeze that friction asks for: rows know how grips follow the motion."""
    made = bench('dual_arm', 0, limits_of=unlimited, **{'minimum': 30.0, **options})
    for name, value in how.items():
        made.grasp.task._record[name] = value
    k = made.controller.model.dof_index(joint)
    effort = weak(made, chosen=[k])[1][0]
    assert [limit[:2] for limit in made.controller.active_limits] == [(joint, 'effort')]
    assert abs(made.tau[k]) == pytest.approx(abs(effort), rel=1e-6)
    planned = made.grasp.wrenches[1:]
    np.testing.assert_allclose(made.wrenches(), planned, atol=accuracy * abs(planned).max())


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('name', ['dual_arm', 'talos'])
def test_gravity_torques_of_arms_have_their_shares_of_the_object(name, seed):
    """Their rates are those of efforts at rest, with the squeeze, along motions of the grasp."""
    box = Payload.of_box(4.0, (0.3, 0.3, 0.3))
    made = bench(name, seed, limits_of=unlimited, minimum=30.0, body=box)
    weak(made, np.inf)
    controller, model, records = (
        made.controller, made.controller.model, made.controller._limits.records)

    def at_rest(q):
        made.state.update(q, np.zeros(model.nv))
        controller.posture.set_target(q)
        controller.compute_torque(made.state)
        made.grasp.task.set_target(made.grasp.task.pose)
        return controller.compute_torque(made.state).copy()

    q = made.state.q.copy()
    effort = at_rest(q)
    rows = Held(made.grasp).rows(made.state)[0]
    motion = np.random.default_rng(seed).uniform(-1.0, 1.0, model.nv)
    motion -= np.linalg.pinv(rows) @ (rows @ motion)
    records['gravity_torque'] = 2.0 * np.maximum(abs(effort), 1e-3)
    at_rest(q)
    bounded = np.isfinite(records['gravity_bound'])
    assert bounded.sum() > 10
    rates = controller._limits.scratch.gravity_gradient @ motion
    records['gravity_torque'] = np.inf
    ahead, behind = (at_rest(model.integrate(q, motion, step)) for step in (1e-5, -1e-5))
    expected = np.sign(effort) * (ahead - behind) / 2e-5
    np.testing.assert_allclose(
        rates[bounded], expected[bounded], atol=1e-5 * abs(expected).max())


def box_scene(mass=3.0, **options):
    """Return dual_arm with a box of some mass between its hands, and its home."""
    robot, size = demo_robot('dual_arm'), (0.2, 0.58, 0.2)
    box = Box('box', size, mass, (0.3764, 0.0, 1.1004, 0, 0, 0, 1))
    scene = Carriers(robot.path(), robot.hands, [box], Payload.of_box(mass, size), robot.start,
                     minimum=20.0, limited=True, joint_friction=False, **options)
    scene.robot.model.jnt_limited[:] = False
    scene.hold()
    scene.run(0.6)
    return scene, scene.grasp.task.pose


@pytest.mark.parametrize(('way', 'mass'), [
    ((0.60, 0.18, -0.32), 3.0), ((0.21, -0.53, 0.07), 8.0)])
def test_a_goal_that_leaps_costs_neither_grasp_nor_limits(way, mass):
    """Without V_max: grips planned for what is asked tore joints to 3.3 times their limits."""
    scene, goal = box_scene(mass)
    goal[:3] += way
    scene.grasp.task.set_target(goal)
    seen = scene.run(2.5)
    speeds = abs(np.diff(seen.positions, axis=0)) / scene.robot.timestep
    assert (speeds <= 1.01 * scene.model.velocity_limits).all()
    assert (abs(seen.efforts) <= scene.model.effort_limits).all()
    ends = scene.model.lower_position_limits, scene.model.upper_position_limits
    assert np.maximum(ends[0] - seen.positions, seen.positions - ends[1]).max() < np.deg2rad(0.5)
    assert abs(seen.tensions + 20.0).max() < 1.0
    assert abs(scene.grasp.task.error[:3]).max() < 1e-3


def test_arms_with_an_object_rest_where_joints_are_at_their_ends():
    """Between these directions are led without them; all taking part, the arms swung at 4 rad/s."""
    scene, home = box_scene(max_linear_velocity=0.3, max_angular_velocity=1.5)
    goal = home.copy()
    goal[:3] += -0.31, 0.16, 0.30
    for target, left in ((goal, 0.04), (home, 1e-3)):
        scene.grasp.task.set_target(target)
        seen = scene.run(6.0)
        assert abs(np.diff(seen.positions[-500:], axis=0)).max() < 0.02 * scene.robot.timestep
        assert abs(seen.tensions + 20.0).max() < 1.0
        assert abs(scene.grasp.task.error[:3]).max() < left


def test_a_joint_leaves_its_end_although_others_press_it_there_for_a_cycle():
    """Taken hold of anew each time it was let go of, it kept the box 15 mm from its goal."""
    braked = 'torso_yaw', 'torso_pitch', 'torso_roll'
    scene, home = box_scene(max_linear_velocity=0.6, max_angular_velocity=1.5, locked_joints=braked)
    goal = home.copy()
    goal[:3] += 0.1, 0.0, 0.7
    scene.grasp.task.set_target(goal)
    scene.run(6.0)
    scene.grasp.task.set_target(home)
    scene.run(4.0)
    assert abs(scene.grasp.task.error).max() < 1e-3
