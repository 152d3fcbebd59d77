# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Closed chains: the recursions, dense algebra, minimal coordinates and the augmented object."""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from closed_chains import consistent, dense_chain
from random_robots import random_urdf
from robots import PR2, TALOS, TIAGO_DUAL, joint, link, robot, robot_file
from samples import URDF, difference, random_state

from opspace_control import (
    Closure,
    ModelError,
    Payload,
    RobotModel,
    RobotState,
    closed_chain,
    closed_chain_dynamics,
    operational_space,
)

TOLERANCE = 1e-9
POINT = 'x y z'


class Case(NamedTuple):
    """A robot, what its tasks are and where it is closed."""

    urdf: str
    model: RobotModel
    frames: tuple
    closures: tuple
    rank: int       # of the constraint
    controlled: int  # rank of the tasks


def planar_arms(joints):
    """Return a robot with two arms in the plane y = 0, redundantly closed by any rigid grasp."""
    parts = [link('base')]
    for side, shift in (('l', 0.3), ('r', -0.3)):
        parent = 'base'
        for k in range(joints):
            child = f'{side}{k}'
            origin = f'{shift} 0 0' if k == 0 else '0 0 0.4'
            parts += [link(child, 1.0 + 0.2 * k, (0.02, 0.03, 0.01)),
                      joint(f'j{child}', parent, child, 'continuous',
                            f'<origin xyz="{origin}"/><axis xyz="0 1 0"/>')]
            parent = child
    return robot(*parts)


_TURN = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]
_DUAL = ('l_hand', 'r_hand')
_CLOSED = (Closure(*_DUAL, position=(0.02, 0.01, 0.1)),)
_TALOS = ('gripper_left_base_link', 'gripper_right_base_link')
_FEET = (Closure('left_sole_link'), Closure('right_sole_link'))
_CORNERS = tuple(Closure(foot.frame, position=(x, y, 0.0), axes=POINT) for foot in _FEET
                 for x in (-0.1, 0.1) for y in (-0.06, 0.06))
_TIAGO = ('arm_left_tool_link', 'arm_right_tool_link')
_PR2 = ('l_gripper_tool_frame', 'r_gripper_tool_frame')
_FREE = {'floating_base': True, 'passive_joints': ('base',)}

# Robot, its keywords, task frames, closures, rank of the constraint, rank of the tasks under it.
_CASES = {
    'planar': ('planar', {}, ('r3',), (Closure('l3', 'r3'),), 3, 3),
    'random tree': ('random', {}, ('link_12',),
                    (Closure('link_5', 'link_12', (0.1, 0, 0.2), _TURN, 'x y rz'),), 3, 6),
    'dual_arm': ('dual_arm', {}, ('r_hand',), _CLOSED, 6, 6),
    'dual_arm, point': ('dual_arm', {}, ('r_hand', 'torso'),
                        (Closure(*_DUAL, (0, 0, 0.1), axes=POINT),), 3, 9),
    'dual_arm, said thrice': ('dual_arm', {}, ('l_hand',), (
        *_CLOSED, Closure(*_DUAL, (0.3, 0, 0), _TURN), Closure(*_DUAL[::-1], axes=POINT)), 6, 6),
    'dual_arm, passive': ('dual_arm', {'passive_joints': ('torso_roll', 'l_elbow')},
                          ('r_hand',), _CLOSED, 6, 6),
    'dual_arm, free': ('dual_arm', _FREE, ('r_hand',), _CLOSED, 6, 6),
    'dual_arm, braked': ('dual_arm', {'locked_joints': ('torso_yaw', 'r_elbow'),
                                      'passive_joints': ('torso_pitch',)},
                         ('r_hand',), _CLOSED, 6, 6),
    'talos': ('talos', {}, (_TALOS[0], 'left_sole_link'),
              (Closure(*_TALOS, (0.1, 0, 0.3)),), 6, 12),
    'talos, standing': ('talos', _FREE, _TALOS[:1],
                        (Closure(*_TALOS, (0.1, 0, 0.3)), *_FEET), 18, 6),
    'talos, feet by corners': ('talos', _FREE, _TALOS[:1], _CORNERS, 12, 6),
    'tiago': ('tiago', {'passive_joints': ('head_1_joint',)}, _TIAGO[:1],
              (Closure(*_TIAGO[::-1], (0, 0.2, 0)),), 6, 6),
    'pr2': ('pr2', {}, _PR2[:1], (Closure(*_PR2[::-1]),), 6, 6),
}


@cache
def robot_text(name):
    """Return the URDF of a robot in the table of cases."""
    if name == 'planar':
        return planar_arms(4)
    if name == 'random':
        return random_urdf(seed=11, n_joints=12, branching=0.5, n_fixed=2,
                           joint_types=('revolute', 'prismatic', 'floating'))
    files = {'talos': TALOS, 'tiago': TIAGO_DUAL, 'pr2': PR2}
    return (robot_file(files[name]) if name in files else URDF / f'{name}.urdf').read_text()


@cache
def case(name):
    """Return the `Case` of this name."""
    which, keywords, *rest = _CASES[name]
    urdf = robot_text(which)
    return Case(urdf, RobotModel.from_urdf(urdf, **keywords), *rest)


by_case = pytest.mark.parametrize('name', _CASES)


def closed_state(name, seed):
    """Return a `Case` and a state whose velocity respects its closures."""
    found = case(name)
    state = random_state(found.model, seed)
    state.update(state.q, consistent(found.model, found.urdf, state, found.closures))
    return found, state


def units_of(dense):
    """Return the natural units of joints and of task rows: 1 / sqrt(A_kk), sqrt(L_rr)."""
    joints = 1.0 / np.sqrt(dense.A.diagonal())
    rows = np.sqrt((dense.J @ dense.inverse(dense.free) @ dense.J.T).diagonal())
    return joints, np.where(rows > 1e-9 * rows.max(), rows, 1.0)


@by_case
def test_recursion_against_dense_algebra(name):
    found, state = closed_state(name, 1)
    dense = dense_chain(found.model, found.urdf, state, found.frames, found.closures)
    chain = closed_chain(found.model, state, found.frames, found.closures)
    joints, rows = units_of(dense)
    phi = dense.projected - dense.projected_passive
    assert chain.constraint_rank == found.rank
    assert chain.rank == found.controlled
    held = np.concatenate([closure.constrained for closure in found.closures])
    assert difference(chain.constraint_jacobian[held], dense.J_c) < TOLERANCE
    assert difference(chain.constraint_bias[held], dense.bias_c) < TOLERANCE
    assert difference(chain.inverse_inertia, dense.J @ phi @ dense.J.T, rows, rows) < TOLERANCE
    if found.controlled == 6 * len(found.frames):
        inertia = np.linalg.inv(dense.J @ phi @ dense.J.T)
        assert difference(chain.inertia, inertia, 1 / rows, 1 / rows) < TOLERANCE
        assert difference(chain.dynamically_consistent_inverse, phi @ dense.J.T @ inertia,
                          joints, 1 / rows) < TOLERANCE


@by_case
def test_equation_of_motion(name):
    """Λ a + μ + ρ = J̄ᵀ τ for whatever the active joint forces are, in the directions there are."""
    found, state = closed_state(name, 2)
    dense = dense_chain(found.model, found.urdf, state, found.frames, found.closures)
    chain = closed_chain(found.model, state, found.frames, found.closures)
    _, rows = units_of(dense)
    tau = np.random.default_rng(2).standard_normal(len(dense.A)) * np.sqrt(dense.A.diagonal())
    tau[~dense.active] = 0.0
    v_dot, _ = dense.accelerations(tau)
    a = dense.J @ v_dot + dense.bias
    left = chain.inverse_inertia @ (chain.inertia @ a + chain.coriolis + chain.gravity)
    right = chain.inverse_inertia @ (chain.dynamically_consistent_inverse.T @ tau)
    assert difference(left, right, rows) < 10 * TOLERANCE


@by_case
def test_active_joints_exert_forces_at_the_points_or_none(name):
    """J_Gᵀ F does what F does less what it does to passive joints; Nᵀ τ accelerates no point."""
    found, state = closed_state(name, 4)
    dense = dense_chain(found.model, found.urdf, state, found.frames, found.closures)
    chain = closed_chain(found.model, state, found.frames, found.closures)
    joints, rows = units_of(dense)
    exerting = np.zeros((len(dense.A), len(rows)))
    exerting[chain.active] = chain.generalized_jacobian.T
    phi = dense.projected - dense.projected_passive
    assert difference(dense.projected @ exerting, phi @ dense.J.T, joints, 1 / rows) < TOLERANCE
    tau = np.random.default_rng(4).standard_normal(len(dense.A)) / joints
    tau[~dense.active] = 0.0
    rest = chain.null_space_projection.T @ tau
    assert not rest[~dense.active].any()
    moved, still = (dense.J @ dense.projected @ x / rows for x in (tau, rest))
    if chain.rank == len(rows):
        assert abs(still).max() < 10 * TOLERANCE * abs(moved).max()


@by_case
def test_accelerations_and_what_the_closures_bear(name):
    found, state = closed_state(name, 3)
    dense = dense_chain(found.model, found.urdf, state, found.frames, found.closures)
    tau = np.random.default_rng(3).standard_normal(len(dense.A)) * np.sqrt(dense.A.diagonal())
    v_dot, wrenches = closed_chain_dynamics(found.model, state, tau, found.closures)
    expected, force = dense.accelerations(tau)
    joints, _ = units_of(dense)
    assert difference(v_dot, expected, joints) < TOLERANCE
    held = np.concatenate([closure.constrained for closure in found.closures])
    got = wrenches.ravel()[held]
    # Where rows say the same only what they do together is defined.
    assert difference(dense.J_c.T @ got, dense.J_c.T @ force, 1 / joints) < TOLERANCE
    assert not wrenches.ravel()[~held].any()


@by_case
def test_law_is_the_optimum_of_gauss(name):
    """Of all motions that do what is asked, the one nearest to the posture's in the metric A."""
    found, state = closed_state(name, 4)
    rng = np.random.default_rng(4)
    passive = 0.3 * rng.standard_normal(found.model.nv)
    dense = dense_chain(found.model, found.urdf, state, found.frames, found.closures, passive)
    if found.controlled < len(dense.J):
        dense = in_the_plane(dense)
    demand = rng.standard_normal(len(dense.J))
    v_dot_null = np.where(dense.free, rng.standard_normal(found.model.nv), 0.0)
    a_c = dense.J_c @ (0.1 * v_dot_null)  # what the constraints can do
    expected, residual = dense.gauss(demand, v_dot_null, a_c)
    joints, _ = units_of(dense)
    assert residual < 1e-8
    tau = dense.law(demand, v_dot_null, a_c)
    v_dot, _ = dense.accelerations(tau, a_c)
    np.testing.assert_array_equal(tau[found.model.passive], passive[found.model.passive])
    assert difference(v_dot, expected, joints) < 1e-8
    assert abs(dense.J @ v_dot + dense.bias - demand).max() < 1e-8


def in_the_plane(dense):
    """Return the chain with the task rows alone that anything can move."""
    moving = abs(dense.J).max(axis=1) > 1e-9
    return type(dense)(dense.A, dense.b, dense.g, dense.J[moving], dense.bias[moving], dense.J_c,
                       dense.bias_c, dense.free, dense.passive, dense.torque_p)


@pytest.mark.parametrize('name', ['dual_arm', 'planar', 'talos'])
def test_internal_torques_move_nothing_and_are_those_of_the_closures(name):
    """They are {τ : B τ ∈ range J_cᵀ}, with every joint active exactly J_cᵀ x."""
    found, state = closed_state(name, 5)
    dense = dense_chain(found.model, found.urdf, state, found.frames, found.closures)
    internal = dense.internal_torques()
    assert internal.shape[1] == found.rank
    by_closures = dense.J_c.T
    left = internal - by_closures @ np.linalg.lstsq(by_closures, internal, rcond=1e-10)[0]
    assert abs(left).max() < TOLERANCE
    tau = np.random.default_rng(5).standard_normal(found.model.nv)
    one, _ = closed_chain_dynamics(found.model, state, tau, found.closures)
    other, _ = closed_chain_dynamics(found.model, state, tau + 10 * internal.sum(axis=1),
                                     found.closures)
    assert difference(other, one, units_of(dense)[0]) < TOLERANCE


class TestMinimalCoordinates:
    """[RKR95] (13)-(22), (25): the dependent joints are those of one arm."""

    @pytest.mark.parametrize(('name', 'prefix'), [
        ('dual_arm', 'l_'), ('planar', 'jl'), ('pr2', 'r_'), ('talos', 'arm_left_')])
    def test_same_operational_space(self, name, prefix):
        found, state = closed_state(name, 6)
        dense = dense_chain(found.model, found.urdf, state, found.frames, found.closures)
        if name == 'planar':
            dense = in_the_plane(dense)
        dependent = self.dependent(found.model, dense, prefix)
        reduced = dense.reduced(dependent)
        chain = closed_chain(found.model, state, found.frames, found.closures)
        moving = np.flatnonzero(chain.inverse_inertia.diagonal() > 1e-12)
        pick = np.ix_(moving, moving)
        assert difference(chain.inertia[pick], reduced['Lambda']) < TOLERANCE
        assert difference(chain.coriolis[moving], reduced['mu']) < TOLERANCE
        assert difference(chain.gravity[moving], reduced['p']) < TOLERANCE
        assert difference(chain.dynamically_consistent_inverse[:, moving],
                          reduced['C'] @ reduced['J_bar']) < TOLERANCE
        assert abs(dense.J_c @ reduced['C']).max() < TOLERANCE

    @staticmethod
    def dependent(model, dense, prefix):
        """Return as many joints of an arm as the closure takes freedoms, the best conditioned."""
        arm = [i for i, name in enumerate(model.dof_names)
               if name.startswith(prefix) and abs(dense.J_c[:, i]).max() > 1e-6]
        rank = np.linalg.matrix_rank(dense.J_c, tol=1e-9)
        candidates = [arm[:k] + arm[k + 1:] for k in range(len(arm))]
        candidates = [c for c in candidates if len(c) == rank] or [arm[:rank]]
        return max(candidates, key=lambda c: np.linalg.svd(dense.J_c[:, c])[1][rank - 1])


class TestAugmentedObject:
    """Λ⊕ = Λ_obj + W Λ_e Wᵀ, [RKR95] (6)-(8) with the effectors' full coupling."""

    BOX = Payload.of_box(3.0, (0.4, 0.3, 0.2), (0.0, -0.1, 0.15))

    @pytest.fixture
    def robots(self):
        """The robot without and with the object in its right hand, at the same state."""
        urdf = (URDF / 'dual_arm.urdf').read_text()
        center = ' '.join(map(str, self.BOX.center_of_mass))
        weight = link('box', self.BOX.mass, self.BOX.inertia.diagonal(),
                      f'<origin xyz="{center}"/>')
        loaded = RobotModel.from_urdf(urdf.replace(
            '</robot>', weight + joint('grip', 'r_hand', 'box', 'fixed') + '</robot>'))
        bare = RobotModel.from_urdf(urdf)
        state = random_state(bare, 7)
        v = consistent(bare, urdf, state, (Closure(*_DUAL),))
        return (bare, RobotState(bare, state.q, v)), (loaded, RobotState(loaded, state.q, v))

    def augmented(self, bare, state):
        """Return Λ⊕ and μ⊕ + p⊕ at the right hand."""
        effectors = operational_space(bare, state, ('r_hand', 'l_hand'))
        poses = bare.forward_kinematics(state, ('r_hand', 'l_hand'))
        R = poses['r_hand'][:3, :3]
        d = poses['l_hand'][:3, 3] - poses['r_hand'][:3, 3]
        W = np.hstack([np.eye(6), np.block([[np.eye(3), np.zeros((3, 3))], [hat(d), np.eye(3)]])])
        w = (bare.jacobian(state, 'r_hand') @ state.v)[3:]
        W_dot_T_v = np.concatenate([np.zeros(6), np.cross(w, np.cross(w, d)), np.zeros(3)])
        box = self.BOX.moved(R, np.zeros(3))
        c, m = hat(box.center_of_mass), box.mass
        about_hand = np.block([[m * np.eye(3), -m * c], [m * c, box.inertia - m * c @ c]])
        centripetal = m * np.cross(w, np.cross(w, box.center_of_mass))
        weight = m * np.array([0.0, 0.0, -9.81])
        bias = np.concatenate([
            centripetal - weight,
            np.cross(box.center_of_mass, centripetal - weight) + np.cross(w, box.inertia @ w)])
        Lambda = about_hand + W @ effectors.inertia @ W.T
        return Lambda, bias + W @ (
            effectors.coriolis + effectors.gravity + effectors.inertia @ W_dot_T_v), effectors, W

    def test_is_the_closed_chain(self, robots):
        (bare, state), (loaded, loaded_state) = robots
        Lambda, bias, _, _ = self.augmented(bare, state)
        chain = closed_chain(loaded, loaded_state, 'r_hand', (Closure('l_hand', 'r_hand'),))
        assert difference(chain.inertia, Lambda) < TOLERANCE
        assert difference(chain.coriolis + chain.gravity, bias) < TOLERANCE

    def test_without_the_coupling_it_is_wrong(self, robots):
        """(6) adds the effectors' own inertias: true of arms on bases of their own alone."""
        (bare, state), (loaded, loaded_state) = robots
        Lambda, _, effectors, W = self.augmented(bare, state)
        apart = np.zeros((12, 12))
        for part in (slice(0, 6), slice(6, 12)):
            apart[part, part] = np.linalg.inv(effectors.inverse_inertia[part, part])
        wrong = Lambda + W @ (apart - effectors.inertia) @ W.T
        chain = closed_chain(loaded, loaded_state, 'r_hand', (Closure('l_hand', 'r_hand'),))
        assert difference(wrong, chain.inertia) > 5e-3


def hat(r):
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def test_without_closures_it_is_the_open_chain():
    found, state = closed_state('talos', 8)
    chain = closed_chain(found.model, state, found.frames, ())
    tree = operational_space(found.model, state, found.frames)
    assert chain.constraint_rank == 0
    for field in ('jacobian', 'bias_acceleration', 'inverse_inertia', 'inertia', 'gravity',
                  'coriolis', 'dynamically_consistent_inverse'):
        assert difference(getattr(chain, field), getattr(tree, field)) < 1e-10, field


def test_a_task_along_a_held_direction_is_lost():
    found, state = closed_state('talos, standing', 9)
    chain = closed_chain(found.model, state, ('left_sole_link', _TALOS[0]), found.closures)
    assert chain.rank == 6
    assert abs(chain.inertia[:6]).max() < 1e-6 * abs(chain.inertia).max()


def test_links_that_cannot_turn_against_each_other():
    """Two gantries on one column: that rounding leaves nothing is not taken for freedoms."""
    slide = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    parts = [link('base'), link('column'), joint('turn', 'base', 'column', 'continuous',
                                                 '<origin rpy="0.3 -0.7 1.1"/><axis xyz="1 2 3"/>')]
    for side in 'lr':
        parent = 'column'
        for k, axis in enumerate(('1 0 0', '0 1 0.3', '0.2 0.1 1')):
            parts += [link(f'{side}{k}'), joint(f'j{side}{k}', parent, f'{side}{k}', 'prismatic',
                                                f'<axis xyz="{axis}"/>{slide}')]
            parent = f'{side}{k}'
    model = RobotModel.from_urdf(robot(*parts))
    state = random_state(model, 1)
    chain = closed_chain(model, state, 'l2', (Closure('l2', 'r2'),))
    assert chain.constraint_rank == 3
    assert chain.rank == 4
    dense = dense_chain(model, robot(*parts), state, ('l2',), (Closure('l2', 'r2', axes=POINT),))
    assert difference(chain.inverse_inertia, dense.J @ dense.projected @ dense.J.T) < TOLERANCE


class TestErrors:

    @pytest.mark.parametrize(('arguments', 'what'), [
        ({'axes': ''}, 'axes'), ({'axes': 'x x'}, 'axes'), ({'axes': 'up'}, 'axes'),
        ({'axes': None}, 'axes'), ({'position': (0, 0)}, 'place'),
        ({'position': (0, 0, np.nan)}, 'place'), ({'rotation': 2 * np.eye(3)}, 'place')])
    def test_closures_that_cannot_be(self, arguments, what):
        with pytest.raises(ModelError, match=what):
            Closure('l_hand', **arguments)

    def test_unknown_link(self):
        found, state = closed_state('dual_arm', 1)
        with pytest.raises(ModelError, match=r"no link 'r_hnad'.*'r_hand'"):
            closed_chain(found.model, state, 'l_hand', (Closure('l_hand', 'r_hnad'),))

    def test_no_frame(self):
        found, state = closed_state('dual_arm', 1)
        with pytest.raises(ModelError, match='No frame'):
            closed_chain(found.model, state, (), found.closures)
