# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Grasps with passive joints: the nearest internal forces that these allow, by dense algebra."""

from dataclasses import dataclass

import numpy as np
import pytest
from samples import URDF
from test_grasp import CASES, Bench, bench
from test_grasp_effort import LIMITS, STRONGEST, WEAK, best

from opspace_control import (
    Grasp,
    GraspForce,
    OperationalSpaceController,
    Payload,
    PostureTask,
    RobotModel,
    RobotState,
)

CARRIED = Payload.of_box(3.0, (0.2, 0.4, 0.3))
FRICTION = 0.8
ARMS = {'dual_arm': [f'{side}_{name}' for side in 'lr' for name in (
            'shoulder_pitch', 'shoulder_roll', 'shoulder_yaw', 'elbow', 'wrist_yaw', 'wrist_pitch',
            'wrist_roll')],
        'three arms': [f'j{k}_{j}' for k in range(3) for j in range(6)]}


def random_sets(base):
    """Return 20 sets of passive joints, of one to seven: six decide all forces of two grips."""
    rng = np.random.default_rng(0)
    return [rng.choice(ARMS[base], 1 + seed % 7, replace=False).tolist() for seed in range(20)]


SETS = pytest.mark.parametrize(('base', 'seed', 'passive'), [
    (base, seed, passive) for base in ARMS for seed, passive in enumerate(random_sets(base))])


@dataclass(frozen=True, eq=False)
class Grips:
    """The grips of a bench in dense algebra; wrenches (N, 6) are in the object's axes."""

    made: Bench

    @property
    def places(self):
        return self.made.grasp._linkage.points

    @property
    def grasp_matrix(self):
        """W, (6, 6 N): wrenches of the grips to their resultant."""
        W = np.tile(np.eye(6), len(self.places))
        for k, (x, y, z) in enumerate(self.places):
            W[3:, 6 * k:6 * k + 3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
        return W

    @property
    def passive_rows(self):
        """Torques of the passive joints (p, 6 N) by wrenches of the effectors that do not carry."""
        dense, grasp = self.made.dense, self.made.grasp
        links = self.made.controller.model.forward_kinematics(self.made.state, grasp.effectors[1:])
        J_p = dense.J_c[:, dense.passive & dense.free]
        height = len(J_p) // len(links)
        rows = np.zeros((J_p.shape[1], 6 * len(grasp.effectors)))
        for k, link in enumerate(links.values()):
            turn = np.kron(np.eye(2), link[:3, :3].T @ self.made.R)[:height]
            rows[:, 6 * k + 6:6 * k + 12] = J_p[height * k:height * (k + 1)].T @ turn
        return rows

    @property
    def true(self):
        """What the effectors do to the object, by the equations of motion; the first the rest."""
        wrenches = np.vstack([np.zeros((1, 6)), self.made.wrenches()])
        rest = self.made.grasp.resultant - self.grasp_matrix @ wrenches.ravel()
        wrenches[0] = np.concatenate([rest[:3], rest[3:] - np.cross(self.places[0], rest[:3])])
        return wrenches

    def planned(self, tensions):
        """Return the wrenches of the resultant and of these tensions, without passive joints."""
        return self.made.grasp._linkage.wrenches(self.made.grasp.resultant, tensions)

    def nearest(self, asked, torque):
        """
        Return the wrenches nearest to those asked for that do this to passive joints (p,).

        In newtons: moments count by the root mean square distance of the grips from their middle.
        """
        length = np.sqrt(((self.places - self.places.mean(axis=0)) ** 2).sum(axis=1).mean())
        units = np.tile(np.repeat([1.0, length], 3), (len(self.places), 1))
        units[~self.made.grasp._linkage.turning, 3:] = 0.0
        rows = np.vstack([self.grasp_matrix, self.passive_rows]) * units.ravel()
        sizes = np.linalg.norm(rows, axis=1)
        sizes[sizes < 1e-9] = np.inf
        right = np.concatenate([np.zeros(6), torque - self.passive_rows @ asked.ravel()])
        y = np.linalg.lstsq(rows / sizes[:, None], right / sizes, rcond=1e-9)[0]
        return asked + (units.ravel() * y).reshape(-1, 6)

    def wanting(self, wrenches):
        """Return how much friction the worst grip lacks, N: ``|f_t| − μ f_n``."""
        inward = self.places.mean(axis=0) - self.places
        inward /= np.linalg.norm(inward, axis=1)[:, None]
        normal = (wrenches[:, :3] * inward).sum(axis=1)
        tangential = np.linalg.norm(wrenches[:, :3] - normal[:, None] * inward, axis=1)
        return (tangential - FRICTION * normal).max()


def passive_bench(base, passive, seed, internal=(None, None), **options):
    text, _, effectors = CASES[base]
    return bench((text, {'passive_joints': passive}, effectors), seed, internal, **options)


@SETS
def test_they_are_the_nearest_to_those_asked_for_and_are_told(base, seed, passive):
    made = passive_bench(base, passive, seed, (-15.0, 0.0))
    grips, told = Grips(made), made.grasp.wrenches
    true, size = grips.true, abs(told).max()
    np.testing.assert_allclose(told, true, atol=1e-7 * size)
    wanted = made.grasp.task._record['acceleration']
    np.testing.assert_allclose(made.motion()[1], wanted, atol=1e-7 * abs(wanted).max())
    nearest = grips.nearest(grips.planned(-15.0), grips.passive_rows @ true.ravel())
    np.testing.assert_allclose(told, nearest, atol=1e-7 * size)
    tensions, moments = made.grasp._linkage.internal(true)
    np.testing.assert_allclose(made.grasp.internal_forces[0], tensions, atol=1e-7 * size)
    np.testing.assert_allclose(made.grasp.internal_forces[1], moments, atol=1e-7 * size)


@SETS
def test_squeeze_and_slip_go_by_the_true_forces(base, seed, passive):
    """It is the least that keeps the grips from slipping, or they are said to slip."""
    made = passive_bench(base, passive, seed, kind='point', friction=FRICTION,
                         friction_margin=1.0, minimum=15.0, maximum=500.0)
    grips, grasp = Grips(made), made.grasp
    true = grips.true
    torque, size = grips.passive_rows @ true.ravel(), abs(true).max()
    np.testing.assert_allclose(grasp.wrenches, true, atol=1e-7 * size)
    start = grips.nearest(grips.planned(-15.0), torque)
    newton = grips.nearest(grips.planned(-16.0), torque) - start
    wanted = start + (grasp.applied_force - 15.0) * newton
    np.testing.assert_allclose(true, wanted, atol=1e-7 * size)
    lacking = [grips.wanting(start + s * newton) for s in np.linspace(0.0, 485.0, 486)]
    assert grasp.slips == (grips.wanting(true) > 1e-6)
    assert grasp.slips == (min(lacking) > 1e-6)
    if not grasp.slips and grasp.applied_force > 15.0:
        assert grips.wanting(true) == pytest.approx(0.0, abs=1e-7 * size)
        assert grips.wanting(true - 1e-3 * newton) > 0.0


@pytest.mark.parametrize('passive', [['l_elbow'], ['r_elbow', 'l_shoulder_roll', 'l_wrist_yaw']])
def test_minimal_effort_chooses_among_those_that_passive_joints_allow(passive):
    weak = {'weak': (LIMITS, WEAK), 'maximum': STRONGEST}
    idle = passive_bench('dual_arm', passive, 6, **weak)
    eased = passive_bench('dual_arm', passive, 6, minimum_effort=True, **weak)
    grips, linkage, model = Grips(idle), idle.grasp._linkage, idle.controller.model
    ways = [*linkage.internal_basis(), linkage.wrenches(tensions=-1.0)]
    J = model.jacobian(idle.state, idle.grasp.effectors)
    turn = np.kron(np.eye(4), idle.R)
    T = np.array([J.T @ turn @ grips.nearest(way, np.zeros(len(passive))).ravel()
                  for way in ways]).T * model.active[:, None]
    wanted, squeeze = best(idle, T)
    if squeeze < 0.0:
        wanted, _ = best(idle, T, 0.0)
    np.testing.assert_allclose(eased.tau, wanted, atol=1e-7 * abs(idle.tau).max())
    true = Grips(eased).true
    np.testing.assert_allclose(eased.grasp.wrenches, true, atol=1e-7 * abs(true).max())


@pytest.mark.parametrize(('passive', 'tension', 'slips'), [
    ([], -18.39, False), (['l_elbow'], -67.90, False),
    (['r_elbow', 'l_shoulder_roll'], -16.74, True)])
def test_a_resting_robot_squeezes_more_or_tells_that_it_cannot(passive, tension, slips):
    """3 kg by friction 0.8, the arms as the demo starts: two passive joints leave one direction."""
    model = RobotModel.from_urdf_file(URDF / 'dual_arm.urdf', passive_joints=passive)
    q = np.zeros(model.nq)
    for name, angle in {'shoulder_pitch': 0.2, 'shoulder_roll': 0.2, 'elbow': -1.7}.items():
        for side, sign in (('l', 1.0), ('r', -1.0 if name == 'shoulder_roll' else 1.0)):
            q[model.dof_names.index(f'{side}_{name}')] = sign * angle
    state = RobotState(model, q, np.zeros(model.nv))
    grasp = Grasp(('r_hand', 'l_hand'), payload=CARRIED, kind='point',
                  grasp_force=GraspForce(15.0, friction=FRICTION, friction_margin=1.0))
    controller = OperationalSpaceController(model, [], PostureTask(kp=20.0), grasps=[grasp],
                                            effort_limits=np.inf)
    controller.compute_torque(state)
    grasp.engage(state)
    controller.compute_torque(state)
    assert grasp.internal_forces[0] == pytest.approx(tension, abs=0.01)
    assert grasp.slips == slips
