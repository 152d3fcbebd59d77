# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A grasp: several effectors move one object and exert internal forces on it."""

from itertools import product

import numpy as np

from opspace_control.control.constraints.constraint import Constraint
from opspace_control.control.grasping.grasp_checks import (
    GRIP_AXES,
    check_fingertips,
    check_grasp,
    check_payload,
    check_together,
    object_pose,
    read_internal_forces,
    transform,
)
from opspace_control.control.grasping.grasp_force import read_grasp_force
from opspace_control.control.grasping.grasp_forces import GraspForces
from opspace_control.control.grasping.grasp_law import GRASP, GRIP
from opspace_control.control.grasping.grasp_records import fill_grips, links_from
from opspace_control.dynamics.virtual_linkage import VirtualLinkage
from opspace_control.errors import ControlError, OpspaceError
from opspace_control.model import Payload
from opspace_control.tasks.arguments import read_pose
from opspace_control.tasks.pose import PoseTask


class Grasp(GraspForces):
    """
    One object in the grip of two or more effectors, [RKR95] 3.2.

    Engaged, it closes the kinematic chain: the effectors' own tasks are replaced by one of the
    object, whose weight and inertia they share, and they exert internal forces. The grasp only
    describes the physical grips, which gripper or simulator close. Raises a ControlError for an
    argument that cannot be used, and a TaskError for a grasp pose or gain that cannot be used.

    Parameters
    ----------
    effectors : sequence of str
        Two or more links. The first one carries the object in a rigid grip, except fingertips.
    name : str
        Key in ``controller.grasps``, and of the object's task.
    payload : Payload, optional
        The object, in its own frame; without mass if not given.
    grasp_poses : sequence of poses, optional
        Of the effectors in the object's frame, as `PoseTask.set_target` takes poses. Without them
        the object's frame is, at engagement, in the effectors' middle, parallel to the base's.
    kind : str
        ``rigid``: all grips are rigid. ``point``: grips other than the first are point contacts.
        ``fingertips``: all are. Two fingertips exert no moment about their line, about which the
        object swings. Joints that carry fingertips must be driven.
    grasp_force : GraspForce or float
        Compression between the effectors and friction; a number is its minimum, N.
    tolerance : (float, float)
        Largest distance of an effector from its grasp pose at engagement, m and rad.
    drift_gains : (float, float)
        kp, 1/s², and kd, 1/s, as `set_drift_gains` takes them.
    task : PoseTask, optional
        Of the object; its frame is the first effector. One with the name of the grasp if not given.
    **gains
        Of that task, as `PoseTask` takes them.

    Attributes
    ----------
    name : str
    effectors : tuple of str
    task : PoseTask
        Its poses are those of the object. It is enabled while the grasp is engaged.
    constraints : tuple of Constraint
        One for each effector except a carrier.

    """

    def __init__(self, effectors, *, name='grasp', payload=None, grasp_poses=None, kind='rigid',
                 grasp_force=0.0, tolerance=(0.02, 0.1), drift_gains=(25.0, -1.0), task=None,
                 **gains):
        self.name, self.effectors = name, tuple(effectors)
        self._payload = Payload(0.0) if payload is None else payload
        self._shapes = (), ()
        check_grasp(self, grasp_poses, kind, tolerance)
        self._poses = grasp_poses if grasp_poses is None else [
            transform(*read_pose(pose, f"grasp '{name}'")) for pose in grasp_poses]
        self._tolerance = tuple(tolerance)
        self._carrier = None if kind == 'fingertips' else self.effectors[0]
        self._turning = np.array([effector == self._carrier or kind == 'rigid'
                                  for effector in self.effectors])
        self.constraints = tuple(
            Constraint(effector, self._carrier, name=f'{name}/{effector}', axes=GRIP_AXES[kind])
            for effector in self.effectors if effector != self._carrier)
        self.set_drift_gains(*drift_gains)
        self.task = PoseTask(self.effectors[0], name=name, **gains) if task is None else task
        self.task.enabled = False
        if self._carrier is None:
            self.task.unattached = True
        self._record = np.zeros(1, GRASP)[0]
        self._grips = np.zeros(len(self.effectors), GRIP)
        self._context = self._linkage = None
        self._internal = (None, None)
        self._pose_in_carrier = np.eye(4)
        self.grasp_force = grasp_force

    def __repr__(self):
        return f'Grasp({self.effectors!r}, name={self.name!r})'

    def engage(self, state):
        """
        Close the constraints at the effectors' poses of a state and enable the object's task.

        A ControlError refuses effectors that are not at their grasp poses or move relative to the
        first one, and a ModelError shapes that cannot be used; nothing has changed then.
        """
        if self.engaged:
            return
        context = self._registered()
        poses = context.model.forward_kinematics(state, self.effectors)
        poses = [poses[effector] for effector in self.effectors]
        pose = object_pose(self, poses, self._poses, self._tolerance, self._turning)
        twists = context.model.jacobian(state, self.effectors) @ state.v
        check_together(self, twists.reshape(-1, 6), poses, self._turning)
        inverse = np.linalg.inv(pose)
        places = [inverse @ effector for effector in poses]
        if self._carrier is None:
            check_fingertips(self, context.model, state, context.status.passive)
        linkage = VirtualLinkage([place[:3, 3] for place in places], self._turning)
        self._write_payload(np.linalg.inv(poses[0]) @ pose)
        self._record['basis_size'] = 0
        self._linkage = linkage
        self._place_frame(pose)
        fill_grips(self._record, self._grips, self._linkage, self._internal)
        context.displaced.disable()
        self.task.clear_target()
        self.task.enabled = True
        for constraint in self.constraints:
            constraint.close()
        self._record['activation'] = 1.0

    def disengage(self):
        """
        Open the constraints.

        The effectors' own tasks that were enabled at the engagement are so again, at their present
        poses; those that were disabled stay so.
        """
        if not self.engaged:
            return
        self._record['activation'] = 0.0
        for constraint in self.constraints:
            constraint.open()
        self.task.enabled = False
        if self._carrier is not None:
            self._registered().payloads.put(self.name, self._carrier, None)
        self._context.displaced.enable()

    def set_internal_forces(self, tensions=None, moments=None):
        """
        Set the internal forces on top of the grasp force.

        Those not given are zero or, with minimum effort, free. With passive joints the effectors
        exert the nearest ones that these admit. A ControlError refuses other shapes and numbers
        that are not finite.

        Parameters
        ----------
        tensions : float or (members,) array_like, optional
            N, of the members of the `VirtualLinkage`, compression being negative: the line between
            two effectors, the sides of the triangle of three.
        moments : float or (N, 3) array_like, optional
            At each effector, N m, object's axes.

        """
        self._internal = read_internal_forces(self, tensions, moments)
        if self._linkage is not None:
            fill_grips(self._record, self._grips, self._linkage, self._internal)

    def set_drift_gains(self, kp, kd=-1.0):
        """
        Set the gains against drift between the effectors, ``a_c = −kp e − kd v``.

        1/s² and 1/s; a negative kd is critical. A ControlError refuses others.
        """
        for constraint in self.constraints:
            constraint.set_gains(kp, kd)

    def set_shapes(self, shapes, touching=()):
        """
        Set the shapes of the object, which keep a distance while the grasp is engaged.

        They are shapes of the first effector's link then, and may touch all effectors and what
        these carry, such as fingers. A ModelError refuses shapes that cannot be carried, as among
        fingertips; an engaged grasp raises as `Payloads.put`, too. Nothing changes then.

        Parameters
        ----------
        shapes : sequence of Shape
            In the object's frame, without a link, bounded; with names of their own.
        touching : sequence of (str, str)
            Further pairs that may touch, as of `CollisionModel.with_shapes`.

        """
        before = self._shapes
        self._shapes = tuple(shapes), tuple(touching)
        try:
            for shape in self.shapes:
                shape.carried_by(self._carrier, self._pose_in_carrier)
            if self._is_carried:
                self._write_payload(self._pose_in_carrier)
        except OpspaceError:
            self._shapes = before
            raise

    @property
    def shapes(self):
        """The shapes of the object, in its own frame."""
        return self._shapes[0]

    @property
    def pose_in_carrier(self):
        """Pose of the object at the last engagement in the first effector's link, (4, 4), m."""
        return self._pose_in_carrier.copy()

    @property
    def hand_links(self):
        """Names of links, one or more of each body, of the effectors and of what these carry."""
        return links_from(self._registered().model, self.effectors)

    @property
    def grasp_force(self):
        """The `GraspForce`; one that is set, or a number, takes effect at the next cycle."""
        return self._grasp_force

    @grasp_force.setter
    def grasp_force(self, given):
        self._grasp_force = force = read_grasp_force(given, self.name, len(self.effectors))
        self._record['grasp_force'], self._record['max_grasp_force'] = force.minimum, force.maximum
        self._record['minimum_effort'] = float(force.minimum_effort)
        self._grips['friction'] = force.friction / force.friction_margin

    @property
    def payload(self):
        """The object, in its own frame."""
        return self._payload

    @payload.setter
    def payload(self, payload):
        check_payload(self, payload)
        self._payload = payload
        if self._is_carried:
            self._write_payload(self._pose_in_carrier)

    @property
    def engaged(self):
        """Whether the grasp is closed, from its engagement on."""
        return self._record['activation'] > 0.0

    @property
    def in_use(self):
        """Whether the grasp belongs to a controller."""
        return self._context is not None

    def _place_frame(self, pose):
        """Set the object's frame, at ``pose``, in the link of the first effector."""
        frame, model = self._context.frame, self._context.model
        if self._carrier is None:
            frame['rotation'] = pose[:3, :3]
            return
        in_link = self._pose_in_carrier
        link = model.frames[model.frame_index(self._carrier)]
        frame['rotation'] = link['rotation'] @ in_link[:3, :3]
        frame['position'] = link['position'] + link['rotation'] @ in_link[:3, 3]

    def _write_payload(self, pose):
        """Write the object, at a pose in its carrier, to that if there is one, and the record."""
        body, record = self._payload, self._record
        if self._carrier is not None:
            shapes, touching = self._shapes
            self._registered().payloads.put(
                self.name, self._carrier, body.moved(pose[:3, :3], pose[:3, 3]),
                shapes=[shape.carried_by(self._carrier, pose) for shape in shapes],
                touching=[*touching, *product([shape.name for shape in shapes], self.hand_links)])
        record['mass'], record['center'] = body.mass, body.center_of_mass
        record['inertia'] = body.inertia
        self._pose_in_carrier = pose

    @property
    def _is_carried(self):
        """Whether the object counts: from the engagement on, which a ramp begins at 0."""
        return self.in_use and (self.engaged if self._carrier is None
                                else self.name in self._context.payloads)

    def _registered(self):
        if self._context is None:
            raise ControlError(f"Grasp '{self.name}' belongs to no controller.",
                               cure='Give it to one: grasps=[...].', grasp=self.name)
        return self._context
