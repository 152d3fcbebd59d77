# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The cycle of Talos in other modes: floating, both hands on one object, levels and a force."""

import numpy as np
import pinocchio
from contest import AGREEMENT, DisagreementError, near_goal
from dense_law import DenseController
from figures import Figure
from timing import interleave

from opspace_control import (
    ForceControl,
    ForceSensor,
    Grasp,
    GraspForce,
    JointLimits,
    OperationalSpaceController,
    OrientationTask,
    Payload,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.control.constraints.constraint import Constraint

_GAINS = {'kp': 100.0, 'kd': 20.0}
_POSTURE = {'kp': 25.0, 'kd': 10.0}
_ROUNDS = 200
_STATES = 50
_FELT = np.array([1.0, 0.5, -9.0, 0.1, 0.0, 0.2])  # N, N m


def measure():
    """Return the figures of all modes."""
    robot = demo_robot('talos')
    return [
        *_compare('Talos floating, its base without a drive', 'free_flyer', robot,
                  robot.hands, floating=True),
        *_compare('Talos, a loop closed between two hands', 'loop', robot, robot.hands[:1],
                  loop=robot.hands[::-1]),
        _squeezed(robot), _levels(robot)]


def _compare(words, key, robot, frames, *, floating=False, loop=None):
    text = robot.path().read_text()
    model = RobotModel.from_urdf(text, floating_base=floating,
                                 passive_joints=['base'] if floating else [])
    middle = model.neutral()
    for name, value in robot.start.items():
        middle[model.q_index[model.dof_index(name)]] = value
    held = [Constraint(*loop)] if loop else []
    controller = OperationalSpaceController(
        model, [PoseTask(frame, **_GAINS) for frame in frames],
        PostureTask(**_POSTURE, target=middle), constraints=held, effort_limits=np.inf)
    random = np.random.default_rng(seed=0)
    poses = model.forward_kinematics(RobotState(model, middle, np.zeros(model.nv)), frames)
    goals = {frame: near_goal(pose, random) for frame, pose in poses.items()}
    for frame, goal in goals.items():
        controller.tasks[frame].set_target(goal)
    # A loop is held as the first state has it; the peer, which is not told of drift, holds each
    # state's own: the law has no gain against drift here.
    for constraint in held:
        constraint.close()
    base = 6 if floating else 0
    names = model.dof_names[base:]
    peer = DenseController(text, goals, loop=loop, floating=floating, kp=100.0, kd=20.0,
                           posture_kp=25.0, posture_kd=10.0)
    order = base + np.array([names.index(name) for name in peer.model.names[2 if floating else 1:]])
    positions = order + (1 if floating else 0)
    peer.posture = middle[positions]
    states, inputs, torques = [], [], []
    while len(states) < _STATES:
        state, theirs = _random_state(model, middle, random, order, positions)
        tau = controller.compute_torque(state)
        if controller.least_eigenvalue == 0.0:
            continue
        difference = abs(tau[order] - peer.compute_torque(*theirs)).max() / abs(tau).max()
        if not difference < AGREEMENT:
            raise DisagreementError(f'{words}: differs by {difference:.1e} of the largest torque.')
        states.append((state,))
        inputs.append(theirs)
        torques.append((peer.model, peer.model.createData(), *theirs,
                        np.r_[np.zeros(base), tau[order]]))
    times = interleave({'ours': (controller.compute_torque, states),
                        'dense': (peer.compute_torque, inputs),
                        **_aba(torques)}, _ROUNDS)
    aba = min((times[name] for name in times if name.startswith('aba')), key=lambda t: t.sum())
    return [Figure.ratio(f'modes.{key}.{name}', f'{words}: whole cycle beside {beside}',
                         times['ours'], theirs, limit)
            for name, beside, theirs, limit in (
                ('aba', "one call of Pinocchio's `aba`", aba, 2.5),
                ('dense', 'the same law, dense NumPy over Pinocchio', times['dense'], None))]


def _levels(robot):
    """
    Return the figure of three levels, one with a force by a wrist sensor, limits of joints kept.

    No joint has to be held: limits are wide, and states within them.
    """
    model, middle = _model(robot)
    left, right = robot.hands
    sensor = ForceSensor(left)
    controller = OperationalSpaceController(model, [
        PoseTask(left, force_axes='z', force=ForceControl(sensor), axes_frame=left,
                 max_linear_velocity=0.5, max_angular_velocity=1.5, **_GAINS),
        PoseTask(right, priority=1, max_linear_velocity=0.5, max_angular_velocity=1.5, **_GAINS),
        OrientationTask('torso_2_link', axes='ry', priority=2, **_GAINS)],
        PostureTask(**_POSTURE, target=middle), effort_limits=1e4,
        limits=JointLimits(model, acceleration=1e3))
    controller.tasks[left].force.set_target([0.0, 0.0, 10.0, 0.0, 0.0, 0.0])

    def cycle(state):
        sensor.update(_FELT)
        return controller.compute_torque(state)
    return _beside_aba(
        'levels', 'Talos, hands and torso at three levels, one hand pressing, limits kept', robot,
        controller, cycle, middle, 1.5)


def _squeezed(robot):
    """Return the figure of a box between both hands: its task, the squeeze, efforts minimised."""
    model, middle = _model(robot)
    # Its hands are elsewhere at each of the states that it is measured at.
    grasp = Grasp(robot.hands[::-1], payload=Payload.of_box(3.0, (0.2, 0.4, 0.2)),
                  drift_gains=(0.0, 0.0), grasp_force=GraspForce(20.0, minimum_effort=True))
    controller = OperationalSpaceController(
        model, [PoseTask(hand, **_GAINS) for hand in robot.hands],
        PostureTask(**_POSTURE, target=middle), grasps=[grasp])
    state = RobotState(model, middle, np.zeros(model.nv))
    controller.compute_torque(state)
    grasp.engage(state)
    return _beside_aba('squeezed', 'Talos, two hands squeeze a box, efforts minimised', robot,
                       controller, controller.compute_torque, middle, 2.5)


def _model(robot):
    """Return a robot's model and the positions in the middle of its states."""
    model = RobotModel.from_urdf_file(robot.path())
    middle = model.neutral()
    for name, value in robot.start.items():
        middle[model.q_index[model.dof_index(name)]] = value
    return model, middle


def _beside_aba(key, words, robot, controller, cycle, middle, limit):
    """Return the figure of a cycle beside `aba`, in postures in which no direction is lost."""
    model = controller.model
    random = np.random.default_rng(seed=0)
    theirs = pinocchio.buildModelFromXML(robot.path().read_text())
    order = np.array([model.dof_names.index(name) for name in theirs.names[1:]])
    states, torques = [], []
    while len(states) < _STATES:
        state, (q, v) = _random_state(model, middle, random, order, order, speed=0.05)
        tau = cycle(state)
        if controller.least_eigenvalue > 0.0 and not controller.limit_solutions:
            states.append((state,))
            torques.append((theirs, theirs.createData(), q, v, tau[order]))
    times = interleave({'ours': (cycle, states), **_aba(torques)}, _ROUNDS)
    aba = min((times[name] for name in times if name.startswith('aba')), key=lambda t: t.sum())
    return Figure.ratio(f'modes.{key}.aba',
                        f"{words}: whole cycle beside one call of Pinocchio's `aba`",
                        times['ours'], aba, limit)


def _random_state(model, middle, random, order, positions, speed=0.3):
    """Return a state within limits, and the same for Pinocchio, whose base has axes of its own."""
    v = speed * random.normal(size=model.nv)
    step = 0.2 * random.normal(size=model.nv)
    q = model.integrate(middle, step, 1.0)
    joints = np.flatnonzero(model.q_index >= 0)
    q[model.q_index[joints]] = q[model.q_index[joints]].clip(
        model.lower_soft_limits[joints] + 0.1, model.upper_soft_limits[joints] - 0.1)
    state = RobotState(model, q, v)
    if not model.floating_base:
        return state, (q[positions], v[order])
    R = pinocchio.Quaternion(q[3:7]).matrix()
    return state, (np.r_[q[:7], q[positions]], np.r_[R.T @ v[:3], R.T @ v[3:6], v[order]])


def _aba(torques):
    """Return Pinocchio's articulated-body algorithm in its versions; the faster one counts."""
    versions = getattr(pinocchio, 'Convention', None)
    if versions is None:
        return {'aba': (pinocchio.aba, torques)}
    return {f'aba {version}': (pinocchio.aba, [(*arguments, version) for arguments in torques])
            for version in (versions.LOCAL, versions.WORLD)}
