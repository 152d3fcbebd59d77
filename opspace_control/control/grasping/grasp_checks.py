# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of a grasp, and of the robot at its engagement."""

import numpy as np

from opspace_control.checks import usable
from opspace_control.control.constraints.contact import check_still
from opspace_control.errors import ControlError
from opspace_control.model import Payload
from opspace_control.spatial.rotations import vector_from_matrix
from opspace_control.tasks.arguments import AXES, LINEAR

# Constrained axes of the grips; a carrier's grip is rigid in any case.
GRIP_AXES = {'rigid': AXES, 'point': LINEAR, 'fingertips': LINEAR}


def check_grasp(grasp, poses, kind, tolerance):
    """Raise a ControlError for arguments of a `Grasp` that cannot be used."""
    effectors, count = grasp.effectors, len(grasp.effectors)
    for wrong, what, cure in (
            (count < 2 or len(set(effectors)) < count, f'effectors {effectors}',
             'Name two or more links, each once.'),
            (poses is not None and len(poses) != count, 'grasp_poses',
             f'Give one for each of the {count} effectors.'),
            (kind not in GRIP_AXES, f'kind {kind!r}', f'Take one of {", ".join(GRIP_AXES)}.'),
            (np.shape(tolerance) != (2,) or not np.min(tolerance) > 0.0,
             f'tolerance {tolerance}', 'Give a distance in m and an angle in rad.')):
        if wrong:
            raise ControlError(f"Grasp '{grasp.name}': {what} cannot be used.", cure=cure,
                               grasp=grasp.name)
    check_payload(grasp, grasp.payload)


def check_payload(grasp, payload):
    """Raise a ControlError for what is no `Payload`."""
    if not isinstance(payload, Payload):
        raise ControlError(f"Grasp '{grasp.name}': {payload!r} is no payload.", value=payload,
                           cure='Give a Payload(mass, center_of_mass, inertia).')


def read_internal_forces(grasp, tensions, moments):
    """Return tensions (members,) and moments (N, 3), None where they are not given."""
    N = len(grasp.effectors)
    count = 1 if N == 2 else 3 * (N - 2)
    try:
        forces = tuple(None if given is None else np.broadcast_to(np.array(given, float), shape)
                       for given, shape in ((tensions, (count,)), (moments, (N, 3))))
        accepted = all(part is None or usable(part) for part in forces)
    except (TypeError, ValueError):
        accepted = False
    if not accepted:
        raise ControlError(
            f"Grasp '{grasp.name}': these internal forces cannot be used.",
            cure=f'Give tensions of {count} and moments ({N}, 3), finite.', grasp=grasp.name)
    return forces


def transform(position, rotation):
    """Return the homogeneous transform (4, 4) of a position (3,), m, and a rotation (3, 3)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, position
    return pose


def object_pose(grasp, seen, places, tolerance, turning):
    """
    Return the pose of the object, (4, 4), or raise a ControlError if an effector is not at it.

    ``seen`` are the poses (4, 4) of the effectors of a Grasp; ``places`` the grasp poses in the
    object's frame, None for a frame in the effectors' middle, axes of the base; ``tolerance`` is in
    m and rad; ``turning`` (N,) says which grips constrain rotation.
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
    Raise a ControlError if effectors move relative to the first one, or fingertips non-rigidly.

    As `object_pose`; twists (N, 6) of the effectors, m/s and rad/s.
    """
    arms = [pose[:3, 3] - seen[0][:3, 3] for pose in seen]
    first, reference = twists[0], f"'{grasp.effectors[0]}'"
    if not turning[0]:
        # Fingertips: the twist of the least-squares rigid body.
        rows = np.vstack([np.hstack([np.eye(3), np.cross(np.eye(3), arm).T]) for arm in arms])
        first = np.linalg.lstsq(rows, twists[:, :3].ravel(), rcond=1e-9)[0]
        reference = 'the others'
    for effector, arm, twist, turns in zip(
            grasp.effectors, arms, twists, turning, strict=True):
        expected = first.copy()
        expected[:3] += np.cross(first[3:], arm)
        check_still(grasp.name, effector, twist - expected, turns, reference)


def check_fingertips(grasp, model, state, passive):
    """
    Raise a ControlError for fingertips on joints without drives, or with an impedance task.

    ``passive`` (nv,) says which joints have no drive.
    """
    moving = abs(model.jacobian(state, grasp.effectors)).max(axis=0) > 0.0
    undriven = model.names_of(moving & passive)
    if undriven:
        raise ControlError(
            f"Grasp '{grasp.name}': {', '.join(undriven)} has no drive.", grasp=grasp.name,
            cure='Fingertips need drives at all joints that carry them. Let the first effector '
            'hold the object rigidly.')
    if grasp.task.mode == 'impedance':
        raise ControlError(
            f"Grasp '{grasp.name}': fingertips do not support mode 'impedance'.",
            grasp=grasp.name,
            cure="Take mode 'decoupled', or let the first effector hold it rigidly.")
