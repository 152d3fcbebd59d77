# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The model's functions as users call them: what they return, what they refuse and how."""

import numpy as np
import pytest
from samples import random_state, sample

from opspace_control import ModelError, RobotModel, RobotState, StateError

# Every function of a state, with what else it needs.
FUNCTIONS = {
    'forward_kinematics': lambda model: (),
    'jacobian': lambda model: (['l_hand'],),
    'bias_acceleration': lambda model: (['l_hand'],),
    'mass_matrix': lambda model: (),
    'bias_force': lambda model: (),
    'gravity': lambda model: (),
    'inverse_dynamics': lambda model: (np.zeros(model.nv),),
    'forward_dynamics': lambda model: (np.zeros(model.nv),),
    'origin': lambda model: (),
}
by_function = pytest.mark.parametrize('function', FUNCTIONS)
by_vector_function = pytest.mark.parametrize(
    ('function', 'vector'), [('inverse_dynamics', 'acceleration'), ('forward_dynamics', 'torque')])


@pytest.fixture
def model():
    return sample('dual_arm').model


@pytest.fixture
def state(model):
    return random_state(model, 1)


@by_function
def test_state_of_another_model_is_refused(model, state, function):
    other = RobotModel.from_urdf(sample('dual_arm').urdf)
    with pytest.raises(StateError, match='does not belong to this model') as caught:
        getattr(other, function)(state, *FUNCTIONS[function](other))
    assert 'RobotState(model, q, v)' in caught.value.cure


@by_function
@pytest.mark.parametrize('state', [None, np.zeros(17), 'state'])
def test_what_is_no_state_is_refused(model, function, state):
    with pytest.raises(StateError, match='does not belong to this model'):
        getattr(model, function)(state, *FUNCTIONS[function](model))


@by_function
def test_results_are_new_and_the_state_untouched(model, state, function):
    q, v = state.q.copy(), state.v.copy()
    arguments = FUNCTIONS[function](model)
    first = getattr(model, function)(state, *arguments)
    arrays = list(first.values()) if isinstance(first, dict) else [first]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array[...] = np.nan
    second = getattr(model, function)(state, *arguments)
    for array, copy in zip(second.values() if isinstance(second, dict) else [second], copies,
                           strict=True):
        np.testing.assert_array_equal(array, copy)
    np.testing.assert_array_equal(state.q, q)
    np.testing.assert_array_equal(state.v, v)


@pytest.mark.parametrize('function', ['forward_kinematics', 'jacobian', 'bias_acceleration'])
def test_unknown_frame_names_the_nearest(model, state, function):
    with pytest.raises(ModelError, match=r"no link 'l_hadn'\. .*'l_hand'") as caught:
        getattr(model, function)(state, ['r_hand', 'l_hadn'])
    assert caught.value.name == 'l_hadn'
    with pytest.raises(ModelError, match="no link 'l_hadn'"):
        getattr(model, function)(state, 'l_hadn')


@by_vector_function
@pytest.mark.parametrize(('value', 'message'), [
    (np.zeros(16), r'has shape \(16,\)'), (np.zeros((17, 1)), r'has shape \(17, 1\)'),
    (1.0, r'has shape \(\)'), (None, r'has shape \(\)'), ('fast', 'not an array of numbers'),
    ([[1.0], [2.0, 3.0]], 'not an array of numbers'), ({'l_elbow': 1.0}, 'not an array')])
def test_vector_of_the_wrong_kind_is_refused(model, state, function, vector, value, message):
    with pytest.raises(StateError, match=f'^{vector} {message}|^{vector} is {message}') as caught:
        getattr(model, function)(state, value)
    assert '17 numbers' in caught.value.cure


@by_vector_function
@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
def test_number_that_is_not_finite_is_refused_by_joint(model, state, function, vector, bad):
    values = np.zeros(model.nv)
    values[model.dof_index('r_elbow')] = bad
    with pytest.raises(StateError, match=f"{vector} of joint 'r_elbow'") as caught:
        getattr(model, function)(state, values)
    assert caught.value.joint == 'r_elbow'


def test_vectors_may_be_lists_and_are_copied(model, state):
    torque = [1.0] * model.nv
    np.testing.assert_array_equal(model.forward_dynamics(state, torque),
                                  model.forward_dynamics(state, np.ones(model.nv)))
    assert torque == [1.0] * model.nv


def test_integers_will_do(model):
    state = RobotState(model, [0] * model.nq, [1] * model.nv)
    ones = np.ones(model.nv, dtype=int)
    np.testing.assert_array_equal(model.inverse_dynamics(state, ones),
                                  model.inverse_dynamics(state, ones.astype(float)))


def test_origin_is_the_floating_bases_place():
    model = sample('dual_arm', True).model
    state = random_state(model, 2)
    np.testing.assert_array_equal(model.origin(state), state.q[:3])
    assert not sample('dual_arm').model.origin(random_state(sample('dual_arm').model, 2)).any()


def test_updated_state_is_seen(model):
    state = random_state(model, 3)
    other = random_state(model, 4)
    expected = model.mass_matrix(other)
    state.update(other.q, other.v)
    np.testing.assert_array_equal(model.mass_matrix(state), expected)
