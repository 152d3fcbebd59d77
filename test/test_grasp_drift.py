# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Effectors that nothing physical holds together: the law alone does, and corrects their drift."""

import numpy as np
import pytest
from carrying import Carriers

from opspace_control import ControlError, Grasp, Payload
from opspace_control.cli.robots import demo_robot
from opspace_control.share import share_directory
from opspace_control.simulation import Box

START = demo_robot('dual_arm').start
PATH = share_directory() / 'urdf' / 'dual_arm.urdf'


@pytest.fixture(scope='module')
def scene():
    """Return a dual_arm whose hands carry something that is only thought of."""
    far = Box('far', (0.1, 0.1, 0.1), 1.0, (3.0, 0.0, 0.05, 0, 0, 0, 1))
    scene = Carriers(PATH, ('r_hand', 'l_hand'), [far], Payload(0.0), START,
                     ramp_time=0.0, joint_friction=False)
    scene.engage()
    return scene


def begin(scene, **gains):
    """Begin anew."""
    scene.grasp.disengage()
    scene.robot.reset(START)
    scene.engage()
    scene.grasp.set_drift_gains(**gains)


def pushed(scene, **gains):
    """Push one hand out of its grasp; return how far it was and how far it is 2 s later, m."""
    begin(scene, **gains)
    scene.robot.apply_wrench('l_hand', [4.0, 2.0, 0.0, 0.0, 0.0, 0.0])
    scene.run(0.1)
    scene.robot.apply_wrench('l_hand', np.zeros(6))
    seen = scene.run(2.0)
    return seen.residuals[:, 0].max(), seen.residuals[-1, 0]


def test_hands_come_back(scene):
    farthest, left = pushed(scene, kp=25.0)
    assert farthest > 5e-3
    assert left < 1e-2 * farthest


def test_and_drift_without_gains(scene):
    _, left = pushed(scene, kp=0.0, kd=0.0)
    assert left > 5e-3


def test_the_object_goes_where_it_is_sent_meanwhile(scene):
    """
    Constraint and task are both met: hands that nothing joins move as one.

    That the thing weighs nothing, which makes all the mobility of the chain small beside that of a
    hand by itself, is not taken for the loss of a direction.
    """
    begin(scene, kp=25.0)
    seen = scene.run(2.0, scene.way(((0.05, 0.0, 0.1), 0.3), seconds=1.2))
    assert abs(scene.grasp.task.error).max() < 1e-3
    assert seen.residuals.max() < 1e-4


@pytest.mark.parametrize('gains', [(-1.0, -1.0), (np.nan, -1.0), (25.0, np.inf), (25.0, 'strong')])
def test_gains_that_cannot_be(gains):
    with pytest.raises(ControlError, match='is not allowed'):
        Grasp(('l_hand', 'r_hand'), drift_gains=gains)


def test_critical_if_nothing_is_said():
    (held,) = Grasp(('l_hand', 'r_hand'), drift_gains=(49.0, -1.0)).constraints
    assert held._record['kd'] == pytest.approx(14.0)
