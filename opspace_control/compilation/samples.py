# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Uses of all kernels: what kinds of arguments they take, which are the same for every robot."""

import contextlib

import numpy as np

import opspace_control as osc
from opspace_control.safety.accepted_state import AcceptedState
from opspace_control.safety.envelope import Envelope
from opspace_control.safety.servo import Servo

_BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>' \
    '</inertial>'
_ROBOT = f'<robot name="sample"><link name="base">{_BODY}</link>' + ''.join(
    f'<link name="{side}">{_BODY}</link><joint name="{side}_joint" type="revolute">'
    f'<parent link="base"/><child link="{side}"/><origin xyz="0 {y} 0"/><axis xyz="1 0 0"/>'
    '<limit lower="-1" upper="1" effort="10" velocity="1"/></joint>'
    for side, y in (('left', 0.5), ('right', -0.5))) + '</robot>'
_SIDES = 'left', 'right'


def use_kernels():
    """Call all kernels with all kinds of arguments; results may be nonsense."""
    model = osc.RobotModel.from_urdf(_ROBOT, floating_base=True)
    state = osc.RobotState(model, model.neutral(), np.zeros(model.nv))
    for options in ({'limits': osc.JointLimits(model)}, {}):
        controller = osc.OperationalSpaceController(model, **options)
        controller.warm_up()
        Servo(controller).restart(0.0)
    for use in (
            lambda: Envelope(model, controller.effort_limits), lambda: AcceptedState(model),
            lambda: model.mass_matrix(state), lambda: model.jacobian(state, _SIDES),
            lambda: model.inverse_dynamics(state, np.zeros(model.nv)),
            lambda: osc.CollisionModel(model, [osc.Shape('a', 'left', 'sphere', [0.1]), osc.Shape(
                'b', 'right', 'sphere', [0.1])]).distances(state.q),
            lambda: osc.momentum(model, state), lambda: osc.center_of_mass(model, state),
            lambda: osc.operational_space(model, state, _SIDES),
            lambda: osc.disturbance_jacobian(model, state),
            lambda: osc.estimated_wrench(model, state, 'left', np.zeros(model.nv), base=True),
            lambda: osc.generalized_momentum(model, state),
            lambda: osc.PassiveForces(model).torque(state),
            lambda: osc.MomentumObserver(model, 10.0).warm_up()):
        with contextlib.suppress(np.linalg.LinAlgError):  # nonsense may be singular
            use()
