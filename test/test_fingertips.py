# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Objects that no effector holds rigidly: all about them follows from places."""

import numpy as np
import pytest
from carrying import make_grasp
from closed_chains import consistent
from robots import joint, link
from samples import URDF, random_state
from test_grasp import BOX, three_arms

from opspace_control import (
    Closure,
    ControlError,
    Grasp,
    Impedance,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    closed_chain_dynamics,
)
from opspace_control.dynamics.passive_forces import PassiveForces
from opspace_control.spatial.rotations import matrix_from_quaternion

ROBOTS = {'three': (three_arms(7), tuple(f'arm{k}_6' for k in range(3))),
          'two': ((URDF / 'dual_arm.urdf').read_text(), ('r_hand', 'l_hand'))}


class Bench:
    """A grasp by fingertips beside the same robot with the object as a free body of its own."""

    def __init__(self, name, seed=1, internal=(None, None), **options):
        urdf, effectors = ROBOTS[name]
        self.model = model = RobotModel.from_urdf(urdf)
        self.state = state = random_state(model, seed)
        poses = model.forward_kinematics(state, effectors)
        middle = np.mean([pose[:3, 3] for pose in poses.values()], axis=0)
        self.loaded = RobotModel.from_urdf(urdf.replace('</robot>', link(
            'object', BOX.mass, BOX.inertia.diagonal(),
            '<origin xyz="{} {} {}"/>'.format(*BOX.center_of_mass))
            + joint('free', model.root_link, 'object', 'floating') + '</robot>'))
        self.closures = [Closure('object', effector, position=poses[effector][:3, 3] - middle,
                                 axes='x y z') for effector in effectors]
        q = np.concatenate([state.q, middle, [0.0, 0.0, 0.0, 1.0]])
        full = RobotState(self.loaded, q, np.concatenate([state.v, np.zeros(6)]))
        text = urdf.replace('</robot>', link('object', 1.0) + joint(
            'free', model.root_link, 'object', 'floating') + '</robot>')
        v = consistent(self.loaded, text, full, self.closures)
        if name == 'two':  # what turns about their line cannot be seen: let it not
            along = self.closures[1].position - self.closures[0].position
            v[-3:] -= along * (along @ v[-3:]) / (along @ along)
        self.full = RobotState(self.loaded, q, v)
        state.update(state.q, v[:model.nv])
        self.grasp = make_grasp(effectors, kind='fingertips', payload=BOX, **options)
        self.controller = OperationalSpaceController(
            model, [PoseTask(effector) for effector in effectors], PostureTask(kp=20.0, kd=3.0),
            grasps=self.grasp, passive_forces=PassiveForces(model), effort_limits=np.inf,
            singularity_threshold=1e-9)
        self.controller.compute_torque(state)
        self.grasp.engage(state)
        self.grasp.set_internal_forces(*internal)
        self.controller.compute_torque(state)
        rng = np.random.default_rng(seed)
        goal = self.grasp.task.pose + np.r_[rng.uniform(-0.1, 0.1, 3), 0.05, -0.05, 0.1, 0.0]
        goal[3:] /= np.linalg.norm(goal[3:])
        self.grasp.task.set_target(goal, rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 6))
        self.tau = self.controller.compute_torque(state, np.full(model.nv, np.nan))

    def truth(self):
        """Return how all joints accelerate, how the object does (6,), and what grips do to it."""
        v_dot, wrenches = closed_chain_dynamics(
            self.loaded, self.full, np.concatenate([self.tau, np.zeros(6)]), self.closures)
        a = self.loaded.jacobian(self.full, 'object') @ v_dot + self.loaded.bias_acceleration(
            self.full, 'object')
        return v_dot, a, wrenches[:, :3]


@pytest.mark.parametrize('seed', range(2))
def test_object_accelerates_as_its_task_asks(seed):
    made = Bench('three', seed)
    _, a, forces = made.truth()
    wanted = made.grasp.task._record['acceleration']
    np.testing.assert_allclose(a, wanted, atol=1e-8 * abs(wanted).max())
    np.testing.assert_allclose(forces, made.grasp.wrenches[:, :3], atol=1e-7 * abs(forces).max())
    assert not made.grasp.wrenches[:, 3:].any()


def test_motion_is_the_optimum_of_gauss():
    """Of all that move the object so, the nearest to the posture's in the metric of the robot."""
    made = Bench('three', 3, ([-20.0, -25.0, -30.0], None))
    v_dot, _, _ = made.truth()
    J = np.vstack([made.model.jacobian(made.state, name)[:3] for name in made.grasp.effectors])
    A = made.model.mass_matrix(made.state)
    advised = -3.0 * made.state.v
    free = np.linalg.svd(J)[2][len(J):].T
    left = free.T @ A @ (v_dot[:made.model.nv] - advised)
    assert abs(left).max() < 1e-7 * abs(A @ advised).max()


def test_internal_forces_are_those_asked_for_and_move_nothing():
    idle, squeezed = Bench('three', 4), Bench('three', 4, ([-20.0, -25.0, -30.0], None))
    np.testing.assert_allclose(squeezed.grasp.internal_forces[0], [-20.0, -25.0, -30.0])
    (_, a, _), (_, a_squeezed, forces) = idle.truth(), squeezed.truth()
    np.testing.assert_allclose(a_squeezed, a, atol=1e-9 * abs(a).max())
    np.testing.assert_allclose(forces, squeezed.grasp.wrenches[:, :3], atol=1e-6)


def test_two_fingertips_leave_the_turn_about_their_line_alone():
    """The object swings about it like a pendulum, which is counted in; all else is as asked."""
    made = Bench('two', 2, (-30.0, None))
    _, a, forces = made.truth()
    wanted = made.grasp.task._record['acceleration']
    np.testing.assert_allclose(a[:3], wanted[:3], atol=1e-7 * abs(wanted).max())
    along = made.closures[1].position - made.closures[0].position
    along /= np.linalg.norm(along)
    missed = a[3:] - wanted[3:]
    np.testing.assert_allclose(missed, along * (missed @ along), atol=1e-7 * abs(wanted).max())
    assert abs(missed).max() > 1.0
    np.testing.assert_allclose(forces, made.grasp.wrenches[:, :3], atol=1e-7 * abs(forces).max())


def test_pose_of_the_object_is_found_wherever_it_has_been_carried():
    """Three places say how it is turned, also where it has gone far from one cycle to the next."""
    made = Bench('three', 5)
    for seed in range(3):
        state = random_state(made.model, 5)
        state.update(state.q, np.zeros(made.model.nv))
        turn = state.q.copy()
        turn[0] += 0.2 * seed
        state.update(turn, np.zeros(made.model.nv))
        for _ in range(5):
            made.controller.compute_torque(state)
        pose = made.grasp.task.pose
        R = matrix_from_quaternion(pose[3:])
        seen = made.model.forward_kinematics(state, made.grasp.effectors)
        offsets = [R.T @ (each[:3, 3] - pose[:3]) for each in seen.values()]
        centered = np.array(offsets) - made.grasp._linkage.points
        np.testing.assert_allclose(centered.mean(axis=0), 0.0, atol=1e-12)
        # No turn would bring the places nearer.
        u = made.grasp._linkage.points - made.grasp._linkage.points.mean(axis=0)
        assert abs(np.cross(u, centered).sum(axis=0)).max() < 1e-9


def test_friction_is_seen_to():
    made = Bench('three', 6, friction=0.6, minimum=1.0, maximum=2000.0)
    force, inward = made.grasp.wrenches[:, :3], made.grasp._grips['inward']
    normal = (force * inward).sum(axis=1)
    tangential = np.linalg.norm(force - normal[:, None] * inward, axis=1)
    assert (0.4 * normal - tangential).min() == pytest.approx(0.0, abs=1e-9)


def test_drives_are_spared_here_too():
    idle, eased = Bench('three', 1), Bench('three', 1, minimum_effort=True)
    (_, a, _), (_, a_eased, _) = idle.truth(), eased.truth()
    np.testing.assert_allclose(a_eased, a, atol=1e-8 * abs(a).max())
    assert np.linalg.norm(eased.tau) < 0.99 * np.linalg.norm(idle.tau)


def test_let_go_it_is_as_if_it_were_not_there():
    made = Bench('three', 1)
    made.grasp.disengage()
    plain = OperationalSpaceController(
        made.model, [PoseTask(name) for name in made.grasp.effectors], PostureTask(kp=20.0, kd=3.0),
        effort_limits=np.inf, singularity_threshold=1e-9)
    np.testing.assert_allclose(made.controller.compute_torque(made.state),
                               plain.compute_torque(made.state), atol=1e-8)


@pytest.mark.parametrize(('options', 'passive', 'what'), [
    ({}, ('l_elbow',), 'l_elbow has no drive'),
    ({'mode': 'impedance', 'impedance': Impedance(400.0)}, (), "mode 'impedance'")])
def test_what_fingertips_cannot_do_is_refused(options, passive, what):
    model = RobotModel.from_urdf(ROBOTS['two'][0], passive_joints=passive)
    grasp = Grasp(ROBOTS['two'][1], kind='fingertips', **options)
    OperationalSpaceController(model, grasps=grasp)
    with pytest.raises(ControlError, match=what):
        grasp.engage(random_state(model, 1, 0.0))
    assert not grasp.engaged
