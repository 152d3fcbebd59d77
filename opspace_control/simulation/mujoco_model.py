# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A URDF as a MuJoCo model that has exactly the URDF's dynamics."""

from typing import NamedTuple

import mujoco
import numpy as np

from opspace_control.checks import checked
from opspace_control.errors import SimulationError
from opspace_control.model.mobility import generic_coordinates
from opspace_control.model.topology import nearest
from opspace_control.simulation.drives import add_brakes, make_stiff, weld
from opspace_control.simulation.grips import add_grips
from opspace_control.simulation.objects import FLOOR, OBJECT, ROBOT, add_objects
from opspace_control.simulation.urdf_reader import body_name, link_name, read_urdf

# Given to the links beyond a joint that carries no mass at all: 1 g, and a gyration of 3 cm.
GRAIN_MASS, GRAIN_INERTIA = 1e-3, 1e-6
_PLACEHOLDER = 1.0
# Prefixes of the names of a link's force and torque sensors.
SENSORS = ('force at ', 'torque at ')

# `SimulatedRobot.step` raises an error; MuJoCo would leave a log file in the working directory.
if mujoco.get_mju_user_warning() is None:
    mujoco.set_mju_user_warning(lambda message: None)


class World(NamedTuple):
    """What surrounds a robot, and how it is simulated: arguments of `SimulatedRobot`."""

    timestep: float = 0.001
    gravity: tuple = (0.0, 0.0, -9.81)
    contacts: bool = False
    floor: bool = False
    friction: float = 1.0
    objects: tuple = ()


def compile_model(urdf_text, world, *, floating_base=False, shapes=(), locked_joints=(),
                  wrench_sensors=()):
    """
    Return (mujoco.MjModel, joints, welds); other arguments are those of `SimulatedRobot`.

    ``joints`` are the moving ones by name, depth first, mimics resolved to independent joints;
    ``welds`` has the `Weld` of each locked joint and of its mimics. A ModelError or a
    SimulationError names the wrong element of the URDF.
    """
    timestep, touches = world.timestep, world.contacts or world.floor
    text, links, found = read_urdf(urdf_text, collision_shapes=touches, shapes=shapes)
    try:
        spec = mujoco.MjSpec.from_string(text)
        by_part = {joint.parts[0]: joint for joint in found.values()}
        joints = {by_part[part.name].name: by_part[part.name] for part in spec.joints
                  if part.name in by_part}
        if floating_base:
            spec.worldbody.first_body().add_freejoint()
        _set_options(spec, timestep, world.gravity)
        inertials = {**links, **{box.name: box.inertial for box in world.objects}}
        _set_placeholders(spec.bodies[1:], inertials)
        welds = {joint.name: weld(spec, joint) for joint in _locked(joints, tuple(locked_joints))}
        _set_mimics(spec, joints, timestep, welds)
        driven = [joint for joint in joints.values() if not joint.mimic and joint.name not in welds]
        add_brakes(spec, driven, timestep)
        _add_wrench_sensors(spec, wrench_sensors)
        add_grips(spec, timestep)
        if touches:
            _set_contacts(spec, world)
        _set_placeholders(add_objects(spec, world.objects, links, world.contacts), inertials)
        model = spec.compile()
    except ValueError as error:
        reason = ' '.join(str(error).removeprefix('Error: ').split())
        raise SimulationError(f'MuJoCo refuses the robot: {reason}.', cure='Correct the URDF.',
                              reason=reason) from None
    for joint in driven:
        if len(joint.parts) == 1:
            model.dof_armature[model.joint(joint.parts[0]).dofadr[0]] = joint.armature
    _set_inertias(model, inertials)
    return model, joints, welds


def _locked(joints, names):
    """Return the joints of these names and those that mimic them."""
    for name in names:
        if name not in joints or joints[name].mimic is not None:
            raise SimulationError(
                f"locked_joints names '{name}', which is no independent joint of the robot.",
                cure=nearest(name, [joint.name for joint in joints.values() if not joint.mimic]),
                element=name)
    return [joint for joint in joints.values()
            if (joint.mimic[0] if joint.mimic else joint.name) in names]


def _set_options(spec, timestep, gravity):
    spec.option.timestep = checked(timestep, 'timestep', SimulationError, above=0.0)
    spec.option.gravity = checked(gravity, 'gravity', SimulationError, (3,))
    # Implicit in the joints' damping, which real files give values of 20,000 N s/m.
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    # A diverged simulation must not restart silently.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET


def _set_placeholders(bodies, inertials):
    """
    Give these bodies an inertia that MuJoCo's compiler accepts, in the true principal axes.

    The compiler refuses massless bodies on a joint, principal moments that break the triangle
    inequality, and negative ones; all of them are found in real files, and legal where the links
    they are welded to, or carry, make up for them.
    """
    for body in bodies:
        body.explicitinertial = True
        body.mass = _PLACEHOLDER
        body.inertia = np.full(3, _PLACEHOLDER)
        inertial = inertials[link_name(body.name)]
        body.ipos = inertial.center_of_mass
        body.iquat = _principal(inertial)[1]


def _principal(inertial):
    """Return the principal moments (3,) and the quaternion wxyz (4,) of their axes."""
    moments, axes = np.linalg.eigh(inertial.inertia)
    axes[:, 2] *= np.linalg.det(axes)
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, axes.ravel())
    return moments, quaternion


def _set_inertias(model, inertials):
    """Replace the placeholders by the true inertias; check that every joint has one to move."""
    model.body_mass[:] = 0.0
    model.body_inertia[:] = 0.0
    for link, inertial in inertials.items():
        body = model.body(body_name(link)).id
        model.body_mass[body] = inertial.mass
        model.body_inertia[body] = _principal(inertial)[0]
    carried = model.body_mass.copy()
    for body in range(model.nbody - 1, 0, -1):
        carried[model.body_parentid[body]] += carried[body]
    grains = (carried == 0.0) & (model.body_jntnum > 0)
    model.body_mass[grains] = GRAIN_MASS
    model.body_inertia[grains] = GRAIN_INERTIA
    data = mujoco.MjData(model)
    mujoco.mj_setConst(model, data)
    data.qpos[:] = generic_coordinates(model.nq)
    mujoco.mj_forward(model, data)
    # The inverse pivots of the mass matrix's factors; newer MuJoCo raises a pivot to mjMINVAL.
    pivots = data.qLDiagInv
    stuck = np.flatnonzero(~((pivots > 0.0) & (pivots < 0.1 / mujoco.mjMINVAL)))
    if len(stuck):
        joint = model.joint(model.dof_jntid[stuck[0]]).name or 'the floating base'
        raise SimulationError(
            f"The inertia that joint '{joint}' has to move is not positive.", element=joint,
            cure='Correct the <inertial> of the links it carries, or lock the joint.')


def _set_mimics(spec, joints, timestep, welds):
    """Couple mimic joints to the mimicked ones, as stiffly as the time step allows."""
    for joint in joints.values():
        if joint.mimic is None or joint.name in welds:
            continue
        mimicked, multiplier, offset = joint.mimic
        coupling = spec.add_equality()
        coupling.type = mujoco.mjtEq.mjEQ_JOINT
        coupling.name1, coupling.name2 = joint.parts[0], joints[mimicked].parts[0]
        coupling.data[:5] = offset, multiplier, 0.0, 0.0, 0.0
        make_stiff(coupling, timestep)


def _set_contacts(spec, world):
    checked(world.friction, 'friction', SimulationError, above=0.0)
    for geom in spec.geoms:
        geom.contype = ROBOT
        geom.conaffinity = ROBOT if world.contacts else 0
    if world.contacts:
        _exclude_touching_at_rest(spec)
    if world.floor:
        spec.worldbody.add_geom(
            name='floor', type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0],
            contype=FLOOR, conaffinity=ROBOT | OBJECT)
    for geom in spec.geoms:
        geom.friction[0] = world.friction


def _exclude_touching_at_rest(spec):
    """Let no two links touch that overlap in the zero posture: they are built like that."""
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    pairs = {tuple(sorted(model.geom_bodyid[pair])) for pair in data.contact.geom}
    for first, second in pairs:
        spec.add_exclude(bodyname1=model.body(first).name, bodyname2=model.body(second).name)


def _add_wrench_sensors(spec, links):
    """Add to a MuJoCo spec sensors of the wrench through the joints that carry these links."""
    for link in links:
        body = spec.body(body_name(link))
        if body is None:
            known = [link_name(body.name) for body in spec.bodies[1:]]
            raise SimulationError(f"A wrench sensor is wanted at '{link}', which is no link.",
                                  cure=nearest(link, known), link=link)
        site = body.add_site(name=SENSORS[0] + link)
        kinds = mujoco.mjtSensor.mjSENS_FORCE, mujoco.mjtSensor.mjSENS_TORQUE
        for kind, name in zip(kinds, SENSORS, strict=True):
            sensor = spec.add_sensor(name=name + link)
            sensor.type = kind
            sensor.objtype = mujoco.mjtObj.mjOBJ_SITE
            sensor.objname = site.name
