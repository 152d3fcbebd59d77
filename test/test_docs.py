# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The documentation site: it builds without a warning, and what it tells one to type works."""

import contextlib
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('mcap_ros2', reason='mcap-ros2-support is not installed')
pytest.importorskip('viser', reason='viser is not installed')
pytest.importorskip('xacro', reason='xacro is not installed')

import launch_record
import ros2_words
import ros_nodes
from reference_topics import NODES
from sensor_msgs.msg import JointState
from test_demo import HERE, OWN, VIEWED, write_own_robot

import opspace_control
from opspace_control.cli import export
from opspace_control.cli.main import VERBS
from opspace_control.cli.parameters import controller_values, simulator_values
from opspace_control.cli.processes import own_domain, private_environment
from opspace_control.cli.robots import demo_robot
from opspace_control.cli.showcase.experiments import all_experiments
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.parameter_file import ParameterFile, refusals

ROOT = Path(__file__).parents[1]
DOC, README = ROOT / 'doc', ROOT / 'README.md'
PAGES = sorted(page for page in DOC.glob('**/*.md')
               if page.relative_to(DOC).parts[0] not in ('generated', 'site'))
# Their commands are of a workspace, a robot or a file of the reader, and are only looked at.
DESCRIBED = [README, *(DOC / 'how_to' / f'{name}.md' for name in (
    'dead_drives', 'identification', 'install', 'legged_robots', 'native',
    'ros2_control', 'tasks_over_ros', 'view_and_record'))]
# What ends when the user wants it to, and what it has said by then.
ENDLESS = {
    'view': 'http://', 'replay': 'Look: ', 'record': 'Recording to', 'controller': 'Active: ',
    'simulator': 'joints driven by'}
PATIENCE = 300.0  # s, for one command on a busy machine


def blocks(page, language):
    """Return the fenced blocks of a page in a language."""
    return re.findall(rf'^```{language}\n(.*?)^```$', page.read_text(), re.MULTILINE | re.DOTALL)


def commands(page):
    """Return the commands of a page, each as a list of words."""
    text = '\n'.join(blocks(page, 'bash')).replace('\\\n', ' ')
    return [words for line in text.splitlines() if (words := shlex.split(line, comments=True))]


DONE = [page for page in PAGES if page not in DESCRIBED]
ALL = [words for page in DONE for words in commands(page)]


@pytest.fixture(scope='module')
def site(tmp_path_factory):
    pytest.importorskip('sphinx', reason='Sphinx is not installed')
    pytest.importorskip('myst_parser', reason='MyST is not installed')
    pytest.importorskip('furo', reason='Furo is not installed')
    folder = tmp_path_factory.mktemp('site')
    done = subprocess.run(
        [sys.executable, '-m', 'sphinx', '--builder', 'html', '--fail-on-warning',
         '--keep-going', '--quiet', '--define', 'execute_notebooks=0',  # test_notebooks does
         '--doctree-dir', folder / 'trees', DOC, folder / 'html'],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return folder / 'html'


class TestSite:

    def test_has_every_page(self, site):
        assert {page.relative_to(DOC).with_suffix('') for page in PAGES} <= {
            page.relative_to(site).with_suffix('') for page in site.glob('**/*.html')}

    def test_has_every_public_name(self, site):
        text = (site / 'reference' / 'api.html').read_text()
        for name in opspace_control.__all__:
            assert re.search(rf'id="opspace_control\.[\w.]*\b{name}"', text), name

    def test_reference_is_that_of_the_code(self, site):
        text = ''.join((site / 'reference' / f'{name}.html').read_text()
                       for name in ('commands', 'parameters', 'topics'))
        for name in (*(f'opspace {verb}' for verb in VERBS), 'safety.state_timeout',
                     '~/hold', '~/&lt;task&gt;/target_pose'):
            shown = ' '.join(f'<span class="pre">{part}</span>' for part in name.split())
            assert shown in text, name

    def test_needs_no_network(self, site):
        """Nothing is loaded from elsewhere; formulas are MathML."""
        class Loaded(HTMLParser):
            found = ()

            def handle_starttag(self, tag, attributes):
                given = dict(attributes)
                address = given.get('src') or (given.get('href') if tag == 'link' else None)
                if address and re.match('(https?:)?//', address):
                    self.found += (address,)
        for page in site.glob('**/*.html'):
            loaded = Loaded()
            loaded.feed(page.read_text())
            assert loaded.found == (), page.name
        assert '<math' in (site / 'explanation' / 'mathematics.html').read_text()


class Yard:
    """A folder like a reader's, and, while a page needs one, a robot under control."""

    def __init__(self, folder):
        self.folder, self.network = folder, None
        for name in ('urdf', 'config', 'examples'):
            (folder / name).symlink_to(ROOT / name)
        write_own_robot(folder)
        for language, name in (('yaml', 'my_robot.yaml'), ('python', 'send_goal.py')):
            text, = blocks(DOC / 'tutorials' / 'your_robot.md', language)
            (folder / name).write_text(text)
        self._done = set()

    @contextlib.contextmanager
    def robot(self):
        """Have controller and robot run on a network; it takes most of a core while it is there."""
        robot = demo_robot('dual_arm')
        given = {'robot_description': robot.path().read_text()}
        with ros_nodes.network() as network:
            network.environment.update(HERE)
            network.start('controller', {**given, **controller_values(robot),
                                         'safety.state_timeout': 0.0})
            network.start('simulator', {**given, **simulator_values(robot), 'pace': 'patient'})
            efforts = network.listen(JointState, f'{ros_nodes.CONTROLLER}/controller_state')
            network.expect(lambda: efforts, ros_nodes.COMPILING)
            self.network = network
            yield
            self.network = None

    def do(self, words):
        """Do a command, once; fail if it fails."""
        if tuple(words) in self._done:
            return
        match words:
            case ['opspace', 'demo', '--experiment', name]:
                # test_demo.py runs some as they are typed here, and puts all of them together, for
                # some cycles; test_experiments.py and others do them, in lock-step.
                assert name in {each.name for each in all_experiments()}
            case ['opspace', 'demo', *shown] if self._has_run(shown) and any(
                    set(shown) < set(other) for other in (*ALL, OWN, VIEWED)):
                pass  # that other demo shows the same, and more
            case ['opspace', *rest] | ['ros2', 'run', 'opspace_control', *rest]:
                self._opspace(rest)
            case ['ros2', 'launch', 'opspace_control', file, *arguments]:
                _has_arguments(file, arguments)  # test_launch.py starts it
            case ['ros2', *rest]:
                ros2_words.say(self.network, rest)
            case ['python3', script]:
                self._script(script)
            case ['make', target]:
                # What it does is said in the Makefile, and on this page as commands of opspace.
                subprocess.run(['make', '--dry-run', target], cwd=ROOT, check=True,
                               capture_output=True)
            case _:
                raise AssertionError(f'{shlex.join(words)}: how is that to be tested?')
        self._done.add(tuple(words))

    def _has_run(self, arguments):
        """Whether the file that a demo would record is there, of a page before."""
        return '--record' not in arguments or (
            self.folder / arguments[arguments.index('--record') + 1]).exists()

    def _opspace(self, words):
        verb, *arguments = words
        if '--record' in arguments or '--output' in arguments:
            option = '--record' if '--record' in arguments else '--output'
            (self.folder / arguments[arguments.index(option) + 1]).unlink(missing_ok=True)
        environment = self.network.environment if self.network else {**os.environ, **HERE}
        if verb in ENDLESS and '--seconds' not in arguments:
            self._endless(words, environment, ENDLESS[verb])
            return
        done = subprocess.run([sys.executable, '-m', 'opspace_control.cli.main', *words],
                              cwd=self.folder, env=environment, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        out = done.stdout + done.stderr
        # In real time, on a machine that may be busy, an experiment's bound may be missed; a
        # check may warn.
        missed = (verb == 'demo' and re.search('NOT MET|Not every goal', out)
                  and 'Traceback' not in out)
        assert done.returncode == 0 or missed or (verb, done.returncode) == ('check', 1), out

    def _script(self, name):
        """Run a script beside the simulator and the controller of the reader's own robot."""
        files = [str(self.folder / f'my_robot.{kind}') for kind in ('urdf', 'yaml')]
        with ros_nodes.network() as network:
            network.environment.update(HERE)
            for verb in ('simulator', 'controller'):
                network.start(verb, {'pace': 'patient'} if verb == 'simulator' else {
                    'safety.state_timeout': 0.0}, ['--', *files])
            done = subprocess.run([sys.executable, name], cwd=self.folder, check=False,
                                  env=network.environment, capture_output=True, text=True,
                                  timeout=PATIENCE)
            assert done.returncode == 0, done.stderr
            assert re.fullmatch(r'The hand is at z = \d\.\d+ m\.\n', done.stdout)

    def _endless(self, words, environment, said):
        log = self.folder / 'log'
        with log.open('w') as output, own_domain() as domain:
            if words[0] in ('controller', 'simulator'):  # another one
                environment = private_environment(domain) | HERE
            process = subprocess.Popen(
                [sys.executable, '-m', 'opspace_control.cli.main', *words], cwd=self.folder,
                env=environment, stdout=output, stderr=subprocess.STDOUT,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # noqa: PLW1509
            end = time.monotonic() + PATIENCE
            while said not in log.read_text() and process.poll() is None:
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0, log.read_text()
        assert said in log.read_text()
        assert 'Traceback' not in log.read_text()


def _has_arguments(file, arguments):
    assert {each.partition(':=')[0] for each in arguments} <= launch_record.read(file).arguments


def needs_robot(words):
    """Return whether a command is said to a robot that is there."""
    return words[:2] in (['opspace', 'record'], ['opspace', 'view']) or (
        words[0] == 'ros2' and words[1] in ('topic', 'param', 'service'))


@pytest.fixture(scope='module')
def yard(tmp_path_factory):
    return Yard(tmp_path_factory.mktemp('yard'))


@pytest.mark.parametrize('page', [page for page in DONE if commands(page)],
                         ids=lambda page: page.stem)
def test_commands_work(yard, page):
    """In the order of the page, as its reader types them."""
    for robot, group in itertools.groupby(commands(page), needs_robot):
        with yard.robot() if robot else contextlib.nullcontext():
            for words in group:
                yard.do(words)


class TestDescribed:
    """What README and some guides tell one to type and to write is there, called so."""

    @pytest.mark.parametrize(
        'words', [words for page in DESCRIBED for words in commands(page)], ids=shlex.join)
    def test_commands(self, words):
        match words:
            case ['make', target, *_]:
                assert re.search(rf'^{target}:', (ROOT / 'Makefile').read_text(), re.MULTILINE)
            case ['opspace', verb, *_] | ['ros2', 'run', 'opspace_control', verb, *_]:
                assert verb in VERBS
            case ['ros2', 'launch', 'opspace_control', file, *arguments]:
                _has_arguments(file, arguments)
            case ['ros2', 'topic', 'pub', ('--once' | '-r'), *_, topic, kind, content]:
                ros2_words.message_of(kind, content)
                self.is_told(topic.replace('/cmd_vel', 'cmd_vel'), kind.replace('/msg/', '/'))
            case ['ros2', 'service', 'call', name, kind]:
                self.is_told(name, kind.replace('/srv/', '/'))
            case ['ros2', 'param', 'set', '/opspace_controller', name, value]:
                task, _, _ = name.rpartition('.')
                own = task and task not in ('legs', 'limits', 'safety')
                lists = {'payloads' if 'mass' in name else 'tasks': [task]} if own else {}
                values = {**lists, name: yaml.safe_load(value)}
                assert list(refusals(values, table_of(values))) == []
            case ['build/loop', block, kernels, _]:  # test_native.py runs it
                assert (block, kernels) == (export.BLOCK, export.KERNELS)
            case _:
                assert words[0] in ('cd', 'cmake', 'git', 'rosdep', 'colcon')

    def is_told(self, name, kind):
        """Check that the controller has a topic or service, of this type."""
        names = {name.replace('/opspace_controller', '~'),
                 re.sub(r'/opspace_controller/\w+/', '~/<task>/', name)}
        assert any(kind in NODES['opspace_controller'].get(each, '') for each in names), name

    @pytest.mark.parametrize('text', [
        text for page in DESCRIBED for text in blocks(page, 'yaml')])
    def test_parameters(self, text, tmp_path):
        file = tmp_path / 'parameters.yaml'
        file.write_text('opspace_controller:\n  ros__parameters:\n'
                        + textwrap.indent(textwrap.dedent(text), '    '))
        values = ParameterFile(file).of_node('opspace_controller')
        named = {name for value in values.values() if isinstance(value, list) for name in value}
        own = dict.fromkeys(name.partition('.')[0] for name in values if '.' in name)
        values.setdefault('tasks', [name for name in own if name not in named])
        assert list(refusals(values, table_of(values))) == []


@pytest.mark.parametrize('page', [
    page for page in (README, *PAGES)
    if blocks(page, 'python') and page.stem != 'your_robot'],  # a script
                         ids=lambda page: page.stem)
def test_snippets_of_python_work(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    values = {}
    for text in blocks(page, 'python'):
        exec(compile(text, str(page), 'exec'), values)


def test_every_command_is_there_for_ros2_run():
    """As doc/reference/commands.md says."""
    assert {path.name for path in (ROOT / 'scripts').iterdir()} == set(VERBS)


def test_no_page_has_commands_that_look_otherwise():
    """Fences of other names would not be tested."""
    for page in (README, *PAGES):
        languages = set(re.findall(r'^```(\S+)$', page.read_text(), re.MULTILINE))
        assert {each for each in languages if not each.startswith('{')} <= {
            'bash', 'python', 'yaml', 'cpp'}, page.name


@pytest.mark.skipif(shutil.which('c++') is None, reason='there is no C++ compiler')
def test_the_loop_in_cpp_compiles(tmp_path):
    include, loop = blocks(DOC / 'how_to' / 'native.md', 'cpp')[0].split('\n', 1)
    source = tmp_path / 'loop.cpp'
    source.write_text(
        f'{include}\ndouble steady_time();\nvoid report(const std::string&, std::int64_t);\n'
        f'void run(bool running, std::int64_t stamp) {{\n{loop}\n(void)goal; }}\n')
    subprocess.run(['c++', '-std=c++17', '-Wall', '-Wextra', '-Werror', '-fsyntax-only',
                    '-I', ROOT / 'native' / 'include', source], check=True)
    source.write_text(source.read_text().replace('servo.cycle', 'servo.cycles'))
    assert subprocess.run(['c++', '-std=c++17', '-fsyntax-only', '-I', ROOT / 'native' / 'include',
                           source], stderr=subprocess.DEVNULL, check=False).returncode != 0


def test_parameters_that_are_shown_are_parameters():
    """`opspace check` refuses others; here the values too are those of their kind."""
    text, = blocks(DOC / 'tutorials' / 'your_robot.md', 'yaml')
    node = yaml.safe_load(text)['/**/opspace_controller']
    assert node['ros__parameters']['tasks'] == ['left_hand', 'right_hand']


@pytest.mark.skipif(shutil.which('make') is None, reason='make is not installed')
def test_make_docs_builds_the_site():
    done = subprocess.run(['make', '--dry-run', 'docs'], cwd=ROOT, capture_output=True, text=True,
                          check=True)
    assert re.search('-m sphinx .*--fail-on-warning.* doc doc/site', done.stdout)
