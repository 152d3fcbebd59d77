# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the view draws: shapes of the URDF, meshes, and joints where the kinematics has them."""

import contextlib
import socket

import numpy as np
import pytest
import robots

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('viser', reason='viser is not installed')

import trimesh
import viser
from geometry_msgs.msg import Point
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from viewer import Viewer
from viser.transforms import SO3
from visualization_msgs.msg import Marker, MarkerArray

from opspace_control import RobotModel, RobotState
from opspace_control.collision.urdf_shapes import (
    MeshError,
    UrdfShape,
    find_mesh,
    load_mesh,
    read_looks,
)
from opspace_control.errors import ModelError
from opspace_control.ros.topics.collision_markers import NEAR, SHAPES
from opspace_control.ros.topics.contact_markers import CONES, FOOTHOLDS, FORCES, SLIP
from opspace_control.share import share_directory
from opspace_control.view import controls, gauges
from opspace_control.view.camera import Camera
from opspace_control.view.handles import Forces, GoalHandle
from opspace_control.view.main import _parse, open_page
from opspace_control.view.markers import Contacts, ShapeOverlay
from opspace_control.view.robot import RobotScene

DUAL_ARM = (share_directory() / 'urdf' / 'dual_arm.urdf').read_text()


@pytest.fixture(scope='module')
def server():
    server = viser.ViserServer(host='127.0.0.1', port=18080, verbose=False)
    yield server
    server.stop()


@pytest.fixture(scope='module')
def scene(server):
    return server.scene


@pytest.fixture
def viewer(server):
    viewer = Viewer(f'http://127.0.0.1:{server.get_port()}')
    yield viewer
    viewer.close()


def visual(geometry, inner=''):
    return f'<visual>{inner}<geometry>{geometry}</geometry></visual>'


def shapes(*visuals, outside=''):
    text = robots.robot(f'<link name="a">{"".join(visuals)}</link>', outside)
    looks = read_looks(text)
    return looks.seen['a'], looks.doubts


class TestShapes:

    def test_primitives(self):
        found, doubts = shapes(
            visual('<box size="1 2 3"/>', '<origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/>'),
            visual('<cylinder radius="0.1" length="2"/>'), visual('<sphere radius="0.5"/>'))
        assert [(shape.kind, shape.size) for shape in found] == [
            ('box', (1.0, 2.0, 3.0)), ('cylinder', (0.1, 2.0)), ('sphere', (0.5,))]
        assert found[0].position == (1.0, 0.0, 0.0)
        np.testing.assert_allclose(SO3(np.array(found[0].wxyz)) @ np.array([1.0, 0.0, 0.0]),
                                   [0.0, 1.0, 0.0], atol=1e-12)
        assert not doubts

    def test_colors_of_its_own_and_of_the_robot(self):
        found, _ = shapes(
            visual('<sphere radius="1"/>', '<material name="red"/>'),
            visual('<sphere radius="1"/>',
                   '<material name="x"><color rgba="0 0.5 1 1"/></material>'),
            visual('<sphere radius="1"/>'),
            outside='<material name="red"><color rgba="1 0 0 1"/></material>')
        assert [shape.color for shape in found] == [(255, 0, 0), (0, 128, 255), None]

    def test_mesh(self):
        (shape,), _ = shapes(visual('<mesh filename="package://p/m.stl" scale="1 2 3"/>'))
        assert shape == UrdfShape('mesh', (1.0, 2.0, 3.0), file='package://p/m.stl')

    @pytest.mark.parametrize('bad', [
        visual('<box size="1 2"/>'), visual('<sphere radius="big"/>'), visual('<teapot/>'),
        visual('<sphere radius="nan"/>'), visual(''), '<visual/>',
        visual('<sphere radius="1"/>', '<origin xyz="0 0"/>')])
    def test_what_makes_no_sense_is_left_out_and_told(self, bad):
        found, doubts = shapes(bad, visual('<sphere radius="1"/>'))
        assert len(found) == 1
        assert len(doubts) == 1
        assert "link 'a'" in doubts[0]


class TestMeshes:

    def test_packages_are_found(self, tmp_path, monkeypatch):
        file = tmp_path / 'share' / 'my_robot' / 'meshes' / 'arm 1.stl'
        file.parent.mkdir(parents=True)
        trimesh.creation.box((1, 2, 3)).export(file)
        uri = 'package://my_robot/meshes/arm%201.stl'
        with pytest.raises(MeshError, match='Install my_robot'):
            find_mesh(uri)
        monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
        assert find_mesh(uri) == file
        monkeypatch.delenv('AMENT_PREFIX_PATH')
        monkeypatch.setenv('ROS_PACKAGE_PATH', str(tmp_path / 'share'))
        assert find_mesh(uri) == file
        assert find_mesh(file.as_uri()) == file
        np.testing.assert_allclose(load_mesh(file).extents, (1, 2, 3))

    def test_broken_file(self, tmp_path):
        file = tmp_path / 'arm.dae'
        file.write_text('no mesh')
        with pytest.raises(MeshError, match=r'arm\.dae'):
            load_mesh(file)

    def test_collada_has_units(self, tmp_path):
        pytest.importorskip('collada', reason='pycollada is not installed')
        file = tmp_path / 'box.dae'
        trimesh.creation.box((1, 2, 3)).export(file)
        np.testing.assert_allclose(load_mesh(file).extents, (1, 2, 3))
        text = file.read_text()
        head, tail = text.split('<asset', 1)
        inside, rest = tail.split('</asset>', 1)
        inside = '<unit name="centimeter" meter="0.01"/>'.join(
            inside.rsplit('<unit name="meter" meter="1"/>', 1)) if '<unit' in inside else (
            inside + '<unit name="centimeter" meter="0.01"/>')
        file.write_text(f'{head}<asset{inside}</asset>{rest}')
        np.testing.assert_allclose(load_mesh(file).extents, (0.01, 0.02, 0.03))


class TestCamera:

    def test_a_page_opens_with_the_robot_wherever_it_is(self, server):
        robot, camera = RobotScene(server.scene, DUAL_ARM, '/walker'), Camera(server)
        camera.look_at(robot)
        first, initial = server.initial_camera.look_at, server.initial_camera
        away = np.subtract(initial.position, first)
        robot.place('base_link', np.array([0.5, 0.0, 0.0]), SO3.identity().wxyz)
        camera.follow(robot)
        np.testing.assert_array_equal(initial.look_at, first)  # it still is in the picture
        robot.place('base_link', np.array([4.0, -3.0, 0.0]), SO3.identity().wxyz)
        camera.follow(robot)
        np.testing.assert_allclose(initial.look_at, np.add(first, [4.0, -3.0, 0.0]))
        np.testing.assert_allclose(initial.position - initial.look_at, away)
        robot.remove()


class TestRobot:

    @pytest.mark.parametrize('text', [
        DUAL_ARM, robots.robot_file(robots.TALOS).read_text(),
        robots.robot_file(robots.PR2).read_text()], ids=['dual_arm', 'talos', 'pr2'])
    def test_links_are_where_the_kinematics_has_them(self, scene, text):
        robot = RobotScene(scene, text)
        model = RobotModel.from_urdf(text)
        rng = np.random.default_rng(5)
        positions = dict(zip(model.dof_names, rng.uniform(-1.0, 1.0, model.nv), strict=True))
        q = np.array([positions[name] for name in model.dof_names])
        poses = model.forward_kinematics(RobotState(model, q, np.zeros(model.nv)),
                                         model.frame_names)
        order = sorted(positions)
        robot.move(order, [positions[name] for name in order])
        for link in model.frame_names:
            np.testing.assert_allclose(place(scene, robot.node(link)), poses[link], atol=2e-6,
                                       err_msg=link)

    def test_a_floating_robot_is_where_one_of_its_links_is_seen(self, scene):
        robot = RobotScene(scene, DUAL_ARM)
        robot.move(list(robot.limits), np.linspace(-1.0, 1.0, len(robot.limits)))
        turn = SO3.exp(np.array([0.3, -0.4, 0.5]))
        for link in ('base_link', 'l_hand', 'left/l_hand'):
            robot.place(link, np.array([1.0, 2.0, 3.0]), turn.wxyz)
            there = place(scene, robot.node(link))
            np.testing.assert_allclose(there[:3, 3], [1.0, 2.0, 3.0], atol=1e-6)
            np.testing.assert_allclose(there[:3, :3], turn.as_matrix(), atol=1e-6)
        before = place(scene, '/robot')
        robot.place('nobody', np.zeros(3), turn.wxyz)
        np.testing.assert_array_equal(place(scene, '/robot'), before)

    def test_every_shape_of_real_robots_is_shown(self, scene):
        robot = RobotScene(scene, robots.robot_file(robots.TALOS).read_text())
        assert robot.doubts == []

    def test_missing_meshes_give_way_to_collisions_and_bones(self, scene):
        mesh = '<geometry><mesh filename="package://nowhere/a.stl"/></geometry>'
        text = robots.robot(
            f'<link name="a"><visual>{mesh}</visual><collision><geometry><sphere radius="1"/>'
            f'</geometry></collision></link><link name="b"><visual>{mesh}</visual></link>'
            '<link name="c"/>',
            robots.joint('j', 'a', 'b', inner='<origin xyz="0 0 1"/>'),
            robots.joint('k', 'b', 'c', inner='<origin xyz="0 1 0"/>'))
        robot = RobotScene(scene, text, '/other')
        nodes = [name for name in scene._handle_from_node_name if name.startswith('/other')]
        assert '/other/shape_0' in nodes
        assert '/other/j/bone_0' in nodes       # a mesh that is missing
        assert '/other/j/k/joint' not in nodes  # a mere frame
        assert len(robot.doubts) == 2
        robot.remove()
        assert not [name for name in scene._handle_from_node_name if name.startswith('/other')]

    def test_no_shapes_at_all_are_a_stick_figure(self, scene):
        RobotScene(scene, robots.robot(
            '<link name="a"/><link name="b"/>',
            robots.joint('j', 'a', 'b', inner='<origin xyz="0.3 -0.4 0"/>')), '/sticks')
        bone = scene._handle_from_node_name['/sticks/bone_0']
        np.testing.assert_allclose(bone.position, [0.15, -0.2, 0.0])
        np.testing.assert_allclose(SO3(bone.wxyz) @ np.array([0.0, 0.0, 1.0]), [0.6, -0.8, 0.0],
                                   atol=1e-12)
        assert bone.height == pytest.approx(0.5)

    def test_limits(self, scene):
        limits = RobotScene(scene, DUAL_ARM).limits
        assert limits['torso_yaw'] == (-1.5, 1.5, 200.0)

    def test_no_tree_is_refused(self, scene):
        with pytest.raises(ModelError):
            RobotScene(scene, robots.robot('<link name="a"/><link name="b"/>'))


def place(scene, name):
    """Return the pose (4, 4) of a node by the transforms that browsers put together."""
    pose = np.eye(4)
    for depth in range(2, name.count('/') + 2):  # the first is the world
        handle = scene._handle_from_node_name['/'.join(name.split('/')[:depth])]
        step = np.eye(4)
        step[:3, :3] = SO3(np.asarray(handle.wxyz)).as_matrix()
        step[:3, 3] = handle.position
        pose = pose @ step
    return pose


def test_forces_are_arrows_on_their_links_as_long_as_they_are_strong(scene):
    robot = RobotScene(scene, DUAL_ARM, '/pushed')
    forces = Forces(scene, robot)
    push, none = np.array([0.0, 20.0, 0.0, 9.0, 9.0, 9.0]), np.full(6, 0.1)
    forces.update([('left', 'l_hand', push, 'commanded'), ('left', 'l_hand', -push, 'estimated'),
                   ('wrist', 'l_hand', 2.0 * push, 'measured'),
                   ('lost', 'nowhere', push, 'commanded')])
    commanded, measured, estimated = (
        scene._handle_from_node_name[f'{robot.node("l_hand")}/{words}'] for words in (
            'commanded force of left', 'measured force of wrist', 'estimated force of left'))
    assert commanded.visible and measured.visible and estimated.visible
    np.testing.assert_allclose(commanded.points, [[[0.0, 0.0, 0.0], [0.0, 0.1, 0.0]]], atol=1e-7)
    np.testing.assert_allclose(measured.points, 2.0 * commanded.points)
    np.testing.assert_allclose(estimated.points, -commanded.points)
    forces.update([('left', 'l_hand', none, 'commanded')])
    assert not commanded.visible and measured.visible and estimated.visible
    forces.remove()
    robot.remove()


def test_history_is_of_the_last_half_minute(server):
    history = gauges.History(server.gui, ['left', 'right'], ['trunk', 'head'])
    for k in range(401):  # 40 s
        six = np.array([3e-3, 0.0, 4e-3, 0.0, 0.0, 0.01 * (k % 2)])
        facts = {'period mean [ms]': '1.0', 'period p99 [ms]': '1.5'}
        joints = {'trunk': {'yaw': (0.1, 5.0), 'pitch': (-0.2, 0.0)}, 'head': None}
        history.update(100.0 + 0.1 * (k + 0.5), {'left': six, 'right': None}, joints, 0.25, facts)
    positions, angles, groups, load, period, condition = (
        plot._plot.data for plot in history._plots)
    times, left, right = positions
    assert times[-1] == 0.0 and times[0] == pytest.approx(-30.0, abs=0.3)
    np.testing.assert_allclose(left, 5.0)  # mm
    assert np.isnan(right).all()  # of which nothing is told
    assert angles[1].max() == pytest.approx(np.degrees(0.01))
    _, trunk, head = groups
    np.testing.assert_allclose(trunk, 0.2)  # rad: of the joint that is furthest off
    assert np.isnan(head).all()
    np.testing.assert_allclose(load[1], 25.0)  # %
    np.testing.assert_allclose(period[2], 1.5)
    assert np.isnan(condition[1]).all()


def test_history_of_a_controller_of_which_no_task_is_known_yet(server):
    history = gauges.History(server.gui, (), ())
    for now in (100.0, 101.0):
        history.update(now, {}, {}, 0.25, {})
    assert [plot._plot.data[-1][-1] for plot in history._plots[:1]] == [25.0]


@pytest.mark.parametrize(('arguments', 'open_to_others'), [
    ([], False), (['--host', '0.0.0.0'], True)])
def test_page_is_for_this_computer_unless_it_is_told_otherwise(arguments, open_to_others, capsys):
    """Another address of the loopback interface is as good as one of another computer."""
    options = _parse([*arguments, '--port', '18090'])
    server = open_page(options.host, options.port)
    try:
        with contextlib.closing(socket.socket()) as caller:
            assert (caller.connect_ex(('127.0.0.2', server.get_port())) == 0) == open_to_others
        with contextlib.closing(socket.socket()) as caller:
            assert caller.connect_ex(('127.0.0.1', server.get_port())) == 0
    finally:
        server.stop()
    assert f':{server.get_port()}' in capsys.readouterr().out


class TestControls:

    @pytest.mark.parametrize(('value', 'low', 'high', 'ends'), [
        (100.0, 0.0, 1e6, (0.0, 400.0)), (-1.0, -1.0, 1e4, (-1.0, 100.0)),
        (0.5, 0.001, np.inf, (0.001, 2.0)), (0.0, 0.0, 60.0, (0.0, 60.0))])
    def test_sliders_stay_near_the_value(self, value, low, high, ends):
        descriptor = ParameterDescriptor(
            floating_point_range=[FloatingPointRange(from_value=low, to_value=high)])
        assert controls._slider_range(value, descriptor) == ends

    @pytest.mark.parametrize(('present', 'typed', 'value'), [
        (1.0, 2, 2.0), ([1.0, 2.0], [3, 4], [3.0, 4.0]), ([1.0] * 6, 5, 5.0),
        (5.0, [1, 2], [1.0, 2.0]), ('a', 'b', 'b')])
    def test_what_is_typed_gets_the_type_of_the_parameter(self, present, typed, value):
        found = controls._like(present, typed)
        assert found == value
        assert repr(found) == repr(value)


    @pytest.mark.parametrize(('label', 'set_to', 'before'), [
        ('add_checkbox', True, False), ('add_text', 'new', 'old')])
    def test_what_a_viewer_sets_counts_though_the_program_sets_it_too(
            self, server, viewer, label, set_to, before):
        """The thread of the node may show the old value before it is told of the new one."""
        control = getattr(server.gui, label)('of the viewer', before)
        acts, told = [], []
        controls.listen(control, acts.append, told.append)
        viewer.expect(lambda: viewer.has('of the viewer'))
        viewer.set(viewer.control('of the viewer'), set_to)
        viewer.expect(lambda: acts)
        control.value = before
        for act in acts:
            act()
        assert told == [set_to]
        control.remove()


def test_dragged_handle_is_sent_though_it_is_moved_to_the_goal_too(scene, viewer):
    """The thread of the node may move it before it is told of the drag."""
    acts, sent = [], []
    handle = GoalHandle(scene, '', 'hand', 0.1, True, acts.append,
                        lambda *goal: sent.append(goal))
    goal = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    viewer.expect(lambda: '/goal of hand' in viewer.nodes)
    viewer.drag('/goal of hand', [1.0, 2.0, 3.0], [0.0, 1.0, 0.0, 0.0])
    viewer.expect(lambda: len(acts) == 3)
    handle.update(np.zeros(3), goal)
    for act in acts:
        act()
    handle.update(np.zeros(3), goal)
    (task, pose), = sent
    assert task == 'hand'
    np.testing.assert_array_equal(pose, [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0])
    handle.remove()


class TestGauges:

    def test_bars_stay_within_limits_and_name_all(self):
        html = gauges.efforts({'a': -300.0, 'b': 5.0, 'c': 1.0},
                              {'a': 200.0, 'b': 10.0, 'c': np.inf})
        assert 'right:50%;width:50.0%' in html
        assert 'left:50%;width:25.0%' in html
        assert '-300.0 / 200' in html
        assert '1.0</span>' in html

    def test_load(self):
        limits = {'a': 200.0, 'b': 10.0, 'c': np.inf}
        assert gauges.load({'a': -50.0, 'b': 1.0, 'c': 1e9}, limits) == pytest.approx(0.25)
        assert gauges.load({}, limits) == 0.0

    def test_task_of_joints_tells_the_largest_of_each(self):
        html = gauges.joint_error({'<yaw>': (-0.02, 1.0), 'pitch': (0.01, -30.0)})
        assert 'error 0.0200 rad or m (&lt;yaw&gt;)' in html
        assert 'commands 30.0 N·m or N (pitch)' in html
        assert 'no message yet' in gauges.joint_error(None)

    def test_names_cannot_write_html(self):
        assert '<script>' not in gauges.facts({'<script>': '<script>'}) + gauges.words(
            ['<script>']) + gauges.status(0, '<script>') + gauges.efforts(
            {'<script>': 1.0}, {})


class TestContacts:

    def marker(self, namespace, kind, *points, **fields):
        marker = Marker(ns=namespace, type=kind, **fields)
        marker.color.r = 1.0
        for x, y, z in points:
            marker.points.append(Point(x=x, y=y, z=z))
        return marker

    def test_forces_cones_slip_footholds_and_near_pairs_come_and_go(self, scene):
        contacts, up = Contacts(scene), (0.0, 0.0, 0.5)
        arrow = self.marker(FORCES, Marker.ARROW, (0.0, 0.0, 0.0), up)
        cone = self.marker(CONES, Marker.LINE_LIST, *4 * [(0.0, 0.0, 0.0), up])
        foothold = self.marker(FOOTHOLDS, Marker.SPHERE)
        foothold.pose.position.x = 2.0
        slide = self.marker(SLIP, Marker.ARROW, (1.0, 0.0, 0.0), (1.3, 0.0, 0.0))
        near = self.marker(
            NEAR, Marker.LINE_LIST, (0.0, 0.2, 0.0), (0.0, 0.3, 0.0), up, (1.0, 0.0, 0.0))
        contacts.update(MarkerArray(markers=[arrow, arrow, cone, slide, foothold, near]))
        lines = contacts._lines
        spaces = FORCES, CONES, SLIP, FOOTHOLDS, NEAR
        assert [len(lines[space].points) for space in spaces] == [2, 4, 1, 1, 2]
        np.testing.assert_allclose(
            lines[NEAR].points[0], [[0.0, 0.2, 0.0], [0.0, 0.3, 0.0]], rtol=1e-6)
        np.testing.assert_allclose(lines[FORCES].points[1], [[0.0, 0.0, 0.0], up])
        assert (lines[FORCES].colors == [255, 0, 0]).all()
        assert (lines[FOOTHOLDS].points[0, :, 0] == 2.0).all()
        contacts.update(MarkerArray(markers=[arrow]))
        assert [np.ptp(lines[space].points, axis=1).any(axis=1).sum()
                for space in spaces] == [1, 0, 0, 0, 0]
        contacts.remove()


class TestShapeOverlay:

    def marker(self, number, kind, frame, size, position):
        marker = Marker(ns=SHAPES, id=number, type=kind)
        marker.header.frame_id, marker.color.a = frame, 0.35
        marker.scale.x, marker.scale.y, marker.scale.z = size
        marker.pose.position.x, marker.pose.position.y, marker.pose.position.z = position
        marker.pose.orientation.w, marker.pose.orientation.z = 0.0, 1.0
        return marker

    def test_is_on_the_links_and_is_shown_when_asked_for(self, server, scene):
        robot = RobotScene(scene, (share_directory() / 'urdf' / 'dual_arm.urdf').read_text(),
                           '/overlaid')
        overlay = ShapeOverlay(scene, server.gui, robot)
        overlay.update(None)
        overlay.update(MarkerArray(markers=[Marker(ns='other')]))
        assert overlay._box is None
        hand = self.marker(0, Marker.SPHERE, 'l_hand', (0.2, 0.2, 0.2), (0.0, 0.0, 0.1))
        table = self.marker(1, Marker.CUBE, 'no link', (0.8, 1.2, 0.1), (1.0, 2.0, 3.0))
        arm = self.marker(2, Marker.CYLINDER, 'r_hand', (0.1, 0.1, 0.4), (0.0, 0.0, 0.0))
        floor = self.marker(3, Marker.LINE_LIST, 'no link', (0.004, 0.0, 0.0), (0.0, 0.0, -1.0))
        floor.points = [Point(x=-2.0), Point(x=2.0), Point(), Point(z=0.3)]
        overlay.update(MarkerArray(markers=[hand, table, arm, floor]))
        nodes = {number: node for number, (_, node) in overlay._nodes.items()}
        assert nodes[0].name.startswith(robot.node('l_hand') + '/')
        assert nodes[2].name.startswith(robot.node('r_hand') + '/')
        assert (nodes[0].radius, nodes[2].radius, nodes[2].height) == (0.1, 0.05, 0.4)
        np.testing.assert_allclose(nodes[1].dimensions, (0.8, 1.2, 0.1))
        np.testing.assert_allclose(nodes[1].position, (1.0, 2.0, 3.0))
        np.testing.assert_allclose(nodes[1].wxyz, (0.0, 0.0, 0.0, 1.0))
        np.testing.assert_allclose(
            nodes[3].points, [[[-2, 0, 0], [2, 0, 0]], [[0, 0, 0], [0, 0, 0.3]]], rtol=1e-6)
        np.testing.assert_allclose(nodes[3].position, (0.0, 0.0, -1.0))
        assert not any(node.visible for node in nodes.values())
        overlay._box.value = True
        overlay.update(None)
        assert all(node.visible for node in nodes.values())
        # What moves is the same node; what comes in another size is a new one; one is gone.
        table.pose.position.x, hand.scale.x = 5.0, 0.3
        overlay.update(MarkerArray(markers=[table, hand]))
        assert {*overlay._nodes} == {0, 1}
        assert overlay._nodes[1][1] is nodes[1]
        np.testing.assert_allclose(nodes[1].position, (5.0, 2.0, 3.0))
        assert overlay._nodes[0][1].radius == 0.15
        assert overlay._nodes[0][1].visible
        overlay.update(MarkerArray(markers=[table, Marker(ns=SHAPES, id=0, action=Marker.DELETE)]))
        assert {*overlay._nodes} == {1}
        overlay.update(MarkerArray(markers=[Marker(ns=SHAPES, id=1, action=Marker.DELETE)]))
        overlay.update(None)
        assert not overlay._nodes
        overlay.update(MarkerArray(markers=[table]))
        overlay.remove()
        assert not overlay._nodes
        robot.remove()
