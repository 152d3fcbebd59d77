# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Robots that differ from their models, and motions of theirs."""

import xml.etree.ElementTree as ET

import numpy as np

from opspace_control.identification.excitation import exciting_motion
from opspace_control.identification.regressor import inverse_dynamics


def with_friction(urdf, part, viscous=0.5):
    """Return a URDF with Coulomb friction in parts of efforts, and viscous in parts of that."""
    robot = ET.fromstring(urdf)
    for joint in robot.iter('joint'):
        for dynamics in joint.findall('dynamics'):
            joint.remove(dynamics)
        limit = joint.find('limit')
        if limit is not None and part:
            friction = part * float(limit.get('effort'))
            ET.SubElement(joint, 'dynamics', damping=repr(viscous * friction),
                          friction=repr(friction))
    return ET.tostring(robot, encoding='unicode')


def with_masses(urdf, seed, deviation=0.1):
    """Return a URDF whose links weigh otherwise, by a normal distribution; inertias likewise."""
    robot, random = ET.fromstring(urdf), np.random.default_rng(seed)
    for inertial in robot.iter('inertial'):
        factor = float(np.exp(deviation * random.standard_normal()))
        mass, inertia = inertial.find('mass'), inertial.find('inertia')
        mass.set('value', repr(factor * float(mass.get('value'))))
        for key, value in inertia.attrib.items():
            inertia.set(key, repr(factor * float(value)))
    return ET.tostring(robot, encoding='unicode')


def recorded_motion(model, truth, home, *, noise=0.0, seed=0):
    """
    Return times, positions and efforts of an exciting motion of ``truth`` at 1 kHz.

    ``noise`` is that of efforts, in parts of their limits; encoders have steps of 20 µrad.
    """
    motion = exciting_motion(model, home, timestep=1e-3)
    effort = inverse_dynamics(truth, truth.nodes, motion.q, motion.v, motion.acceleration)
    effort += truth.friction * np.sign(motion.v) + truth.damping * motion.v
    limits = np.where(np.isfinite(model.effort_limits), model.effort_limits, 1.0)
    random = np.random.default_rng(seed)
    effort += noise * limits * random.standard_normal(effort.shape)
    return motion.time, np.round(motion.q / 2e-5) * 2e-5, effort
