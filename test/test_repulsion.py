# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The potential of near pairs of shapes, in the posture's reference, [K86]."""

from itertools import pairwise

import numpy as np
import pytest
from test_distance_limits import BALLS, FREE, HANDS, bent, controlled, largest_steps, moved, robot

from opspace_control import (
    CollisionModel,
    ControlError,
    DistanceLimits,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PositionTask,
    PostureTask,
    RobotState,
    Shape,
)
from opspace_control.cli.robots import demo_robot

GAIN, RANGE = 0.05, 0.4
BENT = {'joint_2': 0.6, 'joint_4': 1.2, 'joint_6': 0.7}
DAMPING = {'kp': 0.0, 'kd': 10.0}


def potential(shapes, q, gain=GAIN, influence=RANGE):
    """Return U, J, of all pairs at the positions q."""
    return sum(0.5 * gain * (1.0 / pair.distance - 1.0 / influence) ** 2
               for pair in shapes.distances(q, influence))


def gradient(shapes, q):
    """Return ∇U (nv,) by finite differences, of nv displacements."""
    model, h = shapes.robot, 1e-6
    return np.array([(potential(shapes, model.integrate(q, h * step, 1.0))
                      - potential(shapes, model.integrate(q, -h * step, 1.0))) / (2.0 * h)
                     for step in np.eye(model.nv)])


def arm(gain, tasks=None, posture=DAMPING, **options):
    """Return an arm of seven joints with a ball beside its elbow, and its state at rest."""
    model = robot('arm_7r')
    state = bent(model, BENT)
    place = model.forward_kinematics(state, ['link_4'])['link_4'][:3, 3]
    shapes = [Shape('elbow', 'link_4', 'sphere', [0.06]),
              Shape('ball', None, 'sphere', [0.05], place + 0.2 * np.eye(3)[1])]
    return controlled(model, shapes, [PoseTask('hand')] if tasks is None else tasks,
                      PostureTask(**posture), repulsion=gain, repulsion_influence=RANGE,
                      **options), state


def nearest(controller, state):
    return controller.distances.collision.distances(state.q)[0].distance


def test_no_gain_makes_efforts_that_are_no_numbers():
    """One of 1e29 exerts what joints can take, and 1e300, whose products overflow, is refused."""
    controller, state = arm(1e29)
    assert nearest(controller, state) < RANGE
    assert np.isfinite(controller.compute_torque(state)).all()
    with pytest.raises(ControlError, match=r'repulsion = 1e\+300 .*below 1e\+30'):
        controller.distances.changed(repulsion=1e300)


class TestForces:
    """What the posture's reference receives."""

    @pytest.mark.parametrize('base', [{}, {'floating_base': True, 'passive_joints': ('base',)}])
    def test_are_minus_the_gradient_of_the_potential(self, base):
        """Of all pairs; the reference is ``A⁻¹ Γ``, of joints whose base is free, too."""
        random, model = np.random.default_rng(2), robot('dual_arm', **base)
        shapes = [*BALLS, Shape('elbow', 'l_forearm', 'capsule', [0.05, 0.2])]
        free = JointLimits(model, **FREE)
        controller = controlled(model, shapes, posture=PostureTask(**DAMPING), limits=free,
                                repulsion=GAIN, repulsion_influence=RANGE)
        bare = controlled(model, shapes, posture=PostureTask(**DAMPING), limits=free)
        for _ in range(5):
            state = bent(model)
            state = RobotState(model, model.integrate(
                state.q, random.uniform(-0.2, 0.2, model.nv), 1.0), np.zeros(model.nv))
            for one in (controller, bare):
                one.compute_torque(state)
            force = -gradient(controller.distances.collision, state.q)
            assert abs(force).max() > 0.1
            added = controller.posture_acceleration - bare.posture_acceleration
            driven = model.active
            expected = np.linalg.solve(model.mass_matrix(state), force)
            np.testing.assert_allclose(added[driven], expected[driven], rtol=1e-5, atol=1e-6)

    def test_are_of_all_pairs_whatever_the_capacity(self):
        """Bounds have room for ``capacity`` pairs, the potential for all: none comes and goes."""
        model, references = robot('dual_arm'), []
        shapes = demo_robot('dual_arm').collision().model(model)
        for capacity in (1, 256):
            controller = OperationalSpaceController(
                model, (), PostureTask(**DAMPING), effort_limits=np.inf,
                limits=JointLimits(model, **FREE),
                distances=DistanceLimits(shapes, capacity=capacity, repulsion=1e-4))
            controller.compute_torque(bent(model))
            references.append(controller.posture_acceleration)
        assert abs(references[0]).max() > 0.01
        np.testing.assert_array_equal(*references)

    def test_vanish_smoothly_at_the_influence(self):
        """Beyond it nothing changes by a bit; pairs are looked at up to it."""
        controller, state = arm(GAIN, influence=0.02)
        gap = nearest(controller, state)
        sizes = []
        for beyond in (-1e-2, -1e-4, 1e-4):
            controller.distances = controller.distances.changed(repulsion_influence=gap - beyond)
            controller.compute_torque(state)
            sizes.append(np.linalg.norm(controller.posture_acceleration))
        assert sizes[0] > 50.0 * sizes[1] > 0.0
        assert sizes[2] == 0.0

    @pytest.mark.parametrize('overlap', [False, True])
    def test_pass_no_limit_of_acceleration(self, overlap):
        """They are scaled as a whole: their direction stays that of ``A⁻¹ Γ``."""
        references = []
        for gain in (1e-6, 1e6):
            controller, state = arm(gain, [])
            if overlap:
                place = controller.shapes[1].position
                controller.move_shape('ball', place - np.array([0.0, 0.15, 0.0]))
            controller.compute_torque(state)
            references.append(controller.posture_acceleration)
        part = abs(references[1]) / controller.limits.acceleration
        assert part.max() == pytest.approx(1.0, rel=1e-9)
        np.testing.assert_allclose(*(one / np.linalg.norm(one) for one in references), atol=1e-9)


class TestMotion:
    """The null space moves away from what is near; tasks do not notice."""

    def test_tasks_are_not_disturbed(self):
        """Accelerations of the hand are those without the potential, to 1e-9 of the largest."""
        random = np.random.default_rng(4)
        for _ in range(20):
            accelerations, joints = [], []
            bends = {name: angle + random.uniform(-0.2, 0.2) for name, angle in BENT.items()}
            v = random.uniform(-0.3, 0.3, 7)
            for gain in (0.0, GAIN):
                controller, _ = arm(gain, limits=JointLimits(robot('arm_7r'), **FREE))
                model = controller.model
                state = RobotState(model, bent(model, bends).q, v)
                goal = model.forward_kinematics(state, ['hand'])['hand'][:3, 3] + 0.05
                controller.tasks['hand'].set_target([*goal, 0.0, 0.0, 0.0, 1.0])
                tau = controller.compute_torque(state)
                assert controller.limited_joints == 0
                a = model.forward_dynamics(state, tau)
                joints.append(a)
                accelerations.append(model.jacobian(state, 'hand') @ a)
            assert abs(joints[1] - joints[0]).max() > 0.05
            assert abs(accelerations[1] - accelerations[0]).max() < (
                1e-9 * abs(accelerations[0]).max())

    def test_the_elbow_moves_away_and_the_hand_stays(self):
        """What is left is of the integration: in proportion to its step and to the gain."""
        courses = []
        for gain in (0.0, 0.1 * GAIN):
            controller, state = arm(gain)
            controller.tasks['hand'].set_gains(1e4)
            errors, distances = [], []
            for k, (now, _) in enumerate(moved(controller, state, 6000, 2.5e-4)):
                errors.append(controller.tasks['hand'].error[:3])
                if k % 50 == 0:
                    distances.append(nearest(controller, now))
            courses.append((np.array(errors), np.array(distances)))
        (still, apart), (errors, distances) = courses
        assert abs(errors - still).max() < 1e-6
        assert np.ptp(apart) < 1e-4
        assert distances[-1] > distances[0] + 0.05
        assert np.diff(distances).min() > 0.0

    def test_the_potential_never_grows(self):
        """In the null space of the hand, too, with what damping takes."""
        controller, state = arm(GAIN)
        shapes = controller.distances.collision
        energies = [potential(shapes, now.q) + 0.5 * now.v @ controller.model.mass_matrix(
            now) @ now.v for now, _ in moved(controller, state, 800)]
        assert all(after < before * (1.0 + 1e-6) for before, after in pairwise(energies))
        assert energies[-1] < 0.3 * energies[0]

    @pytest.mark.parametrize('gain', [1e-4, 1e-2, GAIN])
    def test_faces_that_turn_beside_each_other_come_to_rest(self, gain):
        """The cap of each forearm and its palm are parallel: the nearest points jump there."""
        demo, model = demo_robot('dual_arm'), robot('dual_arm')
        state = bent(model, demo.start)
        controller = OperationalSpaceController(
            model, [PoseTask('l_hand')], PostureTask(target=state.q), limits=JointLimits(model),
            distances=DistanceLimits(demo.collision().model(model).without_still_pairs(),
                                     repulsion=gain))
        efforts = np.array([tau.copy() for _, tau in moved(controller, state, 3000, 1e-3)])
        assert largest_steps(efforts[-1000:], model).sum() < 1e-3

    def test_bound_and_potential_beside_each_other(self):
        """Hands that are sent into each other stop at their margin; potentials do not stop them."""
        model = robot('dual_arm')
        least, rows = [], []
        for gain in (0.0, GAIN):
            tasks = [PositionTask(hand, name=hand) for hand in HANDS]
            controller = controlled(model, BALLS, tasks, repulsion=gain)
            state = bent(model)
            places = model.forward_kinematics(state, HANDS)
            middle = np.mean([places[hand][:3, 3] for hand in HANDS], axis=0)
            for hand in HANDS:
                controller.tasks[hand].set_target(middle)
            least.append(min(nearest(controller, now) for now, _ in moved(
                controller, state, 3000)))
            rows.append([limit.limit for limit in controller.active_limits].count('distance'))
        assert min(least) > 0.0099
        assert max(least) < 0.0101
        assert rows == [1, 1]


class TestNumbers:
    """What the potential is told."""

    @pytest.mark.parametrize('wrong', [
        {'repulsion': -1.0}, {'repulsion': np.nan}, {'repulsion_influence': 0.0}])
    def test_one_that_cannot_be_used_is_named(self, wrong):
        with pytest.raises(ControlError, match=next(iter(wrong))):
            DistanceLimits(CollisionModel(robot('dual_arm'), BALLS), **wrong)

    def test_pairs_are_looked_at_as_far_as_needed(self):
        distances = DistanceLimits(CollisionModel(robot('dual_arm'), BALLS), influence=0.2)
        assert distances.furthest == 0.2
        assert distances.changed(repulsion=1.0).furthest == 0.3
        assert distances.changed(repulsion=1.0, repulsion_influence=0.1).furthest == 0.2
