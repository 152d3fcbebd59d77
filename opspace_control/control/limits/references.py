# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The efforts that a problem refers to: those without any force that it decides.

doc/explanation/developer_notes.md has all references with their equations.
"""

from opspace_control.compiled import rare
from opspace_control.control.data import APPLIED, DEMANDED, FORCE, RESIDUAL, WANTED
from opspace_control.control.limits.applied_forces import add_balanced_efforts
from opspace_control.control.limits.contact_forces import decide_forces, write_singular_reactions
from opspace_control.control.limits.effects import find_efforts, react, write_residual
from opspace_control.control.limits.grip_efforts import add_grip_efforts
from opspace_control.control.singular.transfer import add_correction, add_singular_torque
from opspace_control.dynamics.responses import motion_torques
from opspace_control.tasks.posture import feed_efforts


@rare
def find_posture_torques(data, tau):
    """Write ``A q̈_null + b + g``, (nv,), with the feed-forward; ``f`` of nodes is of q̈_null."""
    motion_torques(data.robot.nodes, data.robot.states, data.results.a_null,
                   data.scratch.joint_force, tau)
    feed_efforts(data.robot.nodes, data.demand.dofs, tau)


@rare
def refer_efforts(data, grasping, reference, tau_null):
    """
    Write constraint forces and efforts without multipliers; ``FORCE`` becomes ``APPLIED``.

    Reference 0 is of q̈_ref, 1 of q̈_null, which take the efforts ``tau_null`` (nv,).
    """
    contacts, stack = data.scratch.bounded.contacts, data.results.stack
    for r in range(contacts.force.size, stack.shape[1]):
        stack[FORCE, r] = stack[APPLIED, r]
    react(data, 0)
    decide_forces(data, 0, reference == 0)
    for c in range(contacts.force.size):
        contacts.reference[reference, c] = contacts.force[c]
    write_residual(data, stack[WANTED if reference == 0 else DEMANDED], 0)
    if reference == 0:
        add_correction(data, stack[RESIDUAL])
    find_efforts(data, grasping, 0, tau_null, contacts.effort[reference])


@rare
def write_effort_references(data, grasping):
    """Write the efforts of q̈_ref, and of q̈_null for the plain problem, from ``tau_posture``."""
    cycle, bounded = data.cycle, data.scratch.bounded
    tau_posture, tau_null, tau_ref = bounded.tau_posture, bounded.tau_null, bounded.tau_ref
    for k in range(tau_null.size):
        tau_null[k] = tau_posture[k]
    add_singular_torque(data, tau_null)
    if cycle.forces_decided:
        write_singular_reactions(data)
        if cycle.singular_active:
            refer_efforts(data, grasping, 1, tau_posture)
        refer_efforts(data, grasping, 0, tau_null)
        return
    for k in range(tau_ref.size):
        tau_ref[k] = tau_null[k]
    add_balanced_efforts(data, tau_ref)
    add_balanced_efforts(data, tau_posture)
    if cycle.reactions_exerted:
        add_grip_efforts(data, grasping, False, tau_ref)
        if cycle.singular_active:
            add_grip_efforts(data, grasping, True, tau_posture)
