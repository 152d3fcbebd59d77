# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A Panda with a force-torque sensor and a ball-tipped tool."""

from robots import robot_file

from opspace_control import RobotModel

HOME = dict(zip([f'panda_joint{i}' for i in range(1, 8)],
                [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785], strict=True))
FINGERS = ('panda_finger_joint1',)
TOOL_MASS, TOOL_CENTER, TOOL_LENGTH, BALL = 0.4, (0.0, 0.0, 0.06), 0.1, 0.015
# A sensor between flange and tool; the tip of the tool is the middle of its ball.
TOOL = f"""
  <link name="sensor">
    <inertial><origin xyz="0 0 0.06"/><mass value="{TOOL_MASS}"/>
      <inertia ixx="4e-4" iyy="4e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 {TOOL_LENGTH}"/><geometry><sphere radius="{BALL}"/></geometry>
    </collision>
  </link>
  <joint name="sensor_joint" type="fixed">
    <parent link="panda_link8"/><child link="sensor"/><origin xyz="0 0 0.02" rpy="0 0 0.3"/>
  </joint>
  <link name="tip"/>
  <joint name="tip_joint" type="fixed">
    <parent link="sensor"/><child link="tip"/><origin xyz="0 0 {TOOL_LENGTH}"/>
  </joint>
</robot>"""


def panda_text(joint_friction=0.0):
    """Return the URDF of the Panda with its tool, and friction in all seven joints, N·m."""
    text = robot_file('panda.urdf').read_text().replace('</robot>', TOOL)
    return text.replace('damping="0.003" friction="0.0"',
                        f'damping="0.003" friction="{joint_friction}"')


MODEL = RobotModel.from_urdf(panda_text(), locked_joints=FINGERS)
