# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Grasps and the controller they belong to."""

from typing import NamedTuple

import numpy as np

from opspace_control.control.constraints.displaced_tasks import DisplacedTasks
from opspace_control.control.grasping.grasp_law import GRASP, GRIP, MAX_BASIS
from opspace_control.dynamics.virtual_linkage import VirtualLinkage
from opspace_control.model.nodes import WORLD, with_subtrees


class GraspContext(NamedTuple):
    """Parts of the controller that a grasp uses."""

    model: object
    frame: object    # FRAME record of the object's point
    payloads: object
    displaced: object  # DisplacedTasks: those of its effectors, replaced by the object's
    status: object   # of the joints


def register_grasps(grasps, model, tasks, constraints, frames, payloads, status):
    """
    Move the data of grasps, none of them in use, into arrays, for a controller.

    Model, tasks, constraints, Payloads and JointStatus are the controller's; ``frames`` (m,) are
    those of the tasks' points. Returns (g,) of GRASP, and (k,) of GRIP of all grasps, one after the
    other.
    """
    records = np.zeros(len(grasps), GRASP)
    grips = np.zeros(sum(len(grasp.effectors) for grasp in grasps), GRIP)
    first = 0
    for grasp, record in zip(grasps, records, strict=True):
        end = first + len(grasp.effectors)
        number = tasks.index(grasp.task)
        for name in GRASP.names:
            record[name] = grasp._record[name]
        record['task'], record['first'], record['end'] = number, first, end
        own = grips[first:end]
        own[:] = grasp._grips
        numbers = [constraints.index(each) for each in grasp.constraints]
        own['constraint'] = [-1] * (len(own) - len(numbers)) + numbers
        grasp._record, grasp._grips = record, own
        displaced = DisplacedTasks([
            task for task in tasks if task is not grasp.task and task.frame in grasp.effectors],
            numbers[0] + 1)  # that of its first constraint
        grasp._context = GraspContext(model, frames[number], payloads, displaced, status)
        first = end
    return records, grips


def resume(grasp):
    """
    Let a Grasp go on that another process has engaged, as the numbers of its controller say.

    Internal forces that were set count until they are set again.
    """
    model, frame = grasp._context.model, grasp._context.frame
    grasp._linkage = VirtualLinkage(grasp._grips['place'].copy(), grasp._turning)
    pose = grasp._pose_in_carrier = np.eye(4)
    if grasp._carrier is not None:
        link = model.frames[model.frame_index(grasp._carrier)]
        pose[:3, :3] = link['rotation'].T @ frame['rotation']
        pose[:3, 3] = link['rotation'].T @ (frame['position'] - link['position'])
    if grasp.engaged:  # otherwise a ramp ends it
        grasp._write_payload(pose)


def links_from(model, links):
    """Return these names of links, and those of all links that their bodies carry."""
    chosen = np.isin(np.arange(model.nodes.size),
                     model.frames['node'][[model.frame_index(name) for name in links]])
    carried = with_subtrees(model.nodes, chosen) & ~chosen
    return (*links, *(name for name, node in zip(
        model.frame_names, model.frames['node'].tolist(), strict=True)
        if node != WORLD and carried[node]))


def fill_grips(record, grips, linkage, internal):
    """
    Write the fields of a GRASP record and of its grips (N,) that depend on linkage and forces.

    ``internal`` are tensions and moments as in `set_internal_forces`, None where not given.
    """
    grips['place'] = linkage.points
    record['middle'], record['turn'] = linkage.middle, linkage.turn
    record['line'] = linkage.line
    record['length'], record['inverse_leverage'] = linkage.length, linkage.inverse_leverage
    grips['load_share'] = np.array(
        [linkage.wrenches(unit) for unit in np.eye(6)]).transpose(1, 2, 0)
    tensions, moments = internal
    grips['internal'] = linkage.wrenches(
        0.0, *(0.0 if part is None else part for part in internal))
    grips['unit_force'] = linkage.wrenches(tensions=-1.0)
    basis = linkage.internal_basis(tensions is None, moments is None)[:MAX_BASIS]
    grips['basis'] = 0.0
    grips['basis'][..., :len(basis)] = np.moveaxis(basis, 0, -1)
    record['basis_size'] = max(len(basis), record['basis_size'] - 1) + 1
    record['grasp_force_free'] = tensions is None
    inward = linkage.points.mean(axis=0) - linkage.points
    grips['inward'] = inward / np.linalg.norm(inward, axis=1)[:, None]
