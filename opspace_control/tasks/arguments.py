# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of axes, targets, gains and numbers of tasks, named in errors with their ``owner``."""


import numpy as np

from opspace_control.checks import HUGE, checked, read_numbers, usable
from opspace_control.errors import TaskError
from opspace_control.spatial.rotations import matrix_from_quaternion, quaternion_from_matrix

LINEAR, ANGULAR = ('x', 'y', 'z'), ('rx', 'ry', 'rz')
AXES = LINEAR + ANGULAR

# Tolerances of orientations, which are then made exact: numbers typed with three digits.
QUATERNION_TOLERANCE = 1e-2  # of the norm
ROTATION_TOLERANCE = 1e-3    # of the scalar products of the rows


def read_axes(axes, owner, possible=AXES):
    """
    Return the selection of the named axes, (6,), 1 or 0.

    One or more of the ``possible`` ones, each once; a str has blanks between them.
    """
    names = axes.split() if isinstance(axes, str) else axes
    try:
        selection = np.array([list(names).count(axis) * (axis in possible) for axis in AXES], float)
        usable = 0 < len(names) == selection.sum() and selection.max() == 1.0
    except TypeError:
        usable = False
    if not usable:
        raise TaskError(f'{owner}: axes {axes!r} cannot be used.',
                        cure=f'Name one or more of {" ".join(possible)}, each once.', value=axes)
    return selection


def read_pose(pose, owner, axes=AXES):
    """
    Return the position (3,) and the rotation matrix (3, 3) of a pose, copied.

    A pose is a (4, 4) homogeneous transform, or (7,) or a pair of (3,) and (4,): position (m) and
    unit quaternion ``[x y z w]``. Where only linear ``axes`` are possible it may be a position,
    where only angular ones are a quaternion or a rotation matrix.
    """
    numbers = read_numbers(pose)
    if isinstance(pose, (tuple, list)) and len(pose) == 2:
        parts = [read_numbers(part) for part in pose]
        if [part.shape for part in parts] == [(3,), (4,)]:
            numbers = np.concatenate(parts)
    if axes == LINEAR and numbers.shape == (3,):
        numbers = np.append(numbers, (0.0, 0.0, 0.0, 1.0))
    elif axes == ANGULAR and numbers.shape == (4,):
        numbers = np.append(np.zeros(3), numbers)
    elif axes == ANGULAR and numbers.shape == (3, 3):
        numbers, numbers[:3, :3] = np.eye(4), numbers
    if numbers.shape not in {(4, 4), (7,)}:
        raise _refusal(owner, 'target pose', pose, 'Give (4, 4), or 7 numbers [x y z qx qy qz qw].')
    if not usable(numbers):
        raise _refusal(owner, 'target pose', pose, f'Give finite numbers, below {HUGE:g}.')
    if numbers.shape == (7,):
        norm = np.linalg.norm(numbers[3:])
        if abs(norm - 1.0) > QUATERNION_TOLERANCE:
            raise _refusal(owner, 'target quaternion', pose,
                           f'Its norm is {norm:.3g}; give a unit quaternion [x y z w].')
        return numbers[:3], matrix_from_quaternion(numbers[3:] / norm)
    R = numbers[:3, :3]
    if abs(R @ R.T - np.eye(3)).max() > ROTATION_TOLERANCE or np.linalg.det(R) < 0.0:
        raise _refusal(owner, 'target rotation', pose,
                       'Give a (3, 3) part with orthonormal rows that is no mirror image.')
    if abs(numbers[3] - (0.0, 0.0, 0.0, 1.0)).max() > 1e-9:
        raise _refusal(owner, 'target transform', pose, 'Its last row must be 0 0 0 1.')
    return numbers[:3, 3], matrix_from_quaternion(quaternion_from_matrix(R))


def read_six(values, name, owner, axes=AXES):
    """
    Return a 6-vector, such as a feed-forward twist or a wrench, copied; zeros for None.

    From six finite numbers, linear ones first, or from one for each of the possible ``axes``; along
    the others the vector is zero. ``name`` is for the error.
    """
    six = np.zeros(6) if values is None else read_numbers(values)
    if len(axes) < len(AXES) and six.shape in {(6,), (len(axes),)}:
        numbers, six = six, np.zeros(6)
        possible = [axis in axes for axis in AXES]
        six[possible] = numbers[possible] if len(numbers) == 6 else numbers
    if six.shape != (6,) or not sum(map(abs, six.tolist())) < HUGE:  # NaN is not, either
        raise _refusal(owner, name, values,
                       f'Give 6 finite numbers, linear first, below {HUGE:g}.')
    return six


def read_axes_rotation(rotation, owner):
    """
    Return the rotations of the axes of translation and of those of rotation, (2, 3, 3), copied.

    From a quaternion ``[x y z w]`` or a rotation matrix for both kinds of axes, or from one for
    each.
    """
    numbers = read_numbers(rotation)
    cure = 'Give a quaternion [x y z w] or a (3, 3) matrix, or one for x y z and one for rx ry rz.'
    if numbers.shape in {(4,), (3, 3)}:
        numbers = np.array([numbers, numbers])
    elif numbers.shape not in {(2, 4), (2, 3, 3)}:
        raise _refusal(owner, 'axes_rotation', rotation, cure)
    try:
        return np.array([read_pose(part, owner, ANGULAR)[1] for part in numbers])
    except TaskError as error:
        raise _refusal(owner, 'axes_rotation', rotation, error.cure) from None


def _refusal(owner, what, value, cure):
    return TaskError(f'{owner}: {what} cannot be used.', cure=cure, value=value)


def read_gains(kp, kd, shape, owner):
    """
    Return ``kp``, 1/s², and ``kd``, 1/s, as arrays of ``shape``; TaskError unless usable.

    [K87] (4.3): the decoupled end-effector is a unit mass. A negative kd is critical damping,
    ``2 sqrt(kp)``.
    """
    kp = task_numbers(kp, 'kp', owner, shape, lowest=0.0)
    kd = task_numbers(kd, 'kd', owner, shape)
    return kp, np.where(kd < 0.0, 2.0 * np.sqrt(kp), kd)


def task_numbers(values, name, owner, shape=(), **allowed):
    """Return numbers that are `checked`, one for all or of the shape, or raise a TaskError."""
    return checked(values, f'{owner}: {name}', TaskError, shape, each=True, parameter=name,
                   **allowed)


def refuse_none(owner, **numbers):
    """
    Raise a TaskError for a number of a constructor that is None.

    The setters that constructors call take None for a number that stays as it is.
    """
    for name, number in numbers.items():
        if number is None:
            raise TaskError(f'{owner}: {name} = None is not allowed.', parameter=name, value=None,
                            cure='Give numbers, or leave it out for the default.')


class RecordedNumber:
    """A number of the owner's records, or one of a pair, `checked` when it is set; 0 or more."""

    def __init__(self, field, doc, part=(), **check):
        self._field, self._part, self._check, self.__doc__ = field, part, check, doc

    def __set_name__(self, _owner, name):
        self._name = name

    def __get__(self, owner, _type=None):
        return self if owner is None else float(owner._record[self._field][self._part].flat[0])

    def __set__(self, owner, value):
        number = task_numbers(value, self._name, owner._owner, **{'lowest': 0.0, **self._check})
        if self._part == ():
            owner._record[self._field] = number
        else:
            owner._record[self._field][self._part] = number


class VelocityLimit(RecordedNumber):
    """A limit of the velocity of an approach, inf for none; it needs damping."""

    def __init__(self, field, doc):
        super().__init__(field, doc, above=0.0, infinite=True)

    def __set__(self, task, value):
        before = np.copy(task._record[self._field])
        super().__set__(task, value)
        try:
            task._check_limitable(task.kp, task.kd)
        except TaskError:
            task._record[self._field] = before
            raise


class TaskPart:
    """A force law, spring or sensor of a task, with a record of its own until it is in use."""

    def __init__(self, owner, kind):
        self._belong_to(owner, np.zeros(1, kind)[0])
        self._in_use = False

    in_use = property(lambda self: self._in_use, doc='Whether it belongs to a task or controller.')

    def _belong_to(self, owner, record):
        """Become a part of it: set the owner that errors name, and the record."""
        self._owner, self._record, self._in_use = owner, record, True
