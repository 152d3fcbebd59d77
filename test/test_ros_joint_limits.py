# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of joints as parameters of the node, and what its diagnostics say of them; no rclpy."""

from types import SimpleNamespace

import numpy as np
import pytest

from opspace_control import OpspaceError, RobotState
from opspace_control.control.controller_limits import ActiveLimit
from opspace_control.ros.parameters.controller_parameters import controller_table
from opspace_control.ros.parameters.robot import apply_gains, change_limits, make_controller
from opspace_control.share import share_directory

ROBOT = (share_directory() / 'urdf' / 'arm_7r.urdf').read_text()


def controller(**limits):
    """Return the controller that parameters below ``limits`` ask for."""
    values = {row.name: row.default for row in controller_table([])}
    values |= {f'limits.{name}': value for name, value in limits.items()}
    return make_controller(ROBOT, values)[0]


def test_limits_are_kept_unless_it_is_said_otherwise():
    assert controller().limits.keep
    assert not controller(keep=False).limits.keep


def test_parameters_become_limits():
    made = controller(position_margin=0.1, velocity_kept=0.5, return_rate=50.0,
                      approach_rate=10.0, effort_scale=0.8, least_effort=0.5)
    limits, model = made.limits, made.model
    np.testing.assert_allclose(limits.velocity, 0.5 * model.velocity_limits)
    np.testing.assert_allclose(limits.upper, model.upper_position_limits - 0.1)
    assert (limits.return_rate, limits.approach_rate, limits.least_effort) == (50.0, 10.0, 0.5)
    weaker = controller(velocity_kept=0.5, effort_scale=0.3).limits
    assert (weaker.acceleration < limits.acceleration).any()


def test_they_change_at_any_time():
    """What is not named stays, and what joints can brake with is not found out again."""
    values = {row.name: row.default for row in controller_table([])}
    made = make_controller(ROBOT, values)[0]
    values |= {'limits.position_margin': 0.1, 'limits.keep': False, 'posture.kp': 1.0}
    apply_gains(made, values, {'posture.kp'})
    assert made.limits.keep
    before = made.limits
    apply_gains(made, values, {'limits.keep', 'limits.position_margin'})
    assert not made.limits.keep
    np.testing.assert_allclose(made.limits.upper, before.upper - 0.1)
    np.testing.assert_array_equal(made.limits.acceleration, before.acceleration)


def test_the_kept_velocity_does_not_stop_the_robot():
    """A joint at the limit that is kept is below the one that trips; else they are refused."""
    values = {row.name: row.default for row in controller_table([])}
    assert values['limits.velocity_kept'] < values['limits.velocity_scale']
    with pytest.raises(OpspaceError, match='not below limits'):
        controller(velocity_kept=1.0)
    made = controller(velocity_kept=1.0, velocity_scale=1.1)
    with pytest.raises(OpspaceError, match='not below limits'):
        change_limits(made.limits, values | {'limits.velocity_scale': 0.9})
    assert not controller(velocity_kept=1.0, keep=False).limits.keep


def test_rates_that_do_not_go_together_have_a_reason():
    with pytest.raises(OpspaceError, match='approach_rate'):
        controller(return_rate=20.0, approach_rate=15.0)


def test_diagnostics_name_joints_and_what_is_missed():
    diagnostics = pytest.importorskip('opspace_control.ros.topics.diagnostics')
    active = (ActiveLimit('elbow', 'position', 1), ActiveLimit('l_hand and table', 'distance', -1),
              ActiveLimit('foot', 'friction', -1), ActiveLimit('wrist', 'effort', -1))
    assert diagnostics.limits_in_words(active) == {
        'joints at a limit': 'elbow (upper position), wrist (lower effort)',
        'contacts at a limit': 'foot (lower friction)',
        'distances at a limit': 'l_hand and table'}
    assert {*diagnostics.limits_in_words(()).values()} == {'none'}
    missed = {'hand': np.array([1.0, 0.0, -0.25, 0.0, 0.0, 0.0])}
    assert diagnostics.residuals_in_words(missed) == 'hand [1 0 -0.25 0 0 0]'
    assert diagnostics.residuals_in_words({}) == 'none'


def test_directions_that_limits_take_are_not_told_as_lost_without_a_name():
    """Where a joint at its limit leaves a task fewer directions the bare Λ⁻¹ loses none."""
    diagnostics = pytest.importorskip('opspace_control.ros.topics.diagnostics')
    values = {row.name: row.default for row in controller_table(['hand'])} | {
        'tasks': ['hand'], 'hand.frame': 'hand'}
    made = make_controller(ROBOT, values)[0]
    upper = made.limits.upper[3]
    state = RobotState(made.model, [0.3, 0.5, -0.2, upper, 0.4, 0.8, 0.1], np.zeros(7))
    made.compute_torque(state)
    pose = made.tasks['hand'].pose
    made.tasks['hand'].set_target([*0.8 * pose[:3], *pose[3:]])
    made.compute_torque(state)
    assert made.active_limits
    assert not made.attained
    assert made.least_eigenvalue > 0.0
    assert not made.truncated_directions
    limits = diagnostics.limits_in_words(made.active_limits)
    facts = {'singular': 3, 'cycles': 5}
    assert diagnostics.singular_in_words(made, facts, limits) == (
        f'Limits leave the tasks fewer directions: joints at a limit: '
        f'{limits["joints at a limit"]}.')
    lost = limits | {'singular or nearly singular directions': 'hand x'}
    assert diagnostics.singular_in_words(made, facts, lost) == (
        'Directions of the tasks are singular: hand x.')
    made.hold()
    bent = RobotState(made.model, [0.3, 0.5, -0.2, -1.2, 0.4, 0.8, 0.1], np.zeros(7))
    made.compute_torque(bent)
    assert diagnostics.singular_in_words(made, facts, {}) == (
        '3 of 5 cycles had singular directions of the tasks; the last one had none.')
    assert diagnostics.singular_in_words(made, {'singular': 2, 'cycles': 100}, lost) == ''
    free = SimpleNamespace(attained=False, active_limits=())
    assert diagnostics.singular_in_words(free, facts, {}) == (
        '3 of 5 cycles had singular directions of the tasks.')


def test_unsolved_limits_in_words():
    diagnostics = pytest.importorskip('opspace_control.ros.topics.diagnostics')
    told = diagnostics.unsolved_in_words({'unsolved': 2, 'cycles': 1000})
    assert told.startswith('2 of 1000 cycles did not solve the problem of joint limits')
    assert 'Lower gains' in told


def test_contacts_of_large_inertia_come_without_limits():
    values = {row.name: row.default for row in controller_table([], contacts=['link_7'])}
    values |= {'contact_model': 'large_inertia', 'link_7.kind': 'point'}
    with pytest.raises(OpspaceError, match=r'limits.keep: false'):
        make_controller(ROBOT, values)
    values |= {'limits.keep': False}
    made, _ = make_controller(ROBOT, values)
    assert made.limits is None
    apply_gains(made, values, set(values))
    with pytest.raises(OpspaceError, match=r'contact_model'):
        change_limits(None, values | {'limits.keep': True})
    for name, value in (('collision.file', 'shapes.yaml'), ('shapes', ['table'])):
        with pytest.raises(OpspaceError, match=f'{name} does not go with contact_model'):
            make_controller(ROBOT, values | {name: value})
