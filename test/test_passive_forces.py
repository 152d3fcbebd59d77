# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The forces of passive joints: each kind as written, where it counts, and what is refused."""

import numpy as np
import pytest
from samples import random_state, sample

from opspace_control import ModelError, RobotModel, RobotState, StateError
from opspace_control.dynamics.passive_forces import PassiveForces

ALL = ['planar', 'swing']
TEXT = """
<robot name="test">
  <link name="l0"/>
  <link name="l1"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
    iyz="0"/></inertial></link>
  <link name="l2"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
    iyz="0"/></inertial></link>
  <joint name="planar" type="planar"><parent link="l0"/><child link="l1"/><axis xyz="0 0 1"/>
    <dynamics damping="3.0" friction="0.5"/></joint>
  <joint name="swing" type="continuous"><parent link="l1"/><child link="l2"/><axis xyz="0 1 0"/>
    <dynamics damping="0.2" friction="0.7"/></joint>
</robot>"""


@pytest.fixture
def model():
    return RobotModel.from_urdf(TEXT, passive_joints=ALL)


@pytest.fixture
def state(model):
    return RobotState(model, [0.3, -0.2, 0.9, 1.4], [0.5, -0.6, 0.7, -2.0])


def test_no_force_is_known_unless_said(model, state):
    np.testing.assert_array_equal(PassiveForces(model).torque(state), np.zeros(4))


def test_viscous_friction(model, state):
    forces = PassiveForces(model, damping={'planar/x': 4.0, 'swing': 0.5})
    np.testing.assert_allclose(forces.torque(state), [-4.0 * 0.5, 0.0, 0.0, 0.5 * 2.0], rtol=1e-15)


def test_coulomb_friction_is_complete_beyond_slip_and_gone_at_rest(model, state):
    forces = PassiveForces(model, friction=[1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(forces.torque(state), [-1.0, 2.0, -3.0, 4.0], rtol=1e-12)
    slow = RobotState(model, state.q, [0.0, 0.01, 1e-5, -0.005])
    np.testing.assert_allclose(
        forces.torque(slow), [0.0, -2.0 * np.tanh(1.0), -3.0e-3, 4.0 * np.tanh(0.5)], rtol=1e-6)
    quick = PassiveForces(model, friction=1.0, slip_velocity=1e-4)
    np.testing.assert_allclose(quick.torque(slow)[1], -1.0, rtol=1e-12)


def test_spring(model, state):
    forces = PassiveForces(model, stiffness={'swing': 10.0, 'planar': [1.0, 2.0, 0.0]},
                           rest={'swing': 1.0})
    np.testing.assert_allclose(forces.torque(state), [-0.3, 0.4, 0.0, -4.0], rtol=1e-12)


def test_given_forces_are_added_and_stay_until_changed(model, state):
    forces = PassiveForces(model, damping=1.0)
    forces.set_applied({'swing': 5.0})
    forces.set_applied({'planar': [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(forces.applied, [1.0, 2.0, 3.0, 5.0])
    np.testing.assert_allclose(forces.torque(state), forces.applied - state.v, rtol=1e-15)
    forces.set_applied(0.0)
    np.testing.assert_allclose(forces.torque(state), -state.v, rtol=1e-15)


def test_friction_of_the_urdf(model, state):
    torque = PassiveForces.from_urdf(model).torque(state)
    np.testing.assert_allclose(torque, -model.damping * state.v - model.friction * np.sign(state.v),
                               rtol=1e-12)
    assert model.damping.all() and model.friction.all()


def test_only_passive_joints_have_them():
    model = RobotModel.from_urdf(sample('dual_arm').urdf, locked_joints=['l_elbow'],
                                 passive_joints=['torso_yaw', 'r_elbow'])
    forces = PassiveForces(model, damping=2.0, friction=1.0, stiffness=3.0, rest=0.1)
    forces.set_applied(0.5)
    torque = forces.torque(random_state(model, 0))
    assert torque[model.passive].all() and model.passive.sum() == 2
    assert not torque[~model.passive].any()


def test_a_floating_base_has_springs_in_its_translation_alone():
    model = RobotModel.from_urdf(sample('planar_3r').urdf, floating_base=True,
                                 passive_joints=['base'])
    state = random_state(model, 1)
    forces = PassiveForces(model, stiffness=7.0)
    np.testing.assert_allclose(forces.torque(state)[:6], [*-7.0 * state.q[:3], 0.0, 0.0, 0.0],
                               rtol=1e-15)
    with pytest.raises(ModelError, match="'base/rx' is a quaternion"):
        PassiveForces(model, stiffness={'base': 7.0})


@pytest.mark.parametrize(('values', 'message'), [
    ({'damping': -1.0}, 'passive forces: damping = -1.0'),
    ({'friction': {'swing': np.nan}}, "friction of 'swing' = nan"),
    ({'stiffness': [1.0, 2.0]}, 'stiffness ='),
    ({'rest': 'here'}, 'rest ='),
    ({'slip_velocity': 0.0}, 'slip_velocity = 0.0.*positive'),
    ({'damping': {'elbow': 1.0}}, "no degree of freedom 'elbow'"),
    ({'damping': {'planar': [1.0, 2.0]}}, "damping of 'planar'.*3 numbers or one"),
])
def test_what_is_refused(model, values, message):
    with pytest.raises(ModelError, match=message):
        PassiveForces(model, **values)


def test_a_refused_force_changes_nothing(model):
    forces = PassiveForces(model)
    forces.set_applied(2.0)
    with pytest.raises(ModelError, match='applied of'):
        forces.set_applied({'planar/x': 1.0, 'swing': np.inf})
    np.testing.assert_array_equal(forces.applied, np.full(4, 2.0))


def test_state_of_another_robot(model):
    with pytest.raises(StateError, match='does not belong'):
        PassiveForces(model).torque(random_state(sample('planar_3r').model, 0))
