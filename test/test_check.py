# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace check`, run as a user runs it: what it says is true, and what is wrong has a cure."""

import contextlib
import functools
import inspect
import io
import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest
import robots

from opspace_control import ModelError, OperationalSpaceController, PoseTask, RobotModel, RobotState
from opspace_control.cli.check import main, write
from opspace_control.cli.preflight.report import cycle_time, examine
from opspace_control.cli.preflight.tree import draw, moving_bodies, tool_frames
from opspace_control.cli.robots import ROBOTS
from opspace_control.model.urdf import read_urdf

ROOT = Path(__file__).parents[1]
PLANAR = str(ROOT / 'urdf/planar_3r.urdf')
DUAL_ARM = str(ROOT / 'urdf/dual_arm.urdf')
# Only this package and the standard library are on the path of the environment's interpreter.
WITHOUT_ROS = """\
import sys
for name in ('rclpy', 'std_msgs', 'rcl_interfaces', 'mujoco', 'matplotlib'):
    sys.modules[name] = None
from opspace_control.cli.main import main
sys.exit(main(['check', *sys.argv[1:]]))"""


@functools.cache
def check(*arguments):
    """Return what a check answers, run in this process: it takes a second to start one."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as left:
            code = left.code
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


def check_without_ros(*arguments):
    return subprocess.run([sys.executable, '-c', WITHOUT_ROS, *arguments], cwd=ROOT, check=False,
                          capture_output=True, text=True)


def facts(*arguments):
    """Return the report as JSON gives it, exit code and verdict agreeing."""
    process = check(*arguments, '--json')
    report = json.loads(process.stdout, parse_constant=pytest.fail)
    assert process.returncode == ['OK', 'WARN', 'FAIL'].index(report['verdict'])
    assert report['verdict'] in {finding['level'] for finding in report['findings']}
    return report


def said(report, level):
    return [f'{finding["what"]} {finding["cure"]}' for finding in report['findings']
            if finding['level'] == level]


@pytest.fixture
def failures(capsys):
    """Return what fails, as a process says it; a person is told the same."""
    def fail(*arguments):
        report = facts(*arguments)
        assert report['verdict'] == 'FAIL'
        assert 'Traceback' not in check(*arguments, '--json').stderr
        assert main(arguments) == 2
        told = ' '.join(capsys.readouterr().out.replace('→', '').split())
        assert all(' '.join(failure.split()) in told for failure in said(report, 'FAIL'))
        return '\n'.join(said(report, 'FAIL'))
    return fail


@pytest.fixture
def parameters(tmp_path):
    def write_file(text):
        path = tmp_path / 'parameters.yaml'
        path.write_text(text)
        return str(path)
    return write_file


def pinocchio_model(robot):
    path = str(robot.path())
    if robot.floating_base:
        return pinocchio.buildModelFromUrdf(path, pinocchio.JointModelFreeFlyer())
    return pinocchio.buildModelFromUrdf(path)


class TestDemoRobots:

    @pytest.fixture(params=ROBOTS, ids=lambda robot: robot.name)
    def robot(self, request):
        return request.param

    def test_passes_with_its_parameters(self, robot):
        process = check(str(robot.path()), str(ROOT / 'config' / f'{robot.name}.yaml'))
        assert process.returncode == (0 if robot.ours else 1), process.stdout
        lines = process.stdout.splitlines()
        assert max(map(len, lines[1:])) <= 100  # the first has the paths
        assert '\x1b' not in process.stdout
        assert all(line == line.rstrip() for line in lines)

    def test_gravity_is_that_of_pinocchio(self, robot):
        report = facts(str(robot.path()), str(ROOT / 'config' / f'{robot.name}.yaml'))
        model = pinocchio_model(robot)
        q = pinocchio.neutral(model)
        expected = {}
        at_home = report['home']['positions']
        for name, joint in zip(model.names, model.joints, strict=True):
            if name in at_home:
                q[joint.idx_q:joint.idx_q + joint.nq] = at_home[name] if joint.nq == 1 else (
                    np.cos(at_home[name]), np.sin(at_home[name]))
        for follower, (leader, factor, offset) in report['robot']['mimics'].items():
            joint = model.joints[model.getJointId(follower)]
            q[joint.idx_q] = factor * at_home[leader] + offset
        gravity = pinocchio.computeGeneralizedGravity(model, model.createData(), q)
        for name, joint in zip(model.names, model.joints, strict=True):
            if joint.nv == 1:
                expected[name] = gravity[joint.idx_v]
            elif name == 'root_joint':
                # Along its own axes, which are the world's at home.
                expected |= dict(zip(('base/x', 'base/y', 'base/z'), gravity[:3], strict=True))
        for joint in report['joints']:
            assert joint['gravity'] == pytest.approx(expected[joint['name']], abs=1e-9)
            assert joint['largest_gravity'] >= abs(joint['gravity'])
            if joint['effort']:
                assert joint['gravity_share'] == pytest.approx(
                    abs(joint['gravity']) / joint['effort'])

    def test_facts(self, robot):
        report = facts(str(robot.path()), str(ROOT / 'config' / f'{robot.name}.yaml'))
        model = pinocchio.buildModelFromUrdf(str(robot.path()))
        total = sum(inertia.mass for inertia in model.inertias)
        moving = sum(body['mass'] for body in report['tree'][1:])
        assert moving == pytest.approx(total - model.inertias[0].mass, rel=1e-12)
        assert report['robot']['mass'] == pytest.approx(total, rel=1e-12)
        assert report['home']['given']
        for name, value in robot.start.items():
            assert report['home']['positions'][name] == value
        assert report['cycle']['median'] > 0.0
        for task, hand in zip(report['tasks'], robot.hands, strict=True):
            assert task['frame'] == hand
            assert task['rank'] == task['wanted'] == len(robot.axes.split())


@pytest.mark.parametrize('arguments', [
    (DUAL_ARM, str(ROOT / 'config' / 'dual_arm.yaml')), (PLANAR, '--home', 'ellbow=1')],
    ids=['good', 'bad'])
def test_a_process_without_ros_says_the_same(arguments):
    ours, theirs = check(*arguments, '--json'), check_without_ros(*arguments, '--json')
    assert theirs.returncode == ours.returncode, theirs.stderr
    reports = [json.loads(answer.stdout) for answer in (ours, theirs)]
    for report in reports:
        report.pop('cycle', None)  # of which the times differ
        report['findings'] = [finding for finding in report['findings']
                              if 'cycle' not in finding['what']]
        assert any('efforts are late' in finding['what'] for finding in report['findings'])
    assert reports[0] == reports[1]


class TestTasks:

    @pytest.mark.parametrize('bound', [10.0, 4.0, 0.0])
    def test_says_what_moves_a_hand_by_how_much(self, parameters, bound):
        """Millimetres and degrees, each number with its meaning in the head of the table."""
        path = parameters('opspace_controller:\n  ros__parameters:\n    tasks: [hand]\n'
                          f'    hand: {{axes: x z}}\n    disturbance: {{max_force: {bound}}}\n')
        arguments = PLANAR, path, '--home', 'shoulder=0.9,elbow=-1.2,wrist=-0.6'
        (sag,) = (task['sag'] for task in facts(*arguments)['tasks'])
        lines = check(*arguments).stdout.splitlines()
        head = next(k for k, line in enumerate(lines) if 'moved by 1 kg' in line)
        assert re.split(r'  +', lines[head].strip()) == [
            'moved by 1 kg at its frame', 'gains alone', 'with disturbance.*']
        name, *cells = re.split(r'  +', lines[head + 1].strip())
        assert name == 'hand'
        for cell, key in zip(cells, ('bare', 'compensated'), strict=True):
            moved, turned = re.fullmatch(r'(\d+) mm, ([\d.]+)°', cell).groups()
            assert float(moved) == pytest.approx(1e3 * sag[key][0], abs=0.5)
            assert float(turned) == pytest.approx(np.degrees(sag[key][1]), abs=0.05)
        assert sag['bare'][0] > 5e-3
        assert (sag['compensated'][0] == sag['bare'][0]) == (bound == 0.0)

    def test_a_planar_arm_reaches_three_of_six_axes(self):
        report = facts(PLANAR, '--frames', 'hand', '--home', 'shoulder=0.9,elbow=-1.2,wrist=-0.6')
        task, = report['tasks']
        assert (task['rank'], task['best_rank'], task['wanted']) == (3, 3, 6)
        assert [axis for _, axis in task['never_movable']] == ['y', 'rx', 'rz']
        assert report['together']['redundancy'] == 0
        warning, = said(report, 'WARN')
        assert "axes: 'x z ry'" in warning

    @pytest.mark.parametrize('locked', ['shoulder_pan', 'elbow', 'wrist_2', 'wrist_3'])
    def test_axes_to_write_are_independent_though_none_is_immovable(self, parameters, locked):
        """Five joints move a tool along all six axes, five of them at once."""
        ur5 = robots.robot_file('ur_description/urdf/ur5_robot.urdf')
        home = {'shoulder_lift_joint': -1.2, 'elbow_joint': 1.4, 'wrist_2_joint': 1.0}
        text = """\
opspace_controller:
  ros__parameters: {{tasks: [tool0], locked_joints: [{0}_joint], tool0: {{axes: '{1}'}}}}
"""
        report = examine(ur5, parameters(text.format(locked, 'x y z rx ry rz')), home=home)
        task, = report['tasks']
        assert (task['rank'], task['never_movable']) == (5, [])
        warning, = (text for text in said(report, 'WARN') if '5 of 6 axes' in text)
        axes = re.search("axes: '(.*)'", warning)[1]
        assert axes.startswith('x y z ')
        report = examine(ur5, parameters(text.format(locked, axes)), home=home)
        assert any('5 of 5 axes at home' in text for text in said(report, 'OK'))

    def test_a_task_of_joints_is_looked_at_too(self, parameters):
        file = parameters("""\
opspace_controller:
  ros__parameters:
    tasks: [arm]
    arm: {type: joint, joints: [shoulder, wrist]}
""")
        report = facts(PLANAR, file)
        assert report['joint_tasks'] == [{'name': 'arm', 'joints': ['shoulder', 'wrist']}]
        assert report['cycle']['median'] > 0.0
        assert 'arm: shoulder, wrist' in check(PLANAR, file).stdout

    def test_a_straight_arm_is_singular_along_itself(self):
        home = f'shoulder={np.pi / 4},elbow=0,wrist=0'
        report = facts(PLANAR, '--frames', 'hand', '--home', home)
        task, = report['tasks']
        assert (task['rank'], task['best_rank']) == (2, 3)
        direction, = task['weak']
        wrench = {part['axis']: part['component'] for part in direction['wrench']}  # sans zeros
        assert {'ry': 0.0} | wrench == pytest.approx({'x': 1.0, 'z': 1.0, 'ry': 0.0}, abs=1e-6)
        assert any('singular at home' in warning for warning in said(report, 'WARN'))

    def test_a_nearly_straight_arm_is_near_a_singularity(self, parameters):
        path = parameters('/**:\n  ros__parameters: {tasks: [hand], hand: {axes: x z ry}}')
        report = facts(PLANAR, path, '--home', 'shoulder=0,elbow=0.1,wrist=0')
        assert report['tasks'][0]['rank'] == 3
        warning, = said(report, 'WARN')
        assert 'near a singularity' in warning
        assert 'x hardly accelerates' in warning

    @pytest.mark.parametrize(('axes', 'elbow', 'warned'), [
        ('x', 0.1, True), ('x', 0.2, False), ('x z ry', 0.1, True), ('x z ry', 0.2, False)])
    def test_near_is_what_the_controller_soon_releases(self, parameters, axes, elbow, warned):
        """Axes share its threshold: 0.033 is near for one, and 0.019 is not for three."""
        path = parameters(
            f'/**:\n  ros__parameters: {{tasks: [hand], hand: {{axes: {axes}}}}}')
        report = facts(PLANAR, path, '--home', f'shoulder=0,elbow={elbow},wrist=0')
        task, = report['tasks']
        usual = inspect.signature(OperationalSpaceController).parameters[
            'singularity_threshold'].default
        least = task['least_eigenvalue'] * len(task['axes'])
        assert (least < 2.0 * usual) == warned
        assert any('near a singularity' in warning for warning in said(report, 'WARN')) == warned

    def test_two_tasks_for_the_same_link_hinder_each_other(self):
        report = facts(DUAL_ARM, '--frames', 'l_hand,l_palm')
        assert [task['rank'] for task in report['tasks']] == [6, 6]
        assert report['together']['rank'] == 6
        assert any('6 of the 12 directions' in warning for warning in said(report, 'WARN'))

    def test_a_frame_that_no_joint_moves_fails(self, failures):
        assert "frame 'base_link'" in failures(PLANAR, '--frames', 'base_link')

    def test_a_free_base_is_not_a_drive(self):
        report = facts(DUAL_ARM, '--frames', 'l_hand', '--floating-base')
        assert report['robot']['passive'] == [
            'base/x', 'base/y', 'base/z', 'base/rx', 'base/ry', 'base/rz']
        assert report['together']['redundancy'] == 17 - 6

    @pytest.mark.parametrize(('frame', 'forces', 'warned'), [
        ('r_hand', '{}', True),
        # A spring carries it.
        ('r_hand', '{r_wrist_roll: {stiffness: 1.0, rest: -0.08595}}', False),
        ('r_wrist_pitch_link', '{}', False)])
    def test_gravity_turns_a_passive_joint(self, parameters, frame, forces, warned):
        report = facts(DUAL_ARM, parameters(f"""\
/**/opspace_controller:
  ros__parameters:
    tasks: [left, right]
    left: {{frame: l_hand}}
    right: {{frame: {frame}}}
    passive_joints: [r_wrist_roll]
    passive_forces: {forces}
opspace_simulator:
  ros__parameters:
    initial_positions: {{r_shoulder_pitch: 0.2, r_shoulder_roll: -0.2, r_elbow: -1.7}}
"""))
        warnings = [each for each in said(report, 'WARN') if 'gravity turns' in each]
        assert len(warnings) == len(report['unbalanced']) == warned
        for warning in warnings:
            assert "Task 'right' moves what the passive joint 'r_wrist_roll' carries" in warning
            assert '0.086 N·m' in warning and "move 'r_wrist_pitch_link'" in warning

    def test_no_task_is_a_warning(self):
        report = facts(PLANAR)
        assert report['together'] is None
        assert any('--frames hand,' in warning for warning in said(report, 'WARN'))

    @pytest.mark.parametrize(('robot', 'tools'), [
        ('tiago_dual', ['hand_left_grasping_frame', 'hand_right_grasping_frame']),
        ('pr2', ['r_gripper_tool_frame', 'l_gripper_tool_frame']),
        ('baxter', ['right_gripper', 'left_gripper']),
        ('humanoid', ['l_hand', 'r_hand']),
        ('planar_3r', ['hand']),
        ('talos', ['wrist_left_ft_tool_link', 'wrist_right_ft_tool_link', 'left_sole_link',
                   'right_sole_link']),
    ])
    def test_tool_frames_are_no_wheels_jaws_or_heads(self, robot, tools):
        path, = (each.path() for each in ROBOTS if each.name == robot)
        assert tool_frames(moving_bodies(read_urdf(path.read_bytes()))) == tools


class TestHome:

    def test_a_task_that_is_named_twice_fails(self, parameters, failures):
        """The node refuses it."""
        path = parameters("""\
opspace_controller:
  ros__parameters:
    tasks: [hand, hand]
""")
        assert "tasks = ['hand', 'hand'] names one twice" in failures(PLANAR, path)

    def test_beyond_a_limit_fails(self, failures):
        failed = failures(PLANAR, '--frames', 'hand', '--home', 'elbow=2.9')
        assert "'elbow'" in failed
        assert '2.9' in failed

    def test_close_to_a_limit_warns(self):
        report = facts(PLANAR, '--home', 'elbow=2.75,wrist=1')
        assert any('close to a position limit: elbow.' in text for text in said(report, 'WARN'))

    def test_unknown_joint_is_named_with_its_neighbours(self, failures):
        failed = failures(PLANAR, '--home', 'elbo=1')
        assert "'elbo'" in failed
        assert "'elbow'" in failed

    def test_others_start_at_zero_or_the_nearest_limit(self):
        panda = str(robots.robot_file('panda_description/urdf/panda.urdf'))
        positions = facts(panda, '--home', 'panda_joint1=0.5')['home']['positions']
        assert positions['panda_joint1'] == 0.5
        assert positions['panda_joint2'] == 0.0
        assert positions['panda_joint4'] == -0.0698

    @pytest.mark.parametrize('text', ['elbow', 'elbow=', 'elbow=a', 'elbow=nan'])
    def test_nonsense_is_a_matter_of_usage(self, text):
        process = check(PLANAR, '--home', text)
        assert process.returncode == 2
        assert text in process.stderr
        assert 'usage: opspace check' in process.stderr


class TestBadRobots:

    @pytest.mark.parametrize('content', [
        '', 'no XML', '<robot name="r"><link name="a"/>', robots.robot(robots.link('a')),
        robots.robot(robots.link('a'), robots.link('b')),
        robots.robot(robots.link('a'), robots.joint('j', 'a', 'b')),
        robots.robot(robots.link('a'), robots.link('b', mass=-1.0), robots.joint('j', 'a', 'b')),
    ], ids=['empty', 'text', 'cut', 'fixed', 'two roots', 'no child', 'negative mass'])
    def test_are_told_as_the_model_tells_it(self, content, tmp_path, failures):
        path = tmp_path / 'bad.urdf'
        path.write_text(content)
        with pytest.raises(ModelError) as caught:
            RobotModel.from_urdf_file(path)
        assert failures(str(path)).split() == str(caught.value).split()

    def test_missing_file(self, failures):
        assert 'No such file' in failures('nowhere.urdf')

    def test_limits_that_are_missing_or_absurd_are_listed(self, tmp_path):
        path = tmp_path / 'robot.urdf'
        limits = ('<limit lower="-1" upper="1" effort="1e6" velocity="1"/>',
                  '<limit lower="-1" upper="1" effort="0" velocity="1"/>',
                  '<limit lower="-1" upper="1" effort="9" velocity="9"/>')
        path.write_text(robots.robot(robots.link('l0'), *(
            robots.link(f'l{i}') + robots.joint(f'j{i}', f'l{i - 1}', f'l{i}', inner=inner)
            for i, inner in enumerate(limits, 1))))
        warnings = said(facts(str(path)), 'WARN')
        assert any('effort limit' in text and ': j1.' in text for text in warnings)
        assert any("'j2' has an effort limit of 0" in text for text in warnings)
        assert not any('j3' in text for text in warnings)

    def test_no_effort_at_all_fails(self, tmp_path, failures):
        path = tmp_path / 'powerless.urdf'
        text = Path(PLANAR).read_text()
        for effort in re.findall(r'effort="\d+"', text):
            path.write_text(text := text.replace(effort, 'effort="0"', 1))
        assert 'effort limit of every commanded joint is 0' in failures(str(path))
        one = tmp_path / 'weak.urdf'
        one.write_text(text.replace('effort="0"', 'effort="1"', 1))
        assert facts(str(one))['verdict'] == 'WARN'

    def test_joints_that_cannot_brake_are_named_where_limits_are_to_be_kept(self, parameters):
        strong = examine(PLANAR)
        assert any('can brake in every posture' in text for text in said(strong, 'OK'))
        weak = examine(str(ROOT / 'urdf/humanoid.urdf'))
        named, = (text for text in said(weak, 'OK') if 'brake' in text)
        assert 'ankle_pitch' in named
        path = parameters('/**:\n  ros__parameters: {limits: {keep: false}}')
        assert not any('brake' in text for text in said(examine(PLANAR, path), 'OK'))

    def test_a_robot_too_weak_to_stand_fails_where_it_is_to_stand(self, tmp_path, failures):
        path = tmp_path / 'weak.urdf'
        path.write_text(Path(PLANAR).read_text().replace('effort="120"', 'effort="30"'))
        failed = failures(str(path), '--frames', 'hand', '--home', 'elbow=0.5')
        assert 'shoulder' in failed
        assert facts(str(path), '--frames', 'hand')['verdict'] == 'WARN'  # nobody chose that home


class TestBadParameters:

    def test_every_mistake_is_found_at_once(self, parameters, failures):
        failed = failures(DUAL_ARM, parameters("""\
/**/opspace_controller:
  ros__parameters:
    tasks: [left, right]
    passive_joints: [torso_yow]
    update_rate: 1000
    publish_rate: -1.0
    safty: {state_timeout: 0.1}
    left: {frame: l_hand, kdd: 1.0, axes: x q}
    right: {frame: r_hnd}
    rigth: {frame: r_hand}
    posture: {joints: {l_elbow: {kp: 50.0}, l_elbov: {kp: 50.0}, r_elbow: {kq: 1.0}}}
    passive_forces: {l_wirst_roll: {stiffness: 5.0}}
opspace_simulator:
  ros__parameters:
    timestepp: 0.1
    initial_positions: {l_elbo: 0.1}
"""))
        for mistake, cure in (
                ('torso_yow', 'torso_yaw'), ('update_rate', '1000.0'), ('publish_rate', '1000 Hz'),
                ('safty.state_timeout', 'safety.state_timeout'), ('left.kdd', 'left.kd'),
                ("'x q'", 'rx'), ('r_hnd', 'r_hand'), ('rigth.frame', 'name it in tasks'),
                ('timestepp', 'timestep'), ('l_elbo', 'l_elbow'),
                ('posture.joints.l_elbov', "'l_elbow'"),
                ('posture.joints.r_elbow.kq', "'posture.joints.r_elbow.kp'"),
                ('passive_forces.l_wirst_roll', "'l_wrist_roll'")):
            assert mistake in failed, failed
            assert cure in failed, failed

    def test_a_file_without_our_node_fails(self, parameters, failures):
        failed = failures(PLANAR, parameters('opspace_controler:\n  ros__parameters: {tasks: []}'))
        assert "'opspace_controler'" in failed

    def test_grasps_and_contacts_are_looked_at(self, tmp_path, parameters, failures):
        good = """
opspace_controller:
  ros__parameters:
    tasks: [left, right]
    left: {frame: l_hand}
    right: {frame: r_hand}
    grasps: [carry]
    carry: {effectors: [r_hand, l_hand], mass: 3.0, squeeze: 20.0}
    contacts: [elbow]
    elbow: {frame: l_forearm}
opspace_simulator:
  ros__parameters:
    objects: [box]
    box: {size: [0.2, 0.5, 0.2]}
    grasps: [carry]
    carry: {effectors: [r_hand, l_hand], object: box}
"""
        path = tmp_path / 'good.yaml'
        path.write_text(good)
        assert facts(DUAL_ARM, str(path))['verdict'] != 'FAIL'
        bad = good
        for right, wrong in (('l_hand], mass', 'l_hnad], mass'), ('squeeze:', 'sqeeze:'),
                             ('l_forearm', 'l_foreram'), ('size:', 'sise:')):
            bad = bad.replace(right, wrong)
        failed = failures(DUAL_ARM, parameters(bad))
        for cure in ("'carry.squeeze'", "'l_hand'", "'l_forearm'", "'box.size'"):
            assert cure in failed

    @pytest.mark.parametrize('text', ['', '- a\n- b', 'a: [', 'opspace_controller: {tasks: [a]}'])
    def test_what_is_no_parameter_file_fails(self, parameters, text, failures):
        assert 'parameter file' in failures(PLANAR, parameters(text))

    def test_missing_file(self, failures):
        assert 'No such file' in failures(PLANAR, 'nowhere.yaml')

    def test_a_joint_without_an_effort_interface_warns(self, tmp_path):
        path = tmp_path / 'robot.urdf'
        path.write_text(Path(PLANAR).read_text().replace(
            '<command_interface name="effort"/>', '<command_interface name="position"/>', 1))
        parameters = tmp_path / 'parameters.yaml'
        parameters.write_text('/**:\n  ros__parameters: {command_joints: [shoulder, elbow, wrist]}')
        warnings = said(facts(str(path), str(parameters)), 'WARN')
        assert any('No effort command interface: shoulder.' in text for text in warnings)


    @pytest.mark.parametrize(('joints', 'interface', 'option', 'level'), [
        ('[elbow]', 'position', '', 'WARN'),
        ('[elbow]', 'position', '{}: true', 'WARN'),
        ('[elbow]', 'position', '{}: false', 'OK'),
        ('[elbow]', 'effort', '', 'OK'),
        ('[gripper]', 'position', '', None),
    ])
    def test_a_trajectory_controller_that_returns_to_its_old_command_warns(
            self, parameters, joints, interface, option, level):
        option = option.format('set_last_command_interface_value_as_state_on_activation')
        path = parameters(f"""\
/**/controller_manager:
  ros__parameters:
    arm_controller: {{type: joint_trajectory_controller/JointTrajectoryController}}
/**/arm_controller:
  ros__parameters:
    joints: {joints}
    command_interfaces: [{interface}]
    {option}
/**/opspace_controller:
  ros__parameters: {{tasks: [hand]}}
""")
        report = facts(PLANAR, path)
        assert {each: [text for text in said(report, each) if 'arm_controller' in text] != []
                for each in ('OK', 'WARN', 'FAIL')} == {
            each: each == level for each in ('OK', 'WARN', 'FAIL')}


class TestTree:

    @staticmethod
    def lines(text):
        description = read_urdf(text)
        return [names for names, *_ in draw(moving_bodies(description))]

    def test_only_a_branch_goes_deeper(self):
        parts = [robots.link(name) for name in 'abcdef']
        parts += [robots.joint('ab', 'a', 'b'), robots.joint('bc', 'b', 'c'),
                  robots.joint('cd', 'c', 'd'), robots.joint('ce', 'c', 'e'),
                  robots.joint('ef', 'e', 'f', 'fixed')]
        assert self.lines(robots.robot(*parts)) == [
            'a', '└─ ab', '   bc', '   ├─ cd', '   └─ ce']
        last = draw(moving_bodies(read_urdf(robots.robot(*parts))))[-1]
        assert last == ('   └─ ce', 'revolute', 2.0, ['e', 'f'])

    def test_a_long_run_is_one_line(self):
        names, kinds, mass, links = draw(moving_bodies(read_urdf(
            robots.chain(*['revolute'] * 30, 'prismatic'))))[-1]
        assert names == '└─ j1 … j31'
        assert kinds == '30 revolute, 1 prismatic'
        assert mass == 31.0
        assert links == ['l31']

    def test_its_columns_are_aligned(self):
        lines = check(DUAL_ARM).stdout.split('\nTree\n')[1].split('\n\n')[0].splitlines()
        assert len(lines) == 18
        assert len({re.search('  (root|revolute)', line).start() for line in lines}) == 1
        assert len({line.index(' kg') for line in lines}) == 1

    def test_depth_has_no_limit(self):
        count = 3000
        parts = [robots.link('l0')]
        for i in range(1, count):
            parts.append(robots.link(f'l{i}') + robots.joint(f'j{i}', f'l{i - 1}', f'l{i}')
                         + robots.link(f's{i}') + robots.joint(f'k{i}', f'l{i - 1}', f's{i}'))
        assert len(self.lines(robots.robot(*parts))) == 2 * count - 1


def test_a_reader_may_stop_early_and_a_terminal_be_plain():
    command = f"'{sys.executable}' -m opspace_control.cli.main check '{DUAL_ARM}'"
    process = subprocess.run(['sh', '-c', f'{command} | head -n 1'], cwd=ROOT, check=True,
                             capture_output=True, text=True)
    assert process.stderr == ''
    assert process.stdout == f'opspace check {DUAL_ARM}\n'
    process = subprocess.run(['sh', '-c', command], cwd=ROOT, check=False, capture_output=True,
                             env={**os.environ, 'PYTHONIOENCODING': 'ascii'})
    assert process.stderr == b''
    assert b'torso_pitch' in process.stdout


@pytest.mark.parametrize('path', robots.robot_files(), ids=robots.robot_id)
def test_every_real_robot_has_a_report(path):
    for floating_base in (False, True):
        report = examine(path, floating_base=floating_base)
        lines = write(report)
        assert max(map(len, lines[1:])) <= 100
        assert ('robot' in report) or report['verdict'] == 'FAIL'


class TestLoop:
    """The delay of the loop, and how much the gains tolerate."""

    TEXT = """
        opspace_controller:
          ros__parameters:
            tasks: [hand]
            update_rate: {rate}
            limits: {{return_rate: {speed}, approach_rate: 0.1}}
            hand: {{frame: hand, axes: x y rz, kp: {kp}}}
        """

    @pytest.mark.parametrize(('rate', 'kp', 'speed', 'unstable'), [
        (0.0, 100.0, 10.0, None), (100.0, 100.0, 10.0, None), (40.0, 100.0, 10.0, 'task hand'),
        (100.0, 400.0, 10.0, 'task hand'), (250.0, 100.0, 500.0, 'limits of joints')])
    def test_less_than_a_factor_of_two_is_a_warning(self, parameters, rate, kp, speed, unstable):
        """A hold of a period and a delay of a period are late by one and a half."""
        path = parameters(self.TEXT.format(rate=rate, kp=kp, speed=speed))
        report = facts(PLANAR, path)
        late = 1.5 / (rate or 1000.0)
        assert report['loop']['time'] == pytest.approx(late)
        warned = [text for text in said(report, 'WARN') if 'efforts are late' in text]
        assert len(warned) == (unstable is not None)
        margin = min(report['cycle']['margins'], key=lambda margin: margin['delay'])
        assert (2.0 * late > margin['delay']) == (unstable is not None)
        if unstable:
            assert f'the loop of {unstable} is unstable' in warned[0]

    def test_a_file_that_is_no_run_is_told(self, parameters):
        report = facts(PLANAR, '--run', parameters('no run'))
        assert any('parameters.yaml' in text for text in said(report, 'FAIL'))
        assert report['loop']['source'] == 'assumed'


class TestColour:

    @staticmethod
    def on_a_terminal(**environment):
        """Return what the process writes to a terminal."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, '-m', 'opspace_control.cli.main', 'check', 'nowhere.urdf'], cwd=ROOT,
            stdout=theirs, env={**os.environ, 'TERM': 'xterm', **environment})
        os.close(theirs)
        text = b''
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            text += part
        os.close(ours)
        assert process.wait() == 2
        return text.decode()

    def test_on_a_terminal_unless_it_is_not_wanted(self):
        plain = self.on_a_terminal(NO_COLOR='1')
        assert '\x1b' not in plain
        coloured = self.on_a_terminal(NO_COLOR='')
        assert '\x1b[1;31mFAIL' in coloured
        assert re.sub(r'\x1b\[[\d;]*m', '', coloured) == plain
        assert self.on_a_terminal(NO_COLOR='', TERM='dumb') == plain


def test_cycle_time_is_that_of_the_clock():
    model = RobotModel.from_urdf_file(PLANAR)
    controller = OperationalSpaceController(model, [PoseTask('hand')])
    state = RobotState(model, model.neutral(), np.zeros(model.nv))
    cycle_time(controller, state, calls=100)
    start = time.perf_counter()
    median = cycle_time(controller, state, calls=1000)
    assert 0.0 < median < (time.perf_counter() - start) / 500  # half of the calls take longer
