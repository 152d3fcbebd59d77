# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The delay of the loop, measured in a recorded run, and how much the gains tolerate."""

import numpy as np

from opspace_control.cli.preflight.verdict import USUAL_RATE, failure, ok, warning
from opspace_control.control.diagnosis.margins import LEAST_FACTOR, LoopMargin, loop_time, too_slow
from opspace_control.errors import OpspaceError


def look_at_loop(path, cycle, findings):
    """
    Return period and delay of the loop, s, and how long it takes, a dict; add a finding.

    They are medians of the run of a path; if that is None, the cycle of the report, a dict, is
    assumed to have its rate, and a delay of one period.
    """
    hold, source = 1.0 / (cycle['update_rate'] or USUAL_RATE), 'assumed'
    delay = hold
    if path:
        try:
            hold, delay = _measured(path)
            source = 'measured'
        except OpspaceError as error:
            findings.append(failure(error, str(path)))
    time = loop_time(hold, delay)
    margins = [LoopMargin(**margin) for margin in cycle['margins']]
    if margins:
        least = min(margins, key=lambda margin: margin.delay)
        what = (f'With {source} periods of {1e3 * hold:.3g} ms and a delay of {1e3 * delay:.2g} ms '
                f'efforts are late by {1e3 * time:.3g} ms; the loop of {least.name} is unstable '
                f'above {1e3 * least.delay:.3g} ms')
        findings.append(ok(f'{what}.') if too_slow(margins, time) is None else warning(
            f'{what}: less than {LEAST_FACTOR:g} times as much.',
            'Lower its gains or rates, or send joint states more often.'))
    return {'hold': hold, 'delay': delay, 'time': time, 'source': source}


def _measured(path):
    """
    Return the medians of periods and of delays from stamps of states to commands, s.

    A RunError tells that the run of the path has no two cycles, or no command after a state.
    """
    from opspace_control.runs.run import Run, RunError
    from opspace_control.runs.summary import Summary

    summary = Summary(Run(path))
    if not (len(summary.period) and (summary.run.by_plugin or len(summary.latency))):
        raise RunError(f'{path} has too few cycles to measure their period and delay: it has '
                       f'{len(summary.efforts)} messages of efforts.', path=str(path),
                       cure='Record for some seconds while the controller is active.')
    period = float(np.median(summary.period))
    if summary.run.by_plugin:
        return period, 0.0
    ages = [age for age in summary.ages if 0.0 <= age < 1.0]  # else the clocks differ
    return period, float(np.median(summary.latency)) + (float(np.median(ages)) if ages else 0.0)
