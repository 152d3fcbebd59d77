# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The comparisons of [WPO15]: a running trot of b1 by the law, without parts of it, and by a peer.

`python benchmark/legged_peers.py` prints a table; `--write` puts it in
doc/measurements/legged_robots.md, with a picture, doc/legged_peers.png. Noise has a seed.
"""

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from figures import put_into
from legged_disturbances import SIDES, speeds_after_each
from raibert_peer import TUNED, RaibertScene

from opspace_control.cli.showcase.legged import WithoutSwingDynamics
from opspace_control.cli.showcase.legged_scene import LeggedScene, tilt
from opspace_control.locomotion import Stepping

SPEEDS = 2.0, 3.0, 3.6, 4.0, 4.5, 5.0  # m/s
SHOWN = 2.0, 3.6, 4.5     # m/s, in the table
SECONDS = 3.0             # at each speed
SETTLE = 1.0              # s
SHOVED_AT = 2.0           # m/s
SHOVES = 0.5, 1.0         # m/s
PROCESSES = 2
# A robot that runs slower than this part of the command does not reach it.
_REACHED = 0.95
_DOC = Path(__file__).resolve().parents[1] / 'doc'
_PAGE = _DOC / 'measurements' / 'legged_robots.md'
# As stiff in roll and pitch as the search makes the peer.
_STIFF = {'tilt_gain': TUNED.tilt**2}
LAWS = {
    'the law': (LeggedScene, {}),
    'the law, `tilt_gain` of the peer': (LeggedScene, {'tasks': _STIFF}),
    "without the swing legs' dynamics": (WithoutSwingDynamics, {}),
    'without friction bounds': (LeggedScene, {'tasks': {'friction': 1e6}}),
    'without limits': (LeggedScene, {'law': {}}),
    'contacts of large inertia, without limits': (
        LeggedScene, {'law': {'contact_model': 'large_inertia'}}),
    'posture controller after Raibert': (RaibertScene, {'gains': TUNED}),
}


class Result(NamedTuple):
    """What came of a law."""

    tilts: dict   # RMS by speed, degrees; of those that were reached
    shoves: dict  # how many were withstood, by size, m/s

    @property
    def top(self):
        """Greatest speed that was reached, m/s."""
        return max(self.tilts, default=0.0)


def scene(law):
    """Return the scene of a law, in a running trot, with noise and delay."""
    kind, options = LAWS[law]
    it = kind('b1', noise=1.0, delay=2, stepping=Stepping(acceleration=2.0), **options)
    it.run(0.2)
    it.locomotion.gait = 'running_trot'
    it.run(0.3)
    return it


def trot(law, speed):
    """Return the RMS tilt at a speed, degrees, or None if it is not reached."""
    it = scene(law)
    it.locomotion.command(speed)
    it.run(0.5 * speed + SETTLE)
    reports = it.run(SECONDS)
    if it.fallen or reports[:, 2].mean() < _REACHED * speed:
        return None
    return tilt(reports)


def withstood(law):
    """Return from how many sides shoves are withstood, by size, m/s."""
    it = scene(law)
    it.locomotion.command(SHOVED_AT)
    it.run(0.5 * SHOVED_AT + SETTLE)
    return {size: sum(map(math.isfinite, speeds))
            for size, speeds in speeds_after_each(it, SHOVES).items()}


def measure(pool):
    """Return the `Result` of each law, by name."""
    tilts = {(law, speed): pool.submit(trot, law, speed) for law in LAWS for speed in SPEEDS}
    shoves = {law: pool.submit(withstood, law) for law in LAWS}
    return {law: Result(
        {speed: value for speed in SPEEDS if (value := tilts[law, speed].result()) is not None},
        shoves[law].result())
        for law in LAWS}


def table(results):
    """Return the table of results by law, in Markdown."""
    heads = [*(f'tilt at {speed:g} m/s' for speed in SHOWN), 'top speed',
             *(f'shoves of {shove:g} m/s' for shove in SHOVES)]
    rows = ['| | ' + ' | '.join(heads) + ' |', '|---|' + '---:|' * len(heads)]
    for law, result in results.items():
        cells = [f'{result.tilts[speed]:.2f}°' if speed in result.tilts else 'not reached'
                 for speed in SHOWN]
        rows.append(f'| {law} | ' + ' | '.join([
            *cells, f'{result.top:g} m/s',
            *(f'{count} of {SIDES}' for count in result.shoves.values())]) + ' |')
    return '\n'.join(rows)


def draw(results, path):
    """Write a PNG of the tilt over the speed."""
    from opspace_control.runs.pictures import COLORS, STYLE, plt

    with plt.rc_context(STYLE):
        figure, panel = plt.subplots(figsize=(8.0, 4.5), layout='constrained')
        for k, (law, result) in enumerate(results.items()):
            speeds = np.array(list(result.tilts))
            panel.plot(speeds, list(result.tilts.values()), 's--' if k >= len(COLORS) else 'o-',
                       color=COLORS[k % len(COLORS)], lw=1.5, label=law.replace('`', ''))
        panel.set_title('Tilt of the trunk of b1 in a running trot, RMS, degrees')
        panel.set_xlabel('commanded speed, m/s; points are speeds that were reached')
        panel.set_ylim(bottom=0.0)
        panel.legend(loc='upper left')
        figure.savefig(path, dpi=110)
        plt.close(figure)


def main():
    """Print the table; write table and picture where they belong if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--write', action='store_true', help=f'put the table in {_PAGE}')
    arguments = parser.parse_args()
    with ProcessPoolExecutor(PROCESSES) as pool:
        results = measure(pool)
    print(table(results))
    if arguments.write:
        put_into(_PAGE, 'legged_peers', table(results))
        draw(results, _DOC / 'legged_peers.png')


if __name__ == '__main__':
    main()
