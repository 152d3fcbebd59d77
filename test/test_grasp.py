# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A common grasp, put into the dense equations of the robot with the object welded on."""

from typing import NamedTuple

import numpy as np
import pytest
from carrying import make_grasp
from closed_chains import consistent, dense_chain
from robots import TALOS, TIAGO_DUAL, joint, link, robot, robot_file
from samples import URDF, random_state

from opspace_control import (
    Closure,
    ControlError,
    Grasp,
    OperationalSpaceController,
    Payload,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.dynamics.passive_forces import PassiveForces
from opspace_control.spatial.rotations import matrix_from_quaternion

BOX = Payload.of_box(3.0, (0.2, 0.4, 0.3), (0.02, -0.05, 0.03))
FREE = {'floating_base': True, 'passive_joints': ('base',)}
TALOS_HANDS = ('gripper_right_base_link', 'gripper_left_base_link')


def three_arms(joints=6, arms=3):
    """Return a robot with three arms, or more, around a column, of as many joints each."""
    axes = ('0 0 1', '0 1 0', '0 1 0', '0 0 1', '0 1 0', '1 0 0', '0 0 1')
    parts = [link('base', 20.0)]
    for k in range(arms):
        angle = 2.0 * np.pi * k / arms
        parent = 'base'
        for j in range(joints):
            child = f'arm{k}_{j}'
            origin = (f'xyz="{0.3 * np.cos(angle)} {0.3 * np.sin(angle)} 0.5" rpy="0 0 {angle}"'
                      if j == 0 else 'xyz="0.05 0 0.25"')
            parts += [link(child, 2.0 - 0.2 * j, (0.02, 0.02, 0.01),
                           '<origin xyz="0.01 0.02 0.1"/>'),
                      joint(f'j{k}_{j}', parent, child, 'continuous',
                            f'<origin {origin}/><axis xyz="{axes[j]}"/>')]
            parent = child
    return robot(*parts)


CASES = {
    'dual_arm': ((URDF / 'dual_arm.urdf').read_text, {}, ('r_hand', 'l_hand')),
    'dual_arm, free': ((URDF / 'dual_arm.urdf').read_text, FREE, ('l_hand', 'r_hand')),
    'dual_arm, passive': ((URDF / 'dual_arm.urdf').read_text,
                          {'passive_joints': ('torso_roll',)}, ('r_hand', 'l_hand')),
    'dual_arm, limp': ((URDF / 'dual_arm.urdf').read_text, {'passive_joints': ('l_elbow',)},
                       ('r_hand', 'l_hand')),
    'talos': (robot_file(TALOS).read_text, {}, TALOS_HANDS),
    'talos, free': (robot_file(TALOS).read_text, FREE, TALOS_HANDS),
    'tiago': (robot_file(TIAGO_DUAL).read_text, {},
              ('arm_right_tool_link', 'arm_left_tool_link')),
    'three arms': (three_arms, {}, ('arm0_5', 'arm1_5', 'arm2_5')),
}
# Where internal forces can be whatever is asked for.
by_case = pytest.mark.parametrize('name', [name for name in CASES if 'limp' not in name])


class Bench(NamedTuple):
    """A controller with an engaged grasp beside the robot with the object welded on, dense."""

    controller: OperationalSpaceController
    grasp: Grasp
    state: RobotState
    dense: object     # DenseChain of the loaded robot; its task is the object
    tau: np.ndarray
    R: np.ndarray     # axes of the object

    def motion(self):
        """Return how the joints accelerate (nv,), and how the object does (6,)."""
        v_dot, _ = self.dense.accelerations(self.tau + self.dense.torque_p)
        return v_dot, self.dense.J @ v_dot + self.dense.bias

    def wrenches(self):
        """Return what the effectors but the first do to the object, in its axes, (N − 1, 6)."""
        _, force = self.dense.accelerations(self.tau + self.dense.torque_p)
        rows = len(force) // (len(self.grasp.effectors) - 1)
        full = np.zeros((len(self.grasp.effectors) - 1, 6))
        full[:, :rows] = force.reshape(-1, rows)
        links = self.controller.model.forward_kinematics(self.state, self.grasp.effectors[1:])
        turned = [(self.R.T @ links[name][:3, :3] @ wrench.reshape(2, 3).T).T.ravel()
                  for name, wrench in zip(links, full, strict=True)]
        return -np.array(turned)


def weld(urdf, parent, body, pose):
    """Return a URDF with a payload welded to a link, its frame there (4, 4) in the link's."""
    R, p = pose[:3, :3], pose[:3, 3]
    pitch = np.arcsin(-R[2, 0])
    rpy = np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])
    numbers = [' '.join(repr(float(x)) for x in v) for v in (p, rpy, body.center_of_mass)]
    return urdf.replace('</robot>', link(
        'object', body.mass, body.inertia.diagonal(), f'<origin xyz="{numbers[2]}"/>') + joint(
        'weld', parent, 'object', 'fixed',
        f'<origin xyz="{numbers[0]}" rpy="{numbers[1]}"/>') + '</robot>')


def bench(name, seed=0, internal=(None, None), frames=(), body=BOX, threshold=1e-9, weak=None,
          limits_of=None, **options):
    text, keywords, effectors = CASES[name] if isinstance(name, str) else name
    urdf = text()
    model = RobotModel.from_urdf(urdf, **keywords)
    rng = np.random.default_rng(seed)
    state = random_state(model, seed)
    kind = options.get('kind', 'rigid')
    closures = [Closure(effector, effectors[0], axes='x y z rx ry rz' if kind == 'rigid'
                        else 'x y z') for effector in effectors[1:]]
    state.update(state.q, consistent(model, urdf, state, closures))
    grasp = make_grasp(effectors, payload=body, **options)
    own = [PoseTask(effector) for effector in effectors]
    limits = np.inf if weak is None else np.full(model.nv, weak[0])
    if weak:
        limits[::3] = weak[1]
    controller = OperationalSpaceController(
        model, [*own, *(PoseTask(frame, axes='x y z') for frame in frames)],
        PostureTask(kp=20.0, kd=3.0), grasps=[grasp], passive_forces=PassiveForces(model),
        effort_limits=limits, singularity_threshold=threshold,
        limits=None if limits_of is None else limits_of(model))
    controller.compute_torque(state)
    grasp.engage(state)
    grasp.set_internal_forces(*internal)
    controller.compute_torque(state)
    pose = grasp.task.pose
    goal = pose + np.r_[rng.uniform(-0.1, 0.1, 3), rng.uniform(-0.1, 0.1, 4)]
    goal[3:] /= np.linalg.norm(goal[3:])
    grasp.task.set_target(goal, rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 6))
    tau = controller.compute_torque(state, np.full(model.nv, np.nan))
    carrier = model.forward_kinematics(state, effectors[:1])[effectors[0]]
    there = np.eye(4)
    there[:3, :3], there[:3, 3] = matrix_from_quaternion(pose[3:]), pose[:3]
    loaded_urdf = weld(urdf, effectors[0], body, np.linalg.inv(carrier) @ there)
    loaded = RobotModel.from_urdf(loaded_urdf, **keywords)
    dense = dense_chain(loaded, loaded_urdf, RobotState(loaded, state.q, state.v), ('object',),
                        closures)
    return Bench(controller, grasp, state, dense, tau, there[:3, :3])


@by_case
@pytest.mark.parametrize('seed', range(2))
def test_object_accelerates_as_its_task_asks(name, seed):
    made = bench(name, seed)
    wanted = made.grasp.task._record['acceleration']
    _, a = made.motion()
    np.testing.assert_allclose(a, wanted, atol=1e-8 * abs(wanted).max())
    assert not made.tau[~made.controller.model.active].any()


@by_case
def test_motion_is_the_optimum_of_gauss(name):
    """Nearest to the posture's, of all that move the object so; the internal forces are extra."""
    made = bench(name, 2, (-30.0, 1.0))
    v_dot, _ = made.motion()
    # The posture holds where it first saw the robot: pure damping.
    v_dot_null = np.where(made.dense.free, -made.controller.posture.kd * made.state.v, 0.0)
    wanted = made.grasp.task._record['acceleration'].copy()
    best, residual = made.dense.gauss(wanted, v_dot_null)
    assert residual < 1e-7
    np.testing.assert_allclose(v_dot, best, atol=1e-7 * abs(best).max())


@by_case
@pytest.mark.parametrize('kind', ['rigid', 'point'])
def test_each_effector_does_what_it_should(name, kind):
    """Its share of what the object takes, and the internal forces asked for: λ + h is exact."""
    members = 3 if 'three' in name else 1
    tensions = -np.linspace(20.0, 30.0, members)
    made = bench(name, 3, (tensions, 0.5 if kind == 'rigid' else 0.0), kind=kind)
    exerted = made.wrenches()
    planned = made.grasp.wrenches
    np.testing.assert_allclose(exerted, planned[1:], atol=1e-7 * abs(planned).max())
    seen, _ = made.grasp.internal_forces
    np.testing.assert_allclose(seen, tensions, rtol=1e-9)
    if kind == 'point':
        assert not planned[1:, 3:].any()
    assert made.grasp.load_shares.sum() == pytest.approx(1.0)


@by_case
def test_resultant_is_what_newton_and_euler_say(name):
    """All grips together move the object as it is seen to move."""
    made = bench(name, 4, (-25.0, 0.0))
    _, a = made.motion()
    w = made.dense.J[3:] @ made.state.v
    c, R = made.R @ BOX.center_of_mass, made.R
    inertia = R @ BOX.inertia @ R.T
    at_center = a[:3] + np.cross(a[3:], c) + np.cross(w, np.cross(w, c))
    force = BOX.mass * (at_center + np.array([0.0, 0.0, 9.81]))
    moment = inertia @ a[3:] + np.cross(w, inertia @ w) + np.cross(c, force)
    expected = np.concatenate([R.T @ force, R.T @ moment])
    np.testing.assert_allclose(made.grasp.resultant, expected, atol=1e-8 * abs(expected).max())


@by_case
def test_internal_forces_do_not_move_the_object(name):
    idle, squeezed = bench(name, 5), bench(name, 5, (-50.0, 2.0))
    assert abs(squeezed.tau - idle.tau).max() > 1.0
    v_dot, a = idle.motion()
    v_dot_squeezed, a_squeezed = squeezed.motion()
    np.testing.assert_allclose(a_squeezed, a, atol=1e-9 * abs(a).max())
    np.testing.assert_allclose(v_dot_squeezed, v_dot, atol=1e-9 * abs(v_dot).max())


def test_internal_forces_leave_out_what_passive_joints_would_give_way_to():
    """An elbow without a drive: the object moves as asked, and the squeeze is what it can be."""
    idle, squeezed = bench('dual_arm, limp', 6), bench('dual_arm, limp', 6, (-50.0, 0.0))
    _, a = idle.motion()
    _, a_squeezed = squeezed.motion()
    wanted = squeezed.grasp.task._record['acceleration']
    np.testing.assert_allclose(a_squeezed, wanted, atol=1e-8 * abs(wanted).max())
    np.testing.assert_allclose(a_squeezed, a, atol=1e-9 * abs(a).max())
    assert abs(squeezed.tau - idle.tau).max() > 0.1


def test_free_effectors_and_the_object_at_once():
    """[RKR95] (17): the operational space is the object's and that of what holds nothing."""
    made = bench('talos', 7, frames=('left_sole_link',))
    foot = made.controller.tasks['left_sole_link']._record
    model, state = made.controller.model, made.state
    v_dot, a = made.motion()
    seen = (model.jacobian(state, 'left_sole_link') @ v_dot
            + model.bias_acceleration(state, 'left_sole_link'))
    np.testing.assert_allclose(seen[:3], foot['acceleration'][:3], atol=1e-8)
    np.testing.assert_allclose(a, made.grasp.task._record['acceleration'], atol=1e-7)


class TestFriction:

    @staticmethod
    def cone(grasp):
        """Return tangential and normal force of each grip."""
        force, inward = grasp.wrenches[:, :3], grasp._grips['inward']
        normal = (force * inward).sum(axis=1)
        return np.linalg.norm(force - normal[:, None] * inward, axis=1), normal

    @pytest.mark.parametrize('name', ['dual_arm', 'three arms'])
    def test_squeezes_until_nothing_slips(self, name):
        made = bench(name, 8, kind='point', friction=0.6, friction_margin=1.5, minimum=1.0,
                     maximum=500.0)
        tangential, normal = self.cone(made.grasp)
        slack = 0.6 / 1.5 * normal - tangential
        assert slack.min() == pytest.approx(0.0, abs=1e-9)
        assert made.grasp.applied_force > 1.0
        np.testing.assert_allclose(made.wrenches(), made.grasp.wrenches[1:], atol=1e-6)

    def test_squeezes_no_more_than_asked_where_nothing_slips(self):
        made = bench('dual_arm', 8, kind='point', friction=0.6, minimum=400.0, maximum=500.0)
        tangential, normal = self.cone(made.grasp)
        assert (0.4 * normal > tangential + 1.0).all()
        assert made.grasp.applied_force == 400.0

    def test_no_more_than_the_strongest(self):
        made = bench('dual_arm', 8, kind='point', friction=0.1, minimum=1.0, maximum=10.0)
        assert made.grasp.applied_force == 10.0


class TestSwitching:

    def test_tasks_of_the_effectors_give_way_and_come_back(self):
        made = bench('dual_arm')
        controller, grasp = made.controller, made.grasp
        assert not controller.tasks['l_hand'].enabled
        assert not controller.tasks['r_hand'].enabled
        assert controller.tasks['carry'].enabled
        grasp.disengage()
        assert controller.tasks['l_hand'].enabled
        assert not controller.tasks['carry'].enabled
        assert not any(held.closed for held in grasp.constraints)
        assert controller.tasks['l_hand'].target is None  # it holds where it is

    def test_disengaged_it_is_as_if_it_were_not_there(self):
        made = bench('dual_arm')
        made.grasp.disengage()
        own = [PoseTask('r_hand'), PoseTask('l_hand')]
        plain = OperationalSpaceController(made.controller.model, own, PostureTask(kp=20.0, kd=3.0),
                                           effort_limits=np.inf, singularity_threshold=1e-9)
        np.testing.assert_allclose(made.controller.compute_torque(made.state),
                                   plain.compute_torque(made.state), atol=1e-9)

    def test_only_tasks_that_acted_come_back(self):
        made = bench('dual_arm')
        made.grasp.disengage()
        made.controller.tasks['l_hand'].enabled = False
        made.grasp.engage(made.state)
        made.grasp.disengage()
        assert not made.controller.tasks['l_hand'].enabled
        assert made.controller.tasks['r_hand'].enabled

    def test_frame_of_the_object_is_in_the_middle_if_nothing_is_said(self):
        made = bench('three arms')
        poses = made.controller.model.forward_kinematics(made.state, made.grasp.effectors)
        middle = np.mean([pose[:3, 3] for pose in poses.values()], axis=0)
        np.testing.assert_allclose(made.grasp.task.pose, [*middle, 0, 0, 0, 1], atol=1e-12)

    def test_grasp_poses_place_the_object(self):
        made = bench('dual_arm')
        poses = made.controller.model.forward_kinematics(made.state, made.grasp.effectors)
        pose = np.eye(4)
        pose[:3, :3] = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
        pose[:3, :3] *= np.linalg.det(pose[:3, :3])
        pose[:3, 3] = 0.4, 0.1, 1.0
        grips = [np.linalg.inv(pose) @ poses[name] for name in made.grasp.effectors]
        grasp = Grasp(made.grasp.effectors, grasp_poses=grips)
        controller = OperationalSpaceController(made.controller.model, grasps=[grasp])
        grasp.engage(made.state)
        controller.compute_torque(made.state)
        np.testing.assert_allclose(grasp.task.pose[:3], pose[:3, 3], atol=1e-12)
        np.testing.assert_allclose(matrix_from_quaternion(grasp.task.pose[3:]), pose[:3, :3],
                                   atol=1e-12)

    @pytest.mark.parametrize(('kind', 'shift', 'turn', 'refused'), [
        ('rigid', 0.015, 0.05, False), ('rigid', 0.03, 0.0, True), ('rigid', 0.0, 0.2, True),
        ('point', 0.0, 0.2, False), ('point', 0.03, 0.0, True)])
    def test_hands_that_are_not_at_the_object_are_refused(self, kind, shift, turn, refused):
        made = bench('dual_arm')
        poses = list(made.controller.model.forward_kinematics(
            made.state, made.grasp.effectors).values())
        misplaced = poses[1].copy()
        misplaced[0, 3] += shift
        misplaced[:3, :3] = misplaced[:3, :3] @ matrix_from_quaternion(
            [0, 0, np.sin(turn / 2), np.cos(turn / 2)])
        grasp = Grasp(made.grasp.effectors, kind=kind, grasp_poses=[poses[0], misplaced])
        controller = OperationalSpaceController(made.controller.model, grasps=[grasp])
        before = controller.compute_torque(made.state)
        if not refused:
            grasp.engage(made.state)
            assert grasp.engaged
            return
        with pytest.raises(ControlError, match="'l_hand' is") as caught:
            grasp.engage(made.state)
        assert caught.value.frame == 'l_hand'
        assert not grasp.engaged
        np.testing.assert_array_equal(controller.compute_torque(made.state), before)

    def test_payload_may_change_while_it_is_held(self):
        made = bench('dual_arm')
        light = made.controller.compute_torque(made.state)
        made.grasp.payload = Payload.of_box(5.0, (0.2, 0.4, 0.3), BOX.center_of_mass)
        heavy = made.controller.compute_torque(made.state)
        assert abs(heavy - light).max() > 1.0
        made.grasp.payload = BOX
        np.testing.assert_allclose(made.controller.compute_torque(made.state), light, atol=1e-9)


class TestErrors:

    @pytest.mark.parametrize(('arguments', 'what'), [
        ({'effectors': ('l_hand',)}, 'effectors'),
        ({'effectors': ('l_hand', 'l_hand')}, 'effectors'),
        ({'payload': 3.0}, 'payload'), ({'kind': 'loose'}, 'kind'),
        ({'grasp_poses': [np.eye(4)]}, 'grasp_poses'),
        ({'friction': 0.0}, 'friction'), ({'friction_margin': 0.5}, 'friction_margin'),
        ({'tolerance': 0.1}, 'tolerance'), ({'tolerance': (0.0, 0.1)}, 'tolerance'),
        ({'minimum': -1.0}, 'minimum'), ({'minimum': 300.0}, 'maximum'),
        ({'minimum': np.nan}, 'minimum'), ({'maximum': np.inf}, 'maximum')])
    def test_arguments(self, arguments, what):
        with pytest.raises(ControlError, match=what):
            make_grasp(**{'effectors': ('l_hand', 'r_hand'), **arguments})

    def test_internal_forces(self):
        grasp = Grasp(('l_hand', 'r_hand'))
        for tensions, moments in (([1.0, 2.0], 0.0), (np.nan, 0.0), (0.0, [1.0, 2.0]), ('x', 0)):
            with pytest.raises(ControlError, match='internal forces'):
                grasp.set_internal_forces(tensions, moments)

    def test_without_a_controller(self):
        model = RobotModel.from_urdf_file(URDF / 'dual_arm.urdf')
        with pytest.raises(ControlError, match='no controller'):
            Grasp(('l_hand', 'r_hand')).engage(random_state(model, 1))

    def test_in_a_controller(self):
        model = RobotModel.from_urdf_file(URDF / 'dual_arm.urdf')
        grasp = Grasp(('l_hand', 'r_hand'))
        OperationalSpaceController(model, grasps=grasp)
        with pytest.raises(ControlError, match='already belongs'):
            OperationalSpaceController(model, grasps=grasp)
        with pytest.raises(ControlError, match='not a grasp'):
            OperationalSpaceController(model, grasps=['carry'])
        with pytest.raises(ControlError, match="called 'carry'"):
            OperationalSpaceController(model, PoseTask('l_hand', name='carry'),
                                       grasps=Grasp(('l_hand', 'r_hand'), name='carry'))


def test_force_control_of_the_object_is_shared_too():
    """[K87] (5.4): what it takes to accelerate the object, and what the environment balances."""
    model = RobotModel.from_urdf(CASES['dual_arm'][0]())
    task = PoseTask('r_hand', name='carry', axes='x y rx ry rz', force_axes='z')
    grasp = Grasp(('r_hand', 'l_hand'), name='carry', payload=BOX, task=task)
    controller = OperationalSpaceController(model, grasps=grasp, effort_limits=np.inf)
    state = random_state(model, 9, 0.0)
    controller.compute_torque(state)
    grasp.engage(state)
    resultants, expected = [], []
    task.force.set_target([0.0, 0.0, -10.0, 0.0, 0.0, 0.0])
    for _ in range(1000):  # an approach that is held up is a contact
        controller.compute_torque(state)
        acceleration, press = task._record['acceleration'], task._record['applied_wrench']
        resultants.append(grasp.resultant[2])
        expected.append(BOX.mass * (acceleration[2] + 9.81) + press[2])
    np.testing.assert_allclose(resultants, expected, atol=1e-6)
    assert press[2] == pytest.approx(-10.0, rel=1e-3)
    assert grasp.wrenches[:, 2].sum() == pytest.approx(resultants[-1])
