# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: descriptions agree, layers hold, files look alike, everything lands."""

import ast
import configparser
import functools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as ET
from importlib import metadata
from pathlib import Path

import pytest

import opspace_control

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / 'opspace_control'
MODULES = sorted(PACKAGE.glob('**/*.py'))
SOURCES = [ROOT / 'setup.py', *sorted(
    path for folder in ('opspace_control', 'test', 'benchmark', 'examples', 'launch')
    for path in (ROOT / folder).glob('**/*.py'))]
HEADER = ('# Copyright 2026 The opspace_control developers\n'
          '# SPDX-License-Identifier: Apache-2.0\n')

# Each room may use those before it; the others do not use each other but as said below.
LAYERS = ['spatial', 'model', 'dynamics', 'collision', 'tasks', 'control', 'safety']
MAY_USE = {
    **{room: set(LAYERS[:i]) for i, room in enumerate(LAYERS)},
    'compilation': set(LAYERS),
    'locomotion': set(LAYERS) - {'safety'},
    'simulation': set(LAYERS),
    'identification': set(LAYERS),
    'runs': set(LAYERS),
    # Nodes simulate, play a run, and tell friction, payload and contact apart.
    'ros': {*LAYERS, 'locomotion', 'simulation', 'runs', 'identification'},
    'view': {*LAYERS, 'ros'},
    'cli': {*LAYERS, 'locomotion', 'simulation', 'identification', 'runs', 'ros', 'view'},
}
EVERYBODYS = {'arguments', 'checks', 'errors', 'compiled', 'library', 'share'}
# Likewise for the rooms within a room; what is in none of them may use all.
INNER = {
    'control': {'solver': set(), 'constraints': {'data', 'solver'},
                'singular': {'data', 'solver', 'constraints'},
                'stack': {'data', 'solver', 'constraints', 'singular'},
                'grasping': {'data', 'solver', 'constraints', 'stack'},
                'limits': {'data', 'solver', 'constraints', 'singular', 'stack', 'grasping'},
                'problem': {'data', 'solver', 'constraints', 'singular', 'stack', 'grasping',
                            'limits'},
                'planning': {'constraints'}, 'diagnosis': {'data', 'split'}},
    'ros': {'middleware': set(), 'parameters': {'middleware'},
            **{room: {'middleware', 'parameters'}
               for room in ('cycle', 'commands', 'topics', 'simulated', 'clients')}},
}
# What a package may import besides the standard library, by room.
MATHEMATICS = {'numpy', 'xacro'}
ROS = {'rclpy', 'ament_index_python', 'builtin_interfaces', 'lifecycle_msgs', 'nav_msgs',
       'rcl_interfaces', 'rosgraph_msgs', 'sensor_msgs', 'std_msgs', 'std_srvs', 'geometry_msgs',
       'trajectory_msgs', 'tf2_msgs', 'visualization_msgs', 'diagnostic_msgs',
       'controller_manager_msgs'}
THIRD_PARTIES = {
    **dict.fromkeys(LAYERS, MATHEMATICS),
    'collision': {'numpy', 'scipy', 'trimesh', 'yaml'},
    'tasks': MATHEMATICS | {'ruckig'},
    'compilation': {'numpy', 'numba', 'llvmlite'},
    'locomotion': {'numpy'},
    'identification': {'numpy'},
    'simulation': {'numpy', 'mujoco'},
    'runs': {'numpy', 'matplotlib', 'mcap', 'mcap_ros2'},
    'ros': {'numpy', 'yaml', 'launch', 'launch_ros'} | ROS,
    'view': {'numpy', 'yaml', 'trimesh', 'viser'} | ROS,
    'cli': {'numpy', 'yaml', 'matplotlib', 'example_robot_data'} | ROS,
}
# Of an installed ROS 2 alone: there are no wheels of them, or only launch files need them.
NO_WHEELS = {'launch', 'launch_ros', 'tf2_msgs', 'controller_manager_msgs',
             'robot_state_publisher', 'xacro'}
LONGEST_MODULE = 300
MOST_PARAMETERS = 10
# A constructor of users, with a documented option for each part of a controller.
MORE_PARAMETERS = {('controller.py', '__init__')}


def room_of(path):
    """Return the sub-package of a module, '' for those at the top."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ''


@functools.cache
def nodes_of(path):
    """Return the nodes of the syntax tree of a module."""
    return [*ast.walk(ast.parse(path.read_text()))]


@functools.cache
def imports_of(path):
    """Return the dotted names a module imports anywhere; relative imports are errors."""
    names = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{path}: relative import'
            names.add(node.module)
            if node.module == 'opspace_control':
                names.update(f'opspace_control.{alias.name}' for alias in node.names)
    return names


def offences(paths, found):
    """Return what `found` finds in files, by the file, without those where it finds nothing."""
    assert len(paths) > 10
    return {str(path.relative_to(ROOT)): what for path in paths if (what := found(path))}


def test_imports_go_one_way():
    def not_allowed(path):
        room = room_of(path)
        used = {name.split('.')[1] for name in imports_of(path)
                if name.startswith('opspace_control.')}
        return used - set(opspace_control.__all__) - MAY_USE[room] - EVERYBODYS - {room}
    assert offences([path for path in MODULES if room_of(path)], not_allowed) == {}


def test_inner_rooms_use_each_other_one_way():
    def not_allowed(path):
        room, inner = path.parts[-3:-1]
        used = {name.split('.')[2] for name in imports_of(path)
                if name.startswith(f'opspace_control.{room}.')}
        return used - INNER[room][inner] - {inner}
    for room in INNER:
        assert offences(sorted((PACKAGE / room).glob('*/*.py')), not_allowed) == {}


def test_other_packages_stay_in_their_rooms():
    def not_allowed(path):
        others = {name.split('.')[0] for name in imports_of(path)} - set(sys.stdlib_module_names)
        return others - {'opspace_control'} - THIRD_PARTIES[room_of(path)]
    assert offences([path for path in MODULES if room_of(path)], not_allowed) == {}


def test_importing_the_package_compiles_nothing():
    code = 'import opspace_control, sys; sys.exit(not {"numba", "rclpy"}.isdisjoint(sys.modules))'
    assert subprocess.run([sys.executable, '-c', code], cwd=ROOT, check=False).returncode == 0


def test_public_names_are_there():
    for name in opspace_control.__all__:
        assert getattr(opspace_control, name) is not None
        assert name in dir(opspace_control)
    with pytest.raises(AttributeError, match='no_such_name'):
        _ = opspace_control.no_such_name


def test_source_has_the_licence_header():
    assert offences(SOURCES, lambda path: not path.read_text().startswith(HEADER)) == {}


def test_module_is_short_enough_to_read():
    def lines_above(path):
        return max(0, len(path.read_text().splitlines()) - LONGEST_MODULE)
    assert offences(MODULES, lines_above) == {}


def test_functions_have_few_parameters():
    def with_more(path):
        return [node.name for node in nodes_of(path) if isinstance(node, ast.FunctionDef)
                and (path.name, node.name) not in MORE_PARAMETERS
                and parameter_count(node.args) > MOST_PARAMETERS]
    assert offences(MODULES, with_more) == {}


def parameter_count(given):
    """Return how many parameters a function has, but for the one of its object."""
    return len({argument.arg for argument in (
        *given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
        if argument} - {'self', 'cls'})


class TestDescriptions:

    @pytest.fixture
    def manifest(self):
        return ET.parse(ROOT / 'package.xml').getroot()

    @pytest.fixture
    def configuration(self):
        parser = configparser.ConfigParser()
        parser.read(ROOT / 'setup.cfg')
        return parser

    @staticmethod
    def setup_argument(name):
        """Return a literal keyword of setup()."""
        for node in ast.walk(ast.parse((ROOT / 'setup.py').read_text())):
            if isinstance(node, ast.keyword) and node.arg == name:
                return ast.literal_eval(node.value)
        raise KeyError(name)

    def test_one_version(self, manifest):
        assert (opspace_control.__version__ == manifest.findtext('version')
                == self.setup_argument('version'))
        assert f'## {opspace_control.__version__}' in (ROOT / 'CHANGELOG.md').read_text()

    def test_one_licence(self, manifest, configuration):
        assert manifest.findtext('license') == configuration['metadata']['license'] == 'Apache-2.0'
        assert 'Apache License' in (ROOT / 'LICENSE').read_text()

    def test_dependencies_agree(self, manifest, configuration):
        keys = {element.text for element in manifest.findall('exec_depend')}
        names = {re.split(r'[>\[]', line)[0] for line in ' '.join([
            configuration['options']['install_requires'],
            configuration['options.extras_require']['ros'],
            configuration['options.extras_require']['jit'],
            configuration['options.extras_require']['sim']]).split()}
        # The same thing has another name for rosdep.
        as_keys = {'pyyaml': 'python3-yaml', 'mujoco': 'python3-mujoco-pip'}
        wheels = 'ros-jazzy-'
        wanted = {name.removeprefix(wheels).replace('-', '_') if name.startswith(wheels) else
                  as_keys.get(name, f'python3-{name}') for name in names}
        assert keys - NO_WHEELS == wanted

    def test_what_compiles_the_kernels_is_there_when_a_wheel_is_built(self):
        """It imports nothing but what the build requires, and what comes with that."""
        required = re.findall(r"'([a-z]+)[<>=,\d.]*'", re.search(
            r'^requires = \[(.*)\]', (ROOT / 'pyproject.toml').read_text(), re.MULTILINE)[1])
        there = {'opspace_control'} | {
            module for module, owners in metadata.packages_distributions().items()
            if owners[0].lower() in {*required, 'numpy', 'llvmlite'}}
        code = (f'import sys; there = {there} | sys.stdlib_module_names\n'
                'class Others:\n'
                '    def find_spec(self, name, *_):\n'
                '        if name.split(".")[0] not in there: raise ModuleNotFoundError(name)\n'
                'sys.meta_path.insert(0, Others())\n'
                'import opspace_control.compilation.build\n'
                'from opspace_control import OperationalSpaceController\n')
        done = subprocess.run([sys.executable, '-c', code], cwd=ROOT, capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, done.stderr

    @pytest.mark.parametrize('name', ['pyproject.toml', 'Makefile'])
    def test_numba_that_is_installed_to_build_the_library_can(self, name):
        """A later one, which nobody has tried, cannot."""
        from opspace_control.compilation.compilers import is_supported
        bound = int(re.search(r"'numba[^']*<0\.(\d+)'", (ROOT / name).read_text())[1])
        assert is_supported((0, bound - 1))
        assert not is_supported((0, bound))

    def test_every_imported_ros_package_is_a_dependency(self, manifest):
        keys = {element.text for element in manifest.findall('exec_depend')}
        used = {name.split('.')[0] for path in MODULES for name in imports_of(path)} & ROS
        assert used <= keys

    def test_without_extras_it_needs_two_packages(self, configuration):
        names = {re.split('>', line)[0]
                 for line in configuration['options']['install_requires'].split()}
        assert names == {'numpy', 'pyyaml'}

    def test_oldest_versions_are_tested(self, configuration):
        """Every lower bound is what make test-oldest installs where the interpreter has it."""
        texts = (configuration['options']['install_requires'],
                 *configuration['options.extras_require'].values())
        bounds = dict(re.findall(r'^([\w-]+)>=([\d.]+)$', '\n'.join(texts), re.MULTILINE))
        pins = [re.match(r'([\w-]+)==([\d.]+)', line) for line in (
            ROOT / 'test' / 'oldest.txt').read_text().splitlines() if not line.startswith('#')]
        oldest = {pin[1]: pin[2] for pin in reversed(pins)}
        assert {'numba', 'numpy', 'mujoco'} <= bounds.keys()
        for name, bound in bounds.items():
            assert f'{oldest[name]}.0'.startswith(f'{bound}.'), name


@pytest.mark.skipif(shutil.which('make') is None, reason='make is not installed')
@pytest.mark.parametrize('kernels', ['', 'jit'])
def test_installation_ends_with_an_error_where_kernels_cannot_be_compiled(tmp_path, kernels):
    for name in ('setup.py', 'setup.cfg', 'pyproject.toml', 'README.md'):
        shutil.copy(ROOT / name, tmp_path)
    package = tmp_path / 'opspace_control'
    package.mkdir()
    (package / '__init__.py').touch()
    (package / 'compilation.py').write_text('raise SystemExit("no linker")')
    done = subprocess.run(
        [sys.executable, 'setup.py', 'build_py'], cwd=tmp_path, capture_output=True, text=True,
        check=False, env={**os.environ, 'OPSPACE_KERNELS': kernels, 'PYTHONPATH': ''})
    assert (done.returncode == 0) == (kernels == 'jit'), done.stderr
    assert ('no linker' in done.stderr) == ('set OPSPACE_KERNELS=jit.' in done.stderr) == (
        kernels != 'jit')


@pytest.mark.parametrize('sourced', [True, False])
def test_make_uses_a_sourced_ros(tmp_path, sourced):
    """It is used as it is, and no wheels are installed; anywhere else they are."""
    python = tmp_path / 'python'
    python.write_text(f'#!/bin/sh\ncase "$*" in *rclpy*) exit {0 if sourced else 1};; esac\n'
                      f'exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    environment = {**os.environ, 'ROS_DISTRO': 'jazzy'}
    out = subprocess.run(
        ['make', '--dry-run', 'test', f'PYTHON={python}', f'VENV={tmp_path / "venv"}'], cwd=ROOT,
        env=environment, check=True, capture_output=True, text=True).stdout
    assert ('ROS 2: sourced jazzy' in out) == sourced
    assert ('--system-site-packages' in out) == sourced
    assert ("'.[ros," in out) != sourced


# The efforts of a robot at rest within its limits are those against gravity.
EFFORTS = """
import sys
sys.path.insert(0, sys.argv[1])
sys.modules.update(numba=None, llvmlite=None)
import numpy as np
import opspace_control as osc
from opspace_control.share import share_directory
model = osc.RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
controller = osc.OperationalSpaceController(
    model, [osc.PoseTask('l_hand'), osc.PoseTask('r_hand')], limits=osc.JointLimits(model))
state = osc.RobotState(model, model.neutral() + 0.1, np.zeros(model.nv))
gravity = model.inverse_dynamics(state, state.v)
np.testing.assert_allclose(controller.compute_torque(state), gravity, rtol=1e-9, atol=1e-9)
print(osc.__file__, abs(gravity).max() > 1.0)
"""


@pytest.fixture(scope='module')
def prefix(tmp_path_factory):
    """Install the package, without its dependencies, into an empty prefix."""
    version = pytest.importorskip('setuptools').__version__
    if tuple(map(int, version.split('.')[:2])) < (70, 1):
        pytest.skip('setuptools 70.1 or later is needed to build without the network')
    folder = tmp_path_factory.mktemp('installed')
    source = folder / 'source'
    files = [*(path for name in ('config', 'launch', 'native', 'opspace_control', 'resource',
                                 'scripts', 'urdf') for path in (ROOT / name).glob('**/*')),
             *(ROOT / name for name in ('package.xml', 'pyproject.toml', 'setup.cfg', 'setup.py'))]
    for path in files:
        if path.is_file() and '__pycache__' not in path.parts:
            copy = source / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
            copy.chmod(path.stat().st_mode)
    # An earlier installation, from other sources, was built here.
    built = source / 'build' / f'lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}'
    (built / 'opspace_control' / 'compilation').mkdir(parents=True)
    (built / 'opspace_control' / 'compilation' / 'kernels-old.so.0').touch()
    subprocess.run(
        # Without --ignore-installed pip would first uninstall the package that is under test.
        [sys.executable, '-m', 'pip', 'install', '--quiet', '--no-deps', '--no-index',
         '--ignore-installed',
         '--no-build-isolation', '--disable-pip-version-check', '--prefix', folder / 'prefix',
         source], check=True, capture_output=True)
    return folder / 'prefix'


class TestInstallation:

    def test_is_in_the_ament_index(self, prefix):
        assert (prefix / 'share/ament_index/resource_index/packages/opspace_control').is_file()
        assert (prefix / 'share/opspace_control/package.xml').is_file()

    def test_ament_index_finds_it(self, prefix, monkeypatch):
        index = pytest.importorskip('ament_index_python.packages', reason='ROS 2 not installed')
        monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
        share = Path(index.get_package_share_directory('opspace_control'))
        assert share == prefix / 'share/opspace_control'

    def test_everything_is_in_share(self, prefix):
        for folder in (
                'config', 'config/robots', 'launch', 'native/example', 'native/include',
                'native/test', 'native/ros2_control', 'native/ros2_control/src',
                'native/ros2_control/test', 'native/ros2_control/include/opspace_controller',
                'urdf'):
            there, ours = ({path.name for path in (share / folder).iterdir() if path.is_file()}
                           for share in (prefix / 'share/opspace_control', ROOT))
            assert there == ours and there, folder

    def test_share_directory_is_found_without_a_checkout(self, prefix):
        library = Path(sysconfig.get_path('purelib', vars={'base': str(prefix)}))
        code = ('import sys; sys.path.insert(0, sys.argv[1]); '
                'from opspace_control.share import share_directory; print(share_directory())')
        for environment in ({'AMENT_PREFIX_PATH': str(prefix)},):
            found = subprocess.run([sys.executable, '-I', '-c', code, library], env=environment,
                                   check=True, capture_output=True, text=True).stdout.strip()
            assert Path(found) == prefix / 'share/opspace_control'

    def test_computes_efforts_without_a_compiler(self, prefix):
        library = Path(sysconfig.get_path('purelib', vars={'base': str(prefix)}))
        assert len([*library.glob('opspace_control/compilation/kernels-*')]) == 1
        done = subprocess.run(
            [sys.executable, '-I', '-c', EFFORTS, library], capture_output=True, text=True,
            env={'AMENT_PREFIX_PATH': str(prefix)}, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [str(library / 'opspace_control/__init__.py'), 'True']
        assert not done.stderr

    def test_ros2_run_finds_executables(self, prefix):
        assert (prefix / 'bin/opspace').is_file()
        folder, scripts = prefix / 'lib/opspace_control', ROOT / 'scripts'
        assert {path.name for path in scripts.iterdir()} == {
            path.name for path in folder.iterdir()}
        for executable in folder.iterdir():
            assert executable.stat().st_mode & 0o111, executable.name
            assert executable.read_bytes() == (scripts / 'controller').read_bytes()

    def test_executables_run(self, prefix):
        library = Path(sysconfig.get_path('purelib', vars={'base': str(prefix)}))
        assert says_how_to_use(prefix / 'lib/opspace_control/check', PYTHONPATH=str(library))

    def test_executables_run_without_the_command(self, prefix, tmp_path):
        """As a distribution may have installed them: by the python3 that is there."""
        (tmp_path / 'check').write_bytes((prefix / 'lib/opspace_control/check').read_bytes())
        (tmp_path / 'check').chmod(0o755)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ['PATH']])
        assert says_how_to_use(tmp_path / 'check', PATH=path, PYTHONPATH=str(ROOT))


def says_how_to_use(executable, **environment):
    """Whether `opspace check` is what an executable runs."""
    out = subprocess.run([executable, '--help'], env={**os.environ, **environment}, check=False,
                         capture_output=True, text=True)
    return out.returncode == 0 and 'opspace check' in out.stdout
