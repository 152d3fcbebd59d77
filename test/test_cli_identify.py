# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace identify`: from a motion, played by a simulated robot, to parameters and a URDF."""

import re

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('mcap_ros2', reason='mcap-ros2-support is not installed')

import yaml
from ideal_robot import Distances
from identified import with_friction, with_masses
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from robots import robot_file
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control import (
    CollisionDescription,
    DriveFriction,
    JointLimits,
    OperationalSpaceController,
    Plan,
    Playback,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.main import main
from opspace_control.identification import excitation
from opspace_control.identification.excitation import POOR
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.parameter_file import ParameterFile, refusals
from opspace_control.runs.writer import ROBOT, RunWriter
from opspace_control.simulation import SimulatedRobot
from opspace_control.simulation.lockstep import LockStep

URDF = robot_file('panda.urdf').read_text()
BARE = with_friction(URDF, 0.0)
LOCKED = ['panda_finger_joint1']
HOME = 'panda_joint2=-0.3,panda_joint4=-1.8,panda_joint6=1.8,panda_finger_joint1=0.02'
FRICTION = 0.02  # of the effort limits
PERIOD, STEPS = 2e-3, 2  # s, of the controller and of what is recorded, and steps of the simulator
STATES, COMMANDS = '/joint_states', '/effort_controller/commands'
KINDS = {STATES: 'sensor_msgs/msg/JointState', COMMANDS: 'std_msgs/msg/Float64MultiArray'}
OWN = '/opspace_controller'


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp('identify')
    (folder / 'panda.urdf').write_text(BARE)
    return folder


@pytest.fixture(scope='module')
def motion(folder):
    """The motion, written as users do it."""
    assert main(['identify', '--excite', str(folder / 'panda.urdf'), '--home', HOME, '--locked',
                 ','.join(LOCKED), '--output', str(folder / 'excite.csv'), '--clearance', '0']) == 0
    return Plan.load(folder / 'excite.csv')


def test_the_motion_can_be_looked_at_first(folder, motion, capsys):
    """The efforts of the plan alone move the simulated robot along it."""
    assert main(['plan', str(folder / 'panda.urdf'), '--replay', str(folder / 'excite.csv')]) == 0
    added = re.search(r'the servo added at most ([\d.e+-]+) to', capsys.readouterr().out)[1]
    assert float(added) < 0.1
    assert motion.time[-1] == pytest.approx(30.0)


def play(path, motion, plant_urdf, noise=0.0, parameters=(), guess=0.5 * FRICTION, seconds=np.inf):
    """
    Write a run in which a robot of another URDF follows a motion, as a recorder would.

    The controller overcomes a ``guess`` of the friction, in parts of the effort limits. The run
    ends after some ``seconds``, if not with the motion.
    """
    model = RobotModel.from_urdf(BARE, locked_joints=LOCKED)
    plant = SimulatedRobot(plant_urdf, timestep=PERIOD / STEPS, locked_joints=LOCKED)
    start = dict(zip(model.dof_names, motion.q[0], strict=True))
    plant.reset(positions=start)
    controller = OperationalSpaceController(
        model, [], PostureTask(kp=400.0), limits=JointLimits(model))
    controller.drive_friction = DriveFriction(
        model, coulomb=np.where(model.active, guess * model.effort_limits, 0.0))
    state = RobotState(model, motion.q[0], np.zeros(model.nv))
    follow = Playback(controller, motion.joint_trajectory(), state)
    random = np.random.default_rng(0)
    joints = [name for name in model.joint_names if name not in LOCKED]
    writer = RunWriter(path)
    writer.attach(ROBOT, BARE)
    writer.describe(
        controller=OWN, parameters={'locked_joints': LOCKED, 'tasks': [], **dict(parameters)},
        says={COMMANDS: KINDS[COMMANDS]}, hears={STATES: KINDS[STATES]}, services={})
    channels = {topic: writer.channel(topic, kind, QoSProfile(depth=1))
                for topic, kind in KINDS.items()}
    for k in range(round(min(follow.duration, seconds) / PERIOD)):
        q = plant.positions + noise * random.standard_normal(model.nv)
        # Another clock than that by which messages are sent, and a cycle that takes 0.2 ms.
        stamp = round(1e9 * PERIOD * k)
        now, stamp = 2 * stamp, stamp + 5_000_000_000
        message = JointState(name=list(model.joint_names), position=q.tolist(),
                             velocity=plant.velocities.tolist())
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        writer.write(channels[STATES], serialize_message(message), now, now)
        follow.move(PERIOD * k)
        state.update(q, plant.velocities)
        tau = controller.compute_torque(state, dt=PERIOD)
        plant.set_effort(tau)
        for _ in range(STEPS):
            plant.step()
        writer.write(channels[COMMANDS], serialize_message(Float64MultiArray(
            data=tau[[model.dof_index(name) for name in joints]].tolist())), now + 400_000,
            now + 400_000)
    writer.close({})
    return joints


@pytest.fixture(scope='module')
def run(folder, motion):
    """A run of a robot with friction and other masses than its URDF."""
    plant = with_friction(with_masses(URDF, 3), FRICTION)
    play(folder / 'run.mcap', motion, plant, noise=1e-5)
    return folder / 'run.mcap', RobotModel.from_urdf(plant)


def read(path):
    return yaml.safe_load(path.read_text())['/**/opspace_controller']['ros__parameters']


@pytest.fixture(scope='module')
def identified(run):
    """What users see, and the files."""
    import contextlib
    import io
    path, truth = run
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(['identify', str(path)]) == 0
    return (out.getvalue(), path.with_suffix('.identified.yaml'),
            path.with_suffix('.identified.urdf'), truth)


def test_friction_is_found(identified):
    """Coulomb friction within 3 %, the viscous, which is less here, within 15 %."""
    _, path, _, truth = identified
    found = read(path)['drive_friction']
    assert found.pop('fraction') == 1.0
    assert list(found) == [name for name in truth.dof_names if name not in LOCKED]
    for name, numbers in found.items():
        dof = truth.dof_index(name)
        assert numbers['coulomb'] == pytest.approx(truth.friction[dof], rel=0.03), name
        assert numbers['viscous'] == pytest.approx(truth.damping[dof], rel=0.15), name
    values = ParameterFile(path).of_node('opspace_controller')
    assert not list(refusals(values, table_of(values)))


def test_efforts_of_held_out_samples_are_told(identified):
    out = identified[0]
    rows = re.findall(r'^  (panda_joint\d) .* ([\d.]+) N·m +([\d.]+) N·m +([\d.]+) N·m$', out,
                      re.MULTILINE)
    assert len(rows) == 7
    for name, before, after, _ in rows:
        assert float(after) < 0.1 * float(before), name


def test_the_urdf_is_that_of_a_robot_like_the_true_one(identified):
    """Gravity torques in postures that were not visited are nearer to the truth."""
    model, found = (RobotModel.from_urdf(text) for text in (BARE, identified[2].read_text()))
    truth = identified[3]
    assert found.frame_names == model.frame_names
    errors = np.zeros((2, 7))
    for seed in range(20):
        q = model.neutral()
        middle = np.array([0.0, 0.0, 0.0, -1.8, 0.0, 1.8, 0.0])
        q[:7] = middle + np.random.default_rng(seed).uniform(-1.0, 1.0, 7)
        torques = [robot.gravity(RobotState(robot, q, np.zeros(robot.nv)))[:7]
                   for robot in (model, found, truth)]
        errors += abs(np.array(torques[:2]) - torques[2])
    assert errors[1].sum() < 0.1 * errors[0].sum()


def friction_in(path):
    """Return the friction in a parameter file, as arguments of `DriveFriction`."""
    found = read(path)['drive_friction']
    del found['fraction']
    return {quantity: {joint: numbers[quantity] for joint, numbers in found.items()}
            for quantity in ('coulomb', 'viscous')}


def controlled(urdf, friction):
    """Return the robot as it is, in lock-step with the controller of a model of it, and a task."""
    model = RobotModel.from_urdf(urdf, locked_joints=LOCKED)
    plant = SimulatedRobot(with_friction(with_masses(URDF, 3), FRICTION), timestep=1e-3,
                           locked_joints=LOCKED)
    plant.reset(positions={'panda_joint2': -0.4, 'panda_joint4': -2.0, 'panda_joint6': 1.7})
    task = PoseTask('panda_hand_tcp', max_linear_velocity=0.4, max_angular_velocity=1.5)
    controller = OperationalSpaceController(model, [task], limits=JointLimits(model))
    controller.drive_friction = DriveFriction(model, **friction)
    return LockStep(plant, controller), task


def reach(urdf, friction):
    """Return how far, m, the hand of the robot is from a goal after 2.5 s, by a model of it."""
    robot, task = controlled(urdf, friction)
    goal = robot.model.forward_kinematics(robot.state, task.frame)[task.frame].copy()
    goal[:3, 3] += [0.1, 0.15, -0.1]
    task.set_target(goal)
    for _ in range(2500):
        robot.cycle()
        robot.simulated.step()
    return float(np.linalg.norm(task.error[:3]))


def test_a_hand_arrives_with_what_is_identified(identified):
    """8 mm off by the URDF, half a millimetre by what is found."""
    _, parameters, urdf, _ = identified
    assert reach(BARE, {}) > 5e-3
    assert reach(urdf.read_text(), friction_in(parameters)) < 1e-3


def test_thresholds_tell_a_push_and_nothing_else(identified):
    """
    In another motion the observer of the identified robot stays below them all.

    20 N at the hand, the weight of two kilograms, are told within 20 ms.
    """
    _, parameters, urdf, _ = identified
    robot, task = controlled(urdf.read_text(), friction_in(parameters))
    model, free = robot.model, ~robot.model.locked
    thresholds = np.full(model.nv, np.inf)
    for joint, numbers in read(parameters)['observer']['joints'].items():
        thresholds[model.dof_index(joint)] = numbers['threshold']
    assert np.isfinite(thresholds[free]).all()
    # Twice the friction, if its sign is not known as a joint stops, and a margin.
    assert (thresholds[free] < 5.0 * FRICTION * model.effort_limits[free]).all()
    observer, exerted = robot.controller.momentum_observer(50.0), np.zeros(model.nv)

    def step(push=0.0):
        nonlocal exerted
        torque = robot.cycle()
        observer.update(robot.state, exerted, 1e-3)
        exerted = torque - robot.controller.drive_friction.effort
        robot.simulated.apply_wrench(task.frame, [0.0, 0.0, -push, 0.0, 0.0, 0.0])
        robot.simulated.step()
        return abs(observer.residual) - thresholds
    home = model.forward_kinematics(robot.state, task.frame)[task.frame]
    for number in range(4):
        goal = home.copy()
        goal[:3, 3] += 0.2 * np.random.default_rng(number).uniform(-1.0, 1.0, 3)
        task.set_target(goal)
        for _ in range(1500):
            assert (step() < 0.0).all()
    told = next(k for k in range(100) if (step(20.0) > 0.0).any())
    assert told <= 20


def test_files_are_not_replaced_unasked(identified, run, capsys):
    assert main(['identify', str(run[0])]) == 1
    assert 'exists' in capsys.readouterr().err


def test_a_payload_becomes_parameters(folder, motion, capsys):
    """1.2 kg in the hand, and a run whose controller knows of another payload already."""
    load = ('<link name="load"><inertial><origin xyz="0.02 0 0.05"/><mass value="1.2"/><inertia '
            'ixx="0.002" iyy="0.002" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            '<joint name="held" type="fixed"><parent link="panda_hand_tcp"/><child link="load"/>'
            '</joint></robot>')
    plant = with_friction(URDF, FRICTION).replace('</robot>', load)
    play(folder / 'load.mcap', motion, plant, parameters={
        'payloads': ['payload'], 'payload.frame': 'panda_link5', 'payload.mass': 0.0}.items(),
        seconds=15.0)
    assert main(['identify', str(folder / 'load.mcap'), '--payload', 'panda_hand_tcp']) == 0
    assert 'panda_hand_tcp' in capsys.readouterr().out
    found = read(folder / 'load.identified.yaml')
    assert found['payloads'] == ['payload', 'payload_2']
    load = found['payload_2']
    assert load['frame'] == 'panda_hand_tcp'
    assert load['mass'] == pytest.approx(1.2, abs=0.02)
    np.testing.assert_allclose(load['center_of_mass'], [0.02, 0.0, 0.05], atol=5e-3)
    values = ParameterFile(folder / 'load.identified.yaml').of_node('opspace_controller')
    assert not list(refusals(values, table_of(values)))
    assert not (folder / 'load.identified.urdf').exists()


def test_a_joint_that_friction_keeps_from_moving_is_named(folder, motion, capsys):
    """Without any guess of the friction the wrist sticks; the others are identified."""
    path = folder / 'stuck.mcap'
    play(path, motion, with_friction(URDF, FRICTION), guess=0.0, seconds=15.0)
    main(['identify', str(path), '--friction-only'])
    assert 'too slow or without a known effort: panda_joint7' in capsys.readouterr().out
    assert 'panda_joint7' not in read(folder / 'stuck.identified.yaml')['drive_friction']
    # Nor is there a payload.
    main(['identify', str(path), '--payload', 'panda_hand', '--force'])
    assert "No payload of 'panda_hand'" in capsys.readouterr().out
    assert list(read(folder / 'stuck.identified.yaml')) == ['drive_friction', 'observer']


def test_a_motion_by_the_parameter_file_of_the_nodes(folder):
    """It begins where they do, and moves what they move."""
    assert main(['new', str(folder / 'panda.urdf'), '--output', str(folder / 'panda.yaml'),
                 '--no-distances']) == 0
    values = ParameterFile(folder / 'panda.yaml')
    assert main(['identify', '--excite', str(folder / 'panda.urdf'), '--parameters',
                 str(folder / 'panda.yaml'), '--home', 'panda_joint1=0.5', '--seconds', '6',
                 '--output', str(folder / 'by_file.csv'), '--clearance', '0']) == 0
    plan = Plan.load(folder / 'by_file.csv')
    assert plan.locked == tuple(LOCKED)
    start = dict(zip(plan.dof_names, plan.q[0], strict=True))
    assert start['panda_joint1'] == pytest.approx(0.5)
    given = values.of_node('opspace_simulator')['initial_positions.panda_joint4']
    assert start['panda_joint4'] == pytest.approx(given)


def two_arms(shape, upper=3.0):
    """Return the URDF of two arms of one joint each, whose ends have a shape."""
    return ('<robot name="two"><link name="base"/>' + ''.join(
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" '
        f'ixy="0" ixz="0" iyz="0"/></inertial>{shape}</link>'
        f'<joint name="{name}_joint" type="revolute"><parent link="base"/><child link="{name}"/>'
        f'<origin xyz="0 {y} 0"/><axis xyz="0 0 1"/>'
        f'<limit effort="50" velocity="3" lower="-3" upper="{upper}"/></joint>'
        for name, y in (('left', 0.2), ('right', -0.2))) + '</robot>')


def test_a_motion_keeps_shapes_apart(folder, capsys):
    """
    The motion is smaller where links would come close, with a file of shapes or without.

    A robot without shapes is refused, unless the user does without them.
    """
    path, output = folder / 'two.urdf', folder / 'two.csv'
    command = ['identify', '--excite', str(path), '--force', '--output', str(output)]
    path.write_text(two_arms(''))
    assert main([*command, '--clearance', '0.1']) == 1
    assert 'no <collision> shapes' in capsys.readouterr().err and not output.exists()
    assert main([*command, '--clearance', '0']) == 0
    text = two_arms('<collision><origin xyz="0.3 0 0"/><geometry><sphere radius="0.05"/>'
                    '</geometry></collision>')
    path.write_text(text)
    assert main([*command, '--clearance', '0']) == 0
    free = Plan.load(output)
    assert main([*command, '--clearance', '0.1']) == 0
    fitted = Plan.load(output)
    assert 'shapes are fitted to the URDF' in capsys.readouterr().out
    assert main([*command, '--clearance', '0.4']) == 1
    assert "'left' and 'right' are 300 mm apart" in capsys.readouterr().err
    assert main(['collision', str(path)]) == 0
    assert main([*command, '--clearance', '0.1']) == 0
    shapes = Distances(CollisionDescription.read(folder / 'two.collision.yaml').model(
        RobotModel.from_urdf(text)))

    def nearest(plan):
        return min(each.distance for q in plan.q[::20] for each in shapes.at(q))
    assert nearest(free) < 0.09
    for plan in (fitted, Plan.load(output)):
        assert nearest(plan) > 0.099
        assert abs(plan.v).max() > 0.5


def test_a_motion_that_tells_little_is_said(folder, capsys):
    """A joint that hardly moves is named, with the cure, and so is a poor condition number."""
    path = folder / 'narrow.urdf'
    path.write_text(two_arms('', upper=0.11).replace('"0.11"', '"3"', 1))
    command = ['identify', '--excite', str(path), '--force', '--output',
               str(folder / 'narrow.csv'), '--clearance', '0']
    assert main(command) == 0
    assert not capsys.readouterr().err
    assert main([*command, '--reach', '0.02']) == 1
    told = capsys.readouterr().err
    assert 'left_joint, right_joint' in told and '--locked' in told
    path.write_text(two_arms('', upper=0.11).replace('"0.11"', '"3"', 1).replace(
        'lower="-3" upper="0.11"', 'lower="-0.11" upper="0.11"'))
    assert main(command) == 1
    told = capsys.readouterr().err
    assert 'of them: right_joint.' in told


@pytest.mark.parametrize(('condition', 'said'), [(POOR, False), (1.01 * POOR, True)])
def test_a_poor_condition_number_is_said(folder, capsys, monkeypatch, condition, said):
    monkeypatch.setattr(excitation, '_condition', lambda *_: condition)
    assert main(['identify', '--excite', str(folder / 'panda.urdf'), '--home', HOME, '--force',
                 '--output', str(folder / 'poor.csv'), '--seconds', '4', '--clearance', '0',
                 '--locked', ','.join(LOCKED)]) == said
    assert ('condition number is above' in capsys.readouterr().err) == said


def test_friction_alone_and_what_is_refused(folder, run, capsys):
    output = folder / 'friction.yaml'
    path = str(run[0])
    main(['identify', path, '--friction-only', '--output', str(output)])
    assert list(read(output)) == ['drive_friction', 'observer']
    capsys.readouterr()
    assert main(['identify', path, '--links', 'no_link', '--force']) == 1
    assert 'no_link' in capsys.readouterr().err
    assert main(['identify', path, '--effort', 'measured', '--force']) == 1
    assert 'fast enough' in capsys.readouterr().err  # these joint states have no efforts
    assert main(['identify', str(folder / 'excite.csv')]) == 1
    assert main(['identify', '--excite', str(folder / 'panda.urdf'), '--output',
                 str(folder / 'other.csv'), '--clearance', '0']) == 1
    assert 'panda_joint4' in capsys.readouterr().err
