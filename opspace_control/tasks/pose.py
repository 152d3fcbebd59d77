# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Tasks of a pose: a frame, or the centre of mass, moves to a goal along some axes."""

import numpy as np

from opspace_control.dynamics.center_of_mass import center_of_mass
from opspace_control.errors import TaskError
from opspace_control.tasks.arguments import (
    ANGULAR,
    LINEAR,
    RecordedNumber,
    read_axes_rotation,
    read_gains,
    recorded,
)
from opspace_control.tasks.goal import GoalTask
from opspace_control.tasks.impedance_law import Impedance
from opspace_control.tasks.pose_law import POSE_TASK
from opspace_control.tasks.sensor import bind_sensors

MODES = ('decoupled', 'impedance')


class _VelocityLimit(RecordedNumber):
    """A limit of the velocity of an approach, inf for none; it needs damping."""

    def __init__(self, field, doc):
        super().__init__(field, doc, positive=True, finite=False)

    def __set__(self, task, value):
        before = task._record[self._field]
        super().__set__(task, value)
        try:
            task._check_limitable(task.kp, task.kd)
        except TaskError:
            task._record[self._field] = before
            raise


class PoseTask(GoalTask):
    """
    Move a frame to a goal pose; along ``force_axes`` control force instead of motion.

    Mode 'decoupled' is the law of a decoupled unit mass, [K87] (4.3)-(4.5). In mode 'impedance' a
    spring and a damper connect frame and goal, so the frame complies with external forces.

    Without a goal the task keeps the pose of the first cycle. Gains, axes, mode, limits and goals
    may change between any two cycles.

    Parameters
    ----------
    frame : str
        Link whose frame is the operational point.
    kp : float or (6,) array
        Stiffness of the unit mass, 1/s²: three linear axes, three angular ones.
    kd : float or (6,) array
        Damping of the unit mass, 1/s; negative is critical, ``2 sqrt(kp)``.
    max_linear_velocity, max_angular_velocity : float
        V_max of (4.5) for the position, m/s, and for the orientation, rad/s; inf for no limit.
    impedance : Impedance, optional
        The spring of mode 'impedance'; ``Impedance()`` if not given.
    mode : str, optional
        'decoupled' or 'impedance'; the latter if an ``impedance`` is given, else the former.
    trajectory : JerkLimits, optional
        Limits of the online trajectory from the present target to a goal; without them the target
        is the goal at once.
    **specification
        Of an OperationalTask: ``name``, ``axes``, ``force_axes``, ``axes_frame``,
        ``axes_rotation``, ``force``, ``priority``.

    """

    kp = recorded('kp', 'Stiffness, (6,), 1/s².')
    kd = recorded('kd', 'Damping, (6,), 1/s, critical values resolved.')

    max_linear_velocity = _VelocityLimit('max_linear_velocity', 'V_max of the position, m/s.')
    max_angular_velocity = _VelocityLimit('max_angular_velocity', 'That of the orientation, rad/s.')

    def __init__(self, frame, *, kp=100.0, kd=-1.0, max_linear_velocity=np.inf,
                 max_angular_velocity=np.inf, impedance=None, mode=None, trajectory=None,
                 **specification):
        super().__init__(frame, trajectory=trajectory, **specification)
        self.mode = MODES[impedance is not None] if mode is None else mode
        self.impedance = self._own(
            Impedance() if impedance is None else impedance, Impedance, 'spring')
        self.set_gains(kp, kd)
        self.max_linear_velocity = max_linear_velocity
        self.max_angular_velocity = max_angular_velocity

    def set_gains(self, kp=None, kd=None):
        """Change kp, 1/s², or kd, 1/s, (6,) or one number; a critical ``kd`` follows ``kp``."""
        wanted = self._wanted_kd if kd is None else kd
        kp, kd = read_gains(self.kp if kp is None else kp, wanted, (6,), self._owner)
        self._check_limitable(kp, kd)
        self._wanted_kd = np.copy(wanted)
        self._record['kp'], self._record['kd'] = kp, kd

    @property
    def mode(self):
        """'decoupled': a unit mass; 'impedance': a spring and the robot's own inertia."""
        return self._mode

    @mode.setter
    def mode(self, value):
        if value not in MODES:
            raise TaskError(f'{self._owner}: mode = {value!r} is not allowed.',
                            cure=f'Give one of {", ".join(MODES)}.', parameter='mode', value=value)
        self._mode = value
        self._record['impedance'] = float(value == 'impedance')

    def _check_limitable(self, kp, kd):
        """Refuse kp without kd on an axis with a limit: (4.5) divides by kd."""
        for first, name in ((0, 'max_linear_velocity'), (3, 'max_angular_velocity')):
            part = slice(first, first + 3)
            if np.isfinite(self._record[name]) and ((kp[part] > 0) & (kd[part] == 0)).any():
                raise TaskError(f'{self._owner}: {name} needs damping, but kd is 0.',
                                cure='Give kd > 0, or -1 for critical damping.', parameter=name)

    def _parts(self):
        yield from super()._parts()
        yield self.impedance, 'spring'


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

    def _place_axes(self, frame, rotation):
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


def bind_tasks(tasks, model):
    """
    Move the data of a controller's m tasks, none of them in use, into one array.

    Returns the records (m,) of POSE_TASK, input and output of `demand_pose`, which the tasks use
    from now on, and the result of `bind_sensors`.
    """
    for name in [name for task in tasks for name in task.axes_frame if name]:
        model.frame_index(name)
    sensors, sensor_records = bind_sensors(tasks, model)
    records = np.zeros(len(tasks), POSE_TASK)
    for e, task in enumerate(tasks):
        records[e] = task._record
        task._bind(records[e], model)
    return records, sensors, sensor_records


def gradual_fields(records):
    """Return by name the numbers of bound tasks that change gradually, for `Ramps`."""
    force, spring = records['force'], records['spring']
    return {'kp': records['kp'], 'kd': records['kd'], 'activation': records['activation'],
            'motion': records['motion'], 'impedance': records['impedance'],
            'stiffness': spring['stiffness'], 'damping_ratio': spring['damping_ratio'],
            'force.axes': force['axes'], 'force.kp': force['kp'], 'force.ki': force['ki'],
            'force.damping': force['damping']}
