# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a control cycle needs besides robot and tasks, and what it has to say."""

import numpy as np

from opspace_control.dynamics.data import reach

# Inertia of the robot, moved as one body, over that of a contact of large inertia: about the part
# by which accelerations and contact forces are wrong. See `benchmark/contact_models.py` for others.
CONTACT_SOFTNESS = 1e-7

CYCLE = np.dtype([
    ('gravity', np.float64, (3,)),       # m/s², zero where the hardware compensates it
    ('floating_base', np.bool_),
    ('has_passive', np.bool_),           # whether any joint is passive
    ('singularity_threshold', np.float64),  # of the scaled Λ⁻¹, without unit
    ('least_mobility', np.float64),      # of a point, 1/kg: of the robot moved as one body
    ('least_turning', np.float64),       # 1/(kg m²), the same for turning it
    ('contact_softness', np.float64),    # of `LargeInertia`: the robot's inertia over I_c
    ('origin', np.float64, (3,)),        # of the root link in the world, m
    ('least_eigenvalue', np.float64),    # lower bound, of the scaled Λ⁻¹; 0 below the threshold
    ('attained', np.bool_),              # whether tasks get all of their accelerations
    ('dt', np.float64),                  # since the last cycle, s
    ('limited', np.int64),               # how many efforts were cut
    ('passive_rows', np.int64),          # that passive joints add to internal forces of grasps
    ('return_rate', np.float64),         # at which joints return to their limits of motion, 1/s
    ('approach_rate', np.float64),       # at which they approach their limits at last, 1/s
    ('distance_margin', np.float64),     # least distance of pairs of shapes, m
    ('distance_braking', np.float64),    # deceleration that they can always brake with, m/s²
    ('parting_speed', np.float64),       # at which they part where they are nearer, m/s
    ('repulsion', np.float64),           # gain of the potential of their distances, J m²; 0: none
    ('repulsion_influence', np.float64),  # distance from which on there is none, m
    ('keep', np.float64),                # 1: joints keep their limits; 0: but for efforts, not at
                                         # all; in between bounds are wider
    ('forces_decided', np.bool_),        # whether the controller decides all constraint forces
    ('least_effort', np.float64),        # part of the internal forces that spare the drives
    ('reactions_exerted', np.bool_),     # whether drives exert the constraint reactions of grasps
    ('force_share', np.float64),         # of the forces of force control, that effort limits leave
    ('bound_count', np.int64),           # rows of bounds in the last problem
    ('problems', np.int64),              # that were solved to keep limits of joints
    ('unsolved', np.int64),              # of them, those that were not solved: see `solve_problem`
    ('levels_skipped', np.int64),        # in the last of them, see `solve_levels`
    ('at_once', np.bool_),               # whether the last of them was solved at once, or is to be
    ('singular_control', np.bool_),      # whether singular directions have a law of their own
    ('resting_count', np.int64),         # the first rows of bounds, of joints at rest at limits
    ('singular_active', np.bool_),       # whether any direction was singular in this cycle
    ('singular_part', np.float64),       # greatest share of the control of one, from 0 to 1
    ('singular_share', np.float64),      # the same, gradually
    ('direction_lost', np.bool_),        # whether one was all but lost at the last cycle
    ('stiffened', np.bool_),             # whether links have `Memory.link_inertia`
    ('inertia_left', np.float64),        # part of it since no bound causes any, 1 before
    ('damping_rate', np.float64),        # of the momentum then, 1/s, see `curvature_damping`
    ('R', np.float64, (3, 3)),           # scratch from here on
    ('motion', np.float64, (4, 3)),
    ('rate', np.float64, (3,)),
], align=True)


def make_cycle(model, status, singularity_threshold):
    """Return the CYCLE record, in an array of one, of a model with its `JointStatus`."""
    cycle = np.zeros(1, CYCLE)
    mass = status.nodes['mass'].sum()
    cycle['has_passive'] = status.responds.any()
    cycle['floating_base'] = model.floating_base
    cycle['singularity_threshold'] = singularity_threshold
    cycle['least_mobility'] = 1.0 / mass
    cycle['least_turning'] = 1.0 / (mass * max(reach(status.nodes), 1e-3) ** 2)
    cycle['contact_softness'] = CONTACT_SOFTNESS
    cycle['force_share'] = 1.0
    return cycle
