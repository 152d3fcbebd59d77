# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the benchmark compares is the same, and it says what it measured; nothing is timed."""

import importlib
import itertools
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from opspace_control import OpspaceError, library
from opspace_control.cli.robots import demo_robot
from opspace_control.collision.enclosing import surface_of
from opspace_control.share import share_directory
from opspace_control.spatial.rotations import matrix_from_quaternion, matrix_from_vector

BENCH = [sys.executable, '-m', 'opspace_control.cli.main', 'bench']


@pytest.fixture
def module(monkeypatch):
    """Return a function that imports a module of the benchmark, not one of the tests' own name."""
    folder = share_directory() / 'benchmark'
    monkeypatch.syspath_prepend(str(folder))

    def imported(name):
        if name in sys.modules and Path(sys.modules[name].__file__).parent != folder:
            monkeypatch.delitem(sys.modules, name)
        return importlib.import_module(name)
    return imported


@pytest.fixture
def contest(module):
    robot = demo_robot('dual_arm')
    return module('contest').Contest.set_up(
        robot.path().read_text(), robot.hands, robot.start, states=5)


def engine(module, library, name):
    pytest.importorskip(library)
    return getattr(module(f'{library}_peer'), name)


@pytest.mark.parametrize(('library', 'name'), [
    ('mujoco', 'MujocoEngine'), ('pinocchio', 'PinocchioEngine')])
def test_peers_compute_the_same_law(module, contest, library, name):
    function, inputs = contest.peer(engine(module, library, name))
    assert len(inputs) == len(contest.states)
    assert function(*inputs[0]).shape == (contest.controller.model.nv,)


def test_a_peer_of_another_law_is_found_out(module, contest):
    contest.targets[0][0, 3] += 1e-3
    with pytest.raises(module('contest').DisagreementError):
        contest.peer(engine(module, 'mujoco', 'MujocoEngine'))


def test_ratio_is_that_of_rounds(module):
    figure = module('figures').Figure.ratio('key', 'What', [1.0, 2.0, 9.0], [2.0, 4.0, 6.0], 0.6)
    assert (figure.value.median, figure.ours.median, figure.peer.median) == (0.5, 2.0, 4.0)
    assert figure.met
    assert json.loads(json.dumps(figure.as_dict()))['value']['upper'] == 1.0


@pytest.mark.parametrize(('value', 'text'), [
    (0.0, '0'), (0.0514, '0.0514'), (1.0, '1.00'), (4.137, '4.14'), (99.94, '99.9'),
    (837.4, '837')])
def test_three_digits(module, value, text):
    assert module('figures').Spread.of(value).text() == text


def test_table_says_which_target_is_missed(module):
    figures = module('figures')
    table = figures.markdown([
        figures.Figure('a', 'Fast', figures.Spread.of(1.0), 2.0, 's'),
        figures.Figure('b', 'Slow', figures.Spread.of(3.0), 2.0, 's')]).splitlines()
    assert table[2] == '| Fast | 1.00 s |  |  | ≤ 2 | met |'
    assert table[3] == '| Slow | 3.00 s |  |  | ≤ 2 | missed |'


def bench(*arguments):
    return subprocess.run([*BENCH, *arguments], capture_output=True, text=True, check=False)


def test_json_of_a_section():
    done = bench('allocation', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {figure['key']: figure['value']['median'] for figure in found['figures']} == {
        'allocation.entries': 1.0}
    assert found['skipped'] == {}
    assert found['machine']['numpy'].startswith('numpy ')


def test_unknown_section():
    done = bench('tea')
    assert done.returncode == 2
    assert "no section 'tea'" in done.stderr


def test_dynamics_at_a_lower_rate_cost_accuracy(module):
    """As doc/decisions/001-one-rate.md says of [K87] (4.13)."""
    errors = module('two_rates').effort_errors((500, 50))
    assert 1e-4 < errors[500] < 0.005
    assert 0.01 < errors[50] < 0.06


def test_of_random_goals_what_is_out_of_reach_is_left(module):
    """Two links of 0.5 m, the shoulder level with the hand; the elbow ends at 2.8 rad."""
    at_rest = module('at_rest')
    robot = at_rest.robots()[0]
    goals = at_rest.random_goals(robot, 4)
    away = np.array([np.hypot(np.cos(0.6) + way[0], way[2]) for way, _ in goals])
    left = np.maximum(0.0, np.maximum(away - 1.0, np.cos(1.4) - away))
    assert (away > 1.0).any() and (away < np.cos(1.4)).any() and (left == 0.0).any()
    for outcomes in zip(*(at_rest.seek_twice(robot, goal) for goal in goals), strict=True):
        np.testing.assert_allclose([outcome.left for outcome in outcomes], left, atol=1e-4)
        assert max(outcome.moving for outcome in outcomes) < at_rest.REST
        assert not any(outcome.cut for outcome in outcomes)


def test_table_says_at_how_many_goals(module):
    at_rest = module('at_rest')
    good = at_rest.Outcome(left=0.0, moving=0.0, speed=0.5, step=0.01, cut=False)
    bad = at_rest.Outcome(left=0.3, moving=0.125, speed=0.9, step=0.2, cut=True)
    text = at_rest.table([(at_rest.robots()[0], (good, bad, good), (good, good, good))])
    assert text.startswith('3 goals')
    assert text.splitlines()[-1] == (
        '| planar_2r | 1 | 1, up to 0.12 rad/s | 90.0 % | 1 | 20.0 % | 1 | 0 | 50.0 % |')


def test_a_joint_without_a_drive_is_counted_for_itself(module):
    """The wrist is flung around, faster than its limit; the driven joints keep theirs."""
    limits = module('limits')
    goal, = limits.run_goals(limits.DRIVELESS[0], 1, seconds=1.0, seed=1)
    assert goal.flung > 1.1 * 6.0
    assert 0.5 < goal.velocity < 1.001
    assert goal.effort <= 1.0


def test_table_says_how_many_goals_were_too_fast(module):
    limits = module('limits')
    slow, fast = limits.Worst(velocity=1.01, flung=7.0), limits.Worst(velocity=1.5, beyond=0.25)
    text = limits.driveless_table([(limits.DRIVELESS[-2], (slow, fast, slow), (fast, fast, fast))])
    assert text.startswith('3 goals')
    assert text.splitlines()[-1] == (
        '| Talos in space | x y z | base | 150.0 % | 0.2° | 1 | 7.0 rad/s | 150.0 % | 3 |')


def test_a_course_says_how_fast_a_robot_goes_and_whether_it_falls(module):
    pytest.importorskip('mujoco')
    legged = module('legged')
    course = legged.Course('go2', 'trot', (0.0, 0.2, 0.0), seconds=0.4, friction=0.6)
    outcome = legged.go(course)
    assert outcome.speed == pytest.approx(0.2, abs=0.05)
    assert outcome.tilt < 0.5 and outcome.joint_speed < 1.0 and not outcome.fallen
    slippery = replace(course, command=(0.3, 0.0, 0.0), seconds=5.0, friction=0.01)
    assert legged.go(slippery).fallen
    head = '| `go2`, trot | 0.2 m/s to the left | 0.4 s, friction 0.6 |'
    fell = legged.course_table([(course, replace(outcome, fallen=True))]).splitlines()[-1]
    assert fell == f'{head} falls | | | |'
    stood = legged.course_table([(course, legged.Outcome(0.2, 1.0, 0.5, 0.7, False))])
    assert stood.splitlines()[-1] == f'{head} 0.20 | 1.00° | 0.50 | 0.70 |'


def test_shoves_are_forks_of_one_robot(module, monkeypatch):
    """Each begins where the robot is, and changes nothing there; a large one makes it fall."""
    pytest.importorskip('mujoco')
    legged = module('legged_disturbances')
    monkeypatch.setattr(legged, 'SIDES', 2)
    monkeypatch.setattr(legged, 'AFTER', 0.6)
    scene = legged.LeggedScene('go2')
    scene.run(0.2)
    before = scene.robot.simulated.time
    speeds = legged.speeds_after_each(scene, (0.2, 20.0))
    assert speeds[20.0] == 2 * [math.inf]
    assert len(speeds[0.2]) == 2 and 0.0 < min(speeds[0.2]) <= max(speeds[0.2]) < 1.0
    assert scene.robot.simulated.time - before == pytest.approx(0.06)
    assert not scene.fallen
    monkeypatch.setattr(scene, 'run', None)
    with pytest.raises(OSError, match='ended with 1'):
        legged.speed_after(scene, 0.2, 0)


def test_the_table_of_disturbances_tells_what_failed_and_the_greatest_joint_speed(module):
    pytest.importorskip('mujoco')
    legged, fell = module('legged_disturbances'), math.inf
    row = ('go2', 'trot', [[0.5, fell], [0.7, 0.9]], [0.1, fell, 0.3, 1.05], fell)
    assert legged.disturbance_table([row]).splitlines()[-1] == (
        '| `go2`, trot | 1 of 2 | 2 of 2 | crosses | fails | crosses | crosses | no | 1.05 |')


def test_a_robot_that_lies_stands_up_goes_and_stops(module, monkeypatch):
    """One that has no time to rise has failed."""
    pytest.importorskip('mujoco')
    legged = module('legged_disturbances')
    assert 0.1 < legged.rises('go2', 'trot') < 1.0
    monkeypatch.setattr(legged, 'RISE', 0.2)
    assert legged.rises('go2', 'trot') == math.inf


def test_a_posture_controller_trots_by_our_footholds(module):
    pytest.importorskip('mujoco')
    peer = module('raibert_peer')
    scene = peer.RaibertScene('b1', gains=peer.TUNED)
    scene.run(0.1)
    scene.locomotion.gait = 'running_trot'
    scene.locomotion.command(0.5)
    reports = scene.run(1.2)
    assert not scene.fallen
    assert reports[-300:, 2].mean() == pytest.approx(0.5, abs=0.2)
    assert 0.1 < np.degrees(np.sqrt(np.square(reports[:, :2]).sum(axis=1).mean())) < 5.0
    # A trunk that is not levelled falls.
    loose = peer.RaibertScene('b1', gains=replace(peer.TUNED, tilt=0.1))
    loose.run(0.1)
    loose.locomotion.gait = 'running_trot'
    loose.run(3.0)
    assert loose.fallen


def test_the_table_of_laws_tells_which_speeds_were_reached(module):
    pytest.importorskip('mujoco')
    peers = module('legged_peers')
    result = peers.Result({2.0: 1.0, 3.0: 1.25, 4.5: 9.0}, {0.5: 8, 1.0: 3})
    assert result.top == 4.5
    assert peers.table({'a law': result}).splitlines()[-1] == (
        '| a law | 1.00° | not reached | 9.00° | 4.5 m/s | 8 of 8 | 3 of 8 |')


def test_every_law_is_in_the_picture(module, monkeypatch, tmp_path):
    """There are more of them than colors."""
    pytest.importorskip('mujoco')
    peers, drawn = module('legged_peers'), []
    from opspace_control.runs import pictures
    monkeypatch.setattr(pictures.plt, 'close', drawn.append)
    peers.draw({law: peers.Result({2.0: 1.0, 3.0: 2.0}, {}) for law in peers.LAWS},
               tmp_path / 'laws.png')
    monkeypatch.undo()
    lines = drawn[0].axes[0].lines
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == len(peers.LAWS)
    pictures.plt.close(drawn[0])


@pytest.mark.parametrize('terrain', ['slope', 'steps'])
def test_terrain_begins_where_it_should(module, terrain):
    """Slopes begin at the height of the ground; steps are as high as they are said to be."""
    pytest.importorskip('mujoco')
    legged = module('legged_disturbances')
    first, *_ = getattr(legged, terrain)()
    turn = matrix_from_quaternion(np.array(first.pose[3:]))
    edge = np.array(first.pose[:3]) + turn @ (0.5 * np.array(first.size) * [-1.0, 0.0, 1.0])
    height = legged.STEP_HEIGHT if terrain == 'steps' else 0.0
    np.testing.assert_allclose(edge, [1.0, 0.0, height], atol=1e-12)
    incline = np.degrees(np.arcsin(turn[2, 0]))
    assert incline == pytest.approx(5.0 if terrain == 'slope' else 0.0)


@pytest.mark.parametrize(('key', 'count'), [('allegro', 5), ('along', 3)])
def test_pinocchio_finds_the_same_inverse_inertia(module, key, count):
    pytest.importorskip('pinocchio')
    points = module('points')
    text, links = next(robot[2:] for robot in points.robots() if robot[1] == key)
    assert points.contenders(text, links, count).keys() == {'ours', 'peer'}


def test_another_robot_than_the_model_is_sent_to_a_goal(module):
    """Masses, friction, noise and delay are those of the table; the observer brings the hand."""
    pytest.importorskip('mujoco')
    disturbances = module('disturbances')
    nominal, masses, friction, all_of_it = disturbances.REALITIES.values()
    assert nominal == disturbances.Reality()
    assert all_of_it.mass_deviation == masses.mass_deviation == 0.1
    assert all_of_it.coulomb_ratio == friction.coulomb_ratio == 0.03
    goal = disturbances.random_goals(1)[0]
    assert 0.1 <= np.linalg.norm(goal[0]) <= 0.3
    assert 0.1 <= np.linalg.norm(goal[1]) <= 0.6
    _, masses, friction, _ = disturbances.REALITIES
    bare, ours = (disturbances.reach('panda', masses, remedy, 0)
                  for remedy in (disturbances.Remedy(), disturbances.Remedy(40.0)))
    assert bare.away[0] == pytest.approx(np.linalg.norm(goal[0]), abs=1e-4)
    assert bare.turned[0] == pytest.approx(np.linalg.norm(goal[1]), abs=1e-3)
    assert bare.left[0] > 1e-3 and bare.arrival == np.inf
    assert ours.left[0] < 1e-4 and ours.arrival < 3.0
    known = disturbances.reach('panda', friction, disturbances.Remedy(40.0, 1.0), 0)
    assert known.left[0] < 1e-4 and known.arrival < 2.0
    rows = disturbances.table([
        ('panda', masses, disturbances.Remedy(), [bare]),
        ('panda', friction, disturbances.Remedy(40.0, 1.0), [known])]).splitlines()
    assert '0 of 1' in rows[2] and '| 40 | 1 |' in rows[3] and '1 of 1' in rows[3]


def test_a_humanoid_that_is_not_its_model_stands_and_reaches(module):
    pytest.importorskip('mujoco')
    disturbances, standing = module('disturbances'), module('standing')
    _, _, _, all_of_it = disturbances.REALITIES
    ours = disturbances.reach(standing.NAME, all_of_it, disturbances.Remedy(20.0, 1.0), 0)
    assert ours.away[0] > 0.03
    assert ours.left[0] < 1e-3 and ours.arrival < 2.0


def test_pushes_and_margins(module):
    """A push of twice the bounds yields and returns; an arm is unstable where it is predicted."""
    pytest.importorskip('mujoco')
    yields, beyond = module('pushes').push(
        'panda', (10.0, 2.0), 'as its model', np.array([0.0, 0.0, -1.0]))
    assert yields > 0.01 and beyond < 0.2
    loop = module('margins').Loop('panda', 900.0, 80.0)
    assert loop.delay() == pytest.approx(loop.margin.delay, rel=0.1)
    predicted, found = loop.noise()
    assert found == pytest.approx(predicted, rel=0.15)


def test_a_robot_that_collides_tells_it(module, monkeypatch):
    """
    Some seconds without an alarm once it is identified; a push of 60 N is told in time.

    It is identified from half of the time that the table has: residuals differ by 1 %.
    """
    pytest.importorskip('mujoco')
    program = module('collision_alarms')
    monkeypatch.setattr(program, '_LEARNING', 30.0)
    greatest, thresholds, alarms, times = program.soak(0, True, 0.05)
    k = program.MARGINS.index(1.5)
    assert 0.03 < greatest < thresholds[k].max() < 0.2
    assert alarms[k] == 0 and times[k] < 0.02


@pytest.mark.parametrize(('program', 'tables'), [
    ('limits', ('limits', 'driveless')), ('closed_chains', ('closed',)),
    ('sequence', ('sequence',)), ('at_rest', ('at_rest',)),
    ('disturbances', ('disturbances', 'robots', 'rates', 'friction')),
    ('pushes', ('pushes',)), ('collision_alarms', ('alarms',)), ('margins', ('margins',)),
    ('singularity', ('singularities',)),
    ('legged', ('legged_courses', 'legged_disturbances')), ('legged_peers', ('legged_peers',)),
    ('distance_peers', ('distance_peers',))])
def test_every_table_has_its_place_in_the_documentation(module, program, tables):
    pytest.importorskip('mujoco')
    text = module(program)._PAGE.read_text()
    for name in tables:
        begin, end = f'<!-- {name}:begin -->\n', f'<!-- {name}:end -->'
        assert text.count(begin) == text.count(end) == 1, name
        assert '| ' in text[text.index(begin):text.index(end)], name


def test_the_judge_of_distances_has_poses_and_distances_of_its_own():
    """They are those of `CollisionModel`, of all kinds of shapes."""
    pytest.importorskip('mujoco')
    from opspace_control import CollisionDescription, CollisionModel, RobotModel
    from opspace_control.simulation import SimulatedRobot
    from opspace_control.simulation.distance_judge import DistanceJudge
    path = share_directory() / 'urdf' / 'dual_arm.urdf'
    simulated, model = SimulatedRobot(path.read_text()), RobotModel.from_urdf_file(path)
    full = CollisionDescription.from_urdf_file(path).model(model)
    random, q = np.random.default_rng(0), model.neutral()
    for pair in full.pairs[::5]:
        shapes = CollisionModel(model, full.shapes, [pair])
        for _ in range(3):
            angles = random.uniform(simulated.lower_position_limits,
                                    simulated.upper_position_limits)
            simulated.reset(positions=angles)
            for name, angle in zip(simulated.joint_names, angles, strict=True):
                q[model.q_index[model.dof_index(name)]] = angle
            ours, = shapes.distances(q)
            judge = DistanceJudge(simulated, shapes)
            assert judge.least() == pytest.approx(min(ours.distance, 0.2), abs=2e-5)


def test_the_judge_of_distances_misses_no_pair_that_approaches():
    """It leaves out pairs that cannot have come nearer than the least distance before."""
    pytest.importorskip('mujoco')
    from opspace_control import CollisionDescription, CollisionModel, RobotModel
    from opspace_control.simulation import SimulatedRobot
    from opspace_control.simulation.distance_judge import DistanceJudge
    path = share_directory() / 'urdf' / 'dual_arm.urdf'
    simulated, model = SimulatedRobot(path.read_text()), RobotModel.from_urdf_file(path)
    full = CollisionDescription.from_urdf_file(path).model(model)
    shapes = CollisionModel(model, full.shapes, [
        pair for pair in full.pairs if pair[0][:2] != pair[1][:2]])  # of both arms
    judge, least, plain = DistanceJudge(simulated, shapes), np.inf, np.inf
    there = np.random.default_rng(5).uniform(
        simulated.lower_position_limits, simulated.upper_position_limits)
    for part in np.linspace(0.0, 1.0, 1000):  # links move at 2.4 m/s at most
        simulated.reset(positions=part * there)
        least, plain = judge.least(least), min(plain, DistanceJudge(simulated, shapes).least())
        assert least == plain
    assert least < 0.05


def test_peers_of_distances_may_be_missing(module, monkeypatch, capsys):
    pytest.importorskip('mujoco')
    for name in ('placo', 'oscbf_peer'):
        monkeypatch.setitem(sys.modules, name, None)
    peers = module('distance_peers')
    peers.main()
    told = capsys.readouterr().out
    assert 'placo is not installed' in told and 'oscbf_peer is not installed' in told
    near, far = (np.array([5e-4, 5e-3]), 9e-3, 0, np.full(3, 1e-4)), (
        np.array([5e-3, 5e-2]), -2e-3, 4, np.full(3, 2e-4))
    table = peers.table([('arm', 'one', [near, far]), ('leg', 'other', [far])])
    assert table.splitlines()[-2:] == [
        '| arm | one | 2 | 1 | 2 | -2.00 | 4 | 150 | 200 |',
        '| leg | other | 1 | 0 | 1 | -2.00 | 4 | 200 | 200 |']


def test_placo_gets_the_same_shapes_and_braked_joints_at_the_start(module):
    """Pinocchio reads the same distances from what is written for placo, of all kinds of shapes."""
    pinocchio = pytest.importorskip('pinocchio')
    from opspace_control import Shape
    goals, peer, talos = module('hand_goals'), module('placo_robot'), demo_robot('talos')
    turned = matrix_from_vector(np.array([0.3, -0.5, 0.4]))
    shapes = (
        Shape('finger', 'gripper_left_motor_double_link', 'box', (0.02, 0.03, 0.05), (0, 0.1, 0)),
        Shape('forearm', 'arm_left_4_link', 'capsule', (0.05, 0.2), (0.01, 0.0, -0.1), turned),
        Shape('elbow', 'arm_left_4_link', 'cylinder', (0.06, 0.1), (0.0, 0.02, 0.0), turned),
        Shape('head', 'head_2_link', 'sphere', (0.15,), (0.0, 0.0, 0.1)),
        Shape('thigh', 'leg_left_4_link', 'capsule', (0.07, 0.3), (0.0, 0.0, 0.1)))
    braked = *talos.braked(), 'torso_1_joint'
    hands = goals.Hands(goals.Robot(
        'Talos', talos.path(), talos.hands,
        {**talos.start, 'gripper_left_joint': -0.4, 'torso_1_joint': 0.3}, braked, shapes,
        tuple((a.name, b.name) for a, b in itertools.combinations(shapes, 2) if a.link != b.link)))
    text, names = peer.urdf_for_placo(hands)
    reduced, model = pinocchio.buildModelFromXML(text), hands.model
    joints = dict(zip(reduced.names[1:], reduced.idx_qs[1:], strict=True))
    assert set(joints) == set(model.dof_names) - set(braked)
    geometry = pinocchio.buildGeomFromUrdfString(reduced, text, pinocchio.GeometryType.COLLISION)
    for pair in hands.collision.pairs:
        geometry.addCollisionPair(pinocchio.CollisionPair(
            *(geometry.getGeometryId(names[name]) for name in pair)))
    random, q = np.random.default_rng(0), hands.q.copy()
    for _ in range(5):
        there, data = random.uniform(-0.8, 0.8, reduced.nq), geometry.createData()
        for name, index in joints.items():
            q[model.q_index[model.dof_index(name)]] = there[index]
        pinocchio.computeDistances(reduced, reduced.createData(), geometry, data, there)
        np.testing.assert_allclose(
            [found.min_distance for found in data.distanceResults],
            [found.distance for found in hands.collision.distances(q)], rtol=0.0, atol=5e-6)


def test_targets_of_hands_move_at_bounded_speeds(module):
    goals = module('hand_goals')
    start, goal = np.eye(4), np.eye(4)
    goal[:3, 3] = [0.3, 0.0, -0.4]
    goal[:3, :3] = matrix_from_quaternion(np.array([0.0, 0.0, np.sin(0.4), np.cos(0.4)]))
    way = goals.Way(start, goal)
    np.testing.assert_allclose(way.pose(0.0), start)
    np.testing.assert_allclose(way.pose(5.0), goal, atol=1e-12)
    twist = way.twist(0.2)
    assert np.linalg.norm(twist[:3]) == pytest.approx(goals.SPEED)
    np.testing.assert_allclose(twist[3:], [0.0, 0.0, 0.8], atol=1e-12)
    np.testing.assert_allclose(way.pose(0.3)[:3, 3], 0.3 * twist[:3])
    assert not way.twist(1.5).any()


def test_spheres_of_the_peer_contain_the_shapes(module):
    pytest.importorskip('frax')
    peer, goals = module('oscbf_peer'), module('hand_goals')
    hands = goals.Hands(goals.demo('dual_arm', 'dual_arm'))
    shapes = {shape.name: shape for shape in hands.collision.shapes}
    for name, cells in (('torso', (2, 2, 3)), ('l_upper_arm', 2), ('torso/3', 1)):
        centers, radius = peer.cover(shapes[name], cells)
        assert len(centers) == np.prod(cells)
        points = surface_of(shapes[name])
        away = np.linalg.norm(points[:, None] - centers, axis=2).min(axis=1)
        assert 0.95 * radius < away.max() <= radius + 1e-9


def test_the_table_of_distances_counts_goals(module):
    pytest.importorskip('mujoco')
    kept = module('kept_distances')
    near = kept.Outcome(reached=True, least=-0.02, step=0.05, last=0.6, times=(1.0, 2.0))
    apart = kept.Outcome(reached=True, least=0.02, step=0.1, last=0.4, times=(2.0, 3.0))
    lost = kept.Outcome(reached=False, least=0.0095, step=0.2, last=0.7, times=(4.0, 5.0))
    robot = module('hand_goals').Robot('two arms', None, (), {}, (), (), (('a', 'b'),) * 7)
    text = kept.table([(robot, (near, apart, apart, lost), (lost, apart, lost, lost))])
    assert text.startswith('4 goals')
    assert text.splitlines()[-1] == (
        '| two arms | 7 | 3 | 2 | 1 | 1 | -20.00 | 9.50 | 20.0 % | 20.0 % | 2 | 3 '
        '| 2.0 | 4.0 | 5.0 |')


def test_programs_of_robots_on_legs_exert_what_the_law_does(module, monkeypatch):
    """Their tasks are weighted, so efforts are not the same: within a quarter of the greatest."""
    pytest.importorskip('quadprog', reason='quadprog is not installed')
    contacts, missed = module('contacts'), []
    times = contacts.Peers.times

    def compared(peers, state, tau):
        law = tau[peers._dofs]
        missed.extend(abs(program(state) - law).max() / abs(law).max()
                      for program in peers._programs)
        return times(peers, state, tau)

    monkeypatch.setattr(contacts, '_CYCLES', 12)
    monkeypatch.setattr(contacts.Peers, 'times', compared)
    contacts._stand()
    assert len(missed) >= 12
    assert max(missed) < 0.25


def test_the_library_is_built_in_a_copy_of_the_package(module, tmp_path):
    """It has the same sources, and no library."""
    build = module('library_build')
    build.copy_package(tmp_path)
    code = ('from opspace_control import library\n'
            f'path = library.library_path(); assert path.parents[2].samefile({str(tmp_path)!r})\n'
            f'assert path.name == {library.library_path().name!r} and not path.exists()')
    assert build.cpu_time(('-c', code), tmp_path) > 0.0
    with pytest.raises(OpspaceError, match=r'cannot be built: no linker$'):
        build.cpu_time(('-c', 'raise SystemExit("no linker")'), tmp_path)


def test_cpu_time_is_that_of_children_too(module, tmp_path):
    build = module('library_build')
    busy = 'import time\nwhile time.process_time() < 0.5: pass'
    parent = f'import subprocess, sys\nsubprocess.run([sys.executable, "-c", {busy!r}])'
    assert build.cpu_time(('-c', parent), tmp_path) > 0.5
    assert build.cpu_time(('-c', 'import time; time.sleep(0.5)'), tmp_path) < 0.4


def test_the_constants_that_are_measured_are_where_the_table_says(module):
    constants = module('constants')
    page = (share_directory() / 'doc' / 'measurements' / 'constants.md').read_text()
    for constant in constants.CONSTANTS:
        path, name, value, (half, twice) = constants.values_of(constant)
        assert 0.0 < half < value <= twice
        assert f'`{path.relative_to("opspace_control")}`, `{name}`, {value:g}' in page
