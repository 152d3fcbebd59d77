# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A common grasp: several effectors hold one object, which is moved and squeezed as a whole."""

import numpy as np

from opspace_control.control.constraints.constraint import Constraint
from opspace_control.control.grasping.grasp_arguments import (
    KINDS,
    check_grasp,
    check_ways,
    read_internal_forces,
)
from opspace_control.control.grasping.grasp_binding import fill_grips
from opspace_control.control.grasping.grasp_law import GRASP, GRIP
from opspace_control.control.grasping.grasp_places import (
    check_fingertips,
    check_together,
    object_pose,
    transform,
)
from opspace_control.control.grasping.grasp_state import GraspState
from opspace_control.dynamics.virtual_linkage import VirtualLinkage
from opspace_control.errors import ControlError
from opspace_control.model import Payload
from opspace_control.tasks import PoseTask
from opspace_control.tasks.targets import read_pose


class Grasp(GraspState):
    """
    One object in the grip of two or more effectors, [RKR95] 3.2.

    Engaged, it closes the kinematic chain: the effectors' own tasks give way to one of the object,
    whose weight and inertia the robot carries, and each effector does its share, and squeezes as it
    is told. The physical grasp is somebody else's: the grasp tells the controller.

    Parameters
    ----------
    effectors : sequence of str
        Two or more links. The first one carries the object, in a rigid grip; but for fingertips.
    name : str
        Key in ``controller.grasps``, and of the object's task.
    payload : Payload, optional
        The object, in its own frame; without mass if not given.
    grasp_poses : sequence of poses, optional
        Where each effector is when it grasps, in the object's frame, as `PoseTask.set_target` takes
        poses. Not given: they may be anywhere, and the object's frame is in their middle, its axes
        parallel to the base's at the time.
    kind : str
        ``rigid``: no other effector can turn in its grip either. ``point``: these hold their place
        alone. ``fingertips``: so does the first. Two fingertips cannot turn the object about their
        line: there it does as it likes. Joints that carry fingertips need their drives.
    friction : float
        Coefficient on which all grips rely; inf where they cannot slip.
    friction_margin : float
        How much more than the least squeeze against slipping there shall be: 1.5 relies on two
        thirds of the friction.
    squeeze : float
        Tension of every member of the virtual linkage, inwards, N, or more where friction wants it.
    max_squeeze : float
        And no more than this, N.
    minimal_effort : bool
        Whether internal forces that nobody has asked for spare the drives: what a closed chain has
        more of than freedoms is used to minimise the efforts, each as a part of its limit.
    tolerance : (float, float)
        How far effectors may be from their grasp poses, m and rad.
    drift_kp, drift_kd : float
        1/s² and 1/s: how fast the effectors come back to where they took hold, should they give way
        to each other. A negative ``drift_kd`` is critical.
    task : PoseTask, optional
        Of the object; its frame is the first effector. One with the name of the grasp if not given.
    **gains
        Of that task, as `PoseTask` takes them.

    Attributes
    ----------
    name : str
    effectors : tuple of str
    task : PoseTask
        Its poses are those of the object. It is off while the grasp is.
    constraints : tuple of Constraint
        One for each effector, but for a first one that carries the object.

    Raises
    ------
    ControlError
        For an argument that cannot be used.
    TaskError
        For a grasp pose or gain that cannot be used.

    """

    def __init__(self, effectors, *, name='grasp', payload=None, grasp_poses=None, kind='rigid',
                 friction=np.inf, friction_margin=1.5, squeeze=0.0, max_squeeze=200.0,
                 minimal_effort=False, tolerance=(0.02, 0.1), drift_kp=25.0, drift_kd=-1.0,
                 task=None, **gains):
        self.name, self.effectors = name, tuple(effectors)
        check_grasp(self, payload, grasp_poses, kind, friction, friction_margin, tolerance)
        self._payload = Payload(0.0) if payload is None else payload
        self._poses = grasp_poses if grasp_poses is None else [
            transform(*read_pose(pose, f"grasp '{name}'")) for pose in grasp_poses]
        self._tolerance = tuple(tolerance)
        self._carrier = None if kind == 'fingertips' else self.effectors[0]
        self._turning = np.array([effector == self._carrier or kind == 'rigid'
                                  for effector in self.effectors])
        self.constraints = tuple(
            Constraint(effector, self._carrier, name=f'{name}/{effector}', axes=KINDS[kind])
            for effector in self.effectors if effector != self._carrier)
        self.set_drift_gains(drift_kp, drift_kd)
        self.task = PoseTask(self.effectors[0], name=name, **gains) if task is None else task
        self.task.enabled = False
        if self._carrier is None:
            self.task.unattached = True
        self._record = np.zeros(1, GRASP)[0]
        self._grips = np.zeros(len(self.effectors), GRIP)
        self._grips['friction'] = friction / friction_margin
        self._home = self._linkage = None
        self._internal = (None, None)
        self._displaced = ()
        self._set_squeeze(squeeze, max_squeeze)
        self.minimal_effort = minimal_effort

    def __repr__(self):
        return f'Grasp({self.effectors!r}, name={self.name!r})'

    def engage(self, state):
        """
        Take it that the object is held as the effectors are now, and hold it there.

        Parameters
        ----------
        state : RobotState
            Where they are.

        Raises
        ------
        ControlError
            If an effector is not where it should be, by its grasp pose, or moves against the first
            one; nothing has changed.

        """
        if self.engaged:
            return
        home = self._bound()
        poses = home.model.forward_kinematics(state, self.effectors)
        poses = [poses[effector] for effector in self.effectors]
        pose = object_pose(self, poses, self._poses, self._tolerance, self._turning)
        twists = home.model.jacobian(state, self.effectors) @ state.v
        check_together(self, twists.reshape(-1, 6), poses, self._turning)
        inverse = np.linalg.inv(pose)
        places = [inverse @ effector for effector in poses]
        if self._carrier is None:
            check_fingertips(self, home.model, state, home.status.passive)
        self._record['width'] = 0
        self._linkage = VirtualLinkage([place[:3, 3] for place in places], self._turning)
        self._place_frame(poses[0], pose)
        self._load_home()
        fill_grips(self._record, self._grips, self._linkage, self._internal)
        self._displaced = tuple(task for task in home.tasks if task.enabled)
        for task in self._displaced:
            task.enabled = False
        self.task.clear_target()
        self.task.enabled = True
        for constraint in self.constraints:
            constraint.close()
        self._record['activation'] = 1.0

    def disengage(self):
        """Take it that the object is let go: the effectors' own tasks hold them where they are."""
        if not self.engaged:
            return
        self._record['activation'] = 0.0
        for constraint in self.constraints:
            constraint.open()
        self.task.enabled = False
        if self._carrier is not None:
            self._bound().payloads.put(self.name, self._carrier, None)
        for task in self._displaced:
            task.clear_target()
            task.enabled = True
        self._displaced = ()

    def set_internal_forces(self, tensions=None, moments=None):
        """
        Say what the effectors shall do to each other through the object, beside the squeeze.

        What is not given is zero or, with minimal effort, whatever spares the drives most. Where
        joints are passive, the effectors exert the nearest to it that these allow.

        Parameters
        ----------
        tensions : float or (members,) array_like, optional
            N, positive apart, of the members of the `VirtualLinkage`: the line between two
            effectors, the sides of the triangle of three.
        moments : float or (N, 3) array_like, optional
            At each effector, N m, object's axes.

        Raises
        ------
        ControlError
            If they are not so many finite numbers.

        """
        self._internal = read_internal_forces(self, tensions, moments)
        if self._linkage is not None:
            fill_grips(self._record, self._grips, self._linkage, self._internal)

    def set_drift_gains(self, kp, kd=-1.0):
        """
        Say how fast the effectors come back to where they took hold: ``a_c = −kp e − kd v``.

        Parameters
        ----------
        kp, kd : float
            1/s² and 1/s; a negative kd is critical.

        Raises
        ------
        ControlError
            For a gain that cannot be used.

        """
        for held in self.constraints:
            held.set_gains(kp, kd)

    @property
    def minimal_effort(self):
        """Whether internal forces that nobody has asked for spare the drives."""
        return self._record['relief'] > 0.0

    @minimal_effort.setter
    def minimal_effort(self, on):
        if on:
            check_ways(self)
        self._record['relief'] = float(bool(on))

    @property
    def squeeze(self):
        """Tension of every member inwards, at least, N."""
        return float(self._record['squeeze'])

    @squeeze.setter
    def squeeze(self, value):
        self._set_squeeze(value, self._record['strongest'])

    @property
    def payload(self):
        """The object, in its own frame."""
        return self._payload

    @payload.setter
    def payload(self, payload):
        if not isinstance(payload, Payload):
            raise ControlError(f"Grasp '{self.name}': {payload!r} is no payload.", value=payload,
                               cure='Give a Payload(mass, center_of_mass, inertia).')
        self._payload = payload
        if self.engaged:
            self._load_home()

    def _place_frame(self, first, pose):
        """Say where the object is, (4, 4), whose first effector is at ``first``."""
        frame, model = self._home.frame, self._home.model
        if self._carrier is None:
            frame['rotation'] = pose[:3, :3]
            return
        self._in_link = carried = np.linalg.inv(first) @ pose
        link = model.frames[model.frame_index(self._carrier)]
        frame['rotation'] = link['rotation'] @ carried[:3, :3]
        frame['position'] = link['position'] + link['rotation'] @ carried[:3, 3]

    def _load_home(self):
        """Let the first effector carry the object; fingertips are only told what it takes."""
        body, record = self._payload, self._record
        record['mass'], record['center'] = body.mass, body.center_of_mass
        record['inertia'] = body.inertia
        if self._carrier is None:
            return
        self._bound().payloads.put(self.name, self.effectors[0],
                                   body.moved(self._in_link[:3, :3], self._in_link[:3, 3]))

    def _set_squeeze(self, squeeze, strongest):
        if not 0.0 <= squeeze <= strongest < np.inf:
            raise ControlError(
                f"Grasp '{self.name}': a squeeze of {squeeze} N is not allowed.", value=squeeze,
                cure=f'Give a number from 0 to max_squeeze, {strongest:g} N.', grasp=self.name)
        self._record['squeeze'], self._record['strongest'] = squeeze, strongest

    def _bound(self):
        if self._home is None:
            raise ControlError(f"Grasp '{self.name}' belongs to no controller.",
                               cure='Give it to one: grasps=[...].', grasp=self.name)
        return self._home
