# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The operational space as users see it: its equation of motion, its rank, and its errors."""

import numpy as np
import pytest
from robots import joint, link, robot
from samples import by_sample, by_spatial_sample, difference, random_state, sample

from opspace_control import ModelError, RobotModel, RobotState, StateError, operational_space
from opspace_control.dynamics.operational_space import invert_inverse_inertia


@by_spatial_sample
def test_equation_of_motion(name, floating_base):
    """Λ a + μ + ρ = J̄ᵀ τ for whatever the joint forces do, [K87] (3.10), [CK00] (5)."""
    _, model, frames = sample(name, floating_base)
    state = random_state(model, 1)
    osd = operational_space(model, state, frames)
    torque = model.inverse_dynamics(state, np.random.default_rng(0).standard_normal(model.nv))
    v_dot = model.forward_dynamics(state, torque)
    a = osd.jacobian @ v_dot + osd.bias_acceleration
    force = osd.dynamically_consistent_inverse.T @ torque
    left = osd.inertia @ a + osd.coriolis + osd.gravity
    assert difference(left, force) < 1e-8


@by_spatial_sample
def test_forces_that_compensate_everything_leave_the_points_where_they_are(name, floating_base):
    _, model, frames = sample(name, floating_base)
    state = random_state(model, 2)
    osd = operational_space(model, state, frames)
    torque = osd.jacobian.T @ (osd.coriolis + osd.gravity)
    a = osd.jacobian @ model.forward_dynamics(state, torque) + osd.bias_acceleration
    assert abs(a).max() < 1e-8 * abs(osd.inverse_inertia).max() * abs(osd.gravity).max()


@by_sample
def test_fields_are_finite_and_of_the_documented_shapes(name, floating_base):
    _, model, frames = sample(name, floating_base)
    osd = operational_space(model, random_state(model, 3), frames)
    assert osd.frames == frames
    for field, shape in (('jacobian', (12, model.nv)), ('bias_acceleration', (12,)),
                         ('inverse_inertia', (12, 12)), ('inertia', (12, 12)),
                         ('dynamically_consistent_inverse', (model.nv, 12)),
                         ('coriolis', (12,)), ('gravity', (12,)),
                         ('null_space_projection', (model.nv, model.nv))):
        value = getattr(osd, field)
        assert value.shape == shape, field
        assert np.isfinite(value).all(), field


@by_sample
def test_jacobian_and_bias_are_those_of_the_model(name, floating_base):
    _, model, frames = sample(name, floating_base)
    state = random_state(model, 4)
    osd = operational_space(model, state, frames)
    np.testing.assert_array_equal(osd.jacobian, model.jacobian(state, frames))
    np.testing.assert_array_equal(osd.bias_acceleration, model.bias_acceleration(state, frames))


def test_one_name_alone_will_do():
    _, model, frames = sample('dual_arm')
    state = random_state(model, 5)
    osd = operational_space(model, state, frames[0])
    assert osd.frames == frames[:1]
    assert osd.inertia.shape == (6, 6)


class TestLostDirections:

    @staticmethod
    def assert_consistent(osd, rank):
        """The rank is as told, Λ a pseudo-inverse, and J J̄ keeps every motion that is possible."""
        assert osd.rank == rank
        L, Lambda, J = osd.inverse_inertia, osd.inertia, osd.jacobian
        assert np.isfinite(Lambda).all()
        scale = abs(L).max()
        np.testing.assert_allclose(L @ Lambda @ L, L, atol=1e-9 * scale)
        np.testing.assert_allclose(Lambda @ L @ Lambda, Lambda, atol=1e-7 * abs(Lambda).max())
        np.testing.assert_allclose(J @ osd.dynamically_consistent_inverse @ J, J, atol=1e-8)
        eigenvalues = np.linalg.eigvalsh(Lambda)
        assert eigenvalues[0] > -1e-9 * max(1.0, eigenvalues[-1])
        for vector in (osd.coriolis, osd.gravity):
            assert np.isfinite(vector).all()

    def test_planar_arm_with_all_six_axes(self):
        model = sample('planar_3r').model
        self.assert_consistent(operational_space(model, random_state(model, 1), 'hand'), 3)

    def test_planar_arm_has_an_exact_inertia_in_its_plane(self):
        """The pseudo-inverse of the six axes is the inverse of the three that there are."""
        model = sample('planar_3r').model
        osd = operational_space(model, random_state(model, 2), 'hand')
        moving = np.flatnonzero(osd.inverse_inertia.diagonal() > 1e-12)
        assert moving.size == 3
        plane = np.ix_(moving, moving)
        np.testing.assert_allclose(osd.inertia[plane], np.linalg.inv(osd.inverse_inertia[plane]),
                                   rtol=1e-9)
        assert abs(osd.inertia).sum() == pytest.approx(abs(osd.inertia[plane]).sum())

    def test_two_frames_on_one_link_are_one(self):
        model = RobotModel.from_urdf(sample('dual_arm').urdf)
        osd = operational_space(model, random_state(model, 3), ['l_palm', 'l_hand'])
        self.assert_consistent(osd, 6)

    def test_the_same_frame_twice(self):
        _, model, frames = sample('dual_arm')
        osd = operational_space(model, random_state(model, 4), [frames[0], frames[0]])
        self.assert_consistent(osd, 6)

    def test_root_link_of_a_fixed_base(self):
        model = sample('dual_arm').model
        osd = operational_space(model, random_state(model, 5), model.root_link)
        self.assert_consistent(osd, 0)
        for value in (osd.inverse_inertia, osd.inertia, osd.gravity, osd.coriolis):
            assert not value.any()

    def test_root_link_of_a_floating_base_has_all_six(self):
        model = sample('dual_arm', True).model
        osd = operational_space(model, random_state(model, 6), model.root_link)
        self.assert_consistent(osd, 6)

    def test_root_link_takes_nothing_from_a_hand(self):
        _, model, frames = sample('dual_arm')
        state = random_state(model, 7)
        both = operational_space(model, state, [model.root_link, frames[0]])
        alone = operational_space(model, state, frames[0])
        self.assert_consistent(both, 6)
        np.testing.assert_allclose(both.inertia[6:, 6:], alone.inertia, rtol=1e-9, atol=1e-12)

    def test_stretched_arm(self):
        model = sample('planar_3r').model
        osd = operational_space(model, RobotState(model, np.zeros(3), np.zeros(3)), 'hand')
        self.assert_consistent(osd, 2)

    def test_five_points_on_thirty_joints(self):
        """Feet and hands have six freedoms each, the head two of its own and two of the torso."""
        _, model, hands = sample('talos')
        osd = operational_space(model, random_state(model, 8),
                                ['left_sole_link', 'right_sole_link', *hands, 'head_2_link'])
        self.assert_consistent(osd, 28)

    def test_all_joints_locked(self):
        model = sample('planar_3r', locked_joints=('shoulder', 'elbow', 'wrist')).model
        osd = operational_space(model, random_state(model, 9), 'hand')
        assert osd.rank == 0
        for value in (osd.inverse_inertia, osd.inertia, osd.dynamically_consistent_inverse):
            assert not value.any()

    @pytest.mark.parametrize('rpy', ['0 0 0', '0.3 -0.7 1.1', '1.5707963267948966 0 0'])
    def test_frame_on_the_axis_of_its_only_joint(self, rpy):
        """Rounding of a turned axis is no freedom."""
        model = RobotModel.from_urdf(robot(
            link('base'), link('mount'), link('disc'), link('hub'),
            joint('weld', 'base', 'mount', 'fixed', f'<origin xyz="1 2 3" rpy="{rpy}"/>'),
            joint('turn', 'mount', 'disc', 'continuous', '<axis xyz="1 2 3"/>'),
            joint('hub', 'disc', 'hub', 'fixed', '<origin xyz="0.1 0.2 0.3"/>')))
        osd = operational_space(model, RobotState(model, [0.7], [2.0]), 'hub')
        self.assert_consistent(osd, 1)

    @pytest.mark.parametrize(('angle', 'rank'), [(1e-3, 2), (1e-4, 2), (1e-6, 1), (0.0, 1)])
    @pytest.mark.parametrize('rpy', ['0 0 0', '0.3 -0.7 1.1', '0 1.5707963267948966 0'])
    def test_rank_does_not_depend_on_how_the_base_is_turned(self, rpy, angle, rank):
        """Two slides that are nearly parallel: their difference is a freedom, or no more."""
        limit = '<limit lower="0" upper="1" effort="1" velocity="1"/>'
        model = RobotModel.from_urdf(robot(
            link('base'), link('mount'), link('a'), link('b'),
            joint('weld', 'base', 'mount', 'fixed', f'<origin rpy="{rpy}"/>'),
            joint('x', 'mount', 'a', 'prismatic', f'<axis xyz="1 0 0"/>{limit}'),
            joint('y', 'a', 'b', 'prismatic', f'<axis xyz="1 {angle} 0"/>{limit}')))
        assert operational_space(model, RobotState(model, [0.4, 0.2], [0, 0]), 'b').rank == rank


class TestInvertInverseInertia:

    def test_units_do_not_matter(self):
        rng = np.random.default_rng(0)
        J = rng.standard_normal((6, 4))
        L = J @ J.T
        for length, mass in ((1.0, 1.0), (1e-3, 1.0), (1e3, 1e6), (1.0, 1e-9)):
            # Metres become another length, kilograms another mass.
            unit = np.repeat([length, 1.0], 3) / (length * np.sqrt(mass))
            inertia, rank = invert_inverse_inertia(unit[:, None] * L * unit, 0.0)
            assert rank == 4
            expected = invert_inverse_inertia(L, 0.0)[0] / unit[:, None] / unit
            np.testing.assert_allclose(inertia, expected, rtol=1e-9)

    def test_nothing_moves(self):
        inertia, rank = invert_inverse_inertia(np.zeros((12, 12)), 0.1)
        assert rank == 0
        assert not inertia.any()


class TestErrors:

    @pytest.fixture
    def model(self):
        return sample('dual_arm').model

    @pytest.fixture
    def state(self, model):
        return random_state(model, 1)

    def test_unknown_frame_names_the_nearest(self, model, state):
        with pytest.raises(ModelError, match=r"no link 'l_hnad'\. .*'l_hand'") as caught:
            operational_space(model, state, ['l_hnad', 'r_hand'])
        assert caught.value.name == 'l_hnad'

    @pytest.mark.parametrize('frames', [[], ()])
    def test_no_frame(self, model, state, frames):
        with pytest.raises(ModelError, match='No frame is named') as caught:
            operational_space(model, state, frames)
        assert 'r_hand' in caught.value.cure

    @pytest.mark.parametrize('frames', [[None], [3], [['l_hand']]])
    def test_frame_that_is_no_name(self, model, state, frames):
        with pytest.raises(ModelError, match='has no link'):
            operational_space(model, state, frames)

    def test_state_of_another_model(self, state):
        other = RobotModel.from_urdf(sample('dual_arm').urdf)
        with pytest.raises(StateError, match='does not belong to this model'):
            operational_space(other, state, ['l_hand'])

    def test_a_vector_is_no_state(self, model):
        with pytest.raises(StateError, match='does not belong to this model'):
            operational_space(model, np.zeros(model.nq), ['l_hand'])

    def test_result_cannot_be_reassigned(self, model, state):
        osd = operational_space(model, state, ['l_hand'])
        with pytest.raises(AttributeError):
            osd.rank = 7
