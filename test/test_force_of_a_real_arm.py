# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A hand that is not flush presses on a wall of MuJoCo while disturbances are rejected."""

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from opspace_control import (
    DisturbanceObserver,
    ForceControl,
    ForceSensor,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
)
from opspace_control.share import share_directory
from opspace_control.simulation import Reality, SimulatedRobot
from opspace_control.simulation.lockstep import LockStep
from opspace_control.simulation.objects import Box

PATH = share_directory() / 'urdf/dual_arm.urdf'
WANTED, SECONDS, LAST, STEP = 15.0, 9.0, 4.0, 1e-3  # N, s, s, s
# Wrists turned by 0.3 rad, so that edges touch the wall.
START = {'l_elbow': -1.5, 'r_elbow': -1.5, 'l_wrist_pitch': 0.3, 'r_wrist_pitch': 0.3,
         'l_shoulder_roll': 0.1}


def press(friction):
    """Return the forces on the wall in the last seconds, N, with friction of the joints."""
    model = RobotModel.from_urdf_file(PATH)
    robot = SimulatedRobot(
        PATH.read_text(), contacts=True, wrench_sensors=['l_palm'],
        reality=Reality(coulomb_ratio=friction), timestep=STEP,
        objects=[Box('wall', (0.1, 1.0, 1.0), pose=(0.51, 0.25, 1.09, 0, 0, 0, 1), fixed=True)])
    robot.model.geom_condim[:] = 1  # without friction
    robot.reset(positions=START)
    sensor = ForceSensor('l_palm', tool_mass=0.5, tool_center=(0.0, 0.0, -0.09))
    hand = PoseTask('l_hand', force_axes='x', force=ForceControl(sensor))
    controller = OperationalSpaceController(
        model, [hand, PoseTask('r_hand')], limits=JointLimits(model))
    controller.disturbance = DisturbanceObserver(20.0, max_force=10.0, max_moment=2.0)

    def law(state, dt):
        sensor.update(robot.wrench('l_palm'))
        return controller.compute_torque(state, dt=dt)
    controlled, forces = LockStep(robot, controller, law), []
    for cycle in range(round(SECONDS / STEP)):
        controlled.cycle(STEP)
        robot.step()
        if cycle == 200:
            hand.force.set_target([WANTED, 0.0, 0.0, 0.0, 0.0, 0.0])
        forces.append(np.linalg.norm(robot.contact_wrench('l_palm')[:3]))
    return np.array(forces[-round(LAST / STEP):])


@pytest.mark.parametrize('friction', [0.0, 0.01], ids=['none', 'a hundredth'])
def test_the_force_is_within_two_hundredths(friction):
    """If the axes of motion followed r, it would vary by -100 to 50 %."""
    assert abs(press(friction) / WANTED - 1.0).max() < 0.02
