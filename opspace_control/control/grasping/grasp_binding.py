# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Grasps and the controller they belong to."""

from typing import NamedTuple

import numpy as np

from opspace_control.control.grasping.grasp_law import GRASP, GRIP, WAYS


class Home(NamedTuple):
    """Where a grasp lives: parts of the controller that it works on."""

    model: object
    frame: object    # FRAME record of the object's point
    payloads: object
    tasks: tuple     # of its effectors, which it displaces
    status: object   # of the joints: which of them have no drive


def bind_grasps(grasps, model, tasks, constraints, frames, payloads, status):
    """
    Move the data of grasps into arrays, for a controller.

    Parameters
    ----------
    grasps : sequence of Grasp
        None of them in use.
    model : RobotModel
        The robot.
    tasks : sequence of tasks
        All of the controller's, in order; the grasps' own among them.
    constraints : sequence of Constraint
        All of them, in order.
    frames : (m,) array of FRAME
        Of the tasks' points.
    payloads : Payloads
        Of the controller.
    status : JointStatus
        Of the controller's joints.

    Returns
    -------
    records : (g,) array of GRASP
    grips : (k,) array of GRIP
        Of all grasps, one after the other.

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
        numbers = [constraints.index(held) for held in grasp.constraints]
        own['constraint'] = [-1] * (len(own) - len(numbers)) + numbers
        grasp._record, grasp._grips = record, own
        displaced = tuple(
            task for task in tasks if task is not grasp.task and task.frame in grasp.effectors)
        grasp._home = Home(model, frames[number], payloads, displaced, status)
        first = end
    return records, grips


def fill_grips(record, grips, linkage, internal):
    """
    Write what depends on the linkage and on the internal forces.

    Parameters
    ----------
    record, grips : GRASP record, (N,) array of GRIP
        Of one grasp.
    linkage : VirtualLinkage
        Between its grips.
    internal : (tensions, moments)
        That are asked for, None where they are not.

    """
    grips['place'] = linkage.points
    record['middle'], record['turn'] = linkage.middle, linkage.turn
    record['line'] = linkage.line
    record['length'], record['inverse_leverage'] = linkage.length, linkage.inverse_leverage
    grips['share'] = np.array([linkage.wrenches(unit) for unit in np.eye(6)]).transpose(1, 2, 0)
    tensions, moments = internal
    grips['internal'] = linkage.wrenches(
        0.0, *(0.0 if part is None else part for part in internal))
    grips['pattern'] = linkage.wrenches(tensions=-1.0)
    ways = linkage.internal_basis(tensions is None, moments is None)[:WAYS]
    grips['ways'] = 0.0
    grips['ways'][..., :len(ways)] = np.moveaxis(ways, 0, -1)
    record['width'] = max(len(ways), record['width'] - 1) + 1
    record['eased'] = tensions is None
    inward = linkage.points.mean(axis=0) - linkage.points
    grips['inward'] = inward / np.linalg.norm(inward, axis=1)[:, None]
