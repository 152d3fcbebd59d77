# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Robots for the tests: the real ones of example-robot-data, and URDF text written by parts."""

from functools import cache
from importlib import metadata
from pathlib import Path

# Relative to the package's robots/ directory; what a test of a main job wants by name.
TALOS = 'talos_data/robots/talos_reduced.urdf'
TIAGO_DUAL = 'tiago_description/robots/tiago_dual.urdf'
PR2 = 'pr2_description/urdf/pr2.urdf'
BAXTER = 'baxter_description/urdf/baxter.urdf'

# Files and frames of theirs. Humanoids, wheeled and armed, four-legged, hands, arms; with mimic and
# continuous joints, massless links, prismatic torsos, 2 to 107 degrees of freedom.
REAL_ROBOTS = {
    TALOS: ('gripper_left_base_link', 'gripper_right_base_link'),
    'talos_full_v2.urdf': ('gripper_left_base_link', 'left_sole_link'),
    PR2: ('l_gripper_tool_frame', 'r_gripper_tool_frame'),
    TIAGO_DUAL: ('arm_left_tool_link', 'arm_right_tool_link', 'hand_left_index_flex_3_link'),
    'tiago_pro.urdf': ('arm_left_tool_link', 'arm_right_tool_link'),
    BAXTER: ('left_gripper', 'right_gripper'),
    'icub.urdf': ('l_hand', 'r_hand', 'l_sole'),
    'romeo_small.urdf': ('l_wrist', 'r_wrist'),
    'g1_29dof_with_hand_rev_1_0.urdf': ('left_hand_palm_link', 'right_hand_palm_link'),
    'human.urdf': ('left_hand', 'right_hand', 'left_foot'),
    'simple_humanoid.urdf': ('l_wrist', 'r_wrist'),
    'centauro.urdf': ('ball1', 'ball2', 'wheel_1'),
    'anymal-kinova.urdf': ('LF_FOOT', 'j2s6s200_link_finger_tip_1'),
    'anymal_b_simple_description/robots/anymal.urdf': ('LF_FOOT', 'RH_FOOT'),
    'go2.urdf': ('FL_foot', 'RR_foot'),
    'solo12.urdf': ('FL_FOOT', 'HR_FOOT'),
    'allegro_left_hand.urdf': ('link_3.0_tip', 'link_15.0_tip'),
    'panda.urdf': ('panda_hand_tcp',),
    'ur5_robot.urdf': ('tool0',),
    'kinova.urdf': ('j2s6s200_link_finger_tip_1',),
    'xarm7.urdf': ('link_eef',),
    'double_pendulum_continuous.urdf': ('link2',),
}


@cache
def robot_files():
    """Return the paths of all URDF files of example-robot-data, sorted."""
    return sorted(Path(file.locate()).resolve()
                  for file in metadata.files('example-robot-data')
                  if file.suffix == '.urdf' and 'robots' in file.parts)


@cache
def robot_file(name):
    """Return the path of the one file that ends in ``name``, such as ``TALOS`` or 'panda.urdf'."""
    found = [path for path in robot_files() if path.as_posix().endswith('/' + name)]
    if len(found) != 1:
        raise FileNotFoundError(f'{name}: {len(found)} files of example-robot-data')
    return found[0]


def robot_id(path):
    """Return a short name of a file for pytest: its robot's directory and its stem."""
    directory = path.parts[path.parts.index('example-robot-data') + 2]
    return f'{directory.removesuffix("_description")}-{path.stem}'


def robot(*parts):
    """Return the text of a URDF."""
    return f'<robot name="test">{"".join(parts)}</robot>'


def link(name, mass=1.0, moments=(0.1, 0.1, 0.1), inner=''):
    """Return a <link> with principal moments along its axes; mass=None is massless."""
    if mass is None:
        return f'<link name="{name}">{inner}</link>'
    ixx, iyy, izz = moments
    return (f'<link name="{name}"><inertial>{inner}<mass value="{mass}"/><inertia ixx="{ixx}" '
            f'iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link>')


def joint(name, parent, child, kind='revolute', inner=''):
    """Return a <joint>; ``inner`` is its further elements."""
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'{inner}</joint>')


def chain(*kinds, inner=''):
    """Return the text of a serial URDF: links l0, l1, ... and joints j1, j2, ... of these types."""
    return robot(link('l0'), *(
        link(f'l{i}') + joint(f'j{i}', f'l{i - 1}', f'l{i}', kind, inner)
        for i, kind in enumerate(kinds, 1)))
