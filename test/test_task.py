# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Tasks as their users see them: axes and frames, modes, and the kinds beside the pose task."""

from functools import partial

import numpy as np
import pytest
from law_bench import LawBench

from opspace_control import (
    ForceControl,
    ForceSensor,
    ForceTask,
    Impedance,
    JointTask,
    ModelError,
    OperationalSpaceController,
    OrientationTask,
    PoseTask,
    PositionTask,
    RobotModel,
    RobotState,
    TaskError,
)
from opspace_control.share import share_directory
from opspace_control.spatial.rotations import matrix_from_vector
from opspace_control.tasks.arguments import AXES

TURN = matrix_from_vector(np.array([0.3, -0.2, 0.5]))


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')


def pose(position=(0.0, 0.0, 0.0), R=None):
    T = np.eye(4)
    T[:3, 3] = position
    T[:3, :3] = np.eye(3) if R is None else R
    return T


class TestAxes:
    def test_defaults(self):
        task = PoseTask('tip')
        assert task.axes == AXES and task.force_axes == ()
        assert task.axes_frame == (None, None)
        assert task.mode == 'decoupled' and task.force.sensor is None
        np.testing.assert_array_equal(task.axes_in_base, [np.eye(3), np.eye(3)])

    def test_force_takes_an_axis_that_both_name(self):
        task = PoseTask('tip', axes='x y z', force_axes=('z', 'rx'))
        assert task.axes == ('x', 'y') and task.force_axes == ('z', 'rx')
        task.set_axes(force_axes='x')
        assert task.axes == ('y', 'z') and task.force_axes == ('x',)
        task.set_axes(axes='rz', force_axes=())
        assert task.axes == ('rz',) and task.force_axes == ()

    @pytest.mark.parametrize('change', [
        {'axes': '', 'force_axes': ''}, {'axes': 'x q'}, {'force_axes': 'x x'}, {'axes': 3},
        {'force_axes': 7.0}, {'axes': 'x', 'frame': 3}, {'axes': 'x', 'frame': ('a', 'b', 'c')},
        {'axes': 'x', 'frame': (1, 2)}, {'axes': 'x', 'rotation': (0, 0, 0, 2)},
        {'axes': 'x', 'rotation': 'z'}, {'axes': 'x', 'rotation': np.diag([1, 1, -1])},
        {'axes': 'x', 'rotation': (0, 0, np.nan, 1)}, {'axes': 'x', 'rotation': np.eye(4)}],
        ids=str)
    def test_what_cannot_be_used_is_refused_and_changes_nothing(self, change):
        task = PoseTask('tip', axes='x z', force_axes='y', axes_frame='a')
        LawBench(task)
        with pytest.raises(TaskError, match="task 'tip'"):
            task.set_axes(**change)
        assert task.axes == ('x', 'z') and task.force_axes == ('y',)
        assert task.axes_frame == ('a', 'a')
        np.testing.assert_array_equal(task._record['motion'], [1, 0, 1, 0, 0, 0])
        np.testing.assert_array_equal(task.axes_rotation, [np.eye(3), np.eye(3)])

    def test_an_unknown_frame_is_refused_by_the_controller_and_later_at_once(self, model):
        sensor = ForceSensor('l_palm')
        task = PoseTask('l_hand', axes_frame='l_hnd', force=ForceControl(sensor))
        with pytest.raises(ModelError, match='l_hand'):
            OperationalSpaceController(model, [task])
        assert not task.in_use and not sensor.in_use
        task.set_axes(frame='l_hand')
        OperationalSpaceController(model, [task])
        with pytest.raises(ModelError, match='l_hand'):
            task.set_axes(frame='l_hnd')
        assert task.axes_frame == ('l_hand', 'l_hand')

    def test_an_unknown_frame_of_a_sensor_is_refused_by_the_controller(self, model):
        task = PoseTask('l_hand', force=ForceControl(ForceSensor('l_plam')))
        with pytest.raises(ModelError, match='l_palm'):
            OperationalSpaceController(model, [task])
        assert not task.in_use and not task.force.sensor.in_use

    def test_the_root_link_of_a_fixed_robot_is_the_base(self, model):
        tasks = [PoseTask('l_hand', name=str(frame), force_axes='x', axes_frame=frame)
                 for frame in (None, model.root_link, '')]
        controller = OperationalSpaceController(model, tasks)
        controller.compute_torque(RobotState(model, 0.3 * np.ones(model.nq), np.zeros(model.nv)))
        for task in tasks:
            np.testing.assert_array_equal(task.axes_in_base, [np.eye(3), np.eye(3)])

    @pytest.mark.parametrize('frame', [None, 'turned'])
    def test_an_axis_moved_along_again_holds_where_it_is_and_the_others_keep_their_goals(
            self, frame):
        task = PoseTask('tip', axes='x ry', force_axes='z', axes_frame=frame)
        bench = LawBench(task)
        bench.place('turned', TURN)
        S = (TURN if frame else np.eye(3)).T
        goal_turn = matrix_from_vector(np.array([0.1, 0.2, -0.3]))
        task.set_target(pose((1.0, 2.0, 3.0), goal_turn))
        bench.points['p'] = [0.5, 0.4, 0.3]
        before = bench.cycle()['axis_error'].copy()
        task.set_axes(axes='x ry rz z', force_axes='')
        after = bench.cycle()['axis_error'].copy()
        held = np.isin(AXES, ('z', 'rz'))
        np.testing.assert_allclose(after[held], 0.0, atol=1e-12)
        np.testing.assert_allclose(after[~held], before[~held], atol=1e-12)
        np.testing.assert_allclose(S @ (task.target[:3] - task.pose[:3]), after[:3], atol=1e-12)
        task.set_target(pose((1.0, 2.0, 3.0), goal_turn))  # a goal set afterwards counts
        np.testing.assert_allclose(bench.cycle()['axis_error'], before, atol=1e-12)

    def test_before_there_is_a_goal_there_is_nothing_to_hold(self):
        task = PoseTask('tip', axes='x')
        task.set_axes(axes='x y z')
        bench = LawBench(task)
        assert task.target is None
        bench.cycle()
        np.testing.assert_array_equal(task.target, [0, 0, 0, 0, 0, 0, 1])


class TestModes:
    def test_an_impedance_that_is_given_is_used(self):
        assert PoseTask('tip', impedance=Impedance(100.0)).mode == 'impedance'
        assert PoseTask('tip', impedance=Impedance(100.0), mode='decoupled').mode == 'decoupled'
        task = PoseTask('tip', mode='impedance')
        np.testing.assert_array_equal(task.impedance.stiffness, [500.0] * 3 + [50.0] * 3)
        task.mode = 'decoupled'
        assert task._record['impedance'] == 0.0

    @pytest.mark.parametrize('mode', ['stiff', '', 1, True, []], ids=str)
    def test_other_modes_are_refused(self, mode):
        task = PoseTask('tip')
        with pytest.raises(TaskError, match=r"task 'tip': mode = .*decoupled, impedance"):
            task.mode = mode
        assert task.mode == 'decoupled'

    @pytest.mark.parametrize('arguments', [
        {'stiffness': -1.0}, {'stiffness': np.inf}, {'stiffness': [1.0] * 3}, {'stiffness': 'x'},
        {'damping_ratio': 0.0}, {'damping_ratio': -0.1}, {'damping_ratio': np.nan},
        {'damping_ratio': 11.0}, {'damping_ratio': [1.0] * 6}, {'damping_ratio': 'x'}], ids=str)
    def test_numbers_of_an_impedance_that_cannot_be_used(self, arguments):
        with pytest.raises(TaskError, match='impedance: '):
            Impedance(**arguments)
        task = PoseTask('tip', impedance=Impedance(100.0, 0.7))
        LawBench(task)
        with pytest.raises(TaskError, match="task 'tip': "):
            task.impedance.set(**{'stiffness': 50.0, **arguments})
        np.testing.assert_array_equal(task.impedance.stiffness, 100.0)
        assert task.impedance.damping_ratio == 0.7

    def test_what_is_not_given_stays(self):
        task = PoseTask('tip', impedance=Impedance(100.0, 0.7))
        bench = LawBench(task)
        task.impedance.set(damping_ratio=0.5)
        task.impedance.set(stiffness=[1, 2, 3, 4, 5, 6])
        np.testing.assert_array_equal(bench.tasks['spring']['stiffness'][0], [1, 2, 3, 4, 5, 6])
        assert bench.tasks['spring']['damping_ratio'][0] == 0.5


class TestForceControl:
    @pytest.mark.parametrize('arguments', [
        {'kp': -1.0}, {'ki': np.nan}, {'damping': [1.0] * 5}, {'damping': 0.0},
        {'damping': [1, 1, 1, 1, 1, 0]}, {'max_force': 0.0}, {'max_moment': -1.0},
        {'approach': (np.inf, 0.2)}, {'approach': (0.05, 'x')}, {'approach': 0.0},
        {'contact_threshold': (0.0, 0.2)}, {'contact_threshold': (2.0, np.nan)},
        {'impact_time': 0.0}, {'impact_time': np.inf},
        {'sensor': 'wrist'}], ids=str)
    def test_values_that_cannot_be_used_are_refused(self, arguments):
        with pytest.raises(TaskError, match='force control: '):
            ForceControl(**arguments)

    def test_numbers_change_at_run_time_and_refused_ones_do_not(self):
        task = PoseTask('tip')
        bench = LawBench(task)
        task.force.max_force, task.force.impact_time = 55.0, 0.1
        task.force.set_gains(kp=0.5, damping=[1, 2, 3, 4, 5, 6])
        record = bench.tasks['force'][0]
        assert record['limit'][0] == task.force.max_force == 55.0
        assert record['impact_time'] == task.force.impact_time == 0.1
        np.testing.assert_array_equal(record['damping'], [1, 2, 3, 4, 5, 6])
        np.testing.assert_array_equal(task.force.ki, 10.0)
        with pytest.raises(TaskError, match="task 'tip': max_force = -1"):
            task.force.max_force = -1.0
        with pytest.raises(TaskError, match="task 'tip': force ki"):
            task.force.set_gains(kp=0.7, ki=-1.0)
        assert task.force.max_force == 55.0
        np.testing.assert_array_equal(task.force.kp, 0.5)

    @pytest.mark.parametrize('wrench', [
        np.ones(5), [np.nan] * 6, [101.0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, -11.0], 'x'], ids=str)
    def test_a_wrench_that_cannot_be_wanted_is_refused(self, wrench):
        task = ForceTask('tip')
        task.set_target([1, 2, 3, 4, 5, 6])
        with pytest.raises(TaskError, match="task 'tip': target wrench"):
            task.set_target(wrench)
        np.testing.assert_array_equal(task.force.target, [1, 2, 3, 4, 5, 6])

    def test_to_hold_is_to_want_no_force(self, model):
        task = PoseTask('l_hand', force_axes='z')
        task.force.set_target([0, 0, 5, 0, 0, 0])
        OperationalSpaceController(model, [task]).hold()
        assert not task.force.target.any() and task.target is None

    def test_what_is_pressed_with_fades_when_told_to_hold(self):
        task = PoseTask('tip', force_axes='z', force=ForceControl(
            approach=(0.0, 0.0)))
        task.force.set_target([0, 0, 5, 0, 0, 0])
        bench = LawBench(task)
        assert bench.cycle()['applied_wrench'][2] == 5.0
        task.clear_target()
        presses = [float(bench.cycle()['applied_wrench'][2]) for _ in range(1000)]
        assert abs(np.diff([5.0, *presses])).max() < 0.051
        assert presses[300] < 0.3 and presses[-1] == 0.0 and not task.force.target.any()
        task.force.set_target([0, 0, 4, 0, 0, 0])
        assert bench.cycle()['applied_wrench'][2] == 4.0

    def test_it_begins_anew_when_told_to(self):
        task = PoseTask('tip', force_axes='z', force=ForceControl(ForceSensor('wrist')))
        bench = LawBench(task)
        bench.sensors['gravity'] = 0.0
        task.force.set_target([0, 0, 5, 0, 0, 0])
        for _ in range(300):
            task.force.sensor.update([0, 0, -3, 0, 0, 0])
            bench.cycle()
        assert task.force.contact == 'contact' and bench.tasks['force']['integral'].any()
        task.force.restart()
        assert task.force.contact == 'none' and not bench.tasks['force']['integral'].any()
        assert not task.force.target.any()

    def test_parts_belong_to_one_task(self):
        force, impedance = ForceControl(), Impedance()
        PoseTask('a', force=force, impedance=impedance)
        for part in ({'force': force}, {'impedance': impedance}):
            with pytest.raises(TaskError, match=r"task 'b': its .* belongs to another task"):
                PoseTask('b', **part)
        for part in ({'force': 'hard'}, {'impedance': 100.0}):
            with pytest.raises(TaskError, match="task 'b': "):
                PoseTask('b', **part)


class TestKinds:
    def test_a_position_task_takes_positions_and_poses(self):
        task = PositionTask('tip', axes='x z')
        assert task.axes == ('x', 'z') and task.possible_axes == ('x', 'y', 'z')
        for goal in ((1, 2, 3), [1, 2, 3, 0, 0, 0, 1], pose((1, 2, 3), TURN),
                     ((1, 2, 3), (0, 0, 0, 1))):
            task.set_target(goal, velocity=(4, 5, 6), acceleration=np.arange(6.0))
            np.testing.assert_array_equal(task._record['target_p'], [1, 2, 3])
            np.testing.assert_array_equal(task._record['target_twist'], [4, 5, 6, 0, 0, 0])
            np.testing.assert_array_equal(task._record['target_acceleration'], [0, 1, 2, 0, 0, 0])

    def test_an_orientation_task_takes_quaternions_rotations_and_poses(self):
        task = OrientationTask('tip')
        half = np.sqrt(0.5)
        R = matrix_from_vector(np.array([0.0, 0.0, np.pi / 2.0]))
        for goal in ((0, 0, half, half), R, pose((9, 9, 9), R), [9, 9, 9, 0, 0, half, half]):
            task.set_target(goal, velocity=(4, 5, 6), acceleration=np.arange(6.0))
            np.testing.assert_allclose(task._record['target_R'], R, atol=1e-12)
            np.testing.assert_array_equal(task._record['target_twist'], [0, 0, 0, 4, 5, 6])
            np.testing.assert_array_equal(task._record['target_acceleration'], [0, 0, 0, 3, 4, 5])

    @pytest.mark.parametrize('kind, arguments', [
        (PositionTask, {'axes': 'x rx'}), (PositionTask, {'force_axes': 'rz'}),
        (OrientationTask, {'axes': 'z'}), (ForceTask, {'force_axes': ''}),
        (ForceTask, {'force_axes': 'w'})], ids=str)
    def test_axes_that_a_kind_does_not_have_are_refused(self, kind, arguments):
        with pytest.raises(TaskError, match="task 'tip'"):
            kind('tip', **arguments)

    @pytest.mark.parametrize('kind, goal', [
        (PositionTask, (1, 2)), (PositionTask, 'x'), (PositionTask, (1, 2, np.nan)),
        (OrientationTask, (0, 0, 0, 0)), (OrientationTask, np.ones((3, 3))),
        (OrientationTask, None)], ids=str)
    def test_goals_that_are_none_are_refused(self, kind, goal):
        task = kind('tip')
        with pytest.raises(TaskError, match="task 'tip': target"):
            task.set_target(goal)
        assert task.target is None
        with pytest.raises(TaskError, match="task 'tip': target twist"):
            kind('tip').set_target([0, 0, 0, 0, 0, 0, 1], velocity=(1, 2))

    @pytest.mark.parametrize('make, name', [
        (partial(PoseTask, 'tip'), 'kp'), (partial(PoseTask, 'tip'), 'kd'),
        (partial(JointTask, 'bend'), 'kd'), (ForceControl, 'ki'), (Impedance, 'stiffness')])
    def test_a_gain_of_none_is_refused_by_a_constructor_and_kept_by_a_setter(self, make, name):
        with pytest.raises(TaskError, match=f'{name} = None is not allowed. Give numbers'):
            make(**{name: None})
        made = make()
        kept = getattr(made, name).copy()
        (made.set if make is Impedance else made.set_gains)(**{name: None})
        np.testing.assert_array_equal(getattr(made, name), kept)

    def test_a_force_task_leaves_all_else_free(self):
        task = ForceTask('tip', force_axes='z rx')
        record = LawBench(task).cycle()
        np.testing.assert_array_equal(record['row_activation'], [0, 0, 1, 1, 0, 0])
        assert task.axes == ()
