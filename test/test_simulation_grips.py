# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Objects around the simulated robot, and grips: what they hold, and with what force."""

import mujoco
import numpy as np
import pytest
from samples import URDF, difference

from opspace_control import Closure, RobotModel, RobotState, closed_chain_dynamics
from opspace_control.errors import SimulationError
from opspace_control.simulation import Box, SimulatedRobot

DUAL_ARM = (URDF / 'dual_arm.urdf').read_text()
START = {'l_shoulder_pitch': 0.2, 'l_shoulder_roll': 0.2, 'l_elbow': -1.7,
         'r_shoulder_pitch': 0.2, 'r_shoulder_roll': -0.2, 'r_elbow': -1.7}
BOX = Box('box', (0.2, 0.3, 0.1), 3.0, (0.45, 0.0, 1.1, 0, 0, 0, 1), (0.02, 0.0, -0.01))
HANDS = ('l_hand', 'r_hand')
WEIGHT = 9.81 * BOX.mass


def moved(wrench, arm):
    """Return a wrench as it acts about a point from which its own is ``arm`` away."""
    return np.concatenate([wrench[:3], wrench[3:] + np.cross(arm, wrench[:3])])


def robot(objects=(BOX,), **options):
    made = SimulatedRobot(DUAL_ARM, objects=objects, **options)
    made.reset(START)
    return made


class TestObjects:

    def test_robot_is_the_same_with_and_without(self):
        alone, beside = SimulatedRobot(DUAL_ARM), SimulatedRobot(DUAL_ARM, objects=[BOX])
        assert alone.link_names == beside.link_names
        for one in (alone, beside):
            one.reset(START)
            one.step(50)
        np.testing.assert_array_equal(alone.positions, beside.positions)

    def test_a_box_falls_and_comes_to_rest_on_the_floor(self):
        made = robot(floor=True)
        made.step(100)
        assert made.frame_pose('box')[2] == pytest.approx(1.1 - 0.5 * 9.81 * 0.1 ** 2, abs=1e-3)
        made.step(1500)
        assert made.frame_pose('box')[2] == pytest.approx(0.05, abs=1e-3)
        assert made.contact_wrench('box')[2] == pytest.approx(WEIGHT, rel=1e-3)

    def test_a_box_rests_on_a_table(self):
        table = Box('table', (0.6, 0.8, 0.02), pose=(0.5, 0, 1.04, 0, 0, 0, 1), fixed=True)
        made = robot((table, BOX))
        made.step(1000)
        assert made.frame_pose('box')[2] == pytest.approx(1.1, abs=1e-3)
        assert made.frame_pose('table')[2] == 1.04

    def test_inertia_is_that_of_the_box(self):
        """Torque-free, it spins as Euler's equation says; the numbers are exact."""
        made = robot(gravity=(0, 0, 0))
        made.place_object('box', BOX.pose, [0, 0, 0, 0.3, 1.0, -0.2])
        before = made.momentum()
        made.step(500)
        np.testing.assert_allclose(made.momentum(), before, atol=1e-4)
        body = made.model.body('box').id
        assert made.model.body_mass[body] == 3.0
        np.testing.assert_allclose(np.sort(made.model.body_inertia[body]),
                                   [0.0125, 0.025, 0.0325])

    def test_placed_and_reset(self):
        made = robot()
        pose = [0.1, 0.2, 1.3, 0.5, 0.5, 0.5, 0.5]
        made.place_object('box', pose)
        np.testing.assert_allclose(made.frame_pose('box'), pose)
        made.reset()
        np.testing.assert_allclose(made.frame_pose('box'), BOX.pose)

    @pytest.mark.parametrize('arguments', [
        {'size': (1, 1)}, {'size': (1, 1, 0)}, {'mass': -1.0}, {'mass': np.nan},
        {'friction': 0.0}, {'center_of_mass': (0, 0)}, {'pose': (0, 0, 0, 0, 0, 0, 2)}])
    def test_impossible_boxes(self, arguments):
        with pytest.raises(SimulationError):
            Box(**{'name': 'box', 'size': (1, 1, 1), **arguments})

    @pytest.mark.parametrize('names', [('box', 'box'), ('l_hand',), ('world',)])
    def test_names_that_are_taken(self, names):
        with pytest.raises(SimulationError, match=f"called '{names[0]}'"):
            robot([Box(name, (1, 1, 1)) for name in names])

    def test_what_cannot_be_placed(self):
        table = Box('table', (1, 1, 1), fixed=True)
        for name in ('table', 'bxo', 'l_hand'):
            with pytest.raises(SimulationError, match=f"no free object '{name}'.*'box'"):
                robot((table, BOX)).place_object(name, BOX.pose)


class TestGrips:

    @pytest.mark.parametrize('rigid', [True, False])
    def test_wrenches_move_the_object(self, rigid):
        """Newton and Euler about its centre of mass, whatever the arms do."""
        made = robot()
        for hand in HANDS:
            made.grip(hand, 'box', rigid=rigid)
        rng = np.random.default_rng(0)
        made.set_effort(rng.uniform(-0.5, 0.5, len(made.joint_names)))
        made.step(30)
        places = [made.frame_pose(hand)[:3] for hand in HANDS]
        body = made.model.body('box').id
        center = made.data.xipos[body].copy()
        R = made.data.xmat[body].reshape(3, 3).copy()
        dofs = slice(made.model.joint('box').dofadr[0], None)
        v = made.data.qvel[dofs].copy()
        # The forces of this instant, not of the step before it.
        mujoco.mj_forward(made.model, made.data)
        a = made.data.qacc[dofs].copy()
        total = sum(moved(made.grip_wrench(hand, 'box'), place - center)
                    for hand, place in zip(HANDS, places, strict=True))
        alpha, w = a[3:], v[3:]  # in the box's axes
        arm = np.array(BOX.center_of_mass)
        at_center = a[:3] + R @ (np.cross(alpha, arm) + np.cross(w, np.cross(w, arm)))
        inertia = BOX.inertial.inertia
        lifted = at_center - np.array([0, 0, -9.81])
        np.testing.assert_allclose(total[:3], 3.0 * lifted, atol=1e-6)
        turned = R @ (inertia @ alpha + np.cross(w, inertia @ w))
        np.testing.assert_allclose(total[3:], turned, atol=2e-4)
        for hand in HANDS:
            assert rigid or not made.grip_wrench(hand, 'box')[3:].any()

    @pytest.mark.parametrize('rigid', [True, False])
    def test_closed_chain_moves_as_the_recursions_say(self, rigid):
        """
        Two hands held together at rest, MuJoCo's constraint made all but rigid.

        It has no J̇ v in it: when things move, its own drift correction makes up for that.
        """
        made = SimulatedRobot(DUAL_ARM)
        model = RobotModel.from_urdf(DUAL_ARM)
        closure = Closure(*HANDS, position=(0.05, 0.02, 0.1), axes='x y z rx ry rz' if rigid
                          else 'x y z')
        rng = np.random.default_rng(1)
        made.reset(START)
        state = RobotState(model, np.clip(
            made.positions + rng.uniform(-0.3, 0.3, model.nv),
            made.lower_position_limits + 0.1, made.upper_position_limits - 0.1),
            np.zeros(model.nv))
        made.reset(state.q)
        made.set_effort(rng.uniform(-0.5, 0.5, model.nv) * np.minimum(made.effort_limits, 40.0))
        made.grip(*HANDS, place=closure.position, rigid=rigid)
        made.model.body_invweight0[:] *= 1e-6  # what the engine's softness is measured by
        accelerations, wrenches = closed_chain_dynamics(
            model, state, made.efforts, (closure,))
        assert difference(made.accelerations(), accelerations) < 1e-5
        poses = model.forward_kinematics(state, HANDS)
        turn = np.kron(np.eye(2), poses['l_hand'][:3, :3])
        exerted = -turn @ wrenches[0]  # by the first link, on the other
        assert difference(made.grip_wrench(*HANDS), exerted) < 1e-5

    def test_it_holds_what_it_holds_and_lets_go(self):
        made = robot()
        made.set_status(locked=made.joint_names)
        made.grip('l_hand', 'box')
        made.step(500)
        assert made.frame_pose('box')[2] == pytest.approx(1.1, abs=1e-3)
        wrench = made.grip_wrench('l_hand', 'box')
        arm = made.frame_pose('l_hand')[:3] - made.data.xipos[made.model.body('box').id]
        np.testing.assert_allclose(moved(wrench, arm), [0, 0, WEIGHT, 0, 0, 0], atol=0.05)
        made.release('l_hand', 'box')
        made.step(100)
        assert made.frame_pose('box')[2] < 1.06
        made.grip('l_hand', 'box')
        height = made.frame_pose('box')[2]
        made.step(200)
        assert made.frame_pose('box')[2] == pytest.approx(height, abs=2e-3)

    def test_the_world_can_be_held(self):
        made = robot(())
        before = made.frame_pose('l_hand')
        made.grip('l_hand', None)
        made.step(300)
        np.testing.assert_allclose(made.frame_pose('l_hand'), before, atol=1e-3)

    def test_reset_opens_all(self):
        made = robot()
        made.grip('l_hand', 'box')
        made.reset(START)
        with pytest.raises(SimulationError, match='no closed grip'):
            made.release('l_hand', 'box')
        made.step(100)
        assert made.frame_pose('box')[2] < 1.06

    def test_a_grip_may_change_its_kind(self):
        """The same constraint of the engine is a weld, then a connection, then a weld."""
        made = robot()
        made.set_status(locked=made.joint_names)
        for rigid in (True, False, True):
            made.place_object('box', BOX.pose)
            made.grip('l_hand', 'box', rigid=rigid)
            made.step(150)
            turned = abs(made.frame_pose('box')[6]) < 1 - 1e-4
            assert turned is not rigid
            made.release('l_hand', 'box')

    def test_errors(self):
        made = robot()
        with pytest.raises(SimulationError, match=r"no link 'boxx'.*'box'"):
            made.grip('l_hand', 'boxx')
        with pytest.raises(SimulationError, match='no closed grip'):
            made.grip_wrench('l_hand', 'box')
        made.grip('l_hand', 'box')
        with pytest.raises(SimulationError, match='already'):
            made.grip('l_hand', 'box')
        for link in made.link_names[:15]:
            made.grip(link, None)
        with pytest.raises(SimulationError, match='16 grips'):
            made.grip(made.link_names[16], None)
