# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace plan` and `opspace execute`: motions of links, with passive joints, too."""

import argparse
import math
from pathlib import Path

import numpy as np

from opspace_control.arguments import (
    add_controller,
    make_parser,
    names,
    numbers,
    positions,
    writing,
)
from opspace_control.control.controller import OperationalSpaceController
from opspace_control.control.planning.plan import Plan
from opspace_control.control.planning.plan_motion import plan_motion
from opspace_control.control.planning.postures import named_posture
from opspace_control.dynamics.passive_forces import PassiveForces
from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.errors import ControlError
from opspace_control.model import RobotState
from opspace_control.model.urdf import urdf_text
from opspace_control.spatial.rotations import quaternion_from_matrix
from opspace_control.tasks.pose import PoseTask
from opspace_control.tasks.pose_kinds import OrientationTask
from opspace_control.tasks.trajectory import PoseTrajectory

_DESCRIPTION = """\
Plan a motion: links of a robot go to goals, from rest to rest; joints without a drive move with
them. The plan is a table (CSV) of the motion of each joint and the effort of its drive, and can be
replayed on the simulated robot. Needs no ROS. The exit code is 0 if the links arrive, else 1."""

_EXECUTE = """\
Send a stored plan to a running controller, which follows it.

The plan is a file of `opspace plan`. The controller checks all of it before anything moves: its
joints, its start, limits of positions, velocities and efforts; a refusal names joint, time and
cure. Another pose, trajectory or goal of joints, ~/hold, a trip or Ctrl-C here ends it, and the
robot holds. The exit code is 0 if the robot gets to the end of the plan."""

_EPILOG = """\
the table: a comment line with facts in JSON, a line with the names of the columns (time,
position:NAME, velocity:NAME, acceleration:NAME, effort:NAME, pose:LINK:x..qw, error:LINK:x..rz,
limited, outside, slipping, truncated), then a line for each sample; rad, m, s, N m, N.

a planar arm whose wrist hangs freely (without --passive, a drive would hold it):
  opspace plan planar_3r.urdf --passive wrist --home shoulder=0.9,elbow=-1.2,wrist=-0.6 \\
      --axes 'x z' --by palm=1.5:0.1,0,0.1 --output palm.csv
  opspace plan planar_3r.urdf --replay palm.csv"""

_NEAR, _TURNED = 5e-3, math.radians(1.0)  # m, rad: within this a link has arrived
_SETTLING = 0.5  # s after the last goal
_SPIN, _ANSWER = 0.05, 2.0  # s, at most: of one turn, and of a request to hold


def main(arguments=None):
    """Make a plan and write it, or replay one; return 0 if the links arrive."""
    options = _parser().parse_args(arguments)
    return _replay(options) if options.replay else _plan(options)


def _parser():
    parser = make_parser('plan', _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument('urdf', metavar='URDF', type=Path, help='the robot, a URDF or xacro file')
    goals = parser.add_argument_group('goals, in order of time for each link')
    goals.add_argument('--to', metavar='LINK=SECONDS:X,Y,Z[,QX,QY,QZ,QW]', type=_goal,
                       action='append', default=[], help='a pose, or a position, to go to')
    goals.add_argument('--by', metavar='LINK=SECONDS:X,Y,Z', type=_goal, action='append',
                       default=[], help='a way to go from where the link begins')
    goals.add_argument('--axes', default='x y z rx ry rz', help='of all links (default: all six)')
    goals.add_argument('--steady', metavar='LINK', help='a link, such as a base without a drive, '
                       'whose orientation is kept as far as the goals allow')
    robot = parser.add_argument_group('the robot')
    robot.add_argument('--home', metavar='JOINT=VALUE,...', type=positions, default={},
                       help='where it begins, rad or m')
    robot.add_argument('--passive', metavar='A,B', type=names, default=(),
                       help="joints without a drive; 'base' for a base that floats freely")
    robot.add_argument('--locked', metavar='A,B', type=names, default=(),
                       help='joints that a brake holds')
    robot.add_argument('--floating-base', action='store_true', help='the root link moves freely')
    robot.add_argument('--no-gravity', action='store_true', help='as in orbit')
    robot.add_argument('--no-friction', action='store_true',
                       help="joints without the URDF's damping and friction")
    plan = parser.add_argument_group('the plan')
    plan.add_argument('--seconds', type=float, help=f'length (default: to the last goal, and '
                      f'{_SETTLING:g} s)')
    plan.add_argument('--timestep', type=float, default=1e-3, help='s (default: %(default)s)')
    plan.add_argument('--output', metavar='FILE', type=Path, default=Path('plan.csv'),
                      help='where it goes (default: %(default)s)')
    plan.add_argument('--replay', metavar='FILE', type=Path,
                      help='play this plan to the simulated robot instead of making one')
    plan.add_argument('--servo', metavar='HZ', type=float, default=2.0,
                      help='bandwidth of the replaying servo at the joints with a drive; 0 for the '
                      'efforts alone (default: %(default)s)')
    return parser


def _goal(text):
    """Return (link, time, numbers) of ``link=2.5:0.1,0,0.2``."""
    link, equals, rest = text.rpartition('=')
    time, colon, values = rest.partition(':')
    values, time = numbers(values), numbers(time)
    if not (link and equals and colon) or len(time) != 1 or len(values) not in (3, 7):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not LINK=SECONDS:X,Y,Z or LINK=SECONDS:X,Y,Z,QX,QY,QZ,QW')
    return link, time[0], values


def _plan(options):
    model = RobotModel.from_urdf_file(
        options.urdf, floating_base=options.floating_base, passive_joints=options.passive,
        locked_joints=options.locked)
    state = RobotState(model, named_posture(model, options.home), np.zeros(model.nv))
    goals = _trajectories(options, model, state)
    if not goals:
        raise ControlError('There is no goal.', cure='Give one or more with --to or --by.')
    duration = options.seconds or max(path.duration for path in goals.values()) + _SETTLING
    forces = PassiveForces(model) if options.no_friction else PassiveForces.from_urdf(model)
    tasks = [PoseTask(link, axes=options.axes) for link in goals]
    if options.steady:
        tasks.append(OrientationTask(options.steady, name=f'{options.steady} steady', priority=1))
    controller = OperationalSpaceController(model, tasks, passive_forces=forces,
                                            gravity_compensation=not options.no_gravity)
    plan = plan_motion(controller, state, goals, duration, timestep=options.timestep)
    with writing(options.output):
        plan.save(options.output)
    return _report(plan, model, options.output)


def _trajectories(options, model, state):
    """Return the trajectory of each link that has goals, from rest to rest at each of them."""
    points = {}
    for relative, goals in ((False, options.to), (True, options.by)):
        for link, time, values in goals:
            points.setdefault(link, []).append((time, relative, values))
    trajectories = {}
    for link, goals in points.items():
        start = model.forward_kinematics(state, [link])[link]
        times, poses = [0.0], [np.r_[start[:3, 3], quaternion_from_matrix(start[:3, :3])]]
        for time, relative, values in sorted(goals):
            pose = poses[-1].copy()
            pose[:len(values)] = values
            pose[:3] += relative * start[:3, 3]
            times.append(time)
            poses.append(pose)
        rest = np.zeros((len(poses), 6))
        trajectories[link] = PoseTrajectory(times, poses, rest, rest)
    return trajectories


def _report(plan, model, output):
    """Print what the plan says; return 0 if the links arrive."""
    print(f'{plan.robot}: {plan.time[-1]:g} s, {len(plan.time)} samples in {output}')
    arrived = True
    for e, task in enumerate(plan.tasks):
        off, turned = (np.linalg.norm(plan.errors[:, e, part], axis=1)
                       for part in (slice(0, 3), slice(3, 6)))
        arrived &= bool(off[-1] < _NEAR and turned[-1] < _TURNED)
        print(f'  {task}: {1e3 * off[-1]:.3g} mm and {math.degrees(turned[-1]):.2g}° from its goal '
              f'at the end, {1e3 * off.max():.3g} mm and {math.degrees(turned.max()):.2g}° on the '
              'way')
    span = np.ptp(plan.q, axis=0)
    for k, name in enumerate(plan.dof_names):
        i = model.q_index[k]
        moved = f'moves over {span[i]:.3g}' if i >= 0 else 'turns'
        most = abs(plan.effort[:, k]).max()
        drive = ('no drive' if name in plan.passive else 'locked' if name in plan.locked else
                 f'at most {most:.3g} of {model.effort_limits[k]:.3g}')
        print(f'    {name}: {drive}, {moved}')
    for what, samples in (('Effort limits cut in', plan.limited > 0),
                          ('Joints are beyond their position limits', plan.outside > 0),
                          ('A grasp or contact slips', plan.slipping > 0),
                          ('Not all directions of the goals could be moved', plan.truncated)):
        if samples.any():
            print(f'  {what}, first at {plan.time[samples.argmax()]:.3f} s, '
                  f'{samples.mean():.0%} of the time.')
    return 0 if arrived else 1


def _replay(options):
    from opspace_control.simulation import SimulatedRobot
    from opspace_control.simulation.replay import replay

    plan = Plan.load(options.replay)
    text = urdf_text(options.urdf)
    floating = len(plan.dof_names) > 0 and plan.dof_names[0] == 'base/x'
    robot = SimulatedRobot(text, floating_base=floating, timestep=plan.timestep,
                           gravity=plan.gravity, joint_friction=not options.no_friction)
    model = RobotModel.from_urdf(text, floating_base=floating)
    inertia = model.mass_matrix(RobotState(model, plan.q[0], plan.v[0])).diagonal()
    bandwidth = 2.0 * math.pi * options.servo
    q, effort = replay(plan, robot, stiffness=bandwidth**2 * inertia,
                       damping=2.0 * bandwidth * inertia)
    print(f'{plan.robot}: replayed in {robot.time:g} s')
    arrived = True
    for e, (task, link) in enumerate(zip(plan.tasks, plan.frames, strict=True)):
        off = np.linalg.norm(robot.frame_pose(link)[:3] - plan.poses[-1, e, :3])
        arrived &= bool(off < _NEAR)
        print(f'  {task}: {1e3 * off:.3g} mm from where the plan ends')
    largest = abs(q - plan.q).max(axis=0)
    for name in plan.passive:
        if name in plan.coordinate_names:
            i = plan.coordinate_names.index(name)
            print(f'    {name}: without a drive, at most {largest[i]:.2g} from the plan')
    print(f'  the servo added at most {abs(effort - plan.effort).max():.2g} to the efforts')
    return 0 if arrived else 1


def execute(arguments):
    """Send a plan and wait for its end; return 0 if the robot gets there."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    from opspace_control.ros.clients.plan_sender import PlanSender
    from opspace_control.ros.middleware.executor import Stop, initialize, parse

    parser = make_parser('execute', _EXECUTE)
    parser.add_argument('plan', type=Path, metavar='FILE', help='a file of opspace plan')
    add_controller(parser)
    parser.add_argument('--timeout', type=float, metavar='S', default=10.0,
                        help='how long to wait for the controller (default: %(default)g)')
    options = parse(parser, arguments)
    plan = Plan.load(options.plan)
    trajectory = plan.joint_trajectory()
    initialize(arguments)
    try:
        stop, executor = Stop(), SingleThreadedExecutor()
        node = PlanSender(trajectory, options.controller, options.timeout)
        executor.add_node(node)
        print(f'{plan.robot}: {trajectory.duration:g} s, {len(trajectory.times)} points of '
              f'{len(trajectory.joints)} joints', flush=True)
        _wait(node, executor, stop)
        executor.shutdown()
        node.destroy_node()
    finally:
        rclpy.try_shutdown()
    return 0 if node.status.get('state') == 'succeeded' else 1


def _wait(node, executor, stop):
    """Spin until the plan is over, and print the progress; on Ctrl-C the robot holds."""
    told = None
    while not (node.over or stop.wanted):
        node.look()
        executor.spin_once(_SPIN)
        second = int(float(node.status.get('time [s]', 0.0)))
        if node.status and not node.over and told != second:
            told = second
            print(f'  {node.status["time [s]"]} s of {node.status["duration [s]"]} s: '
                  f'{node.status["distance [rad or m]"]} rad or m from the plan at most '
                  f'({node.status["furthest joint"]})', flush=True)
    if node.sent and not node.over:
        executor.spin_until_future_complete(node.hold(), timeout_sec=_ANSWER)
        executor.spin_once(_SPIN)
    print(node.status.get('message', 'Nothing was sent.'), flush=True)
