# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The moving picture of the README: two hands that stay while the torso rocks, and a trot.

Both robots are simulated in lock-step, without ROS; `make gallery` draws it.
"""

import argparse
from pathlib import Path

import numpy as np

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
)
from opspace_control.cli.robots import demo_robot

_STEP = 1e-3  # s
_FRAME = 0.05  # s
_SECONDS = 3.0  # a whole number of periods of the torso, and of strides of the trot
_PERIOD, _ROCK = 1.5, 0.4  # s, rad
_SPEED, _RAMP = 1.5, 2.0  # m/s, s from the stand to the first frame
_FORCE = 5e-4  # m of an arrow for each N
_GREY, _BLUE, _RED = '0.35', 'tab:blue', 'tab:red'


def rocking_torso():
    """
    Return the frames of dual_arm, whose torso rocks while its hands stay.

    Each frame is (lines (k, 2, 3) from link to link, m, [], positions (2, 3) of the hands).
    """
    from opspace_control.simulation import SimulatedRobot
    from opspace_control.simulation.lockstep import LockStep

    demo = demo_robot('dual_arm')
    simulated = SimulatedRobot(demo.path().read_text())
    simulated.reset(demo.start)
    model = RobotModel.from_urdf_file(demo.path())
    posture = PostureTask(kp=100.0)
    controller = OperationalSpaceController(
        model, [PoseTask(hand, kp=400.0) for hand in demo.hands], posture=posture,
        limits=JointLimits(model))
    robot, frames = LockStep(simulated, controller), []
    for step in range(round(2.0 * _SECONDS / _STEP)):  # the first half swings in
        posture.set_target({'torso_roll': _ROCK * np.sin(2.0 * np.pi * step * _STEP / _PERIOD)})
        robot.cycle(_STEP)
        if step * _STEP >= _SECONDS and step % round(_FRAME / _STEP) == 0:
            frames.append((simulated.skeleton(), [], np.array(
                [simulated.frame_pose(hand)[:3] for hand in demo.hands])))
        simulated.step()
    return frames


def trot():
    """
    Return the frames of b1 in a running trot, relative to the place of its trunk on the ground.

    Each frame is (lines (k, 2, 3) from link to link, m, arrows (j, 2, 3) of contact forces, ticks
    (m, 3) of the ground).
    """
    from opspace_control.cli.showcase.legged_scene import LeggedScene

    scene = LeggedScene('b1')
    scene.locomotion.gait = 'running_trot'
    for velocity in np.linspace(0.2, _SPEED, 10):
        scene.locomotion.command(velocity)
        scene.run(_RAMP / 10)
    robot, frames = scene.robot.simulated, []
    for _ in range(round(_SECONDS / _FRAME)):
        scene.run(_FRAME)
        place = np.array([robot.base_pose[0], robot.base_pose[1], 0.0])
        feet = [(robot.frame_pose(name)[:3], contact.force[:3])
                for name, contact in scene.controller.constraints.items() if contact.closed]
        arrows = [(foot, foot + _FORCE * force) for foot, force in feet]
        ticks = np.arange(-8, 9) * 0.25 - np.array(place[0] % 0.25)
        frames.append((robot.skeleton() - place, np.reshape(arrows, (-1, 2, 3)) - place,
                       np.column_stack([ticks, 0.0 * ticks, 0.0 * ticks])))
    return frames


def draw(path, arms, legs):
    """Write the frames of two robots as an animated PNG."""
    from matplotlib.animation import PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 2.8), dpi=100, layout='constrained')
    FigureCanvasAgg(figure)
    writer = PillowWriter(fps=round(1.0 / _FRAME))
    with writer.saving(figure, path, figure.dpi):
        for arm, leg in zip(arms, legs, strict=True):
            figure.clear()
            left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.2))
            _draw_arms(left, *arm)
            _draw_legs(right, *leg)
            for panel in (left, right):
                panel.set_aspect('equal')
                panel.set_axis_off()
            writer.grab_frame()


def _draw_arms(panel, lines, _, hands):
    for line in _seen(lines):
        panel.plot(*line.T, color=_GREY, lw=4)
    panel.plot(*_seen(hands).T, 'o', color=_BLUE, markersize=9)
    panel.set(xlim=(-0.75, 0.75), ylim=(0.1, 1.6), title='hands stay, the torso rocks')


def _draw_legs(panel, lines, arrows, ticks):
    for line in lines[..., ::2]:
        panel.plot(*line.T, color=_GREY, lw=4)
    for arrow in arrows[..., ::2]:
        panel.plot(*arrow.T, color=_RED, lw=2)
    panel.axhline(0.0, color='0.7', linewidth=1)
    panel.plot(ticks[:, 0], ticks[:, 2] - 0.03, '|', color='0.7')
    panel.set(xlim=(-0.9, 0.9), ylim=(-0.15, 1.0), title='running trot, contact forces')


def _seen(points):
    """Return points (..., 2) as seen from ahead, a little from the side and from above."""
    x, y, z = np.moveaxis(points, -1, 0)
    return np.stack([y + 0.45 * x, z + 0.25 * y - 0.2 * x], axis=-1)


def main():
    """Simulate and draw."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('path', type=Path)
    draw(parser.parse_args().path, rocking_torso(), trot())


if __name__ == '__main__':
    main()
