# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The base class of tasks at an operational point."""

import math

import numpy as np

from opspace_control.compiled import as_record, recorded
from opspace_control.errors import TaskError
from opspace_control.model.nodes import WORLD
from opspace_control.spatial.rotations import quaternion_from_matrix
from opspace_control.tasks.arguments import AXES, read_axes, read_axes_rotation
from opspace_control.tasks.force_control import ForceControl
from opspace_control.tasks.pose_law import POSE_TASK, clear_pose_goal
from opspace_control.tasks.ranked import RankedTask
from opspace_control.tasks.sensor import register_sensors

_NO_ROTATION = bytes(9 * 8)  # the memory of a matrix that no cycle has written


class OperationalTask(RankedTask):
    """
    Control motion along some axes of a point, and force along others, [K87] II.

    The other axes are free: they belong to the null space. Axes are those of the specification
    frame, (2.1)-(2.4): any frame of the robot, rotated by any ``S_fᵀ``.

    Parameters
    ----------
    frame : str
        Link whose frame is the operational point.
    name : str, optional
        Key in ``controller.tasks``; the frame's name if not given.
    axes : sequence of str
        Axes of motion control among ``x y z rx ry rz``; those of force control are left out.
    force_axes : sequence of str
        Axes of force or moment control.
    axes_frame : str, or pair of str, optional
        Frame whose axes these are, or one for ``x y z`` and one for ``rx ry rz``; the base's if not
        given, or empty.
    axes_rotation : (4,) or (3, 3) array, or pair of them, optional
        Rotation from the axes of that frame to these axes, quaternion ``[x y z w]`` or matrix whose
        columns they are, or one for ``x y z`` and one for ``rx ry rz``; none if not given.
    force : ForceControl, optional
        The force law; ``ForceControl()`` if not given: open loop.
    priority : int
        0 is the highest; tasks of a larger number act in the null space of those of smaller ones.

    """

    possible_axes = AXES
    points = 1  # of the stack
    reference = None  # link in whose frame the task is, None for the base
    target = error = None  # goal and distance to it, of a task with a goal

    force_axes = property(lambda self: self._force_axes, doc='Names of the axes of force control.')
    axes_frame = property(
        lambda self: self._axes_frame, doc='Frames of the linear and the angular axes; None: base.')
    axes_rotation = property(
        lambda self: self._axes_rotation.copy(),
        doc="Rotations from the axes of these frames to the task's, by column, (2, 3, 3).")
    wrench = recorded('wrench', 'Wrench commanded at the last cycle, (6,), N and N·m, base axes.')
    unattached = recorded(
        'unattached', 'Whether its frame is on no link: an object in fingertips.', writable=True)
    rotation_in_base = recorded('R', 'Axes of the frame at the last cycle, by column, (3, 3).')
    axes_in_base = recorded(
        'axes', 'The axes at the last cycle, by column, in the base: (2, 3, 3), linear ones first.')

    def __init__(self, frame, *, name=None, axes=AXES, force_axes=(), axes_frame=None,
                 axes_rotation=None, force=None, priority=0):
        super().__init__(frame if name is None else name, priority)
        self.frame = frame
        self._record = np.zeros(1, POSE_TASK)[0]
        self._axes_frame, self._axes_rotation = (None, None), np.array([np.eye(3), np.eye(3)])
        self._record['axes'] = self._record['axes_rotation'] = np.eye(3)
        self._record['axes_node'] = WORLD
        self._record['target_p'], self._record['target_R'] = np.nan, np.eye(3)
        self._record['max_linear_velocity'] = self._record['max_angular_velocity'] = np.inf
        self.force = self._own(ForceControl() if force is None else force, ForceControl, 'force')
        self._axes, self._force_axes = self._checked_axes(axes, force_axes)
        self._weigh_axes()
        self.set_axes(frame=axes_frame, rotation=axes_rotation)
        self.activation = 1.0

    def __repr__(self):
        return f'{type(self).__name__}({self.frame!r}, name={self.name!r})'

    def set_axes(self, axes=None, force_axes=None, *, frame=None, rotation=None, gradually=True):
        """
        Change the axes, as of the constructor; those not given stay, names in both are force axes.

        Along a new axis of motion control the goal is the present pose: set a goal afterwards. If
        the frame or the rotation changes, the axes rotate to the new ones within half a second, or
        at once unless ``gradually``. The frame '' is the base. A ModelError refuses an unknown
        frame; that of a task that is not in use yet is refused by the controller.
        """
        new, new_force = self._checked_axes(self._axes if axes is None else axes,
                                            self._force_axes if force_axes is None else force_axes)
        if frame is not None or rotation is not None:
            self._place_axes(self._axes_frame if frame is None else frame,
                             self._axes_rotation if rotation is None else rotation, gradually)
        before = set(self.axes)
        self._axes, self._force_axes = new, new_force
        self._weigh_axes()
        self._reset_goal([axis in self.axes and axis not in before for axis in AXES])

    def clear_target(self):
        """Make the pose of the next cycle the goal, and let the target force fade."""
        clear_pose_goal(as_record(self._record))

    @property
    def pose(self):
        """Pose of the frame at the last cycle, (7,), or None before the first."""
        return self._pose('p', 'R')

    def joint_force(self, model, state):
        """Return ``Jᵀ f'``, the joint forces (nv,) of the last cycle's wrench, at its state."""
        return self.jacobian(model, state).T @ self.wrench

    def jacobian(self, model, state):
        """Return the Jacobian (6, nv) of the task's point, linear rows first, base axes."""
        return model.jacobian(state, [self.frame])

    @property
    def axes(self):
        """Names of the axes along which motion is controlled."""
        return tuple(axis for axis in self._axes if axis not in self._force_axes)

    @property
    def controlled_axes(self):
        """Names of the axes of motion and of force control."""
        return tuple(axis for axis in AXES if axis in (*self.axes, *self._force_axes))

    def _reset_goal(self, axes):
        """Set the goal to the present pose along these axes; here there is no goal."""

    def _own(self, part, kind, field):
        """Take ownership of an object for a part of the task, such as its force law."""
        if not isinstance(part, kind):
            raise TaskError(f'{self._owner}: {field} = {part!r} is not allowed.',
                            cure=f'Give a {kind.__name__}.', parameter=field, value=part)
        if part.in_use:
            raise TaskError(f'{self._owner}: its {kind.__name__} belongs to another task.',
                            cure='Make one for each task.', parameter=field, value=part)
        self._record[field] = part._record
        part._belong_to(self._owner, self._record[field])
        return part

    def _parts(self):
        """Yield the task's own objects, each with its field of the record."""
        yield self.force, 'force'

    def _use_record(self, record, model):
        """Use this copy of the record, a controller's, from now on."""
        self._record, self._model = record, model
        for part, field in self._parts():
            part._record = record[field]
        self._place_axes(self._axes_frame, self._axes_rotation)

    def _checked_axes(self, axes, force_axes):
        """Return the names of both kinds, in order, each checked, or raise a TaskError."""
        chosen = []
        for names in (axes, force_axes):
            weights = np.zeros(6)
            if names not in ('', (), []):
                weights = read_axes(names, self._owner, self.possible_axes)
            chosen.append(tuple(axis for axis, on in zip(AXES, weights, strict=True) if on))
        if not any(chosen):
            raise TaskError(
                f'{self._owner}: axes {axes!r}, force_axes {force_axes!r} name no axis.',
                cure=f'Name one or more of {" ".join(self.possible_axes)}.', value=axes)
        return chosen

    def _weigh_axes(self):
        self._record['motion'] = [axis in self.axes for axis in AXES]
        self._record['force']['axes'] = [axis in self._force_axes for axis in AXES]

    def _place_axes(self, frame, rotation, gradually=True):
        """Set the axes to those of a frame, or of a pair of frames, rotated by a rotation."""
        pair = tuple(frame) if isinstance(frame, (tuple, list)) else (frame, frame)
        if len(pair) != 2 or not all(name is None or isinstance(name, str) for name in pair):
            raise TaskError(f'{self._owner}: axes_frame = {frame!r} cannot be used.',
                            cure='Name a frame, or one for x y z and one for rx ry rz.',
                            parameter='axes_frame', value=frame)
        pair = tuple(name or None for name in pair)
        rotations = read_axes_rotation(rotation, self._owner)
        record = self._record
        if self._model is not None:
            seen = bool(record['R'].any())
            changed = pair != self._axes_frame or (rotations != self._axes_rotation).any()
            frames = [self._model.frames[self._model.frame_index(name)] if name else None
                      for name in pair]
            for k, place in enumerate(frames):
                record['axes_node'][k] = WORLD if place is None else place['node']
                record['axes_rotation'][k] = (
                    rotations[k] if place is None else place['rotation'] @ rotations[k])
            if gradually:
                record['turning'] |= changed and seen
            else:
                record['turning'], record['turn_left'] = False, 0.0
            record['turned'] |= (any(place is not None for place in frames)
                                 or (rotations != np.eye(3)).any())
        self._axes_frame, self._axes_rotation = pair, rotations

    def _knows(self, position, rotation):
        return (math.isfinite(sum(self._record[position].tolist()))
                and self._record[rotation].tobytes() != _NO_ROTATION)

    def _pose(self, position, rotation):
        if not self._knows(position, rotation):
            return None
        return np.concatenate([self._record[position],
                               quaternion_from_matrix(self._record[rotation])])


class ForceTask(OperationalTask):
    """
    Exert force with a frame along ``force_axes``; the others stay free for other tasks.

    For a frame that moves along some axes and exerts force along others, give a `PoseTask` its
    ``force_axes`` instead. Other keywords are ``name``, ``axes_frame``, ``axes_rotation``,
    ``force`` and ``priority`` of an `OperationalTask`.
    """

    def __init__(self, frame, *, force_axes=AXES, **specification):
        super().__init__(frame, axes=(), force_axes=force_axes, **specification)

    def set_target(self, wrench=None):
        """Set the wrench that the robot applies, (6,), N and N·m: `ForceControl.set_target`."""
        self.force.set_target(wrench)


def register_tasks(tasks, model):
    """
    Move the data of a controller's m tasks, none of them in use, into one array.

    Returns the records (m,) of POSE_TASK, input and output of `demand_pose`, which the tasks use
    from now on, and the result of `register_sensors`.
    """
    for name in [name for task in tasks for name in task.axes_frame if name]:
        model.frame_index(name)
    sensors, sensor_records = register_sensors(tasks, model)
    records = np.zeros(len(tasks), POSE_TASK)
    for e, task in enumerate(tasks):
        records[e] = task._record
        task._use_record(records[e], model)
    return records, sensors, sensor_records


def gradual_fields(records):
    """Return by name the numbers of registered tasks that change gradually, for `Ramps`."""
    force, spring = records['force'], records['spring']
    return {'kp': records['kp'], 'kd': records['kd'], 'activation': records['activation'],
            'motion': records['motion'], 'impedance': records['impedance'],
            'stiffness': spring['stiffness'], 'damping_ratio': spring['damping_ratio'],
            'force.axes': force['axes'], 'force.kp': force['kp'], 'force.ki': force['ki'],
            'force.damping': force['damping']}
