# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds of pose tasks: of a position, an orientation, the centre of mass, relative to a link."""

import numpy as np

from opspace_control.dynamics.center_of_mass import center_of_mass
from opspace_control.errors import TaskError
from opspace_control.tasks.arguments import ANGULAR, LINEAR, read_axes_rotation
from opspace_control.tasks.pose import PoseTask


class PositionTask(PoseTask):
    """Move a frame's origin to a goal along some of ``x y z``: a `PoseTask` without rotation."""

    possible_axes = LINEAR

    def __init__(self, frame, *, axes=LINEAR, **options):
        super().__init__(frame, axes=axes, **options)

    def set_target(self, position, velocity=None, acceleration=None):
        """
        Set the goal (3,), m, or a pose, and its linear feed-forward, m/s and m/s².

        As `PoseTask.set_target`; of feed-forward (6,) the angular parts are ignored.
        """
        super().set_target(position, velocity, acceleration)


class OrientationTask(PoseTask):
    """Rotate a frame to a goal about some of ``rx ry rz``: a `PoseTask` without translation."""

    possible_axes = ANGULAR

    def __init__(self, frame, *, axes=ANGULAR, **options):
        super().__init__(frame, axes=axes, **options)

    def set_target(self, orientation, velocity=None, acceleration=None):
        """
        Set the goal, (4,) or (3, 3), or a pose, and its angular feed-forward, rad/s and rad/s².

        As `PoseTask.set_target`, with a quaternion ``[x y z w]`` or a rotation matrix; of
        feed-forward (6,) the linear parts are ignored.
        """
        super().set_target(orientation, velocity, acceleration)


class CenterOfMassTask(PositionTask):
    """
    Move the centre of mass to a goal; each body contributes in proportion to its mass.

    A standing robot uses it for balance. Without contact the joints of a floating base cannot move
    the centre of mass: the task is then singular and its rows are truncated. A controller has one
    such task at most.

    ``frame`` is the root link of the subtree whose centre of mass it is; the whole robot if not
    given. Bodies that never move do not count. Other keywords are those of a `PositionTask`.
    """

    def __init__(self, frame=None, *, name='center_of_mass', **options):
        super().__init__('' if frame is None else frame, name=name, **options)

    def jacobian(self, model, state):
        """Return the Jacobian (6, nv) of the centre of mass; its angular rows are zero."""
        return np.vstack([center_of_mass(model, state, self.frame or None)[1],
                          np.zeros((3, model.nv))])


class RelativeTask(PoseTask):
    """
    Move a frame to a goal in the frame of another link, such as one hand relative to the other.

    Goal, feed-forward, error and gains are in the frame of the other link, ``reference``, and its
    axes are those of the task: of the keywords of a `PoseTask`, ``axes_frame`` and
    ``axes_rotation`` are refused. The commanded wrench acts on the first link and its reaction on
    the other, so both move if both are free. With a task of higher priority for the other link, the
    first link follows it.
    """

    def __init__(self, frame, reference, **options):
        if not isinstance(reference, str) or reference in ('', frame):
            raise TaskError(f"task '{options.get('name', frame)}': '{frame}' cannot be controlled "
                            f'in the frame of {reference!r}.', value=reference,
                            cure='Name another link as reference.', parameter='reference')
        super().__init__(frame, **options)
        self.reference = reference
        self._record['relative'] = True

    def __repr__(self):
        return f'{type(self).__name__}({self.frame!r}, {self.reference!r}, name={self.name!r})'

    def jacobian(self, model, state):
        """Return the rows of the relative motion, (6, nv), base axes: those of [K87] 3 apart."""
        poses = model.forward_kinematics(state, [self.frame, self.reference])
        x, y, z = (poses[self.frame] - poses[self.reference])[:3, 3]
        other = model.jacobian(state, self.reference)
        arm = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        other[:3] -= arm @ other[3:]  # where the frame is: ω × r
        return model.jacobian(state, self.frame) - other

    @property
    def rotation_in_base(self):
        """Axes of the frame at the last cycle, by column, in the base: (3, 3)."""
        return self.axes_in_base[0] @ super().rotation_in_base

    def _place_axes(self, frame, rotation, gradually=True):
        turned = (read_axes_rotation(rotation, self._owner) != np.eye(3)).any()
        for name, value, given in (('axes_frame', frame, frame not in (None, '', (None, None))),
                                   ('axes_rotation', rotation, turned)):
            if given:
                raise TaskError(f'{self._owner}: {name} = {value!r} is not allowed.',
                                cure='The axes of a relative task are those of its reference.',
                                parameter=name, value=value)

    @property
    def _error_axes(self):
        return np.array([np.eye(3), np.eye(3)])
