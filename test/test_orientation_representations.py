# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""E of [K87] (5.2) of Euler angles, Euler parameters and direction cosines, against SciPy."""

from itertools import permutations, product

import numpy as np
import pytest
from robots import robot_file

from opspace_control import (
    DirectionCosines,
    EulerAngles,
    EulerParameters,
    OperationalSpaceController,
    OrientationTask,
    RobotModel,
    RobotState,
    TaskError,
)
from opspace_control.spatial.rotations import matrix_from_vector, vector_from_matrix

SEQUENCES = [''.join(axes) for axes in product('xyz', repeat=3)
             if axes[0] != axes[1] != axes[2]]
EULER = [EulerAngles(axes, fixed) for axes in SEQUENCES for fixed in (False, True)]
ALL = [*EULER, EulerParameters(), DirectionCosines()]
by_kind = pytest.mark.parametrize('kind', ALL, ids=lambda kind: (
    repr(kind) if isinstance(kind, EulerAngles) else type(kind).__name__))


def orientation(seed):
    return matrix_from_vector(np.random.default_rng(seed).uniform(-1.7, 1.7, 3))


def test_there_are_twelve_sequences():
    assert len(SEQUENCES) == 12 and {''.join(axes) for axes in permutations('xyz')} < set(SEQUENCES)


@pytest.mark.parametrize('kind', EULER, ids=repr)
def test_angles_are_of_rotations_about_the_axes_in_turn(kind):
    """Turning axes: each rotation is put on the right; fixed ones: on the left."""
    rng, unit = np.random.default_rng(0), dict(zip('xyz', np.eye(3), strict=True))
    for _ in range(5):
        angles = rng.uniform((-3.1, 0.05, -3.1), (3.1, 1.5, 3.1))
        R = np.eye(3)
        for axis, angle in zip(kind.axes, angles, strict=True):
            turn = matrix_from_vector(angle * unit[axis])
            R = turn @ R if kind.fixed else R @ turn
        np.testing.assert_allclose(kind.rotation(angles), R, atol=1e-14)
        np.testing.assert_allclose(kind.parameters(R), angles, atol=1e-12)


def test_fixed_xyz_is_roll_pitch_and_yaw():
    """Against Pinocchio's angles and their Jacobian."""
    pin = pytest.importorskip('pinocchio')
    kind = EulerAngles('xyz', fixed=True)
    for seed in range(5):
        R = orientation(seed)
        x = pin.rpy.matrixToRpy(R)
        np.testing.assert_allclose(kind.parameters(R), x, atol=1e-12)
        np.testing.assert_allclose(
            kind.inverse(x), pin.rpy.computeRpyJacobian(x, pin.LOCAL_WORLD_ALIGNED), atol=1e-12)
        np.testing.assert_allclose(
            kind.matrix(x), pin.rpy.computeRpyJacobianInverse(x, pin.LOCAL_WORLD_ALIGNED),
            atol=1e-10)
        rate = np.random.default_rng(seed).normal(size=3)
        np.testing.assert_allclose(
            kind.inverse_rate(x, rate),
            pin.rpy.computeRpyJacobianTimeDerivative(x, rate, pin.LOCAL_WORLD_ALIGNED), atol=1e-12)


@by_kind
def test_there_and_back(kind):
    for seed in range(5):
        R = orientation(seed)
        x = kind.parameters(R)
        assert x.shape == (kind.size,)
        np.testing.assert_allclose(kind.rotation(x), R, atol=1e-12)
        np.testing.assert_allclose(kind.inverse(x) @ kind.matrix(x), np.eye(3), atol=1e-11)


@by_kind
def test_rates_are_those_of_a_rotation_that_moves(kind):
    """By central differences of ``exp([s]×) R``: ẋ_r, ẍ_r, and back to ω and ω̇."""
    h = 1e-4
    for seed in range(3):
        R, (omega, alpha) = orientation(seed), np.random.default_rng(seed).normal(size=(2, 3))

        def at(t, R=R, omega=omega, alpha=alpha):
            # ω(t) = ω + α t to second order: φ = ω t + α t²/2 + O(t³) that commutes at t = 0
            return kind.parameters(matrix_from_vector(omega * t + 0.5 * alpha * t * t) @ R)
        before, now, after = at(-h), at(0.0), at(h)
        rate, second = (after - before) / (2.0 * h), (after - 2.0 * now + before) / (h * h)
        scale = 1.0 + abs(kind.matrix(now)).max() ** 3
        np.testing.assert_allclose(kind.rate(now, omega), rate, atol=1e-6 * scale)
        np.testing.assert_allclose(kind.angular_velocity(now, rate), omega, atol=1e-6 * scale)
        np.testing.assert_allclose(kind.angular_acceleration(now, rate, second), alpha,
                                   atol=1e-5 * scale)


@pytest.mark.parametrize('kind', EULER, ids=repr)
def test_singular_angles_are_refused_where_rates_do_not_exist(kind):
    """The orientation still has angles: one of them is 0."""
    alike = kind.axes[0] == kind.axes[2]
    for second in (0.0, np.pi) if alike else (0.5 * np.pi, -0.5 * np.pi):
        x = np.array([0.4, second, -1.1])
        with pytest.raises(TaskError, match=r'singular at .*EulerParameters'):
            kind.matrix(x)
        angles = kind.parameters(kind.rotation(x))
        assert angles[0 if kind.fixed else 2] == 0.0
        np.testing.assert_allclose(kind.rotation(angles), kind.rotation(x), atol=1e-12)
        assert np.linalg.matrix_rank(kind.inverse(x), tol=1e-9) == 2
        kind.matrix(x + np.array([0.0, 1e-3, 0.0]))


@pytest.mark.parametrize('axes', ['xx', 'xxy', 'xyy', 'abc', 'xyzx', 3, None])
def test_sequences_that_miss_orientations_are_refused(axes):
    with pytest.raises(TaskError, match='Euler angles about'):
        EulerAngles(axes)


@pytest.mark.parametrize('kind', [EulerAngles('xyz', fixed=True), EulerAngles('zyz')], ids=repr)
def test_a_task_with_gains_in_euler_angles(kind):
    """``ẍ_r = kp (x_d − x_r) − kd ẋ_r`` for a second: each angle goes there by itself."""
    model = RobotModel.from_urdf_file(robot_file('xarm7.urdf'))
    task = OrientationTask('link_eef', kp=0.0, kd=0.0)
    controller = OperationalSpaceController(model, task, effort_limits=np.inf)
    q, v, dt, kp, kd = np.array([0.2, 0.4, -0.3, 0.9, 0.1, 0.8, 0.3]), np.zeros(7), 2e-3, 25.0, 10.0
    state = RobotState(model, q, v)
    x = kind.parameters(model.forward_kinematics(state, ['link_eef'])['link_eef'][:3, :3])
    goal = x + np.array([0.3, -0.2, 0.25])
    predicted, speed = np.array([-0.3, 0.2, -0.25]), np.zeros(3)
    for _ in range(500):
        R = model.forward_kinematics(state, ['link_eef'])['link_eef'][:3, :3]
        x = kind.parameters(R)
        rate = kind.rate(x, (model.jacobian(state, 'link_eef') @ v)[3:])
        error = (goal - x + np.pi) % (2.0 * np.pi) - np.pi  # angles come round
        wanted = kp * error - kd * rate
        task.set_feed_forward(acceleration=np.r_[0, 0, 0, kind.angular_acceleration(
            x, rate, wanted)])
        acceleration = model.forward_dynamics(state, controller.compute_torque(state, dt=dt))
        v = v + dt * acceleration
        q = q + dt * v
        state.update(q, v)
        speed = speed + dt * (-kp * predicted - kd * speed)
        predicted = predicted + dt * speed
        np.testing.assert_allclose(-error, predicted, atol=5e-3)
    assert abs(vector_from_matrix(kind.rotation(goal) @ R.T)).max() < 2e-2
