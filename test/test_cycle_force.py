# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Motion, force and impedance in the whole cycle, against [K87] written out with dense matrices.

What is compared is what the robot then does: its accelerations by Pinocchio's equations of motion.
"""

import numpy as np
import pytest
from robots import TALOS, robot_file

from opspace_control import (
    ForceControl,
    ForceSensor,
    ForceTask,
    Impedance,
    OperationalSpaceController,
    OrientationTask,
    PoseTask,
    PositionTask,
    RobotModel,
    RobotState,
)

pin = pytest.importorskip('pinocchio')
from printed_law import ALL_AXES, DenseRobot  # noqa: E402

XARM, HANDS = robot_file('xarm7.urdf'), ('gripper_left_base_link', 'gripper_right_base_link')
ALWAYS = {'approach': (0.0, 0.0)}  # (5.6) as printed


class Dense:
    """A robot at a random state, and what a controller does to it, by dense matrices."""

    def __init__(self, path, seed, floating_base=False):
        self.model = RobotModel.from_urdf_file(path, floating_base=floating_base)
        self.robot = DenseRobot(path, self.model)
        self.rng = rng = np.random.default_rng(seed)
        q = self.model.integrate(self.model.neutral(), rng.uniform(-0.8, 0.8, self.model.nv), 1.0)
        self.state = RobotState(self.model, q, 0.5 * rng.normal(size=self.model.nv))
        self.robot.at(self.state.q, self.state.v)

    def control(self, tasks, **options):
        """Run one cycle; afterwards `accelerations` tells what it does."""
        self.controller = OperationalSpaceController(
            self.model, tasks, effort_limits=np.inf, singularity_threshold=1e-12, **options)
        self.tau = self.controller.compute_torque(self.state, dt=0.0)
        self.acceleration = np.linalg.solve(self.robot.A, self.tau - self.robot.bias)
        return self

    def axes(self, task):
        """Return diag(S_f, S_τ) of (2.3) for a task, from Pinocchio's frames."""
        S = np.zeros((6, 6))
        for k, name in enumerate(task.axes_frame):
            R = self.robot.frame(name)[0].rotation if name else np.eye(3)
            S[3 * k:3 * k + 3, 3 * k:3 * k + 3] = R.T
        return S

    def rows(self, task):
        """Return J, J̇ v and the velocity of a task, along its axes."""
        S = self.axes(task)
        _, J, bias = self.robot.frame(task.frame)
        return S @ J, S @ bias, S @ J @ self.state.v

    def does(self, task):
        """Return the acceleration of a task's point, along its axes."""
        J, bias, _ = self.rows(task)
        return J @ self.acceleration + bias

    def mobility(self, tasks):
        """Return Λ⁻¹ of tasks, along their axes."""
        J = np.vstack([self.rows(task)[0] for task in tasks])
        return J @ np.linalg.solve(self.robot.A, J.T)

    def error(self, task, goal):
        """Return the goal's distance from the point, along the task's axes."""
        pose = self.robot.frame(task.frame)[0]
        return self.axes(task) @ np.r_[goal.translation - pose.translation,
                                       pin.log3(goal.rotation @ pose.rotation.T)]

    def goal(self):
        return pin.SE3(pin.exp3(0.3 * self.rng.normal(size=3)), self.rng.normal(size=3))


def on(axes):
    return np.isin(ALL_AXES, axes)


FRAMES = [None, 'link_eef', 'link4', ('link_eef', 'link2')]


@pytest.mark.parametrize('frame', FRAMES, ids=str)
@pytest.mark.parametrize('seed', range(3))
def test_motion_and_force_are_those_of_5_6_and_7_11_in_any_frame(frame, seed):
    """``Λ (Ω F_m* + Ω̃ F_s*) + Ω̃ F_a``: a free point does a* and what F_a does on top of it."""
    dense = Dense(XARM, seed)
    rng = dense.rng
    kp, kd, damping = rng.uniform(20.0, 200.0, 6), rng.uniform(5.0, 50.0, 6), rng.uniform(5, 50, 6)
    twist, a_d, wrench = rng.normal(size=6), rng.normal(size=6), rng.uniform(-9.0, 9.0, 6)
    task = PoseTask('link_eef', kp=kp, kd=kd, axes='x ry rz', force_axes='z rx',
                    axes_frame=frame, force=ForceControl(damping=damping, **ALWAYS))
    goal = dense.goal()
    task.set_target(goal.homogeneous, twist, a_d)
    task.force.set_target(wrench)
    dense.control([task])
    S = dense.axes(task)
    J, _, velocity = dense.rows(task)
    rate = S @ twist - velocity
    motion = S @ a_d + kp * dense.error(task, goal) + kd * rate
    force = S @ a_d + damping * rate
    pressed = np.where(on(task.force_axes), wrench, 0.0)
    wanted = np.where(on(task.axes), motion, force) + dense.mobility([task]) @ pressed
    asked = on(task.axes) | on(task.force_axes)
    does = dense.does(task)
    np.testing.assert_allclose(does[asked], wanted[asked], rtol=0.0, atol=1e-9 * abs(wanted).max())
    free = dense.mobility([task])
    commanded = S @ task.wrench
    assert (abs(commanded[~asked]) < 1e-9 * abs(commanded).max()).all()
    inner = np.linalg.solve(free[np.ix_(asked, asked)],
                            (wanted - free @ pressed)[asked] - dense_null(dense, J)[asked])
    np.testing.assert_allclose(commanded[asked], inner + pressed[asked], rtol=0.0,
                               atol=1e-8 * abs(commanded).max())


TURN = pin.exp3(np.array([0.4, -0.7, 0.3]))
TURNS = {'one': TURN, 'two': np.array([TURN, pin.exp3(np.array([-1.1, 0.2, 2.0]))])}


@pytest.mark.parametrize('turn', TURNS)
@pytest.mark.parametrize('frame', FRAMES, ids=str)
def test_selection_in_turned_axes_is_5_6_with_the_matrices_of_2_3_and_2_4(frame, turn):
    """In base axes, ``Ω = Sᵀ Σ S``: the point does ``Ω F_m* + Ω̃ F_s* + Λ⁻¹ Ω̃ F_a``."""
    dense = Dense(XARM, 21)
    kp, kd, damping, wrench = 70.0, 13.0, 31.0, dense.rng.uniform(-9.0, 9.0, 6)
    task = PoseTask('link_eef', kp=kp, kd=kd, axes='x y rz', force_axes='z rx ry',
                    axes_frame=frame, axes_rotation=TURNS[turn],
                    force=ForceControl(damping=damping, **ALWAYS))
    goal, (twist, a_d) = dense.goal(), dense.rng.normal(size=(2, 6))
    task.set_target(goal.homogeneous, twist, a_d)
    task.force.set_target(wrench)
    dense.control([task])
    names = frame if isinstance(frame, tuple) else (frame, frame)
    S = np.zeros((6, 6))
    for k, (name, R) in enumerate(zip(names, np.broadcast_to(TURNS[turn], (2, 3, 3)),
                                      strict=True)):
        carrier = dense.robot.frame(name)[0].rotation if name else np.eye(3)
        S[3 * k:3 * k + 3, 3 * k:3 * k + 3] = (carrier @ R).T
    Omega, Omega_tilde = (S.T @ np.diag(on(axes).astype(float)) @ S
                          for axes in (task.axes, task.force_axes))
    pose, J, bias = dense.robot.frame('link_eef')
    error = np.r_[goal.translation - pose.translation, pin.log3(goal.rotation @ pose.rotation.T)]
    rate = twist - J @ dense.state.v
    wanted = (Omega @ (a_d + kp * error + kd * rate) + Omega_tilde @ (a_d + damping * rate)
              + J @ np.linalg.solve(dense.robot.A, J.T) @ Omega_tilde @ S.T @ wrench)
    np.testing.assert_allclose(J @ dense.acceleration + bias, wanted, rtol=0.0,
                               atol=1e-9 * abs(wanted).max())


def dense_null(dense, J):
    """Return a_null of a task along its axes: what q̈_null alone would do."""
    task = next(iter(dense.controller.tasks.values()))
    return J @ dense.controller.posture_acceleration + dense.rows(task)[1]


def damping_matrix(K, mobility, ratio):
    """Return D of ``D = 2 ζ K^½ (K^½ Λ⁻¹ K^½)^−½ K^½``, by NumPy's eigenvectors."""
    root = np.diag(np.sqrt(K))
    squares, modes = np.linalg.eigh(root @ mobility @ root)
    kept = squares > 1e-12 * squares.max()
    return 2.0 * ratio * root @ modes[:, kept] @ np.diag(squares[kept] ** -0.5) @ (
        modes[:, kept].T @ root)


@pytest.mark.parametrize('frame', FRAMES, ids=str)
@pytest.mark.parametrize('axes', [ALL_AXES, ('x', 'z', 'ry')], ids=' '.join)
def test_impedance_is_a_spring_and_a_damper_on_the_inertia_that_is_there(frame, axes):
    dense = Dense(XARM, 5)
    K, ratio = dense.rng.uniform(50.0, 900.0, 6), 0.7
    task = PoseTask('link_eef', axes=axes, axes_frame=frame, impedance=Impedance(K, ratio))
    goal, twist, a_d = dense.goal(), dense.rng.normal(size=6), dense.rng.normal(size=6)
    task.set_target(goal.homogeneous, twist, a_d)
    dense.control([task])
    S, select = dense.axes(task), on(axes)
    rate = S @ twist - dense.rows(task)[2]
    L = dense.mobility([task])
    K = np.where(select, K, 0.0)
    force = K * dense.error(task, goal) + damping_matrix(K, L, ratio) @ rate
    wanted = S @ a_d + L @ force
    np.testing.assert_allclose(dense.does(task)[select], wanted[select], rtol=0.0,
                               atol=1e-9 * abs(wanted).max())


@pytest.mark.parametrize('ratio', [0.2, 0.7, 1.0])
def test_every_mode_has_the_damping_ratio_asked_for(ratio):
    """The roots of ``Λ ẍ + D ẋ + K x = 0``, with the D that the cycle commands."""
    dense = Dense(XARM, 8)
    K = np.array([900.0, 300.0, 500.0, 40.0, 10.0, 25.0])
    D = np.empty((6, 6))
    for c in range(6):
        task = PoseTask('link_eef', impedance=Impedance(K, ratio))
        pose = dense.robot.frame(task.frame)[0]
        twist = dense.rows(task)[2] + np.eye(6)[c]
        task.set_target(pose.homogeneous, twist)
        dense.control([task])
        D[:, c] = np.linalg.solve(dense.mobility([task]), dense.does(task))
    np.testing.assert_allclose(D, D.T, atol=1e-8 * abs(D).max())
    inertia = np.linalg.inv(dense.mobility([task]))
    system = np.block([[np.zeros((6, 6)), np.eye(6)],
                       [-np.linalg.solve(inertia, np.diag(K)), -np.linalg.solve(inertia, D)]])
    roots = np.linalg.eigvals(system)
    np.testing.assert_allclose(-roots.real / abs(roots), ratio, atol=1e-3 if ratio == 1.0 else 1e-8)
    np.testing.assert_allclose(np.sort(abs(roots) ** 2)[::2],
                               np.sort(np.linalg.eigvals(dense.mobility([task]) @ np.diag(K)).real),
                               rtol=1e-3 if ratio == 1.0 else 1e-8)


def test_spring_and_force_in_one_task_do_not_disturb_each_other():
    """Along z the point does a_s* and what F_a does; the spring in x and y does not show there."""
    dense = Dense(XARM, 9)
    K = np.array([700.0, 700.0, 700.0, 20.0, 20.0, 20.0])
    task = PoseTask('link_eef', force_axes='z', axes_frame='link_eef',
                    impedance=Impedance(K), force=ForceControl(damping=30.0, **ALWAYS))
    goal = dense.goal()
    task.set_target(goal.homogeneous)
    task.force.set_target([0.0, 0.0, 15.0, 0.0, 0.0, 0.0])
    dense.control([task])
    L, press = dense.mobility([task]), np.array([0.0, 0.0, 15.0, 0.0, 0.0, 0.0])
    does, velocity = dense.does(task), dense.rows(task)[2]
    assert does[2] == pytest.approx(-30.0 * velocity[2] + (L @ press)[2], rel=1e-8)
    spring = np.where(on(task.axes), K, 0.0)
    push = spring * dense.error(task, goal) - damping_matrix(spring, L, 1.0) @ velocity
    wanted = L @ (push + press)
    select = on(task.axes)
    np.testing.assert_allclose(does[select], wanted[select], rtol=0.0,
                               atol=1e-9 * abs(wanted).max())


def test_a_spring_does_not_move_the_task_above_it_nor_a_stiff_one_beside_it():
    for priority in (0, 1):
        dense = Dense(robot_file(TALOS), 3, floating_base=True)
        stiff = PoseTask(HANDS[0], kp=100.0)
        soft = PoseTask(HANDS[1], impedance=Impedance(400.0), priority=priority)
        for task in (stiff, soft):
            task.set_target(dense.goal().homogeneous)
        dense.control([stiff, soft])
        record = stiff._record
        np.testing.assert_allclose(dense.does(stiff), record['acceleration'], rtol=0.0,
                                   atol=1e-8 * abs(record['acceleration']).max())
        assert abs(soft.wrench).max() > 1.0


def test_two_springs_are_one_system_with_the_inertia_that_couples_them():
    dense = Dense(robot_file(TALOS), 4, floating_base=True)
    tasks = [PoseTask(hand, impedance=Impedance(300.0)) for hand in HANDS]
    for task in tasks:
        task.set_target(dense.goal().homogeneous)
    dense.control(tasks)
    pushes = np.concatenate([task._record['spring_wrench'] for task in tasks])
    wanted = dense.mobility(tasks) @ pushes
    does = np.concatenate([dense.does(task) for task in tasks])
    np.testing.assert_allclose(does, wanted, rtol=0.0, atol=1e-8 * abs(wanted).max())


def test_a_spring_stays_finite_where_the_arm_is_singular():
    """Stretched out: the lost direction is pulled along as hard as K e says, and no harder."""
    model = RobotModel.from_urdf_file(robot_file('ur5_robot.urdf'))
    state = RobotState(model, np.zeros(6), np.zeros(6))
    task = PoseTask('tool0', impedance=Impedance(500.0))
    controller = OperationalSpaceController(model, [task], effort_limits=np.inf)
    pose = model.forward_kinematics(state, ['tool0'])['tool0']
    pose[0, 3] += 0.1
    task.set_target(pose)
    tau = controller.compute_torque(state)
    assert np.isfinite(tau).all()
    J = model.jacobian(state, ['tool0'])
    np.testing.assert_allclose(tau - model.gravity(state), J.T @ [50.0, 0, 0, 0, 0, 0], atol=1e-6)
    moving = RobotState(model, 1e-6 * np.ones(6), np.ones(6))
    assert abs(controller.compute_torque(moving)).max() < 500.0


@pytest.mark.parametrize('kind, axes', [(PositionTask, ALL_AXES[:3]), (OrientationTask,
                                                                       ALL_AXES[3:])])
def test_position_and_orientation_tasks_are_pose_tasks_of_these_axes(kind, axes):
    torques = []
    for make, arguments in ((kind, {}), (PoseTask, {'axes': axes})):
        dense = Dense(XARM, 12)
        task = make('link_eef', kp=77.0, **arguments)
        task.set_target(dense.goal().homogeneous, dense.rng.normal(size=6))
        torques.append(dense.control([task]).tau)
    np.testing.assert_allclose(*torques, rtol=0.0, atol=1e-10 * abs(torques[0]).max())


def test_a_force_task_beside_an_orientation_task_is_one_hybrid_task():
    torques = []
    for split in (False, True):
        dense = Dense(XARM, 13)
        goal = dense.goal().homogeneous
        force = ForceControl(damping=20.0, **ALWAYS)
        if split:
            tasks = [ForceTask('link_eef', name='press', force_axes='z', force=force),
                     OrientationTask('link_eef', name='turn', kp=50.0)]
        else:
            tasks = [PoseTask('link_eef', kp=50.0, axes='rx ry rz', force_axes='z',
                              force=force)]
        tasks[-1].set_target(goal)
        tasks[0].force.set_target([0.0, 0.0, 12.0, 0.0, 0.0, 0.0])
        torques.append(dense.control(tasks).tau)
    np.testing.assert_allclose(*torques, rtol=0.0, atol=1e-9 * abs(torques[0]).max())


def test_a_sensor_on_the_wrist_is_felt_at_the_tool_of_a_real_robot():
    """Reading of a wrench that acts at the tool, by Pinocchio's frames, and the tool's weight."""
    dense = Dense(XARM, 14)
    wrench, mass, center = dense.rng.normal(size=6), 0.7, np.array([0.01, 0.02, 0.05])
    wrist, tool = (dense.robot.frame(name)[0] for name in ('link7', 'link_eef'))
    weight = pin.Force(np.r_[0.0, 0.0, -9.81 * mass, np.zeros(3)])
    acts = pin.SE3(np.eye(3), tool.translation).act(pin.Force(-wrench))
    acts += pin.SE3(np.eye(3), wrist.act(center)).act(weight)
    sensor = ForceSensor('link7', tool_mass=mass, tool_center=center)
    task = PoseTask('link_eef', force_axes='z', force=ForceControl(sensor))
    sensor.update(wrist.actInv(acts).vector)
    dense.control([task])
    np.testing.assert_allclose(sensor.wrench[:3], -wrist.rotation.T @ wrench[:3], atol=1e-12)
    measured = task._record['force']['measured']
    np.testing.assert_allclose(measured, wrench, atol=1e-12)
