# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where effectors are when they grasp: whether that is at the object, and at rest."""

import numpy as np

from opspace_control.control.constraints.contact import check_still
from opspace_control.errors import ControlError
from opspace_control.spatial.rotation_vectors import vector_from_matrix


def transform(position, rotation):
    """Return the homogeneous transform (4, 4) of a position (3,), m, and a rotation (3, 3)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, position
    return pose


def object_pose(grasp, seen, places, tolerance, turning):
    """
    Return where the object is, (4, 4), having checked that all effectors are at it.

    Parameters
    ----------
    grasp : Grasp
        Its name and its effectors.
    seen : sequence of (4, 4) arrays
        Where these are.
    places : sequence of (4, 4) arrays, or None
        Where they grasp, in the object's frame; None: that is in their middle, axes of the base.
    tolerance : (float, float)
        How far effectors may be from there, m and rad.
    turning : (N,) array of bool
        Which grips hold a direction as well.

    Raises
    ------
    ControlError
        If an effector is somewhere else.

    """
    if places is None:
        return transform(np.mean([pose[:3, 3] for pose in seen], axis=0), np.eye(3))
    pose = seen[0] @ np.linalg.inv(places[0])
    for effector, at, place, turns in zip(grasp.effectors, seen, places, turning, strict=True):
        wanted = pose @ place
        distance = float(np.linalg.norm(at[:3, 3] - wanted[:3, 3]))
        turn = vector_from_matrix(at[:3, :3] @ wanted[:3, :3].T)
        angle = float(np.linalg.norm(turn)) if turns else 0.0
        if distance > tolerance[0] or angle > tolerance[1]:
            raise ControlError(
                f"Grasp '{grasp.name}': '{effector}' is {1e3 * distance:.0f} mm and "
                f'{np.degrees(angle):.1f}° from where it grasps an object in '
                f"'{grasp.effectors[0]}'.", grasp=grasp.name, frame=effector, value=distance,
                cure=f'Bring it within {1e3 * tolerance[0]:.0f} mm and '
                f'{np.degrees(tolerance[1]):.1f}°.')
    return pose


def check_together(grasp, twists, seen, turning):
    """
    Refuse effectors that move against each other.

    Parameters
    ----------
    grasp, seen, turning
        As above.
    twists : (N, 6) array
        Of the effectors, m/s and rad/s.

    Raises
    ------
    ControlError
        If one moves against the first.

    """
    arms = [pose[:3, 3] - seen[0][:3, 3] for pose in seen]
    first, others = twists[0], f"'{grasp.effectors[0]}'"
    if not turning[0]:
        # Fingertips: as one body that moves as they do, in the least squares.
        rows = np.vstack([np.hstack([np.eye(3), np.cross(np.eye(3), arm).T]) for arm in arms])
        first = np.linalg.lstsq(rows, twists[:, :3].ravel(), rcond=1e-9)[0]
        others = 'the others'
    for effector, arm, twist, turns in zip(
            grasp.effectors, arms, twists, turning, strict=True):
        carried = first.copy()
        carried[:3] += np.cross(first[3:], arm)
        check_still(grasp.name, effector, twist - carried, turns, others)


def check_fingertips(grasp, model, state, passive):
    """
    Refuse fingertips that could not do what they are told.

    Parameters
    ----------
    grasp : Grasp
        Without a carrier.
    model, state : RobotModel, RobotState
        Of the robot.
    passive : (nv,) array of bool
        Which joints have no drive.

    Raises
    ------
    ControlError
        If one of these carries an effector, or the object is to yield like a spring.

    """
    carrying = abs(model.jacobian(state, grasp.effectors)).max(axis=0) > 0.0
    limp = [name for name, one, other in zip(model.dof_names, carrying, passive, strict=True)
            if one and other]
    if limp:
        raise ControlError(
            f"Grasp '{grasp.name}': {', '.join(limp)} has no drive.", grasp=grasp.name,
            cure='Fingertips need drives at all joints that carry them. Let the first effector '
            'hold the object rigidly.')
    if grasp.task.mode == 'impedance':
        raise ControlError(
            f"Grasp '{grasp.name}': an object in fingertips cannot yield like a spring.",
            grasp=grasp.name,
            cure="Take mode 'decoupled', or let the first effector hold it rigidly.")
