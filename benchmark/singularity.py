# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Near singularities: this package beside damped least squares, truncation and IsaacLab's damping.

All are the law of [CK00] (11)-(13) with the same gains, goals and posture, in lock-step with
MuJoCo; the peers differ in what they take for Λ, and know no limits of joints.
`python benchmark/singularity.py` prints a table; `--write` puts it, and a picture, in
doc/measurements/singularities.md.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from figures import put_into

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import real_robot
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot
from opspace_control.spatial.rotations import vector_from_matrix

KP, KD, POSTURE_KP, POSTURE_KD = 100.0, 20.0, 25.0, 10.0
SPEED, TURNING = 0.5, 1.5  # m/s, rad/s
SECONDS = 5.0
_DOC = Path(__file__).resolve().parents[1] / 'doc'
_PAGE, _PICTURE = _DOC / 'measurements' / 'singularities.md', _DOC / 'singularities.png'


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
BARE, OURS = 'bare law', 'with limits'


@dataclass(frozen=True)
class Case:
    """A robot, where it starts, and where its hand is to go: a way (3,), m, or a posture."""

    words: str
    robot: str
    start: tuple
    way: tuple = None
    like: tuple = None

    @property
    def reached(self):
        """Whether the goal can be reached."""
        return 'reach' not in self.words


_SIX = 'x y z rx ry rz'
ROBOTS = {'planar_2r': (share_directory() / 'urdf' / 'planar_2r.urdf', 'hand', 'x z'),
          'UR5': (real_robot('ur_description/urdf/ur5_robot.urdf'), 'tool0', _SIX),
          'Panda': (real_robot('panda_description/urdf/panda.urdf'), 'panda_link8', _SIX)}
_WRIST, _ARM = (0.0, -1.2, 1.6, -1.9), (0.0, -0.3, 0.0, -2.0, 0.0)
# Postures away from singularities.
BENT = {'planar_2r': (0.6, -1.2), 'UR5': (*_WRIST, -1.57, 0.0), 'Panda': (*_ARM, 1.7, 0.78)}
CASES = (
    Case('planar_2r, beyond reach', 'planar_2r', BENT['planar_2r'], (0.5, 0.0, 1.0)),
    Case('planar_2r, stretched, drawn back', 'planar_2r', (0.0, 0.0), (-0.4, 0.0, 0.0)),
    Case('UR5, beyond reach', 'UR5', BENT['UR5'], (0.8, 0.0, 0.1)),
    Case('UR5, through the wrist', 'UR5', (*_WRIST, -0.6, 0.0), like=(0.3, *_WRIST[1:], 0.6, 0.3)),
    Case('UR5, over the shoulder', 'UR5', BENT['UR5'], (-1.02, 0.0, 0.0)),
    Case('UR5, stretched up, drawn back', 'UR5', (0.0, -np.pi / 2, 0.0, -np.pi / 2, 0.0, 0.0),
         (0.2, 0.1, -0.3)),
    Case('Panda, beyond reach', 'Panda', BENT['Panda'], (0.1, 0.3, 1.0)),
    Case('Panda, wrist in line, sideways', 'Panda', (*_ARM, 0.0, 0.78), (0.0, 0.1, 0.1)),
)


class Peer:
    """The law with another Λ, dense in NumPy."""

    def __init__(self, model, case, target, posture, invert, scaled):
        _, self._frame, axes = ROBOTS[case.robot]
        self._model = model
        self._rows = [_SIX.split().index(axis) for axis in axes.split()]
        self._target, self._posture = target, posture
        self._invert, self._scaled = invert, scaled

    def compute_torque(self, state):
        """Return joint forces (nv,), N·m, not limited."""
        model, frame, rows = self._model, [self._frame], self._rows
        pose = model.forward_kinematics(state, frame)[self._frame]
        J = model.jacobian(state, frame)[rows]
        error = np.concatenate([self._target[:3, 3] - pose[:3, 3],
                                vector_from_matrix(self._target[:3, :3] @ pose[:3, :3].T)])
        wanted = KP / KD * error
        for part, limit in ((slice(3), SPEED), (slice(3, 6), TURNING)):
            wanted[part] *= min(1.0, limit / max(np.linalg.norm(wanted[part]), 1e-9))
        a_null = POSTURE_KP * (self._posture - state.q) - POSTURE_KD * state.v
        missing = (KD * (wanted[rows] - J @ state.v) - J @ a_null
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
        return A @ a_null + model.bias_force(state) + model.gravity(state) + J.T @ force


@dataclass(frozen=True)
class Course:
    """What was seen, a row for each ms."""

    left: np.ndarray    # (k,) m, distance from the goal
    aside: np.ndarray   # (k,) m, distance from the straight line to the goal
    effort: np.ndarray  # (k,) largest effort commanded, of its limit
    step: np.ndarray    # (k,) its largest change within the last ms, of its limit
    speed: np.ndarray   # (k,) largest joint speed, of its limit


def _law(model, case, who, target, posture):
    """Return what computes the torque: one of our controllers, or a peer."""
    if who in PEERS:
        return Peer(model, case, target, posture, *PEERS[who])
    _, frame, axes = ROBOTS[case.robot]
    task = PoseTask(frame, axes=axes, kp=KP, kd=KD, max_linear_velocity=SPEED,
                    max_angular_velocity=TURNING)
    task.set_target(target)
    return OperationalSpaceController(
        model, task, PostureTask(POSTURE_KP, POSTURE_KD, target=posture),
        **({'limits': JointLimits(model)} if who == OURS else {'effort_limits': np.inf}))


def run(case, who):
    """Return the `Course` of a case under one of the laws."""
    path, frame, _ = ROBOTS[case.robot]
    model, robot = RobotModel.from_urdf_file(path), SimulatedRobot(path.read_text())
    robot.reset(positions=dict(zip(model.dof_names, case.start, strict=False)))
    state = RobotState(model, robot.positions, robot.velocities)
    start = model.forward_kinematics(state, [frame])[frame].copy()
    target = start.copy()
    if case.like is None:
        target[:3, 3] += case.way
    else:
        there = RobotState(model, np.array(case.like), np.zeros(model.nv))
        target = model.forward_kinematics(there, [frame])[frame].copy()
    way = target[:3, 3] - start[:3, 3]
    way /= max(np.linalg.norm(way), 1e-9)
    law = _law(model, case, who, target, state.q.copy())
    seen, before = [], None
    for _ in range(round(SECONDS / robot.timestep)):
        state.update(robot.positions, robot.velocities)
        tau = law.compute_torque(state)
        hand = model.forward_kinematics(state, [frame])[frame][:3, 3]
        gone = hand - start[:3, 3]
        aside = gone - way * (way @ gone)
        seen.append((np.linalg.norm(target[:3, 3] - hand), np.linalg.norm(aside),
                     (abs(tau) / model.effort_limits).max(),
                     0.0 if before is None else (abs(tau - before) / model.effort_limits).max(),
                     (abs(state.v) / model.velocity_limits).max()))
        before = tau
        robot.set_effort(np.clip(tau, -model.effort_limits, model.effort_limits))
        robot.step()
    return Course(*np.array(seen).T)


def table(courses):
    """Return the courses, {(case, who): Course}, as a Markdown table."""
    lines = ['| | | worst error | left at the end | peak effort | largest step of an effort '
             '| peak joint speed | joint speed at the end |',
             '|---|---|---:|---:|---:|---:|---:|---:|']
    for (case, who), course in courses.items():
        aside = f'{1e3 * course.aside.max():.1f} mm' if case.reached else ''
        lines.append(
            f'| {case.words if who == OURS else ""} | {who} | {aside} '
            f'| {1e3 * course.left[-1]:.1f} mm | {100.0 * course.effort.max():.0f} % '
            f'| {100.0 * course.step[2:].max():.1f} % | {100.0 * course.speed.max():.0f} % '
            f'| {100.0 * course.speed[-500:].max():.1f} % |')
    return '\n'.join(lines)


def draw(courses, path):
    """Write a picture: how far the hands are from their goals, and how fast the joints are."""
    import matplotlib as mpl
    mpl.use('Agg')
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, len(CASES), figsize=(20, 6), sharex=True,
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
    figure.savefig(path, dpi=90)
    plt.close(figure)


def main():
    """Measure, print, and with --write put it in the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--write', action='store_true', help=f'write {_PAGE.name} and its picture')
    write = parser.parse_args().write
    courses = {(case, who): run(case, who) for case in CASES for who in (OURS, BARE, *PEERS)}
    print(table(courses))
    if write:
        put_into(_PAGE, 'singularities', table(courses))
        draw(courses, _PICTURE)


if __name__ == '__main__':
    main()
