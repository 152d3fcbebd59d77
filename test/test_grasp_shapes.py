# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The shapes of a grasped object: shapes of the robot as long as it is grasped."""

from itertools import product

import numpy as np
import pytest
from carrying import Carriers, as_transform

from opspace_control import (
    ControlError,
    Grasp,
    ModelError,
    OperationalSpaceController,
    OpspaceError,
    Payload,
    PoseTask,
    RobotModel,
    RobotState,
    Shape,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.simulation import Box

SIZE, PLACE = (0.2, 0.58, 0.2), (0.3764, 0.0, 1.1004, 0.0, 0.0, 0.0, 1.0)
HANDS = ('r_hand', 'l_hand')
CRATE, LID = Shape('crate', None, 'box', SIZE), Shape('lid', None, 'sphere', [0.05], (0, 0, 0.1))
TABLE = Shape('table', None, 'box', [0.6, 0.6, 0.04], (0.3764, 0.0, 0.7))
# Spheres on hands, one of them beyond a hand's own link, and one on the other side of the robot.
PARTS = (*(Shape(f'{link} ball', link, 'sphere', [0.04]) for link in HANDS),
         Shape('elbow', 'l_forearm', 'sphere', [0.05]), Shape('trunk', 'torso', 'sphere', [0.1]))


def carriers(around=(*PARTS, TABLE), **options):
    robot = demo_robot('dual_arm')
    made = Carriers(robot.path(), HANDS, [Box('box', SIZE, 3.0, PLACE)], Payload.of_box(3.0, SIZE),
                    robot.start, minimum=20.0, limited=True, joint_friction=False, around=around,
                    **options)
    made.robot.model.jnt_limited[:] = False
    return made


def lowered(scene):
    """Lower the box by 0.4 m, more than there is room for; return how high it ends, m."""
    goal = scene.grasp.task.pose
    goal[2] -= 0.4
    scene.grasp.task.max_linear_velocity = 0.5
    scene.grasp.task.set_target(goal)
    scene.run(3.0)
    pose = as_transform(scene.grasp.task.pose)
    corners = 0.5 * np.array(list(product(*((-edge, edge) for edge in SIZE))))
    return (corners @ pose[2, :3]).min() + pose[2, 3] - 0.72


def names_with(pairs, shape):
    return {*sum((pair for pair in pairs if shape in pair), ())} - {shape}


def test_a_box_between_two_hands_keeps_its_distance_from_a_table():
    scene = carriers(shapes=[CRATE])
    before = scene.controller.distances.pairs
    assert names_with(before, 'crate') == set()
    scene.hold()
    assert names_with(scene.controller.distances.pairs, 'crate') == {'elbow', 'trunk', 'table'}
    margin = scene.controller.distances.margin
    assert lowered(scene) == pytest.approx(margin, abs=1e-3)
    assert {'crate', 'table'} in [{*pair[:2]} for pair in scene.controller.urgent_pairs]
    scene.disengage()
    assert scene.controller.distances.pairs == before


def test_without_shapes_it_hits_the_table():
    scene = carriers()
    scene.hold()
    assert lowered(scene) < -0.01


def test_shapes_may_change_and_touch_while_it_is_grasped():
    scene = carriers(shapes=[CRATE])
    scene.hold()
    scene.grasp.set_shapes([CRATE, LID], touching=[('lid', 'trunk'), ('crate', 'torso')])
    pairs = scene.controller.distances.pairs
    assert names_with(pairs, 'crate') == {'elbow', 'table'} == names_with(pairs, 'lid')
    assert scene.grasp.shapes == (CRATE, LID)
    # As long as the object is on the carrier, its pose in the world is that of its frame.
    there = scene.controller.model.forward_kinematics(scene.state, ['r_hand'])['r_hand']
    lid = next(shape for shape in scene.controller.shapes if shape.name == 'lid')
    assert lid.link == 'r_hand'
    np.testing.assert_allclose((there @ [*lid.position, 1.0])[:3],
                               scene.grasp.task.pose[:3] + np.array([0.0, 0.0, 0.1]), atol=1e-9)
    for shapes, touching, says in [
            ([Shape('table', None, 'sphere', [0.1])], (), "There is a shape 'table' already"),
            ([LID], [('lid', 'trnk')], "neither a shape nor a link 'trnk'")]:
        with pytest.raises(ModelError, match=says):
            scene.grasp.set_shapes(shapes, touching)
        assert scene.grasp.shapes == (CRATE, LID)
        assert scene.controller.distances.pairs == pairs
    scene.grasp.set_shapes(())
    assert names_with(scene.controller.distances.pairs, 'crate') == set()


def test_what_the_hands_carry_may_touch_the_object():
    """Fingers do: they are links beyond the effector, moved by joints of their own."""
    scene = carriers(around=(*PARTS, Shape('finger', 'l_hand', 'sphere', [0.02], (0, 0, 0.1))))
    assert {*HANDS} <= {*scene.grasp.hand_links}
    model = RobotModel.from_urdf_file(demo_robot('dual_arm').path())
    grasp = Grasp(('r_hand', 'l_forearm'))
    OperationalSpaceController(model, [PoseTask('r_hand')], grasps=[grasp])
    assert {'l_wrist_pitch_link', 'l_hand'} < {*grasp.hand_links}
    assert 'l_upper_arm' not in grasp.hand_links


def test_what_is_refused():
    for shape, says in [(Shape('crate', 'r_hand', 'box', SIZE), "is on the link 'r_hand'"),
                        (Shape('floor', None, 'half_space', ()), 'is a half-space')]:
        with pytest.raises(ModelError, match=says):
            Grasp(HANDS).set_shapes([shape])
    with pytest.raises(ModelError, match='no link carries'):
        Grasp(HANDS, kind='fingertips').set_shapes([CRATE])


@pytest.mark.parametrize(('around', 'error', 'says'), [
    ((), ControlError, 'keeps no distances'),
    ((*PARTS, Shape('crate', None, 'sphere', [0.1])), ModelError, "a shape 'crate' already")])
def test_a_grasp_whose_shapes_are_refused_is_not_engaged(around, error, says):
    scene = carriers(around, shapes=[CRATE])
    tasks = [task.name for task in scene.controller.tasks.values() if task.enabled]
    with pytest.raises(error, match=says):
        scene.hold()
    assert not scene.grasp.engaged
    assert 'carry' not in scene.controller.payloads
    assert tasks == [task.name for task in scene.controller.tasks.values() if task.enabled]


def test_a_refused_engagement_leaves_no_object_on_the_robot():
    """Two hands of one place have no object between them."""
    arms = ''.join(
        f'<link name="{hand}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" '
        f'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="{hand}" type="prismatic"><parent '
        f'link="base"/><child link="{hand}"/><limit lower="-1" upper="1" effort="99" velocity="1"/>'
        '</joint>' for hand in HANDS)
    model = RobotModel.from_urdf(f'<robot name="two"><link name="base"/>{arms}</robot>')
    grasp = Grasp(HANDS, payload=Payload(3.0))
    controller = OperationalSpaceController(model, grasps=[grasp])
    state = RobotState(model, np.zeros(2), np.zeros(2))
    before, pose = controller.compute_torque(state), grasp.pose_in_carrier
    with pytest.raises(OpspaceError):
        grasp.engage(state)
    assert not grasp.engaged
    assert grasp.name not in controller.payloads
    assert controller.compute_torque(state) == pytest.approx(before)
    assert np.array_equal(grasp.pose_in_carrier, pose)
