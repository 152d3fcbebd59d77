# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What can be measured at a simulated robot: forces between links, of contacts, and momentum."""

import mujoco
import numpy as np

from opspace_control.errors import SimulationError
from opspace_control.model.topology import nearest
from opspace_control.simulation.urdf_reader import body_name, link_name

_FORCE, _TORQUE = 'force at ', 'torque at '


def add_wrench_sensors(spec, links):
    """Add to a MuJoCo spec sensors of the wrench through the joints that carry these links."""
    for link in links:
        body = spec.body(body_name(link))
        if body is None:
            known = [link_name(body.name) for body in spec.bodies[1:]]
            raise SimulationError(f"A wrench sensor is wanted at '{link}', which is no link.",
                                  cure=nearest(link, known), link=link)
        # Its frame is the link's.
        site = body.add_site(name=_FORCE + link)
        for kind, name in ((mujoco.mjtSensor.mjSENS_FORCE, _FORCE),
                           (mujoco.mjtSensor.mjSENS_TORQUE, _TORQUE)):
            sensor = spec.add_sensor(name=name + link)
            sensor.type = kind
            sensor.objtype = mujoco.mjtObj.mjOBJ_SITE
            sensor.objname = site.name


def transmitted_wrench(data, link):
    """Return the wrench (6,) that a sensor at a link measures, as `SimulatedRobot.wrench`."""
    try:
        # MuJoCo's is what holds the link: the parent's on it.
        return -np.concatenate([data.sensor(name + link).data for name in (_FORCE, _TORQUE)])
    except KeyError:
        raise SimulationError(f"There is no wrench sensor at '{link}'.", link=link,
                              cure='Name the link in wrench_sensors=(...).') from None


def contact_wrench(model, data, body):
    """Return the wrench (6,) of all contacts of a body, as `SimulatedRobot.contact_wrench`."""
    rigid = model.body_weldid[body]
    force, moment, six = np.zeros(3), np.zeros(3), np.empty(6)
    for i in range(data.ncon):
        contact = data.contact[i]
        own = model.body_weldid[model.geom_bodyid[contact.geom]] == rigid
        if own[0] == own[1]:
            continue
        # In the contact's axes, by rows; on the second of the two shapes.
        mujoco.mj_contactForce(model, data, i, six)
        f, n = (six.reshape(2, 3) @ contact.frame.reshape(3, 3)) * (own[1] * 2.0 - 1.0)
        force += f
        moment += n + np.cross(contact.pos - data.xpos[body], f)
    R = data.xmat[body].reshape(3, 3)
    return np.concatenate([force @ R, moment @ R])


def momentum(model, data, point, bodies):
    """Return the momentum (6,) of bodies about a point, as `SimulatedRobot.momentum`."""
    for update in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_comVel):
        update(model, data)
    total = np.zeros(6)
    for body in bodies:
        # MuJoCo has angular velocities first, and linear ones of the whole tree's centre of mass.
        w, v = data.cvel[body].reshape(2, 3)
        center = data.xipos[body]
        v = v + np.cross(w, center - data.subtree_com[model.body_rootid[body]])
        axes = data.ximat[body].reshape(3, 3)
        linear = model.body_mass[body] * v
        total[:3] += linear
        total[3:] += axes @ (model.body_inertia[body] * (w @ axes))
        total[3:] += np.cross(center - point, linear)
    return total
