# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Robots carry, turn, squeeze and set down a box, in lock-step with MuJoCo's welds."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from carrying import Carriers
from robots import joint, link, robot

from opspace_control import Impedance, Payload, PoseTask, PostureTask
from opspace_control.cli.robots import demo_robot
from opspace_control.cli.showcase.experiments import CARRIED
from opspace_control.cli.showcase.record import Course
from opspace_control.cli.showcase.schedule import Reach
from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.share import share_directory
from opspace_control.simulation import Box, SimulatedRobot

DUAL_ARM = share_directory() / 'urdf' / 'dual_arm.urdf'
START = demo_robot('dual_arm').start
SIZE = (0.2, 0.58, 0.2)
MASS = 3.0
MIDDLE = (0.3764, 0.0, 1.1004)
TABLE = Box('table', (0.6, 0.6, 0.02), pose=(0.3764, 0.0, 0.99, 0, 0, 0, 1), fixed=True)
# Lift it, turn it to either side, move it, set it almost down.
DANCE = (((0.08, 0.0, 0.12), 0.0), ((0.0, 0.0, 0.0), 0.4), ((0.0, 0.05, 0.05), -0.8),
         ((0.02, -0.05, -0.05), 0.4), ((-0.1, 0.0, -0.1), 0.0))


def carriers(mass=MASS, friction_of_table=1.0, **options):
    """Return a dual_arm with its hands at a box of 3 kg, which the controller knows of."""
    box = Box('box', SIZE, mass, (*MIDDLE, 0, 0, 0, 1), friction=friction_of_table)
    table = replace(TABLE, friction=friction_of_table)
    return Carriers(DUAL_ARM, ('r_hand', 'l_hand'), [box, table], Payload.of_box(MASS, SIZE), START,
                    minimum=20.0, **options)


def carry(scene, *moves, seconds=1.2):
    """Go on for a while, then along a way; return what was seen on it and 0.5 s after."""
    scene.run(0.7)
    way = scene.way(*moves, seconds=seconds)
    return scene.run(way.duration + 0.5, way)


def steps(seen):
    """Return the largest change of an effort from one cycle to the next, N·m."""
    return abs(np.diff(seen.efforts, axis=0)).max()


def test_dual_arm_carries_turns_and_squeezes_a_box():
    """Pose within 2 mm and 0.3°, squeeze within 5% of 20 N: as asked, and some way within it."""
    scene = carriers()
    scene.run(0.3)
    scene.hold()
    seen = carry(scene, *DANCE)
    distance, angle = seen.misses()
    assert distance.max() < 0.5e-3
    assert np.degrees(angle.max()) < 0.1
    assert abs(seen.tensions + 20.0).max() < 0.1
    assert np.ptp(seen.objects[:, 2]) > 0.15
    assert seen.residuals.max() < 1e-4
    assert steps(seen) < 0.1


def test_a_box_that_is_heavier_than_said():
    """20% more: the squeeze holds, and the object sags as its stiffness says, Λ⁻¹ Δm g / kp."""
    scene = carriers(1.2 * MASS)
    scene.run(0.3)
    scene.hold()
    seen = carry(scene, ((0.08, 0.0, 0.12), 0.0))
    assert abs(seen.tensions + 20.0).max() < 1.0
    number = list(scene.controller.tasks).index('carry')
    mobility = scene.controller.inverse_inertia[6 * number:6 * number + 6,
                                                6 * number:6 * number + 6]
    missing = np.array([0.0, 0.0, -0.2 * MASS * 9.81, 0.0, 0.0, 0.0])
    said = mobility @ missing / scene.grasp.task.kp
    distance, _ = seen.misses()
    np.testing.assert_allclose(seen.objects[-1, :3] - seen.goals[-1, :3], said[:3],
                               atol=0.02 * abs(said[:3]).max())
    assert 5e-3 < distance[-1] < 20e-3
    # Told of it while it is held, it comes back up.
    with scene.ramps.smoothly():
        scene.grasp.payload = Payload.of_box(1.2 * MASS, SIZE)
    distance, _ = scene.run(1.5).misses()
    assert distance[-1] < 0.2e-3


def test_ten_times_without_a_jump():
    """Grasp, move, set down, release, both hands free again; 3 kg that come and go unnoticed."""
    scene = carriers(max_linear_velocity=0.3)
    hands = [scene.controller.tasks[name] for name in scene.effectors]
    for hand in hands:
        hand.max_linear_velocity = 0.3
    grips = [np.linalg.inv(scene.pose('box')) @ scene.pose(name) for name in scene.effectors]

    def go(gap):
        """Send the hands to where they grip the box, or so far from it."""
        for hand, grip, outwards in zip(hands, grips, (-1.0, 1.0), strict=True):
            hand.set_target(scene.pose('box') @ grip @ shift(grip, 0.0, outwards * gap, 0.0))
        return scene.run(0.9)

    largest, side = 0.0, 0.06
    for _ in range(10):
        scene.hold()
        seen = [carry(scene, ((0.0, 0.0, 0.04), 0.0), ((0.0, side, 0.0), 5.0 * side),
                      ((0.0, 0.0, -0.04), 0.0), seconds=0.6)]
        distance, angle = seen[0].misses()
        in_the_air = seen[0].objects[:, 2] > 1.102
        assert distance[in_the_air].max() < 2e-3 and np.degrees(angle[in_the_air].max()) < 0.3
        assert abs(seen[0].tensions[in_the_air] + 20.0).max() < 1.0
        scene.disengage()
        seen.append(scene.run(0.6))
        scene.release()
        seen += [go(0.03), go(0.0)]
        largest = max(largest, *map(steps, seen))
        assert scene.robot.frame_pose('box')[2] == pytest.approx(1.1, abs=1e-3)
        side = -side
    assert largest < 0.2  # N·m in a millisecond, of up to 300 that the drives have


def shift(grip, *along):
    """Return a move along the axes of the box, (4, 4) in those of a hand."""
    move = np.eye(4)
    move[:3, 3] = grip[:3, :3].T @ along
    return move


@pytest.mark.parametrize(('name', 'moves'), [
    ('talos', (((0.0, 0.0, 0.15), 0.0), ((0.05, 0.0, 0.0), 0.15))),
    ('pr2', (((0.05, 0.0, 0.05), 0.0), ((0.05, 0.0, 0.03), 0.15)))])
def test_real_robots_lift_a_box(name, moves):
    known = demo_robot(name)
    tree = RobotModel.from_urdf_file(known.path())
    locked = [other for other in tree.joint_names if other not in known.driven]
    bare = SimulatedRobot(known.path().read_text(), locked_joints=locked)
    bare.reset(known.start)
    left, right = (bare.frame_pose(hand)[:3] for hand in known.hands)
    middle, gap = 0.5 * (left + right), np.linalg.norm(left - right)
    half = 0.5 * np.arctan2(right[0] - left[0], left[1] - right[1])
    size = (0.2, gap - 0.02, 0.2)
    box = Box('box', size, MASS, (*middle, 0, 0, np.sin(half), np.cos(half)))
    scene = Carriers(known.path(), known.hands, [box], Payload.of_box(MASS, size), known.start,
                     minimum=20.0, locked_joints=locked, joint_friction=False, ramp_time=0.0)
    scene.hold()
    seen = carry(scene, *moves, seconds=1.5)
    distance, angle = seen.misses()
    assert distance.max() < 1e-3
    assert np.degrees(angle.max()) < 0.1
    assert abs(seen.tensions + 20.0).max() < 0.2


def perform(asked, kind='rigid'):
    """Do an experiment of the showcase in lock-step; return its findings, `Carried`, scene."""
    boxes = asked.boxes()
    size, pose = boxes['box']['size'], boxes['box']['pose']
    robot = asked.robot
    tree = RobotModel.from_urdf_file(robot.path())
    locked = [name for name in tree.joint_names if robot.driven and name not in robot.driven]
    limits = {'max_linear_velocity': asked.max_linear_velocity, 'max_angular_velocity': 0.5}
    scene = Carriers(
        robot.path(), robot.hands, [Box(name, **box) for name, box in boxes.items()],
        Payload.of_box(asked.mass, size), robot.start, minimum=asked.grasp_force,
        locked_joints=locked,
        joint_friction=robot.joint_friction, posture=PostureTask(kp=asked.posture_kp),
        gravity=not robot.weightless, axes=robot.axes, kind=kind, **limits)
    plan = asked.plan(np.array([scene.controller.tasks[name].pose for name in robot.hands]))
    reach = Reach(SimulatedRobot(robot.path().read_text()), robot.hands, asked.axes)
    lift, still = list(asked.moves), [scene.disengage, scene.release]
    seen = [scene.run(plan.starts[0])]
    for number in range(len(plan.goals)):
        if number == 0:
            scene.hold(kind)
        elif lift:
            *shift, yaw = lift.pop(0)
            place = np.add(pose[:3], shift)
            scene.grasp.task.set_target([*place, 0.0, 0.0, np.sin(0.5 * yaw), np.cos(0.5 * yaw)])
        else:
            still.pop(0)()
        scene.controller.posture.set_target(plan.posture_at(scene.robot.time + 1e-6))
        seen.append(scene.run(plan.stop))
    times, positions = (np.concatenate([getattr(part, name) for part in seen])
                        for name in ('times', 'positions'))
    rows = slice(None, None, 10)
    paths = np.array([reach.poses(row) for row in positions[rows]])
    goals = [plan.goals[max(plan.goal_at(time - 1e-6), 0)] for time in times[rows]]
    course = Course(
        times=times[rows], paths=paths[..., :3], positions=positions[rows], posture=None,
        errors=np.array([reach.errors(*pair) for pair in zip(goals, paths, strict=True)]),
        speed=None)
    return asked.findings(course), seen, scene


@pytest.mark.parametrize('asked', CARRIED, ids=lambda asked: asked.name)
def test_what_the_showcase_shows(asked):
    """[RKR95] Fig. 6 and (17), (23): as `opspace demo` has it, but in lock-step."""
    findings, seen, scene = perform(asked)
    assert all(finding.met for finding in findings), '\n' + '\n'.join(map(str, findings))
    held = np.concatenate([part.tensions for part in seen[2:len(asked.moves) + 2]])
    assert held.shape[1] == (3 if len(asked.robot.hands) == 3 else 1)
    assert abs(held + asked.grasp_force).max() < max(0.05 * asked.grasp_force, 0.1)
    if asked.name == 'augmented':
        scratch = scene.controller._arguments.storage.scratch
        assert scratch.constraint_factor.sizes[0] == 3  # of the six rows: a loop in a plane
    switches = [seen[:2], *([seen[-3:-1], seen[-2:]] if asked.disengage else [])]
    for before, after in switches:
        efforts = np.concatenate([before.efforts[-1:], after.efforts])
        assert abs(np.diff(efforts, axis=0)).max() < 0.5  # N·m in a millisecond


def test_three_fingertips_carry_a_plate():
    """No hand holds its direction: it goes and turns where it is sent, squeezed as asked."""
    (asked,) = (one for one in CARRIED if one.name == 'plate')
    findings, seen, scene = perform(replace(asked, seconds=1.5), kind='fingertips')
    turned, others = findings[1], [findings[0], *findings[2:]]
    assert all(finding.met for finding in others), '\n' + '\n'.join(map(str, findings))
    assert turned.value > 10.0  # the hands, which turn as they like, not the plate
    for part in seen[2:len(asked.moves) + 2]:
        distance, angle = part.misses()
        assert distance[-1] < 2e-3
        assert np.degrees(angle[-1]) < 0.3
        assert abs(part.tensions + asked.grasp_force).max() < 0.05 * asked.grasp_force
    assert not scene.grasp.wrenches[:, 3:].any()


class TestObjectAgainstTheWorld:
    """[K87] V for an object in two hands: where the environment ends, force is controlled."""

    def total(self, scene):
        """Return what the hands do to the box together, (3,) N, in the simulator."""
        return sum(scene.robot.grip_wrench(hand, 'box')[:3] for hand in scene.effectors)

    def test_it_is_pressed_on_a_table_and_slid_along_it(self):
        task = PoseTask('r_hand', name='carry', axes='x y rx ry rz', force_axes='z')
        scene = carriers(task=task, friction_of_table=0.05)
        scene.hold()
        scene.run(0.7)
        task.force.set_target([0.0, 0.0, -15.0, 0.0, 0.0, 0.0])
        scene.run(1.0)
        way = scene.way(((0.1, 0.05, 0.0), 0.2), seconds=1.0)
        seen = scene.run(1.5, way)
        assert self.total(scene)[2] == pytest.approx(9.81 * MASS - 15.0, abs=0.5)
        assert abs(seen.objects[:, 2] - 1.1).max() < 1e-3
        assert np.linalg.norm((seen.objects - seen.goals)[:, :2], axis=1).max() < 3e-3
        assert np.ptp(seen.objects[:, 0]) == pytest.approx(0.1, abs=3e-3)
        assert abs(seen.tensions + 20.0).max() < 1.0

    def test_it_yields_like_a_spring(self):
        """A push of 12 N moves it by F / K, as if the arms had no inertia to speak of."""
        task = PoseTask('r_hand', name='carry', mode='impedance',
                        impedance=Impedance([600.0] * 3 + [80.0] * 3))
        scene = carriers(task=task)
        scene.hold()
        scene.run(0.7)
        scene.run(0.8, scene.way(((0.0, 0.0, 0.1), 0.0), seconds=0.6))
        before = scene.run(0.8).objects[-1]
        scene.robot.apply_wrench('box', [0.0, 12.0, 0.0, 0.0, 0.0, 0.0])
        after = scene.run(1.5)
        np.testing.assert_allclose((after.objects[-1] - before)[:3], [0.0, 0.02, 0.0], atol=5e-4)
        assert abs(after.tensions[-1] + 20.0) < 7.0  # half of the push goes through the box
        scene.robot.apply_wrench('box', np.zeros(6))
        back = scene.run(1.5)
        np.testing.assert_allclose(back.objects[-1, :3], before[:3], atol=5e-4)


class TestFriction:
    """No weld: two flat pads on slides press a box of 2 kg, friction alone carries it."""

    @staticmethod
    def pads():
        """Return the URDF of two pads, each on three slides, that face each other along y."""
        pad = '<collision><geometry><box size="0.08 0.02 0.08"/></geometry></collision></link>'
        parts = [link('base', 5.0)]
        for side, place in (('l', 0.15), ('r', -0.15)):
            parent = 'base'
            for axis, direction in (('x', '1 0 0'), ('y', '0 1 0'), ('z', '0 0 1')):
                child = f'{side}_{axis}'
                body = link(child, 0.5)
                parts += [body.replace('</link>', pad) if axis == 'z' else body, joint(
                    f'j{child}', parent, child, 'prismatic',
                    (f'<origin xyz="0 {place} 1"/>' if axis == 'x' else '')
                    + f'<axis xyz="{direction}"/>'
                    '<limit lower="-1" upper="1" effort="500" velocity="5"/>')]
                parent = child
        return robot(*parts)

    def lift(self, tmp_path, **grasp):
        """Lift the box by 0.1 m; return how far it came up, and slid on the pads, m."""
        path = tmp_path / 'pads.urdf'
        path.write_text(self.pads())
        size = (0.2, 0.28, 0.1)
        box = Box('box', size, 2.0, (0, 0, 1.0, 0, 0, 0, 1))
        table = Box('table', (1, 1, 0.1), pose=(0, 0, 0.9, 0, 0, 0, 1), fixed=True)
        scene = Carriers(path, ('l_z', 'r_z'), [box, table], Payload.of_box(2.0, size), {},
                         contacts=True, axes='x y z', **grasp)
        # The engine's friction creeps by 10 mm/s otherwise.
        scene.robot.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        scene.robot.model.opt.impratio = 100.0
        scene.engage()
        scene.run(1.0)
        start = scene.robot.frame_pose(scene.effectors[1])[2]
        way = scene.way(((0.0, 0.0, 0.1), 0.0), ((0.1, 0.0, 0.0), 0.0), seconds=1.0)
        seen = scene.run(1.5 + way.duration, way)
        raised = seen.objects[-1, 2] - 1.0
        slid = abs(scene.robot.frame_pose(scene.effectors[1])[2] - start - raised)
        return raised, slid, scene.grasp

    def test_the_squeeze_that_friction_wants_is_found(self, tmp_path):
        """Half of the weight each, over μ / margin, where 1 N is asked for."""
        raised, slid, grasp = self.lift(tmp_path, friction=0.8, minimum=1.0)
        assert raised == pytest.approx(0.1, abs=2e-3)
        assert slid < 2e-3
        assert grasp.applied_force == pytest.approx(9.81 / (0.8 / 1.5), rel=0.02)
        assert not grasp.slips

    def test_without_it_the_box_stays_where_it_is(self, tmp_path):
        raised, _, _ = self.lift(tmp_path, minimum=1.0)
        assert abs(raised) < 1e-3

    def test_what_no_squeeze_holds_is_told(self, tmp_path):
        _, _, grasp = self.lift(tmp_path, friction=0.8, minimum=1.0, maximum=5.0)
        assert grasp.slips
