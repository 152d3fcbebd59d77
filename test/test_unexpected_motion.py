# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Acceleration limits of joints leave what it takes to overcome unknown friction."""

from functools import partial

import numpy as np
from robots import joint, link, robot

from opspace_control import (
    DisturbanceObserver,
    JointLimits,
    OperationalSpaceController,
    PositionTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.showcase.reality import (
    OBSERVER,
    REALITY,
    arms,
    random_goals,
    remedy,
    seek,
)
from opspace_control.control.limits.unexpected_motion import FRICTION_SHARE
from opspace_control.simulation import Reality, SimulatedRobot

DT = 1e-3
FRICTION, ACCELERATION = 60.0, 0.5  # N, m/s²: the torso of 41 kg takes 20 N
REACH, GOAL = 0.2, 0.5              # m, of the arm, of the hand
BOUNDS = {'max_force': 60.0, 'max_moment': 20.0}  # N, N·m


def slide(name, parent, child, upper):
    """Return a prismatic joint along x, with an upper limit, m."""
    return joint(name, parent, child, 'prismatic', inner=(
        '<axis xyz="1 0 0"/>'
        f'<limit lower="-1" upper="{upper}" effort="500" velocity="1"/>'))


# A heavy torso with a light arm, both along x.
URDF = robot(link('base'), slide('torso', 'base', 'trunk', 1.0), link('trunk', 40.0),
             slide('arm', 'trunk', 'hand', REACH), link('hand', 1.0))


def course(observer, friction, until=4.0):
    """
    Return errors of the hand, m, and positions, velocities and efforts of both joints, (k, 2).

    They are of 4 s; from ``until``, s, on the torso has no friction.
    """
    model = RobotModel.from_urdf(URDF)
    plant = SimulatedRobot(URDF, timestep=DT, joint_friction=False,
                           reality=Reality(coulomb={'torso': friction}))
    controller = OperationalSpaceController(
        model, [PositionTask('hand', axes='x')],
        limits=JointLimits(model, acceleration={'torso': ACCELERATION, 'arm': 20.0}))
    controller.disturbance = observer
    state = RobotState(model, plant.positions, plant.velocities)
    controller.compute_torque(state, dt=0.0)
    controller.tasks['hand'].set_target([GOAL, 0.0, 0.0])
    rows = []
    for k in range(4000):
        if k == round(until / DT):
            plant.reality = Reality()
        state.update(plant.positions, plant.velocities)
        efforts = controller.compute_torque(state, dt=DT)
        plant.set_effort(dict(zip(model.dof_names, efforts.tolist(), strict=True)))
        plant.step()
        rows.append([GOAL - plant.frame_pose('hand')[0], plant.positions, plant.velocities,
                     efforts])
    return [np.array(each) for each in zip(*rows, strict=True)]


def test_a_torso_that_sticks_moves_when_the_arm_is_at_its_limit():
    """Which the rejection along axes of tasks does not see: with a free arm it moves no hand."""
    errors, positions, velocities, _ = course(DisturbanceObserver(20.0, **BOUNDS), FRICTION)
    assert abs(errors[-500:]).max() < 1e-3
    assert positions[:, 1].max() < REACH + 1e-3
    assert abs(velocities).max() < 1.01
    assert abs(course(None, FRICTION)[0][-1]) > 0.2


def test_a_torso_that_is_blocked_is_not_pressed_harder_than_friction_of_drives_takes():
    """The task asks for all of its effort, 500 N: it is 0.3 m off. Then what blocks it is gone."""
    effort, mass, until = 500.0, 41.0, 2.0
    _, _, velocities, efforts = course(DisturbanceObserver(20.0, **BOUNDS), 0.9 * effort, until)
    blocked = round(until / DT)
    most = mass * ACCELERATION + FRICTION_SHARE * effort + BOUNDS['max_force']
    assert 0.7 * most < abs(efforts[:blocked, 0]).max() < 1.05 * most
    accelerations = np.diff(velocities[blocked:, 0]) / DT
    assert abs(accelerations).max() < 1.1 * most / mass


def test_without_unknown_forces_the_acceleration_limit_is_as_it_is():
    bare, observed = (course(observer, 0.0) for observer in (
        None, DisturbanceObserver(20.0, **BOUNDS)))
    accelerations = np.diff(observed[2][:, 0]) / DT
    assert abs(accelerations).max() < 1.02 * ACCELERATION
    np.testing.assert_allclose(observed[1], bare[1], atol=1e-4)


def test_a_singular_direction_moves_although_its_joints_stick():
    """Two joints rest at their limits; one hand of Talos stayed turned by 4.3 degrees."""
    away, turned = seek(arms('talos'), Reality(**REALITY, seed=1), random_goals(4)[-2:],
                        partial(remedy, observer=OBSERVER)).left
    assert away < 1e-3
    assert np.degrees(turned) < 1.0
