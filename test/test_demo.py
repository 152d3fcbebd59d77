# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The demo: its plans on real robots, and all of it as a user runs it."""

import io
import math
import os
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from opspace_control import RobotState, library
from opspace_control.cli.demo import make_record, node_parameters
from opspace_control.cli.processes import own_domain, private_environment
from opspace_control.cli.robots import ROBOTS
from opspace_control.cli.showcase import picture
from opspace_control.cli.showcase.client import Sight
from opspace_control.cli.showcase.experiments import all_experiments
from opspace_control.cli.showcase.nodes import Status
from opspace_control.cli.showcase.record import Record
from opspace_control.cli.showcase.schedule import Reach, make_schedule
from opspace_control.model import KinematicTree
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.parameter_file import refusals
from opspace_control.ros.parameters.robot import apply_gains, make_controller
from opspace_control.ros.parameters.simulator_parameters import INITIAL_POSITION, simulator_table
from opspace_control.simulation import Box, SimulatedRobot

SECONDS = 20.0
# Demos that do more than those of the documentation: test_docs.py leaves these out.
OWN = ('--urdf', 'my_robot.urdf', '--frames', 'left_tool,right_tool', '--seconds', '5',
       '--output', 'demo.png')
VIEWED = ('--robot', 'planar_3r', '--seconds', '5', '--view', '--record', 'run.mcap',
          '--output', 'demo.png')
ROOT = Path(__file__).parents[1]
URDF = ROOT / 'urdf'
# Whatever the folder, this package.
HERE = {'PYTHONPATH': os.pathsep.join(
    filter(None, (str(ROOT), os.environ.get('PYTHONPATH'))))}


def run(*arguments, folder=ROOT, modules=''):
    """
    Start the demo; a shell without job control would have it ignore SIGINT.

    ``modules`` is a folder of modules that it and its nodes import before others.
    """
    environment = os.environ | HERE
    if modules:
        environment['PYTHONPATH'] = f'{modules}{os.pathsep}{HERE["PYTHONPATH"]}'
    return subprocess.Popen(
        [sys.executable, '-m', 'opspace_control.cli.main', 'demo', *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        cwd=folder, env=environment)


def write_own_robot(folder):
    """Write the robot of doc/tutorials/your_robot.md into a folder."""
    text = (URDF / 'dual_arm.urdf').read_text()
    for ours, yours in (('l_hand', 'left_tool'), ('r_hand', 'right_tool')):
        text = text.replace(f'"{ours}"', f'"{yours}"')
    (folder / 'my_robot.urdf').write_text(text)


def nodes_of(domain_line):
    """Return the ids of the nodes that run on the domain a demo has named."""
    domain = domain_line.split()[0].split('=')[1]
    found = []
    for path in Path('/proc').glob('[0-9]*/environ'):
        try:
            environment = path.read_bytes().split(b'\0')
            command = (path.parent / 'cmdline').read_bytes()
        except OSError:
            continue
        if f'ROS_DOMAIN_ID={domain}'.encode() in environment and b'opspace_demo_' in command:
            found.append(int(path.parent.name))
    return found


class TestKinematics:

    @pytest.mark.parametrize('name', ['dual_arm', 'planar_3r'])
    def test_bent_posture_can_move_in_all_directions(self, name):
        robot = SimulatedRobot((URDF / f'{name}.urdf').read_text())
        known = next(robot for robot in ROBOTS if robot.name == name)
        reach = Reach(robot, known.hands, known.axes)
        posture = reach.bent_posture()
        assert np.linalg.svd(reach.jacobian(posture), compute_uv=False)[-1] > 0.03
        assert (posture >= robot.lower_position_limits).all()
        assert (posture <= robot.upper_position_limits).all()


@pytest.mark.parametrize('known', ROBOTS, ids=lambda known: known.name)
def test_plan_suits_the_robot(known):
    """Every goal is a pose that the hands can have, and the rocking moves them not at all."""
    robot = SimulatedRobot(known.path().read_text())
    robot.reset(known.start)
    start = robot.positions
    reach = Reach(robot, known.hands, known.axes, known.driven)
    plan = make_schedule(reach, start, SECONDS)
    assert len(plan.goals) == 4
    assert plan.length == pytest.approx(SECONDS)
    # A goal stops to the bit when the next begins: what is seen then belongs to one of them only.
    np.testing.assert_array_equal(plan.stops[:-1], plan.starts[1:])
    for goals in plan.goals:
        posture, easy = reach.posture_at(goals, start)
        assert easy
        assert abs(reach.errors(goals, reach.poses(posture))).max() < 1e-3
    moved = np.array([plan.center[joint] + 0.01 * plan.swing.get(joint, 0.0)
                      / max(map(abs, plan.swing.values())) for joint in reach.joints])
    assert abs(reach.errors(plan.home, reach.poses(moved))).max() < 1e-3
    assert abs(plan.swing[plan.joint]) >= (0.01 if plan.unit == 'm' else 0.07)
    steps = np.linalg.norm(np.diff(plan.goals[:, :, :3], axis=0), axis=-1)
    assert steps.max() > 0.05


def sight(reach, time, posture, effort):
    """Return what is seen of a robot at rest."""
    return Sight(time, dict(zip(reach.joints, posture, strict=True)),
                 dict.fromkeys(reach.joints, 0.0), dict.fromkeys(reach.joints, effort))


class TestRecord:

    @pytest.fixture
    def record(self):
        known = ROBOTS[0]
        robot = SimulatedRobot(known.path().read_text())
        robot.reset(known.start)
        start = robot.positions
        reach = Reach(robot, known.hands, known.axes)
        plan = make_schedule(reach, start, SECONDS)
        limits = dict.fromkeys(reach.joints, 10.0) | {reach.joints[0]: math.inf}
        return Record(plan, reach, ('left_hand', 'right_hand'), limits), reach, start

    def follow(self, record, reach, start, reached):
        postures = {}
        for now in np.arange(0.0, SECONDS, 0.2):
            goal = record.plan.goal_at(now)
            if goal not in postures:
                goals = record.plan.goals[goal] if goal >= 0 else record.plan.home
                postures[goal] = (
                    reach.posture_at(goals, start)[0] if goal < reached else start + 0.1)
            record.add(now, sight(reach, now, postures[goal], 5.0))

    def test_success(self, record):
        record, reach, start = record
        self.follow(record, reach, start, reached=4)
        assert record.reached()
        assert 'goal 4' in record.table()
        assert '50 % of its limit' in record.table()

    def test_failure(self, record):
        record, reach, start = record
        self.follow(record, reach, start, reached=3)
        assert not record.reached()

    def test_an_unfinished_demo_is_no_success(self, record):
        record, reach, start = record
        record.add(0.0, sight(reach, 0.0, start, 0.0))
        assert not record.reached()


class Showing:
    """What `opspace demo --experiment` puts together, in this process and for some cycles."""

    def __init__(self, asked):
        self.asked, self.robot = asked, asked.robot
        self.text = self.robot.path().read_text()
        self.parameters = node_parameters(asked)
        values = self.parameters['controller']
        table = table_of(values)
        assert list(refusals(values, table)) == []
        values = {parameter.name: parameter.default for parameter in table} | values
        self.controller, self.joints = make_controller(
            self.text, values, floating_base=values['floating_base'])
        apply_gains(self.controller, values, values)
        self.simulated = self.simulate()
        self.first = 6 * self.robot.floating_base  # of the joints among the degrees of freedom
        self.state = RobotState(self.controller.model, self.controller.model.neutral(),
                                np.zeros(self.controller.model.nv))

    def simulate(self):
        """Return the robot that the simulator's parameters describe."""
        values = self.parameters['simulator']
        tree = KinematicTree.from_urdf(self.text, floating_base=self.robot.floating_base)
        table = [*simulator_table(values), *(INITIAL_POSITION.named(f'initial_positions.{joint}')
                                             for joint in tree.joint_names)]
        assert list(refusals(values, table)) == []
        boxes = [Box(name, **{key.partition('.')[2]: value for key, value in values.items()
                              if key.startswith(f'{name}.')})
                 for name in values.get('objects', [])]
        robot = SimulatedRobot(self.text, floating_base=self.robot.floating_base, objects=boxes,
                               gravity=values.get('gravity', (0.0, 0.0, -9.81)))
        robot.reset({name.removeprefix('initial_positions.'): value
                     for name, value in values.items() if name.startswith('initial_positions.')},
                    **({'base_twist': self.robot.drift} if self.robot.floating_base else {}))
        return robot

    def see(self, time):
        """Go on for one cycle; return what is seen, as at another time."""
        robot = self.simulated
        base = ((robot.base_pose, robot.base_twist) if self.robot.floating_base
                else (np.zeros(0), np.zeros(0)))
        self.state.update(np.concatenate([base[0], robot.positions]),
                          np.concatenate([base[1], robot.velocities]))
        efforts = self.controller.compute_torque(self.state)[self.first:]
        robot.set_effort(efforts)
        robot.step()
        columns = (dict(zip(robot.joint_names, column.tolist(), strict=True))
                   for column in (robot.positions, robot.velocities, efforts))
        return Sight(time, *columns, *(base if self.first else ()))

    def record(self, rows=24):
        """Return a Record of so many cycles, spread over the time of the experiment."""
        record = make_record(self.asked, self.text)
        for task, goal in zip(record.hands, record.plan.goals[-1], strict=True):
            self.controller.tasks[task].set_target(goal)
        for now in np.linspace(0.0, record.plan.length, rows):
            record.add(now, self.see(now))
        return record


@pytest.mark.parametrize('asked', [one for one in all_experiments() if one.compare is None],
                         ids=lambda asked: asked.name)
def test_every_experiment_is_put_together_judged_and_drawn(asked, tmp_path, monkeypatch):
    """Its physics is in test_experiments.py and others, two of them are run below as they are."""
    record = Showing(asked).record()
    loads = record.loads[1]
    assert np.isfinite(loads).all() and loads.any()
    findings = asked.findings(record.course())
    assert findings and all(np.isfinite(finding.value) for finding in findings)
    assert not all(finding.met for finding in findings)  # in a few milliseconds
    drawn = []
    monkeypatch.setattr(picture.plt, 'close', drawn.append)
    picture.draw(record, asked.summary, record.skeletons(), tmp_path / 'picture.png')
    (figure,) = [one for one in drawn if one != 'all']  # which old Matplotlib begins with
    panels = figure.axes
    assert len(panels) == 5 + bool(asked.robot.body)
    assert all(panel.get_title(loc='left') and panel.lines for panel in panels)
    assert asked.joint in panels[3].get_title(loc='left')
    assert panels[-1].get_xlabel() == 'time, s'
    assert panels[-1].get_xlim() == (0.0, record.plan.length)
    monkeypatch.undo()
    picture.plt.close(figure)


class TestStatus:

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def test_terminal_line_is_written_anew(self):
        stream = self.Terminal()
        with Status(stream) as status:
            status.show('one')
            status.show('too soon')
            status.line('kept')
        assert stream.getvalue() == '\r\x1b[Kone\r\x1b[Kkept\n\r\x1b[K'

    def test_log_has_whole_lines(self):
        stream = io.StringIO()
        with Status(stream) as status:
            status.show('one')
            status.show('too soon')
        assert stream.getvalue() == 'one\n'


def test_domains_are_not_shared():
    with own_domain() as first, own_domain() as second:
        assert first != second


def test_private_environment_leads_to_no_robot(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', '0')
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    environment = private_environment(7)
    assert environment['ROS_DOMAIN_ID'] == '7'
    assert environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'


def test_list():
    out, _ = run('--list').communicate(timeout=120)
    assert [line.split()[0] for line in out.splitlines()] == [robot.name for robot in ROBOTS]


def test_help_names_every_experiment():
    out, _ = run('--help').communicate(timeout=120)
    words = set(re.findall(r'\w+', out.split('--experiment NAME')[-1].split('--untold')[0]))
    assert words >= {one.name for one in all_experiments()}


@pytest.mark.parametrize(('arguments', 'complaint'), [
    (['--robot', 'dual_amr'], 'dual_arm'),
    (['--experiment', 'torsos'], 'torso'),
    (['--experiment', 'damping', '--view'], 'Leave out --view'),
    (['--urdf', 'x.urdf'], 'belong together'),
    (['--seconds', '1'], '--seconds'),
    (['--urdf', '/no/such.urdf', '--frames', 'a'], 'cannot be read'),
    (['--urdf', str(URDF / 'planar_3r.urdf'), '--frames', 'hnad'], 'hand'),
])
def test_mistakes_are_explained(arguments, complaint):
    process = run(*arguments)
    out, _ = process.communicate(timeout=240)
    assert process.returncode in (1, 2)
    assert complaint in out
    assert 'Traceback' not in out


class TestRun:
    """The demo itself. Real time on a machine that may be busy: the numbers are not strict."""

    def size(self, picture):
        """Return width and height of a PNG."""
        data = picture.read_bytes()
        assert data.startswith(b'\x89PNG')
        return struct.unpack('>II', data[16:24])

    def test_hands_reach_their_goals(self, tmp_path):
        """
        No compiler is needed where there is a library.

        The demo and its nodes would end with an error where one of them imports it.
        """
        write_own_robot(tmp_path)
        (tmp_path / 'modules').mkdir()
        if library.is_there():
            for name in ('numba', 'llvmlite'):
                (tmp_path / 'modules' / f'{name}.py').write_text(
                    f'raise SystemExit("{name} is imported")')
        process = run(*OWN, folder=tmp_path, modules=tmp_path / 'modules')
        out, _ = process.communicate(timeout=600)
        assert process.returncode == 0, out
        assert 'first effort command after' in out
        assert all(hand in out for hand in ('left_hand', 'right_hand'))
        width, height = self.size(tmp_path / 'demo.png')
        assert width > 1000
        assert height > 600
        domain = next(line for line in out.splitlines() if line.startswith('ROS_DOMAIN_ID'))
        assert not nodes_of(domain)

    def test_an_experiment_is_judged(self, tmp_path):
        picture = tmp_path / 'carry.png'
        process = run('--experiment', 'carry', '--output', picture)
        out, _ = process.communicate(timeout=600)
        assert process.returncode == (1 if 'NOT MET' in out else 0), out
        assert 'the box is lifted' in out
        assert self.size(picture)

    def test_a_study_needs_no_ros(self, tmp_path):
        picture = tmp_path / 'damping.png'
        process = run('--experiment', 'damping', '--output', picture)
        out, _ = process.communicate(timeout=600)
        assert process.returncode == 0, out
        assert 'they still move' in out
        assert self.size(picture)

    def test_view_shows_it_and_the_robot_is_left_to_the_viewers(self, tmp_path):
        pytest.importorskip('viser', reason='viser is not installed')
        from viewer import Viewer
        pytest.importorskip('mcap_ros2', reason='mcap-ros2-support is not installed')
        from opspace_control.runs.run import Run
        process = run(*(tmp_path / each if '.' in each else each for each in VIEWED))
        said = []
        while not said or 'The robot is yours' not in said[-1]:
            said.append(process.stdout.readline())
            assert said[-1], ''.join(said)
        viewer = Viewer(re.search(r'http://[^ ]+', said[-1]).group())
        viewer.expect(lambda: '/robot/goal of hand' in viewer.nodes)
        viewer.close()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0, ''.join(said) + out
        assert self.size(tmp_path / 'demo.png')
        recorded = Run(tmp_path / 'run.mcap')
        assert recorded.parameters['tasks'] == ['hand']
        assert recorded.duration > 5.0

    @pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_leaves_no_process_behind(self, tmp_path, number):
        process = run('--output', tmp_path / 'demo.png')
        assert process.stdout.readline().startswith(f'{ROBOTS[0].name}: ')
        domain = process.stdout.readline()
        assert domain.startswith('ROS_DOMAIN_ID')
        until = time.monotonic() + 60.0
        while len(nodes_of(domain)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(nodes_of(domain)) == 2
        os.kill(process.pid, number)
        out, _ = process.communicate(timeout=120)
        assert process.returncode == (130 if number == signal.SIGINT else -number), out
        assert 'Traceback' not in out
        until = time.monotonic() + 60.0
        while nodes_of(domain) and time.monotonic() < until:
            time.sleep(0.05)
        assert not nodes_of(domain)
