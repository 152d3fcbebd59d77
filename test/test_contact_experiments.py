# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The experiments of [K87] IX with a PUMA 560, in lock-step; `opspace demo` shows the same."""

import pytest

pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from opspace_control.cli.showcase.contact import CONTACTS, impact, speed_at_impact
from opspace_control.cli.showcase.study_picture import draw


@pytest.mark.parametrize('study', CONTACTS, ids=lambda study: study.name)
def test_studies_find_what_the_paper_says(study, tmp_path):
    """And the other way round they do not: each trial is judged for what it is."""
    trials = study.perform()
    findings = study.judge(*trials)
    assert all(finding.met for finding in findings), '\n' + '\n'.join(map(str, findings))
    assert not all(finding.met for finding in study.judge(*trials[::-1]))
    picture = tmp_path / 'picture.png'
    draw(study, trials, picture)
    assert picture.stat().st_size > 10_000


def test_impact_at_the_speed_of_the_paper():
    """4 in/s: one touch, and no effort is cut."""
    trial = impact('as the paper', 0.1, damping=150.0)
    assert speed_at_impact(trial) == pytest.approx(0.1, rel=0.01)
    assert trial.touches == 1
    assert trial.limited == 0
    assert trial.pressed[-50:].mean() == pytest.approx(20.0, rel=2e-3)
    assert (trial.pressed[trial.times > 1.1] > 0.0).all()
