# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The library of compiled kernels: machine code without a compiler at run time."""

import gc
import importlib
import math
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from native_programs import link_library

import opspace_control
from opspace_control import library
from opspace_control.compilation import __main__ as compilation
from opspace_control.compilation import build, jit, targets
from opspace_control.compiled import Kernel
from opspace_control.safety.accepted_state import (
    ACCEPTED,
    STATE_INPUT,
    UNREADABLE,
    StateMemory,
    accept_state,
)
from opspace_control.safety.envelope import EFFORT_GUARD, clamp_efforts
from opspace_control.safety.state_checks import BASE_GUARD, STATE_GUARD

ROOT = Path(__file__).parents[1]
needs_library = pytest.mark.skipif(not library.is_there(), reason='the library is not built')

# What a robot's kernels give, bit by bit, and whether a compiler was needed for it.
RESULTS = """
import sys
import numpy as np
import opspace_control as osc
from opspace_control.share import share_directory
model = osc.RobotModel.from_urdf_file(
    share_directory() / 'urdf' / 'free_flyer_3d.urdf', floating_base=True)
random = np.random.default_rng(1)
controller = osc.OperationalSpaceController(model, [osc.PoseTask(model.frame_names[-1])])
for _ in range(50):
    v = random.normal(size=model.nv)
    q = np.append([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5], random.normal(size=model.nv - 6))
    state = osc.RobotState(model, q, v)
    for values in (model.mass_matrix(state), model.inverse_dynamics(state, v),
                   controller.compute_torque(state)):
        print(values.tobytes().hex())
print('numba' in sys.modules or 'llvmlite' in sys.modules)
"""


def results(**environment):
    said = subprocess.run(
        [sys.executable, '-c', RESULTS], check=True, capture_output=True, text=True,
        env={**os.environ, 'PYTHONPATH': str(ROOT), **environment}).stdout.split()
    return said[:-1], said[-1]


@needs_library
def test_gives_bit_by_bit_what_numba_does_without_a_compiler():
    ours, compiler = results()
    assert compiler == 'False'
    processors, _ = targets.target()
    theirs, compiler = results(OPSPACE_KERNELS='jit', **({
        'NUMBA_CPU_NAME': processors, 'NUMBA_CPU_FEATURES': ''} if processors else {}))
    assert compiler == 'True'
    assert len(ours) == 150
    assert ours == theirs


@needs_library
def test_no_node_needs_a_compiler():
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    pytest.importorskip('mujoco', reason='MuJoCo is not installed')
    import ros_nodes
    parameters = {'robot_description': ros_nodes.robot_text('planar_3r')}
    with ros_nodes.network() as network:
        commands = network.commands()
        network.start('simulator', parameters)
        network.start('command_watchdog', parameters)
        network.start('controller', {
            **parameters, 'command_topic': 'opspace_command_watchdog/commands'})
        network.expect(lambda: len(commands) > 10)
        for name, process in network.processes.items():
            loaded = Path(f'/proc/{process.pid}/maps').read_text()
            assert 'llvmlite' not in loaded
            assert name == 'simulator' or library.library_path().name in loaded


@needs_library
def test_no_check_needs_a_compiler():
    done = subprocess.run(
        [sys.executable, '-c', 'import sys\nfrom opspace_control.cli.main import main\n'
         "code = main(['check', sys.argv[1]])\nassert 'numba' not in sys.modules\nsys.exit(code)",
         str(ROOT / 'urdf' / 'dual_arm.urdf')], check=False, capture_output=True, text=True,
        env={**os.environ, 'PYTHONPATH': str(ROOT)})
    assert not done.stderr
    assert 'dual_arm' in done.stdout


def test_has_every_kernel():
    for module in pkgutil.walk_packages(opspace_control.__path__, 'opspace_control.'):
        if module.name.split('.')[1] in library.FOLDERS:
            importlib.import_module(module.name)
    kernels = {each.name for name, module in list(sys.modules.items())
               if name.startswith('opspace_control.')
               for each in vars(module).values() if type(each) is Kernel}
    built = {f'{job.function.__module__}.{job.function.__qualname__}' for job in build.jobs()}
    assert built == kernels


@needs_library
class TestCall:

    @staticmethod
    def guards():
        """Of two efforts without limits, whose rates are 1 and 2 N·m/s, and which are zero now."""
        guards = np.zeros(2, EFFORT_GUARD)
        guards['effort_limit'], guards['effort_rate'] = math.inf, [1.0, 2.0]
        return guards

    @pytest.mark.parametrize('step', [1, 2])
    def test_with_arrays_of_any_layout(self, step):
        """The library takes C-contiguous ones; Numba compiles for others."""
        tau = np.full(2 * step, 9.0)[::step]
        assert clamp_efforts(self.guards(), 0.25, tau) == 2
        assert tau.tolist() == [0.25, 0.5]

    def test_partial(self):
        tau = np.zeros(2)
        step = clamp_efforts.partial(self.guards(), 0.0, tau)
        for dt, wanted in ((0.5, [0.5, 1.0]), (0.25, [0.75, 1.5])):
            tau[:] = 9.0
            assert step(dt) == 2
            assert tau.tolist() == wanted

    @pytest.mark.parametrize('partial', [clamp_efforts.partial, lambda *arguments: jit.partial(
        clamp_efforts.dispatcher, arguments)], ids=['library', 'jit'])
    def test_copies_before_and_after_a_call(self, partial):
        """What precedes the memory that is connected, and what follows it, stays."""
        tau, given, results = np.zeros(2), np.array([1.0, 9.0, 9.0, 1.0]), np.full(4, 7.0)
        step = partial(self.guards(), 0.0, tau)
        step.take(0.5)
        step.repeat()
        assert tau.tolist() == [0.0, 0.0]  # nothing is copied yet
        for pair, target, source in ((0, tau, given[1:3]), (1, results[1:3], tau)):
            step.connect(pair, *map(library.address, (target, source)), 16)
        for wanted in ([0.5, 1.0], [1.0, 2.0]):
            step.repeat()
            assert results.tolist() == [7.0, *wanted, 7.0]
            assert given.tolist() == [1.0, 9.0, 9.0, 1.0]
        step.connect(0, 0, 0, 0)
        tau[:] = 0.0
        step.repeat()
        assert results.tolist() == [7.0, 0.5, 1.0, 7.0]

    def test_a_call_from_python_does_not_leak(self):
        step = clamp_efforts.partial(self.guards(), 0.0, np.full(2, 2.0))
        before = sys.getrefcount(None), sys.getrefcount(0)
        for _ in range(1000):
            step.repeat()
        assert abs(sys.getrefcount(None) - before[0]) < 100
        assert abs(sys.getrefcount(0) - before[1]) < 100

    def test_keeps_the_arrays_of_a_partial(self):
        step = clamp_efforts.partial(self.guards(), 0.0, np.full(2, 2.0))
        gc.collect()
        assert [step(1.0), step(1.0)] == [1, 0]
        step = clamp_efforts.partial(self.guards(), 1.0, np.full(2, 2.0)).repeat
        gc.collect()
        np.full(1000, 7.0)
        assert [step(), step()] == [1, 0]

    def test_with_several_numbers(self):
        inputs, guards = np.zeros(1, STATE_INPUT), np.zeros(1, STATE_GUARD)
        guards['velocity_limit'] = guards['position_jump'] = math.inf
        accept = accept_state.partial(StateMemory(
            inputs, guards, np.zeros(0, BASE_GUARD), np.zeros(0, np.int64), *np.ones((4, 1))),
            0.0, 0.0)
        assert accept(2.0, 0.0) == UNREADABLE
        assert inputs['last_arrival'] == 2.0
        assert accept(3.0, 1.0) == ACCEPTED
        assert inputs['last_accepted'] == 3.0

    def test_with_arrays_of_another_kind_is_compiled(self, caplog):
        tau = np.full(2, 9.0, np.float32)
        assert clamp_efforts(self.guards(), 0.25, tau) == 2
        assert tau.tolist() == [0.25, 0.5]
        assert 'clamp_efforts for arguments of these kinds' in caplog.text

    def test_layout_of_records_counts(self):
        one, two = (np.dtype({'names': ['a', 'b'], 'formats': ['f8', 'f8'], 'offsets': offsets})
                    for offsets in ([0, 8], [8, 0]))
        assert library.symbol('k', ((one, 1, 'C'),)) != library.symbol('k', ((two, 1, 'C'),))
        assert library.symbol('k', ((one, 1, 'C'),)) != library.symbol('k', ((one, 1, 'A'),))


class TestAbsent:

    @pytest.fixture(autouse=True)
    def forgotten(self):
        library.loaded.cache_clear()
        yield
        library.loaded.cache_clear()

    @pytest.fixture
    def there(self, monkeypatch, tmp_path):
        path = tmp_path / 'kernels-made.so.0'
        monkeypatch.setattr(library, 'library_path', lambda: path)
        return path

    def test_of_other_sources(self, there, caplog):
        assert not library.is_there()
        assert caplog.messages == [library.ABSENT]
        assert not targets.is_built()

    def test_of_a_better_processor(self, there, monkeypatch, caplog):
        link_library(there, 'fma f16c avx2')
        monkeypatch.setattr(library, 'processor', lambda: {'f16c'})
        assert not library.is_there()
        assert 'needs a processor with avx2, fma:' in caplog.text

    def test_of_another_architecture(self, there, caplog):
        """Such as a checkout that came from another computer."""
        link_library(there, '')
        content = bytearray(there.read_bytes())
        content[18:20] = (0xFFFF).to_bytes(2, sys.byteorder)  # ELF's number of the architecture
        there.write_bytes(content)
        assert not library.is_there()
        assert caplog.messages == [library.FOREIGN % there]
        assert not targets.is_built()

    def test_on_request(self, monkeypatch, caplog):
        monkeypatch.setenv('OPSPACE_KERNELS', 'jit')
        assert not library.is_there()
        assert not caplog.messages


def test_without_library_and_numba():
    """A line says what to install."""
    done = subprocess.run(
        [sys.executable, '-c', "import sys\nsys.modules['numba'] = None\n"
         'from opspace_control.cli.main import main\n'
         "sys.exit(main(['check', sys.argv[1]]))", str(ROOT / 'urdf' / 'dual_arm.urdf')],
        check=False, capture_output=True, text=True,
        env={**os.environ, 'PYTHONPATH': str(ROOT), 'OPSPACE_KERNELS': 'jit'})
    assert done.returncode == 1
    assert re.search(r"^opspace check: .*Numba.* pip install 'opspace_control\[jit\]'\.$",
                     done.stderr, re.MULTILINE)
    assert 'Traceback' not in done.stderr


def test_without_numba_there_is_nothing_to_build_with(monkeypatch, capsys):
    monkeypatch.setattr(library, 'library_path', lambda: ROOT / 'no-library')
    monkeypatch.setitem(sys.modules, 'numba', None)
    monkeypatch.delitem(sys.modules, 'opspace_control.compilation.build')
    assert compilation.main([]) == 1
    assert capsys.readouterr().err == (
        "Numba, which compiles the kernels, is not installed. pip install 'opspace_control[jit]'."
        '\n')


def test_unknown_numba(monkeypatch):
    monkeypatch.setattr(build, 'is_supported', lambda version: False)
    with pytest.raises(opspace_control.OpspaceError, match=r'cannot be built by Numba'):
        build.build()


def test_no_linker(monkeypatch):
    """It is missed before anything is compiled."""
    monkeypatch.setenv('CC', 'no-such-linker -O2')
    with pytest.raises(opspace_control.OpspaceError, match=r"no linker 'no-such-linker'.*gcc"):
        build.build()
