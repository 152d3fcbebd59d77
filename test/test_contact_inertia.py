# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""[WPO15]'s contact by a large inertia: it goes to the exact elimination, first order in 1/I_c."""

import numpy as np
import pytest
from robots import TALOS, robot_file
from samples import difference, random_state

from opspace_control import Closure, ModelError, RobotModel, closed_chain, contact_space

FEET = ('left_sole_link', 'right_sole_link')
HANDS = ('gripper_left_base_link', 'gripper_right_base_link')


@pytest.fixture(scope='module')
def quadruped():
    """Return a quadruped of twelve joints, and the Closures of two of its point feet."""
    path = robot_file('hyq_description/robots/hyq_no_sensors.urdf')
    model = RobotModel.from_urdf_file(path, floating_base=True)
    return model, tuple(Closure(f'{leg}_foot', axes='x y z') for leg in ('lf', 'rh'))


@pytest.fixture(scope='module')
def talos():
    model = RobotModel.from_urdf_file(robot_file(TALOS), floating_base=True)
    return model, tuple(Closure(foot) for foot in FEET)


def error(model, state, frames, contacts, inertia):
    exact = closed_chain(model, state, frames, contacts)
    near = contact_space(model, state, frames, contacts, inertia)
    return difference(near.inverse_inertia, exact.inverse_inertia)


def test_quadruped_on_two_feet(quadruped):
    """The base keeps its six directions, the swinging feet theirs: 1e-5 at I_c = 1e7 kg."""
    model, contacts = quadruped
    for seed in range(3):
        state = random_state(model, seed)
        assert error(model, state, ('trunk',), contacts, 1e7) < 1e-5
        assert error(model, state, ('trunk', 'rf_foot', 'lh_foot'), contacts, 1e7) < 1e-5


@pytest.mark.parametrize('robot', ['quadruped', 'talos'])
def test_first_order(robot, request):
    """A hundred times the inertia, a hundredth of the error."""
    model, contacts = request.getfixturevalue(robot)
    frames = ('trunk',) if robot == 'quadruped' else HANDS
    state = random_state(model, 3)
    errors = [error(model, state, frames, contacts, inertia) for inertia in (1e2, 1e4, 1e6)]
    slopes = np.diff(np.log10(errors)) / 2.0
    np.testing.assert_allclose(slopes, -1.0, atol=0.05)


def test_everything_else_goes_along(talos):
    """J̄, μ and ρ too, where the tasks keep their directions: the feet's velocity biases them."""
    model, contacts = talos
    state = random_state(model, 4)
    exact = closed_chain(model, state, HANDS, contacts)
    near = contact_space(model, state, HANDS, contacts, 1e7)
    assert near.rank == exact.rank == 12
    for field in ('inertia', 'dynamically_consistent_inverse', 'coriolis', 'gravity'):
        assert difference(getattr(near, field), getattr(exact, field)) < 1e-4, field


RANKS = [
    (FEET[:1], 0), (FEET, 0), (HANDS + FEET[:1], 12), ((HANDS[0], *FEET), 6),
    # On a link that is held rigidly one frame more adds nothing, nor does a link beyond it.
    (('left_sole_link', 'leg_left_6_link'), 0),
    # A link twice, and one before the other with two joints in between.
    ((HANDS[0], HANDS[0]), 6), (('torso_2_link', 'base_link'), None)]


@pytest.mark.parametrize(('frames', 'rank'), RANKS, ids=str)
def test_the_rank_is_of_what_contacts_leave(talos, frames, rank):
    """Held directions do not count: dense algebra says what J does in the null space of J_c."""
    model, contacts = talos
    for seed in range(3):
        state = random_state(model, seed)
        J, J_c = (model.jacobian(state, names) for names in (frames, FEET))
        null = np.linalg.svd(J_c)[2][np.linalg.matrix_rank(J_c):].T
        dense = np.linalg.matrix_rank(J @ null, tol=1e-8)
        assert rank is None or dense == rank
        for inertia in (1e5, 1e7):
            near = contact_space(model, state, frames, contacts, inertia)
            assert near.rank == dense == closed_chain(model, state, frames, contacts).rank


def test_rank_of_rows_in_axes_of_their_own(quadruped):
    """A foot with one direction held in turned axes keeps two; without contacts, all of them."""
    model, _ = quadruped
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    contact = Closure('lf_foot', None, (0.0, 0.0, 0.0), turn, 'z')
    state = random_state(model, 2)
    assert contact_space(model, state, 'lf_foot', ()).rank == 6
    assert contact_space(model, state, 'lf_foot', (contact,)).rank == 5
    assert contact_space(model, state, ('lf_foot', 'rf_foot'), (contact,)).rank == 11


def test_the_bias_is_needed(quadruped):
    """Without ``J_cᵀ I_c J̇_c v`` the contacts would follow their own centripetal acceleration."""
    model, contacts = quadruped
    state = random_state(model, 3)
    near = contact_space(model, state, 'trunk', contacts)
    without = (near.dynamically_consistent_inverse.T @ model.bias_force(state)
               - near.inertia @ near.bias_acceleration)
    exact = closed_chain(model, state, 'trunk', contacts)
    assert difference(near.coriolis, exact.coriolis) < 1e-4
    assert difference(without, exact.coriolis) > 0.1


def test_rows_and_axes():
    """A contact that holds some rows in axes of its own: only these count."""
    model = RobotModel.from_urdf_file(robot_file(TALOS), floating_base=True)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    contacts = (Closure(FEET[0], None, (0.1, 0.05, 0.0), turn, 'z rx ry'),)
    assert error(model, random_state(model, 6), HANDS, contacts, 1e7) < 1e-5


def test_a_contact_of_what_never_moves_makes_no_difference():
    model = RobotModel.from_urdf_file(robot_file(TALOS))
    state = random_state(model, 7)
    contacts = (Closure(model.root_link),)
    assert error(model, state, HANDS, contacts, 1e7) < 1e-12


class TestErrors:

    @pytest.mark.parametrize(('frames', 'contact', 'inertia', 'what'), [
        ((), Closure(FEET[0]), 1e7, 'No frame'),
        (HANDS, Closure(*FEET), 1e7, 'not the ground'),
        (HANDS, Closure('left_soul_link'), 1e7, r"'left_sole_link'"),
        (HANDS, Closure(FEET[0]), 0.0, 'inertia'),
        (HANDS, Closure(FEET[0]), np.nan, 'inertia')])
    def test_refused(self, talos, frames, contact, inertia, what):
        model, _ = talos
        with pytest.raises(ModelError, match=what):
            contact_space(model, random_state(model, 1), frames, (contact,), inertia)
