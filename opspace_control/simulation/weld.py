# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A locked joint, which is a fixed pose of its child link in MuJoCo."""

from typing import NamedTuple

import mujoco
import numpy as np

from opspace_control.simulation.urdf_reader import body_name


class Weld(NamedTuple):
    """A locked joint: where its link is at zero, and how the joint's coordinates displace it."""

    body: str
    position: np.ndarray    # (3,) m, in the parent's body frame
    quaternion: np.ndarray  # (4,) wxyz
    axes: tuple             # (slides, axis (3,) in the body frame) of each degree of freedom

    def place(self, model, values):
        """Fix the link where the joint's coordinates are ``values``, rad or m."""
        position, quaternion = self.position.copy(), self.quaternion.copy()
        for (slides, axis), value in zip(self.axes, values, strict=True):
            if slides:
                step = np.empty(3)
                mujoco.mju_rotVecQuat(step, axis * value, quaternion)
                position += step
            else:
                turn = np.empty(4)
                mujoco.mju_axisAngle2Quat(turn, axis, value)
                mujoco.mju_mulQuat(quaternion, quaternion.copy(), turn)
        body = model.body(self.body)
        body.pos, body.quat = position, quaternion


def weld(spec, joint):
    """Take a joint out of a MuJoCo spec and return its `Weld`."""
    body = spec.body(body_name(joint.child))
    axes = []
    for part in joint.parts:
        element = spec.joint(part)
        axis = np.array(element.axis)
        axes.append((element.type == mujoco.mjtJoint.mjJNT_SLIDE, axis / np.linalg.norm(axis)))
        # MuJoCo moved this method from the element to the spec in 3.3.
        if hasattr(spec, 'delete'):
            spec.delete(element)
        else:
            element.delete()
    return Weld(body.name, np.array(body.pos), np.array(body.quat), tuple(axes))
