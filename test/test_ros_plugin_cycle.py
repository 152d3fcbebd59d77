# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the controller node does between the cycles of the plug-in, which run in C++."""

import numpy as np
import pytest
from test_attached_servo import Loop, compile_loop, make_servo, model, state  # noqa: F401

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from opspace_control import library
from opspace_control.ros.cycle.plugin_cycle import PluginCycle
from opspace_control.safety.servo_data import BRAKED
from opspace_control.safety.supervisor import NO_TRIP, STATE_INVALID

pytestmark = pytest.mark.skipif(not library.is_there(), reason='the library is not built')


class Silent:
    """A logger of what nobody reads."""

    def error(self, _text):
        pass

    info = error


@pytest.fixture
def followed(model, tmp_path):  # noqa: F811
    """Return a node's cycle, the loop that it follows, and the positions that it has observed."""
    cycle = PluginCycle(make_servo(model).controller, Silent())
    loop = Loop(compile_loop(tmp_path), tmp_path, cycle.servo)
    cycle.link.attach(loop.memory)
    seen = []
    cycle.observe = lambda: seen.append(cycle.state.q.copy())
    cycle.move_goals = lambda _time: None
    loop.ask('activate', (1.0).hex())
    yield cycle, loop, seen
    loop.end()


def test_what_is_told_of_a_cycle_is_of_its_state(followed, model):  # noqa: F811
    """A cycle that begins when the state has been read counts at the next look."""
    cycle, loop, seen = followed
    synchronise, stamps, told = cycle.link.synchronise, [], []
    cycle.statistics.count = lambda _time, stamp, *_: stamps.append(stamp)
    cycle.move_goals = lambda time: told.append((time, stamps[-1]))

    def then_a_cycle(now):
        done = synchronise(now)
        loop.cycle(1.0 + 1e-3 * cycles[0], *state(model, cycles.pop(0)))
        return done

    cycle.link.synchronise, cycles = then_a_cycle, [*range(4)]
    while cycles:
        cycle.step()
    np.testing.assert_array_equal(seen, [state(model, k)[0] for k in range(3)])
    assert told == [(stamp, stamp) for stamp in stamps]


def test_nothing_follows_from_an_unknown_state(followed, model):  # noqa: F811
    """Neither before a cycle with a state, nor while hardware does not know its states."""
    cycle, loop, seen = followed
    q, v = state(model, 0)
    assert int(loop.ask('blind', (1.001).hex()).split()[1]) == NO_TRIP
    cycle.step()
    assert loop.cycle(1.002, np.full_like(q, np.nan), v)[0] == BRAKED
    cycle.step()
    assert cycle.supervisor.trip is STATE_INVALID
    assert not seen
    for k in range(300):  # good ones, for long enough
        loop.cycle(1.003 + 1e-3 * k, q, v)
        cycle.step()
    assert cycle.supervisor.trip is None
    assert seen
    np.testing.assert_array_equal(seen, [q] * len(seen))
