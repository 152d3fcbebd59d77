# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Postures of a robot: random, middle and named ones, their margins and gravity forces."""

import math

import numpy as np

from opspace_control.dynamics.data import NODE_STATE, moment_nodes, nan_filled, new_points
from opspace_control.dynamics.hybrid_dynamics import responding_nodes, solve_hybrid
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.model import RobotState
from opspace_control.model.nodes import ACTIVE, REVOLUTE


def random_postures(model, home, count):
    """
    Yield q (nq,) with every joint that is not locked anywhere within its limits, or within a turn.

    What has no bounds otherwise, and a floating base, stays as in ``home`` (nq,). Each call yields
    the same ones.
    """
    random = np.random.default_rng(0)
    scalar = [(node, dof) for node, dof in enumerate(model.nodes['v_index'].tolist())
              if dof >= (6 if model.floating_base else 0) and model.q_index[dof] >= 0
              and not model.locked[dof]]
    revolute = model.nodes['kind'][[node for node, _ in scalar]] == REVOLUTE
    dofs = np.array([dof for _, dof in scalar], dtype=int)
    i = model.q_index[dofs]
    lower, upper = model.lower_position_limits[dofs], model.upper_position_limits[dofs]
    lower = np.where(np.isfinite(lower), lower, np.where(revolute, -math.pi, home[i]))
    upper = np.where(np.isfinite(upper), upper, np.where(revolute, math.pi, home[i]))
    for _ in range(count):
        q = np.array(home)
        q[i] = lower + random.random(i.size) * (upper - lower)
        yield q


def middle_posture(model):
    """Return q (nq,) with every joint in the middle of its range, or at zero where it has none."""
    q, lower, upper = model.neutral(), model.lower_position_limits, model.upper_position_limits
    bounded = np.isfinite(lower) & np.isfinite(upper) & (model.q_index >= 0)
    q[model.q_index[bounded]] = 0.5 * (lower[bounded] + upper[bounded])
    return q


def named_posture(model, positions):
    """
    Return q (nq,) with joints at ``positions``, name -> rad or m; others at zero or nearest to it.

    Raises a ModelError for a name that is no degree of freedom, or one without a coordinate of its
    own.
    """
    q = model.neutral()
    scalar = model.q_index >= 0
    index = model.q_index[scalar]
    q[index] = q[index].clip(model.lower_position_limits[scalar],
                             model.upper_position_limits[scalar])
    for name, position in positions.items():
        q[model.q_index[model.dof_index(name)]] = position
    return q


def limit_margins(model, q):
    """Return how far (nv,) each joint is from its nearer position limit, negative beyond it."""
    margins = np.full(model.nv, np.inf)
    scalar = model.q_index >= 0
    at = np.asarray(q)[model.q_index[scalar]]
    margins[scalar] = np.minimum(at - model.lower_position_limits[scalar],
                                 model.upper_position_limits[scalar] - at)
    return margins


def gravity_forces(model, q):
    """Return the joint forces (nv,), N·m or N, that hold the robot at rest at ``q`` (nq,)."""
    return model.gravity(RobotState(model, q, np.zeros(model.nv)))


def largest_gravity_forces(model, postures):
    """Return the largest size (nv,) of each joint's gravity force over some postures (nq,)."""
    nodes, q = moment_nodes(model), model.neutral()
    nodes['status'] = ACTIVE
    largest, tau, still = np.zeros((3, model.nv))
    solve = solve_hybrid.partial(
        nodes, responding_nodes(nodes), q, still, new_points(0), np.zeros((0, 6)), GRAVITY.copy(),
        nan_filled(nodes.size, NODE_STATE), still, tau)
    for q[:] in postures:
        solve()
        np.maximum(largest, np.abs(tau), out=largest)
    return largest
