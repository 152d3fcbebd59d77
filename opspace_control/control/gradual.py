# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The numbers of a controller that must not jump."""

from opspace_control.control.grasping.grasp_law import MAX_BASIS
from opspace_control.tasks.task import gradual_fields


def gradual_numbers(tasks, joint_tasks, dofs, constraints, grasps, grips, payloads, limits,
                    passive_dofs):
    """
    Return arrays by name, the very ones in use, whose numbers should change gradually.

    Records of POSE_TASK, JOINT_TASK, POSTURE_DOF, CONSTRAINT, GRASP and GRIP, Payloads, LimitData
    or None, and PASSIVE_DOF (nv,), the known forces of passive joints.
    """
    return {**gradual_fields(tasks),
            'joints.kp': joint_tasks['kp'], 'joints.kd': joint_tasks['kd'],
            'joints.activation': joint_tasks['activation'],
            'posture.kp': dofs['kp'], 'posture.kd': dofs['kd'],
            'constraint.activation': constraints['activation'],
            'constraint.friction': constraints['friction'],
            'constraint.kp': constraints['kp'], 'constraint.kd': constraints['kd'],
            'constraint.internal_wrench': constraints['internal_wrench'],
            **{f'grasp.{quantity}': grasps[quantity] for quantity in (
                'activation', 'grasp_force', 'minimum_effort', 'grasp_force_free')},
            'grip.internal': grips['internal'],
            'grip.basis': grips['basis'].reshape(-1, 6 * MAX_BASIS),
            **{f'passive.{quantity}': passive_dofs[quantity]
               for quantity in ('damping', 'friction', 'stiffness', 'rest')},
            **payloads.gradual, **(limits.gradual if limits else {})}
