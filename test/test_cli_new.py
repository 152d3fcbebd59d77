# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace new` writes a parameter file that `opspace check` accepts, for robots of any kind."""

import contextlib
import functools
import io

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from opspace_control import CollisionDescription
from opspace_control.cli import new
from opspace_control.cli.preflight import verdict
from opspace_control.cli.preflight.report import examine
from opspace_control.cli.robots import demo_robot, real_robot
from opspace_control.cli.showcase.schedule import Reach
from opspace_control.errors import ModelError, OpspaceError
from opspace_control.ros.parameters.parameter_file import ParameterFile
from opspace_control.simulation import SimulatedRobot

SIX = 'x y z rx ry rz'
# Of each robot: links that tasks move, and their axes.
ROBOTS = {
    'ur_description/urdf/ur5_robot.urdf': ({'tool0'}, SIX),
    'panda_description/urdf/panda.urdf': ({'panda_hand_tcp'}, SIX),
    'xarm_description/urdf/xarm7.urdf': ({'link_eef'}, SIX),
    'baxter_description/urdf/baxter.urdf': ({'left_gripper', 'right_gripper'}, SIX),
    'tiago_description/robots/tiago.urdf': ({'hand_grasping_frame'}, SIX),
    'b1_description/urdf/b1.urdf': ({'FR_foot', 'FL_foot', 'RR_foot', 'RL_foot'}, 'x y z'),
}
OURS = {'dual_arm': ({'l_hand', 'r_hand'}, SIX), 'planar_2r': ({'hand'}, 'x z')}
# Their shapes, of dozens of meshes on several branches, take as long as those of all others but
# Baxter's, which are of this kind, too.
UNFITTED = ('tiago.urdf', 'b1.urdf')


def written(path, folder, *arguments):
    """Return the exit code of `opspace new`, and the file that it wrote."""
    file = folder / 'robot.yaml'
    return new.main([str(path), '--output', str(file), *arguments]), file


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    """Return of a robot's path: exit code, file and output of `opspace new`, called once."""
    @functools.cache
    def make(path):
        # Longer than a line of the file.
        folder = tmp_path_factory.mktemp(f'{path.stem}_of_a_folder_with_a_long_name' * 4)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code, file = written(
                path, folder, *(['--no-distances'] if path.name in UNFITTED else []))
        return code, file, out.getvalue()
    return make


@pytest.mark.parametrize(('path', 'links', 'axes'), [
    *((real_robot(name), *expected) for name, expected in ROBOTS.items()),
    *((demo_robot(name).path(), *expected) for name, expected in OURS.items())],
    ids=[*(name.split('/')[-1] for name in ROBOTS), *OURS])
def test_check_accepts_the_file(path, links, axes, made):
    code, file, out = made(path)
    assert code < verdict.LEVELS.index('FAIL'), out
    values = ParameterFile(file).of_node('opspace_controller')
    assert {values[f'{task}.frame'] for task in values['tasks']} == links
    assert {values[f'{task}.axes'] for task in values['tasks']} == {axes}
    report = examine(path, file)
    assert report['home']['given']
    assert min(joint['margin'] for joint in report['joints'] if joint['commanded']) > 0.0
    for task in report['tasks']:
        assert task['rank'] == len(axes.split()), task['name']
    assert max(joint['gravity_share'] for joint in report['joints']) < 0.9


@pytest.mark.parametrize(('name', 'good'), [
    ('dual_arm', True), ('xarm_description/urdf/xarm7.urdf', False)])
def test_links_keep_distances_where_the_fit_is_good(name, good, made):
    pytest.importorskip('trimesh', reason='trimesh is not installed')
    path = real_robot(name) if '/' in name else demo_robot(name).path()
    code, file, out = made(path)
    shapes = file.with_name('robot.collision.yaml')
    assert code < verdict.LEVELS.index('FAIL')
    assert ParameterFile(file).of_node('opspace_controller').get('collision.file', '') == (
        str(shapes) if good else '')
    assert ('Links keep a distance' in out) == good
    assert ("The capsule 'link_base' is too fat" in out) != good
    report = examine(path, file, collision=str(shapes))
    assert report['collision']['overlaps'] == []
    assert (examine(path, file)['collision'] is not None) == good


def test_pairs_that_two_joints_connect_and_that_are_near_are_left_out(made):
    _, file, _ = made(demo_robot('dual_arm').path())
    description = CollisionDescription.read(file.with_name('robot.collision.yaml'))
    assert {pair for pair, reason in description.excluded.items() if reason == 'home'} == {
        ('r_forearm', 'r_palm')}


def test_shapes_that_are_there_stay_and_may_be_left_out(tmp_path):
    path, shapes = demo_robot('planar_2r').path(), tmp_path / 'robot.collision.yaml'
    _, file = written(path, tmp_path, '--no-distances')
    assert not shapes.exists()
    shapes.write_text('shapes: {}\nexcluded_pairs: {}\n')
    file.unlink()
    _, file = written(path, tmp_path)
    assert shapes.read_text().startswith('shapes: {}')
    assert ParameterFile(file).of_node('opspace_controller')['collision.file'] == str(shapes)


def test_posture_is_free_in_all_rows():
    path = demo_robot('dual_arm').path()
    robot, _ = new.guess_parameters(path)
    reach = Reach(SimulatedRobot(path.read_text()), robot.hands, robot.axes)
    J = reach.jacobian(np.array([robot.start.get(joint, 0.0) for joint in reach.joints]))
    assert np.linalg.svd(J, compute_uv=False)[-1] > 0.1
    assert np.abs(list(robot.start.values())).max() > 0.1


def test_gravity_decides_on_effort_limits():
    """Gravity needs most of an effort of Baxter's arms wherever they are, of a UR5 little."""
    scales = [new.guess_parameters(real_robot(name))[1]['limits.effort_scale'] for name in (
        'baxter_description/urdf/baxter.urdf', 'ur_description/urdf/ur5_robot.urdf')]
    assert scales == [1.0, 0.5]


def test_given_frames_are_the_tasks(tmp_path, capsys):
    code, file = written(
        demo_robot('dual_arm').path(), tmp_path, '--frames', 'r_hand', '--no-distances')
    assert code < verdict.LEVELS.index('FAIL'), capsys.readouterr().out
    assert ParameterFile(file).of_node('opspace_controller')['tasks'] == ['r_hand']
    assert '# Made by: opspace new dual_arm.urdf --frames r_hand' in file.read_text()


def test_names_of_tasks_can_be_those_of_parameters():
    assert new._task_name('link_3.0_tip') == 'link_3_0_tip'
    assert new._task_name('limits') == 'task_limits'
    assert new._task_name('3_tip') == 'task_3_tip'


def test_an_existing_file_stays(tmp_path):
    file = tmp_path / 'robot.yaml'
    file.write_text('mine')
    with pytest.raises(OpspaceError, match='exists'):
        new.main([str(demo_robot('planar_2r').path()), '--output', str(file)])
    assert file.read_text() == 'mine'


def test_forced_it_is_replaced(tmp_path):
    (tmp_path / 'robot.yaml').write_text('mine')
    _, file = written(demo_robot('planar_2r').path(), tmp_path, '--force')
    assert 'opspace_controller' in file.read_text()


def test_an_unknown_frame_is_refused(tmp_path):
    with pytest.raises(OpspaceError, match='no_such_link'):
        written(demo_robot('planar_2r').path(), tmp_path, '--frames', 'no_such_link')
    assert not (tmp_path / 'robot.yaml').exists()


def test_a_frame_that_nothing_moves_is_refused(tmp_path):
    with pytest.raises(ModelError, match='move freely'):
        written(demo_robot('planar_2r').path(), tmp_path, '--frames', 'base_link')
