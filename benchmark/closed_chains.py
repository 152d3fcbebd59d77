# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Robots in closed chains: whether they keep their limits, and come to rest, in lock-step with MuJoCo.

`python benchmark/closed_chains.py` prints a table; `--write` puts it in doc/measurements/limits.md.
A hand, or what two hands hold, is sent to random goals, each of them once without V_max, a leap,
and once with it. The simulated robots have no end stops, and no joint rubs.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from figures import tabulate_goals

from opspace_control import (
    Constraint,
    Contact,
    Grasp,
    JointLimits,
    OperationalSpaceController,
    Payload,
    PoseTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.simulation import Box, SimulatedRobot

GOALS = 30              # for each robot
WAYS = 0.2, 0.6         # m, the shortest and the longest to a goal
LEAP, WALK = 3.0, 12.0  # s, for each goal, without V_max and with it
SPEED = 0.5             # m/s, V_max
LAST = 0.5              # s, what is looked at for rest
REST = 0.02             # rad/s
SQUEEZE = 20.0          # N
TIMESTEP = 1e-3         # s
_SETTLE = 0.3           # s, before a goal is set
_BOX = 0.2, 0.58, 0.2   # m
_PLACE = 0.3764, 0.0, 1.1004, 0.0, 0.0, 0.0, 1.0
_SOLE = (-0.1, -0.06, 0.0), (0.1, 0.06, 0.0)
_GROUND = Box('ground', (2.0, 2.0, 0.02), pose=(0, 0, -3.0, 0, 0, 0, 1), fixed=True)
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'limits.md'


@dataclass(frozen=True)
class Robot:
    """One of the demos' robots, and what its hands, or its feet, hold."""

    name: str
    demo: str
    mass: float = 0.0      # of a box between its hands, kg
    standing: tuple = ()   # links that stay where they are
    moving: tuple = ('',)  # what names of joints begin with; the others are under a brake


ROBOTS = (
    Robot('dual_arm with a box of 3 kg', 'dual_arm', mass=3.0),
    Robot('dual_arm with a box of 8 kg', 'dual_arm', mass=8.0),
    Robot('dual_arm, one hand held in place', 'dual_arm', standing=('r_hand',)),
    Robot('Talos on both feet', 'talos', standing=('left_sole_link', 'right_sole_link'),
          moving=('arm_', 'leg_')),
)


@dataclass(frozen=True)
class Outcome:
    """What came of one goal: the worst of driven joints, in parts of their limits if not said."""

    velocity: float
    beyond: float   # a limit of position, degrees
    step: float     # of an effort within a ms
    cut: float      # part of the time in which an effort was cut to its limit
    moving: float   # rad/s, the fastest joint at last
    squeeze: float  # N, that two hands were off what they are to squeeze with


class Scene:
    """A robot that holds what it is to hold, under control, in the simulator."""

    def __init__(self, robot, speed):
        demo = demo_robot(robot.demo)
        text, floating = demo.path().read_text(), 'base_link' if robot.demo == 'talos' else None
        joints = RobotModel.from_urdf(text).dof_names
        braked = [name for name in joints if not name.startswith(robot.moving)]
        self.model = RobotModel.from_urdf(
            text, locked_joints=braked, floating_base=floating is not None,
            passive_joints=['base'] if floating else [])
        held = Box('box', _BOX, robot.mass, _PLACE) if robot.mass else _GROUND
        self.simulated = SimulatedRobot(
            text, joint_friction=False, locked_joints=braked, floating_base=floating is not None,
            objects=[held])
        self.simulated.model.jnt_limited[:] = False
        self.simulated.reset(demo.start)
        self._dofs = [self.model.dof_index(name) for name in self.simulated.joint_names]
        self.hands, self.held = demo.hands, held.name
        options = {'max_linear_velocity': speed, 'max_angular_velocity': 3.0 * speed}
        self.grasp, contacts, tasks = None, [], []
        if robot.mass:
            self.grasp = Grasp(demo.hands, name='carry', grasp_force=SQUEEZE, axes='x y z rx ry rz',
                               payload=Payload.of_box(robot.mass, _BOX), **options)
        else:
            contacts = [Contact(link, sole=_SOLE) if floating else Constraint(link)
                        for link in robot.standing]
            if floating:
                tasks.append(PoseTask(floating))
            tasks.extend(PoseTask(hand, priority=int(floating is not None), **options)
                         for hand in demo.hands if hand not in robot.standing)
        self.controller = OperationalSpaceController(
            self.model, tasks, grasps=[self.grasp] if self.grasp else (), constraints=contacts,
            limits=JointLimits(self.model))
        self.task = self.grasp.task if self.grasp else tasks[int(floating is not None)]
        self.state = RobotState(self.model, self.model.neutral(), np.zeros(self.model.nv))
        self._see()
        self.controller.compute_torque(self.state)
        for link in demo.hands if self.grasp else robot.standing:
            self.simulated.grip(link, held.name)
        if self.grasp:
            self.grasp.engage(self.state)
        for one in contacts:
            one.close()

    def _see(self):
        q, v = self.state.q.copy(), self.state.v.copy()
        if self.simulated.floating_base:
            q[:7], v[:6] = self.simulated.base_pose, self.simulated.base_twist
        q[self.model.q_index[self._dofs]] = self.simulated.positions
        v[self._dofs] = self.simulated.velocities
        self.state.update(q, v)

    def run(self, seconds):
        """Go on for some seconds and return the `Outcome`."""
        model, driven = self.model, self.model.active
        limits = np.where(driven, model.effort_limits, np.inf)
        efforts, velocities, beyond, cut, off = [], [], 0.0, 0, 0.0
        for _ in range(round(seconds / TIMESTEP)):
            self._see()
            efforts.append(self.controller.compute_torque(self.state, dt=TIMESTEP))
            velocities.append(self.state.v.copy())
            joints = self.state.q[model.q_index]
            beyond = max(beyond, np.maximum(model.lower_position_limits - joints,
                                            joints - model.upper_position_limits)[driven].max())
            cut += self.controller.limited_joints > 0
            self.simulated.set_effort(efforts[-1][self._dofs])
            self.simulated.step()
            if self.grasp:
                off = max(off, abs(self._squeeze() - SQUEEZE))
        velocities = abs(np.array(velocities))
        return Outcome(
            (velocities / model.velocity_limits)[:, driven].max(), np.rad2deg(beyond),
            (abs(np.diff(efforts[1:], axis=0)) / limits).max(), cut / len(efforts),
            velocities[-round(LAST / TIMESTEP):].max(), off)

    def _squeeze(self):
        """Return what hands press towards each other with, N, beyond what moves the box."""
        first, second = (self.simulated.frame_pose(hand)[:3] for hand in self.hands)
        along = (second - first) / np.linalg.norm(second - first)
        forces = [self.simulated.grip_wrench(hand, self.held)[:3] for hand in self.hands]
        return 0.5 * along @ (forces[0] - forces[1])


def random_goals(count):
    """Return ways (count, 3), m."""
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(count, 3))
    return ways * (rng.uniform(*WAYS, count) / np.linalg.norm(ways, axis=1))[:, None]


def seek(robot, way, speed, seconds):
    """Send a robot from its start by a way (3,), m; return the `Outcome`."""
    scene = Scene(robot, speed)
    scene.run(_SETTLE)
    goal = scene.task.pose
    goal[:3] += way
    scene.task.set_target(goal)
    return scene.run(seconds)


def seek_twice(robot, way):
    """Return the `Outcome` of a leap, and that with V_max."""
    return seek(robot, way, np.inf, LEAP), seek(robot, way, SPEED, WALK)


def table(rows):
    """Return a table of (Robot, Outcomes of leaps, Outcomes with V_max) in Markdown."""
    return '\n'.join([
        f'{len(rows[0][1])} goals for each robot, {LEAP:g} s each without V_max and {WALK:g} s at '
        f'{SPEED:g} m/s, seed 0:', '',
        '| Robot | | velocity, of its limit | beyond a position limit | efforts cut, of the time '
        '| largest step of an effort | squeeze off by at most | not at rest |',
        '|---|---' + '|---:' * 6 + '|',
        *(_row(robot, kind, outcomes) for robot, *pair in rows
          for kind, outcomes in zip(('leap', f'{SPEED:g} m/s'), pair, strict=True))])


def _row(robot, kind, outcomes):
    def worst(name):
        return max(getattr(outcome, name) for outcome in outcomes)

    moving = [outcome.moving for outcome in outcomes if outcome.moving > REST]
    off = f'{worst("squeeze"):.1f} N' if robot.mass else ''
    restless = f'{len(moving)}, up to {max(moving):.2f} rad/s' if moving else '0'
    return (f'| {robot.name} | {kind} | {100.0 * worst("velocity"):.1f} % | {worst("beyond"):.2f}° '
            f'| {100.0 * np.mean([outcome.cut for outcome in outcomes]):.2f} % '
            f'| {100.0 * worst("step"):.0f} % '
            f'| {off} | {"" if kind == "leap" else restless} |')


def main():
    """Print the table, and write it where it belongs if asked to."""
    tabulate_goals(__doc__, _PAGE, 'closed', GOALS, [(robot, random_goals) for robot in ROBOTS],
                   seek_twice, table)


if __name__ == '__main__':
    main()
