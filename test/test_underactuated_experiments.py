# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Free-flying robots and dead drives in lock-step with the simulator; the demo shows the same."""

from dataclasses import replace

import numpy as np
import pinocchio
import pytest
from test_experiments import run

from opspace_control import RobotModel, RobotState
from opspace_control.cli.showcase.experiments import experiment
from opspace_control.control.diagnosis.freedom import scaled_freedom
from opspace_control.dynamics.hybrid_dynamics import hybrid_dynamics


def test_base_goes_to_a_new_place_while_both_hands_slew():
    """[RKR95] 4.1, Fig. 5: within 2 mm of their commanded response, and a tenth of that."""
    found, course, _ = run(experiment('slew'))
    for hand in ('left', 'right'):
        assert found[f'{hand} hand leaves its commanded response'] < 0.05
    # The hands arrive long before the base does.
    early = course.times < 5.0
    assert np.linalg.norm(course.errors[early][-1, :, :3], axis=1).max() < 1e-5
    assert abs(course.positions[early][-1, 0] - 0.15) > 0.01


def test_base_gives_way_with_the_thrusters_off():
    """The hands arrive all the same; what they push off from gets what they have, exactly."""
    found, course, _ = run(experiment('coasting'))
    assert found['left hand leaves its commanded response'] < 0.05
    assert not course.efforts[:, :3].any()
    assert np.ptp(course.positions[:, 2]) > 0.01  # it turns as well


def test_in_space_nothing_is_lost():
    found, course, _ = run(experiment('space'))
    assert found['right hand leaves its commanded response'] < 0.1
    # It drifts, and the hands stay where they are wanted.
    drifted = np.linalg.norm(course.momentum[-1, 0, :3])
    assert drifted > 0.3


class FreeBody:
    """Pinocchio's momentum of a robot, and how it changes under accelerations that it is given."""

    def __init__(self, asked):
        root = [pinocchio.JointModelFreeFlyer()] if asked.robot.floating_base else []
        self.model = pinocchio.buildModelFromXML(asked.robot.path().read_text(), *root)
        self.data = self.model.createData()

    def rate(self, scene, acceleration):
        """Return the rate (6,) of the momentum about the world's origin, N and N·m."""
        state, names = scene.state, scene.model.dof_names
        q = pinocchio.neutral(self.model)
        v, a = np.zeros((2, self.model.nv))
        if scene.model.floating_base:
            R = pinocchio.Quaternion(state.q[3:7]).matrix()
            linear, angular = state.v[:3], state.v[3:6]
            q[:7] = state.q[:7]
            v[:6] = np.concatenate([R.T @ linear, R.T @ angular])
            # The spatial acceleration of the base, in its own axes.
            a[:6] = np.concatenate([R.T @ (acceleration[:3] - np.cross(angular, linear)),
                                    R.T @ acceleration[3:6]])
        for k, name in enumerate(names):
            if not name.startswith('base/'):
                joint = self.model.joints[self.model.getJointId(name)]
                at = state.q[scene.model.q_index[k]]
                q[joint.idx_q:joint.idx_q + joint.nq] = (
                    [at] if joint.nq == 1 else [np.cos(at), np.sin(at)])
                v[joint.idx_v], a[joint.idx_v] = state.v[k], acceleration[k]
        change = pinocchio.computeCentroidalMomentumTimeVariation(
            self.model, self.data, q, v, a)
        return np.concatenate([
            change.linear, change.angular + np.cross(self.data.com[0], change.linear)])


@pytest.mark.parametrize('name', ['coasting', 'space'])
def test_momentum_is_conserved_in_the_models_own_accelerations(name):
    """To 1e-9 of what the arms do to the base, about the origin: Pinocchio adds them up."""
    asked = experiment(name)
    free = [0, 1, 5] if name == 'coasting' else range(6)  # the table bears the rest
    oracle = FreeBody(asked)
    loose = RobotModel.from_urdf_file(
        asked.robot.path(), floating_base=asked.robot.floating_base,
        passive_joints=[*oracle.model.names[2 if asked.robot.floating_base else 1:],
                        *(['base'] if asked.robot.floating_base else [])])
    lost, exchanged = [], []

    def look(scene):
        look.cycle += 1
        if look.cycle % 97:
            return
        torque = np.zeros(loose.nv)
        torque[-len(scene.robot.efforts):] = scene.robot.efforts
        acceleration = hybrid_dynamics(
            loose, RobotState(loose, scene.state.q, scene.state.v), np.zeros(loose.nv),
            torque=torque, gravity=np.zeros(3)).acceleration
        lost.append(abs(oracle.rate(scene, acceleration)[free]).max())
        exchanged.append(abs(torque).max())

    look.cycle = 0
    run(asked, look=look)
    assert len(lost) > 40
    assert max(exchanged) > 0.1
    assert max(lost) < 1e-9 * max(exchanged)


def test_hand_reaches_its_goal_over_a_joint_without_a_drive():
    found, course, scene = run(experiment('hinge'))
    assert found['the hand leaves its commanded response'] < 0.2
    hinge = scene.robot.joint_names.index('hinge')
    assert scene.model.passive[hinge]  # as the URDF's <ros2_control> has it
    assert not course.efforts[:, hinge].any()
    assert np.ptp(course.positions[:, hinge]) > 0.01


def test_a_controller_that_believes_in_that_drive_does_not():
    found, _, _ = run(replace(experiment('hinge'), told=False), met=False)
    assert found['the hand leaves its commanded response'] > 5.0
    assert found['the fastest joint at the end'] > 0.1  # it never comes to rest


class TestMotorFails:

    def test_and_what_is_left_reaches_the_goal(self):
        found, course, scene = run(experiment('motor'))
        assert found['the hand leaves its commanded response'] < 0.5
        third = scene.robot.joint_names.index('joint_3')
        failed = course.times >= 1.4
        assert np.abs(course.efforts[~failed, third]).max() > 1.0
        assert not course.efforts[failed, third].any()
        assert np.ptp(course.positions[failed, third]) > 0.2

    def test_and_a_controller_that_does_not_know_misses_it(self):
        found, _, _ = run(replace(experiment('motor'), told=False), met=False)
        assert found['the hand leaves its commanded response'] > 10.0
        assert found['the hand misses its goal'] > 3.0

    def test_but_its_brake_holds(self):
        """Six joints are enough for a position, and for a controller that knows of it."""
        braked = replace(experiment('motor'), dead=(), braked=('joint_3',))
        found, course, scene = run(braked)
        third = scene.robot.joint_names.index('joint_3')
        assert np.ptp(course.positions[course.times >= 1.45, third]) < 1e-3
        assert found['the hand leaves its commanded response'] < 2.0


def test_what_cannot_be_reached_is_said_and_the_robot_rests():
    """One drive is left: the hand moves in one direction only, and which is lost has a name."""
    found, course, scene = run(experiment('stuck'))
    (task,) = scene.controller.tasks.values()
    freedom = scaled_freedom(scene.controller.inverse_inertia, [task], scene.controller.row_scales)
    assert freedom.rank == 1
    (lost,) = freedom.weak
    assert lost.eigenvalue == 0.0
    assert set(lost.wrench) == {('hand', 'x'), ('hand', 'y')}
    assert scene.controller.least_eigenvalue == 0.0
    late = course.times > course.times[-1] - 2.0
    assert np.abs(course.velocities[late]).max() < 2e-3
    assert np.abs(course.efforts[late]).max() < 1e-2
    assert found['the fastest joint ever'] < 1.5
