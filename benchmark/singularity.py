# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Near singularities: this package beside damped least squares, truncation and IsaacLab's damping.

All are the law of [CK00] (11)-(13) with the same gains, goals and posture, in lock-step with
MuJoCo; the peers differ in what they take for Λ. By itself (`python benchmark/singularity.py`) it
writes the table and the picture of doc/singularities.md.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from figures import Figure, Spread

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import _real_robot_directories
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot
from opspace_control.spatial.rotation_vectors import vector_from_matrix

_KP, _KD, _POSTURE_KP, _POSTURE_KD = 100.0, 20.0, 25.0, 10.0
_SPEED, _TURNING = 0.5, 1.5  # m/s, rad/s
_SECONDS = 5.0


def damped_least_squares(eigenvalues):
    """Return 1 / λ damped by a hundredth of the mean, k = 0.1 of the usual k²."""
    return 1.0 / (eigenvalues + 0.01 * eigenvalues.mean())


def truncated(eigenvalues):
    """Return 1 / λ, and nothing for less than a thousandth of the largest."""
    kept = eigenvalues > 1e-3 * eigenvalues.max()
    return np.where(kept, 1.0 / np.where(kept, eigenvalues, 1.0), 0.0)


def isaac_lab(eigenvalues):
    """
    Return 1 / λ damped as IsaacLab's documentation describes.

    Relative to the largest eigenvalue: damping of 1e-5 for what is at most that, less and less by a
    cubic smoothstep up to 1e-4. Theirs is on Λ⁻¹ in metres and radians, unscaled.
    """
    low, high = 1e-5, 1e-4
    largest = eigenvalues.max()
    t = np.clip((eigenvalues / largest - low) / (high - low), 0.0, 1.0)
    return 1.0 / (eigenvalues + low * largest * (1.0 - t * t * (3.0 - 2.0 * t)))


# What is made of the eigenvalues, and whether they are those of the scaled Λ⁻¹.
PEERS = {'damped least squares': (damped_least_squares, True), 'truncation': (truncated, True),
         'IsaacLab': (isaac_lab, False)}
OURS = 'this package'


@dataclass(frozen=True)
class Case:
    """A robot, where it starts, and where its hand is to go: a way (3,), m, or a posture."""

    words: str
    urdf: str
    frame: str
    axes: str
    start: tuple
    way: tuple = None
    like: tuple = None


_BENT, _WRIST = (0.0, -1.2, 1.6, -1.9, -1.57, 0.0), (0.0, -1.2, 1.6, -1.9)
_UR5 = 'ur_description/urdf/ur5_robot.urdf'
_SIX = 'x y z rx ry rz'
CASES = (
    Case('planar_2r, out of reach', 'planar_2r.urdf', 'hand', 'x z', (0.6, -1.2), (0.5, 0.0, 1.0)),
    Case('planar_2r, stretched, drawn back', 'planar_2r.urdf', 'hand', 'x z', (0.0, 0.0),
         (-0.4, 0.0, 0.0)),
    Case('UR5, out of reach', _UR5, 'tool0', _SIX, _BENT, (0.8, 0.0, 0.1)),
    Case('UR5, through the wrist', _UR5, 'tool0', _SIX, (*_WRIST, -0.6, 0.0),
         like=(*_WRIST, 0.6, 0.0)),
    Case('UR5, stretched up, drawn back', _UR5, 'tool0', _SIX, (0.0, -1.57, 0.0, -1.57, 0.0, 0.0),
         (0.2, 0.1, -0.3)),
)


class Peer:
    """The law with another Λ, dense in NumPy."""

    def __init__(self, model, case, target, invert, scaled):
        self._model, self._frame = model, case.frame
        self._rows = [_SIX.split().index(axis) for axis in case.axes.split()]
        self._target, self._posture = target, np.array(case.start)
        self._invert, self._scaled = invert, scaled

    def compute_torque(self, state):
        """Return joint forces (nv,), N·m, not limited."""
        model, frame, rows = self._model, [self._frame], self._rows
        pose = model.forward_kinematics(state, frame)[self._frame]
        J = model.jacobian(state, frame)[rows]
        error = np.concatenate([self._target[:3, 3] - pose[:3, 3],
                                vector_from_matrix(self._target[:3, :3] @ pose[:3, :3].T)])
        wanted = _KP / _KD * error
        for part, limit in ((slice(3), _SPEED), (slice(3, 6), _TURNING)):
            wanted[part] *= min(1.0, limit / max(np.linalg.norm(wanted[part]), 1e-9))
        a_null = _POSTURE_KP * (self._posture - state.q) - _POSTURE_KD * state.v
        missing = (_KD * (wanted[rows] - J @ state.v) - J @ a_null
                   - model.bias_acceleration(state, frame)[rows])
        A = model.mass_matrix(state)
        L = J @ np.linalg.solve(A, J.T)
        scale = np.ones(len(rows))
        if self._scaled:
            for part in (np.array(rows) < 3, np.array(rows) >= 3):
                if part.any():
                    scale[part] = 1.0 / np.sqrt(L.diagonal()[part].mean())
        values, vectors = np.linalg.eigh(scale[:, None] * L * scale)
        gains = self._invert(values.clip(0.0))
        force = scale * (vectors @ (gains * (vectors.T @ (scale * missing))))
        return (A @ a_null + model.bias_force(state) + model.gravity(state) + J.T @ force)


@dataclass(frozen=True)
class Course:
    """What was seen, a row for each ms."""

    left: np.ndarray    # (k,) m, distance from the goal
    effort: np.ndarray  # (k,) largest effort commanded, of its limit
    step: np.ndarray    # (k,) N·m, its largest change within the last ms
    speed: np.ndarray   # (k,) largest joint speed, of its limit


def run(case, who):
    """Return the `Course` of a case under one of the laws."""
    path = _path(case.urdf)
    model, robot = RobotModel.from_urdf_file(path), SimulatedRobot(path.read_text())
    robot.reset(positions=dict(zip(model.dof_names, case.start, strict=True)))
    state = RobotState(model, robot.positions, robot.velocities)
    target = model.forward_kinematics(state, [case.frame])[case.frame].copy()
    if case.like is None:
        target[:3, 3] += case.way
    else:
        there = RobotState(model, np.array(case.like), np.zeros(model.nv))
        target = model.forward_kinematics(there, [case.frame])[case.frame].copy()
    if who == OURS:
        task = PoseTask(case.frame, axes=case.axes, kp=_KP, kd=_KD, max_linear_velocity=_SPEED,
                        max_angular_velocity=_TURNING)
        task.set_target(target)
        law = OperationalSpaceController(
            model, [task], PostureTask(_POSTURE_KP, _POSTURE_KD, target=np.array(case.start)),
            effort_limits=np.inf)
    else:
        law = Peer(model, case, target, *PEERS[who])
    seen, before = [], None
    for _ in range(round(_SECONDS / robot.timestep)):
        state.update(robot.positions, robot.velocities)
        tau = law.compute_torque(state)
        hand = model.forward_kinematics(state, [case.frame])[case.frame][:3, 3]
        seen.append((np.linalg.norm(target[:3, 3] - hand),
                     (abs(tau) / model.effort_limits).max(),
                     0.0 if before is None else abs(tau - before).max(),
                     (abs(state.v) / model.velocity_limits).max()))
        before = tau
        robot.set_effort(np.clip(tau, -model.effort_limits, model.effort_limits))
        robot.step()
    return Course(*np.array(seen).T)


def _path(urdf):
    ours = share_directory() / 'urdf' / urdf
    if ours.exists():
        return ours
    return next(root / urdf for root in _real_robot_directories() if (root / urdf).exists())


def measure():
    """Return a figure for each case: our peak joint speed beside the best peer's."""
    figures = []
    for number, case in enumerate(CASES):
        peaks = {who: run(case, who).speed.max() for who in (OURS, *PEERS)}
        best = min(PEERS, key=peaks.get)
        figures.append(Figure(
            f'singularity.{number}', f'{case.words}: peak joint speed of its limit, beside {best}',
            Spread.of([peaks[OURS] / peaks[best]]), None, '', Spread.of([peaks[OURS]]),
            Spread.of([peaks[best]])))
    return figures


def table(courses):
    """Return the courses, {(case, who): Course}, as a Markdown table."""
    lines = ['| | | left at the end | peak effort | step in a ms | peak joint speed | at the end |',
             '|---|---|---:|---:|---:|---:|---:|']
    for (case, who), course in courses.items():
        lines.append(
            f'| {case.words if who == OURS else ""} | {who} | {1e3 * course.left[-1]:.1f} mm '
            f'| {100.0 * course.effort.max():.0f} % | {course.step[2:].max():.1f} N·m '
            f'| {100.0 * course.speed.max():.0f} % | {100.0 * course.speed[-500:].max():.1f} % |')
    return '\n'.join(lines)


def draw(courses, path):
    """Write a picture: how far the hands are from their goals, and how fast the joints are."""
    import matplotlib as mpl
    mpl.use('Agg')
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, len(CASES), figsize=(15, 6), sharex=True,
                                  layout='constrained')
    for (case, who), course in courses.items():
        column = CASES.index(case)
        times = 1e-3 * np.arange(course.left.size)
        style = {'lw': 2.2, 'color': 'k', 'zorder': 3} if who == OURS else {'lw': 1.0}
        panels[0, column].plot(times, course.left, label=who, **style)
        panels[1, column].semilogy(times, np.maximum(course.speed, 1e-4), **style)
        panels[0, column].set_title(case.words, fontsize=9)
        panels[1, column].set_xlabel('time, s')
    panels[0, 0].set_ylabel('distance from the goal, m')
    panels[1, 0].set_ylabel('fastest joint, of its limit')
    panels[0, 0].legend(fontsize=8, frameon=False)
    for panel in panels.flat:
        panel.grid(alpha=0.3)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main():
    """Write the table and the picture."""
    courses = {(case, who): run(case, who) for case in CASES for who in (OURS, *PEERS)}
    doc = Path(__file__).resolve().parents[1] / 'doc'
    page = doc / 'singularities.md'
    begin, end = '<!-- table:begin -->', '<!-- table:end -->'
    text = page.read_text()
    before, after = text.split(begin)[0], text.split(end)[1]
    page.write_text(f'{before}{begin}\n{table(courses)}\n{end}{after}')
    draw(courses, doc / 'singularities.png')
    print(table(courses))


if __name__ == '__main__':
    main()
