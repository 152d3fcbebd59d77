# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""[K87] Fig. 4: a redundant arm whose hand is at its goal, with and without null-space damping."""

import numpy as np
from lockstep import LockStep

from opspace_control import PoseTask, PostureTask
from opspace_control.share import share_directory

PATH = share_directory() / 'urdf' / 'planar_3r.urdf'
BENT = {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}


def swing(damping):
    """Start with 0.5 rad/s in all joints; return the course of five seconds."""
    task = PoseTask('hand', axes='x z')
    scene = LockStep(PATH, [task], PostureTask(kp=0.0, kd=damping), start=BENT,
                     velocities=dict.fromkeys(BENT, 0.5))
    return scene.run(5.0)


def test_without_null_space_damping_the_joints_keep_moving():
    """Fig. 4a, (7.1): the hand comes to rest at its goal, the joints do not."""
    course = swing(0.0)
    assert np.linalg.norm(course.errors[-1, 0, :3]) < 1e-4
    assert abs(course.velocities[-1000:]).max() > 0.05  # rad/s
    assert course.limited == 0


def test_with_it_they_come_to_rest():
    """Fig. 4b, (7.9): and the hand does not feel it."""
    free, damped = swing(0.0), swing(4.0)
    assert abs(damped.velocities[-1]).max() < 1e-5
    assert np.linalg.norm(damped.errors[-1, 0, :3]) < 1e-5
    first = slice(0, 300)  # while the two postures are still alike
    apart = abs(free.errors[first, 0, :3] - damped.errors[first, 0, :3]).max()
    assert apart < 2e-3
