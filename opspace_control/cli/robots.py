# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The robots that the demo knows by name: ours, and real ones of the example-robot-data package.

Start postures are bent and away from singularities and end stops: there the smallest singular value
of the hands' stacked Jacobian, a radian counted as 0.3 m, is above 0.1.
"""

from dataclasses import dataclass, field
from pathlib import Path

from opspace_control.errors import OpspaceError
from opspace_control.model.topology import nearest
from opspace_control.share import prefixes, share_directory


@dataclass(frozen=True)
class DemoRobot:
    """A robot for the demo."""

    name: str     # as --robot takes it
    summary: str  # one line for --list
    urdf: str     # file in our urdf/, or in the robots directory of example-robot-data
    hands: tuple  # links that the tasks move
    start: dict   # positions, rad or m; joints not named start at zero or the nearest limit
    driven: tuple = ()  # joints with a drive, brakes hold the others; empty: all joints
    axes: str = 'x y z rx ry rz'  # that the hands' tasks control
    # Whether the simulated joints have the damping and friction of the URDF: not those of drives
    # that measure their torque and so overcome friction.
    joint_friction: bool = True
    speed: float = 1.0   # of the hands, a factor; slow wrists need less than 1
    ours: bool = False   # whether the file is in our urdf/
    floating_base: bool = False
    weightless: bool = False
    drift: tuple = (0.0,) * 6  # initial twist [v; ω] of a floating base, m/s and rad/s
    passive: tuple = ()  # joints whose drive is dead
    locked: tuple = ()   # joints whose brake is on
    body: str = ''       # link that the arms exchange momentum with, if this is recorded
    feet: tuple = ()     # of a robot on legs, which stands at the start: point feet
    soles: tuple = ()    # or flat ones, of `shapes` that are boxes
    height: float = 0.0  # of its root link at the start, m
    shapes: dict = field(default_factory=dict)  # of its links for contacts: sizes, m
    fastest: tuple = ()  # velocities ahead and to the left, m/s, and yaw rate, rad/s
    tasks: tuple = ()    # names of the hands' tasks; empty: by their number
    distances: bool = False  # whether its links keep them: its collision file fits well

    def path(self):
        """Return the path of the URDF file, or raise an OpspaceError if it is not installed."""
        return share_directory() / 'urdf' / self.urdf if self.ours else real_robot(self.urdf)

    def braked(self):
        """Return the joints that brakes hold: those without a drive, where some have one."""
        from opspace_control.model import KinematicTree
        joints = KinematicTree.from_urdf_file(self.path()).dof_names
        return tuple(name for name in joints if self.driven and name not in self.driven)

    def collision(self):
        """Return the `CollisionDescription` of the file that comes with this package."""
        from opspace_control.collision import CollisionDescription
        return CollisionDescription.read(self.collision_file)

    @property
    def collision_file(self):
        """The URI of that file."""
        return f'package://opspace_control/urdf/{self.name}.collision.yaml'


def real_robot(urdf):
    """Return the path of a URDF file of example-robot-data, or raise an OpspaceError."""
    for prefix in prefixes():
        path = Path(prefix, 'share', 'example-robot-data', 'robots', urdf)
        if path.is_file():
            return path
    raise OpspaceError(f"The robot '{urdf}' comes with example-robot-data, which is not "
                       'installed.', cure='pip install example-robot-data', robot=urdf)


def demo_robot(name):
    """Return the `DemoRobot` of this name; an OpspaceError names the nearest ones otherwise."""
    known = {robot.name: robot for robot in (*ROBOTS, *LEGGED)}
    if name in known:
        return known[name]
    raise OpspaceError(f"There is no demo robot '{name}'.", cure=nearest(name, list(known)),
                       robot=name)


def _arms(left, right, posture, mirror):
    """
    Return the posture of two arms, from a ``posture`` of the left one.

    ``left`` and ``right`` are patterns of joint names; ``mirror`` is a sign a joint of the right.
    """
    signs = {'+': 1.0, '-': -1.0}
    return {
        **{left.format(joint): value for joint, value in posture.items()},
        **{right.format(joint): signs[sign] * value
           for (joint, value), sign in zip(posture.items(), mirror, strict=True)}}


def _human_arms(shoulder_pitch, shoulder_roll, elbow, wrist_pitch=0.0):
    posture = {'shoulder_pitch': shoulder_pitch, 'shoulder_roll': shoulder_roll,
               'shoulder_yaw': 0.0, 'elbow': elbow, 'wrist_yaw': 0.0, 'wrist_pitch': wrist_pitch,
               'wrist_roll': 0.0}
    return _arms('l_{}', 'r_{}', posture, '+--+-+-')


def _numbered(*values):
    return dict(enumerate(values, 1))


_TALOS_ARMS = _arms('arm_left_{}_joint', 'arm_right_{}_joint',
                    _numbered(-0.2, 0.6, -0.5, -1.7, 0.0, 0.0, 0.0), '---+--+')
_TALOS_LEGS = {f'leg_{side}_{number}_joint': value for side in ('left', 'right')
               for number, value in enumerate((0.0, 0.0, -0.4, 0.8, -0.4, 0.0), 1)}
_TALOS_HANDS = 'gripper_left_base_link', 'gripper_right_base_link'
_TALOS_SOLES = 'left_sole_link', 'right_sole_link'
_TALOS_DRIVEN = ('torso_1_joint', 'torso_2_joint', 'head_1_joint', 'head_2_joint',
                 *_TALOS_ARMS, *_TALOS_LEGS)
_TIAGO_ARMS = _arms('arm_left_{}_joint', 'arm_right_{}_joint',
                    _numbered(0.2, -0.5, 1.3, 1.9, 1.45, -0.5, 0.45), '+++++++')
_PR2_ARMS = _arms('l_{}_joint', 'r_{}_joint', {
    'shoulder_pan': 1.15, 'shoulder_lift': 1.1, 'upper_arm_roll': 2.05, 'elbow_flex': -2.0,
    'forearm_roll': -1.4, 'wrist_flex': -1.35, 'wrist_roll': 0.4}, '-+-+-++')
_BAXTER_ARMS = _arms('left_{}', 'right_{}', {
    's0': -0.08, 's1': -1.0, 'e0': -1.19, 'e1': 1.94, 'w0': 0.67, 'w1': 1.03, 'w2': -0.5},
    '-+-+-++')

_PLANAR_ARMS = _arms('l_{}', 'r_{}', {'shoulder': 1.1, 'elbow': -1.8, 'wrist': 0.4}, '---')

# Of a quadruped, whose trunk stands 1.5 times as high as its thighs and shanks are long.
FEET = ('FL_foot', 'FR_foot', 'RL_foot', 'RR_foot')


def _quadruped_stance(hip, thigh):
    """Return joint positions, rad, of a quadruped whose hips are turned inwards by an angle."""
    return {f'{foot[:2]}_{joint}_joint': angle for foot in FEET for joint, angle in (
        ('hip', -hip if foot[1] == 'L' else hip), ('thigh', thigh), ('calf', -2.0 * thigh))}


ROBOTS = (
    DemoRobot(
        'dual_arm', 'upper body of human size: two 7-joint arms on a 3-joint torso',
        'dual_arm.urdf', ('l_hand', 'r_hand'), _human_arms(0.2, 0.2, -1.7), ours=True,
        distances=True),
    DemoRobot(
        'humanoid', '24 joints, standing on both feet, after [CK00] Fig. 2',
        'humanoid.urdf', ('l_hand', 'r_hand'),
        {'ankle_pitch': 0.5, 'knee_pitch': -1.1, 'hip_pitch': 0.9, **_human_arms(0.3, 0.25, -1.6)},
        ours=True, distances=True),
    DemoRobot(
        'planar_2r', 'two joints in the vertical plane, after [K87] Fig. 5',
        'planar_2r.urdf', ('hand',), {'shoulder': 0.9, 'elbow': -1.2}, axes='x', ours=True,
        distances=True),
    DemoRobot(
        'planar_3r', 'three joints in the vertical plane, after [K87] Fig. 4',
        'planar_3r.urdf', ('hand',), {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6},
        axes='x z', ours=True, distances=True),
    DemoRobot(
        'arm_7r', 'seven joints with gears that rub; one of its motors may fail',
        'arm_7r.urdf', ('hand',), {'joint_2': 0.5, 'joint_4': 1.4, 'joint_6': 0.8},
        joint_friction=False, ours=True, distances=True),
    DemoRobot(
        'puma560', 'the robot of [K87], with measured inertias of links and motors',
        'puma560.urdf', ('hand',), {'joint_2': -0.9, 'joint_3': 2.6, 'joint_5': 1.4416},
        axes='x y z', joint_friction=False, ours=True, distances=True),
    DemoRobot(
        'free_flyer', 'two arms on a body that floats over a table, after [RKR95] Fig. 4',
        'free_flyer.urdf', ('l_hand', 'r_hand'), _PLANAR_ARMS, axes='x y rz', weightless=True,
        body='base_link', ours=True, distances=True),
    DemoRobot(
        'free_flyer_3d', 'two 7-joint arms on a body that nothing holds, in space',
        'free_flyer_3d.urdf', ('l_hand', 'r_hand'), _human_arms(-0.4, 0.35, -1.5, 0.2),
        floating_base=True, weightless=True, body='base_link', ours=True, distances=True),
    DemoRobot(
        'talos', 'PAL Robotics Talos, 30 joints, held at the pelvis',
        'talos_data/robots/talos_reduced.urdf',
        _TALOS_HANDS, {**_TALOS_ARMS, **_TALOS_LEGS}, _TALOS_DRIVEN, joint_friction=False),
    DemoRobot(
        'tiago_dual', 'PAL Robotics TIAGo with two arms, 17 joints driven',
        'tiago_description/robots/tiago_dual.urdf', ('arm_left_tool_link', 'arm_right_tool_link'),
        {'torso_lift_joint': 0.15, **_TIAGO_ARMS},
        ('torso_lift_joint', 'head_1_joint', 'head_2_joint', *_TIAGO_ARMS), joint_friction=False,
        speed=0.5),
    DemoRobot(
        'pr2', 'Willow Garage PR2, 17 joints driven',
        'pr2_description/urdf/pr2.urdf', ('l_gripper_tool_frame', 'r_gripper_tool_frame'),
        {'torso_lift_joint': 0.15, **_PR2_ARMS},
        ('torso_lift_joint', 'head_pan_joint', 'head_tilt_joint', *_PR2_ARMS)),
    DemoRobot(
        'baxter', 'Rethink Robotics Baxter, 15 joints driven',
        'baxter_description/urdf/baxter.urdf', ('left_gripper', 'right_gripper'), _BAXTER_ARMS,
        ('head_pan', *_BAXTER_ARMS), joint_friction=False),
)

# They stand on their feet, on a floor that only pushes; those on point feet walk.
LEGGED = (
    DemoRobot(
        'b1', 'Unitree B1, a quadruped of 56 kg, 12 joints', 'b1_description/urdf/b1.urdf', (),
        _quadruped_stance(0.06, 0.7227), floating_base=True, feet=FEET, height=0.566,
        fastest=(3.6, 0.8, 2.0)),
    DemoRobot(
        'go2', 'Unitree Go2, a quadruped of 16 kg, 12 joints', 'go2_description/urdf/go2.urdf', (),
        _quadruped_stance(0.04, 0.7227), floating_base=True, feet=FEET, height=0.342,
        shapes={'base': (0.38, 0.094, 0.114), **dict.fromkeys(FEET, (0.022,))},
        fastest=(2.5, 0.8, 2.0)),
    DemoRobot(
        'talos_standing', 'PAL Robotics Talos, 30 joints, standing on two flat feet',
        'talos_data/robots/talos_reduced.urdf', _TALOS_HANDS, {**_TALOS_ARMS, **_TALOS_LEGS},
        _TALOS_DRIVEN, axes='x y z', joint_friction=False, floating_base=True,
        soles=_TALOS_SOLES, height=1.038, shapes=dict.fromkeys(_TALOS_SOLES, (0.2, 0.12, 0.02))),
)
