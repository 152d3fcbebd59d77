# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which directions of tasks active joints accelerate, against dense matrices and closed forms."""

import numpy as np
import pytest
import random_robots
import robots

from opspace_control import ModelError, PoseTask, RobotModel, RobotState, operational_space
from opspace_control.control.diagnosis.freedom import task_freedom
from opspace_control.control.planning.postures import random_postures


@pytest.fixture(scope='module')
def planar():
    return planar_arm()


def planar_arm(**keywords):
    """Return three links of 1 m in a plane, joints about z, the hand at the end."""
    parts = [robots.link('l0')]
    for i in range(1, 4):
        origin = f'<origin xyz="{int(i > 1)} 0 0"/><axis xyz="0 0 1"/>'
        parts.append(robots.link(f'l{i}', inner='<origin xyz="0.5 0 0"/>')
                     + robots.joint(f'j{i}', f'l{i - 1}', f'l{i}', 'continuous', origin))
    parts.append('<link name="hand"/>' + robots.joint('tip', 'l3', 'hand', 'fixed',
                                                      '<origin xyz="1 0 0"/>'))
    return RobotModel.from_urdf(robots.robot(*parts), **keywords)


def at_rest(model, q):
    return RobotState(model, q, np.zeros(model.nv))


def random_model(seed=0, **keywords):
    return RobotModel.from_urdf(random_robots.random_urdf(
        seed, 12, ('revolute', 'continuous', 'prismatic')), **keywords)


class TestTaskFreedom:

    def test_eigenvalues_are_those_of_the_scaled_matrix(self):
        model = random_model()
        state = at_rest(model, next(random_postures(model, model.neutral(), 1)))
        frames = model.frame_names[-3:]
        freedom = task_freedom(model, state, [
            PoseTask(frames[0]), PoseTask(frames[1], axes='x z ry'), PoseTask(frames[2], axes='y')])
        L = operational_space(model, state, frames).inverse_inertia
        scale = [1.0 / np.sqrt(np.trace(L[i:i + 3, i:i + 3]) / 3.0) for i in range(0, 18, 3)]
        scaled = np.diag(np.repeat(scale, 3)) @ L @ np.diag(np.repeat(scale, 3))
        controlled = [0, 1, 2, 3, 4, 5, 6, 8, 10, 13]
        expected = np.linalg.eigvalsh(scaled[np.ix_(controlled, controlled)])
        np.testing.assert_allclose(freedom.eigenvalues, expected.clip(0.0), atol=1e-12)
        assert freedom.rank == (expected > 1e-10).sum()

    def test_what_a_plane_arm_cannot_do(self, planar):
        freedom = task_freedom(planar, at_rest(planar, [0.3, 0.8, 0.5]),
                                         [PoseTask('hand', name='grip')])
        assert freedom.rank == 3
        assert freedom.immovable == (('grip', 'z'), ('grip', 'rx'), ('grip', 'ry'))
        assert freedom.weak == ()
        assert 1.0 < freedom.condition < 1e3

    @pytest.mark.parametrize('angle', [0.0, 0.4, -2.0])
    def test_a_straight_arm_loses_the_direction_along_it(self, planar, angle):
        freedom = task_freedom(planar, at_rest(planar, [angle, 0.0, 0.0]),
                                         [PoseTask('hand', axes='x y rz')])
        assert freedom.rank == 2
        lost = freedom.weak[0].wrench if freedom.weak else {freedom.immovable[0]: 1.0}
        along = np.array([lost.get(('hand', axis), 0.0) for axis in ('x', 'y', 'rz')])
        expected = np.array([np.cos(angle), np.sin(angle), 0.0])
        np.testing.assert_allclose(np.abs(along @ expected), np.linalg.norm(along), rtol=1e-9)

    def test_turned_axes_can_be_those_that_are_left(self, planar):
        """Of the axes along and across a straight arm only the one across can be had."""
        across = [0.0, 0.0, np.sin(0.2), np.cos(0.2)]
        state = at_rest(planar, [0.4, 0.0, 0.0])
        ranks = [task_freedom(planar, state, [
            PoseTask('hand', axes=axis, axes_rotation=across)]).rank for axis in 'xy']
        assert ranks == [0, 1]

    def test_the_nearer_to_straight_the_weaker(self, planar):
        least = [task_freedom(planar, at_rest(planar, [0.0, bend, -bend]),
                                        [PoseTask('hand', axes='x y rz')]).least_eigenvalue
                 for bend in (1.0, 0.1, 0.01)]
        assert least[0] > 10 * least[1] > 500 * least[2] > 0.0

    def test_a_wrench_along_a_weak_direction_hardly_accelerates(self, planar):
        state = at_rest(planar, [0.2, 0.05, 0.0])
        weak, = task_freedom(planar, state, [PoseTask('hand', axes='x y rz')]).weak
        assert max(abs(value) for value in weak.wrench.values()) == pytest.approx(1.0)
        assert 0.0 < weak.eigenvalue < 1e-2

    def test_locked_joints_take_no_part(self):
        model = random_model(locked_joints=[f'joint_{i}' for i in range(12)])
        freedom = task_freedom(model, at_rest(model, model.neutral()),
                                         [PoseTask(model.frame_names[-1])])
        assert freedom.rank == 0
        assert freedom.condition == np.inf
        assert len(freedom.immovable) == 6

    def test_lost_directions_read_easily(self, planar):
        # Two points of one rigid link: of eight axes, three can be had.
        freedom = task_freedom(
            planar, at_rest(planar, [0.3, 0.8, 0.5]),
            [PoseTask('hand', axes='x y rz'), PoseTask('l3', axes='x y rz')])
        assert freedom.rank == 3
        entries = [sum(abs(value) > 1e-6 for value in weak.wrench.values())
                   for weak in freedom.weak if not weak.eigenvalue]
        assert len(entries) == 3
        assert max(entries) <= 4

    def test_unknown_frame(self, planar):
        with pytest.raises(ModelError, match="'hand'"):
            task_freedom(planar, at_rest(planar, planar.neutral()), [PoseTask('han')])


def test_what_active_joints_cannot_reach_is_measured_by_what_free_ones_can():
    """A passive tip joint: the direction it takes is rounding, and must not count as a freedom."""
    model = planar_arm(passive_joints=['j3'])
    state = at_rest(model, [0.4, 0.9, -0.7])
    task = [PoseTask('hand', axes='x y rz')]
    freedom = task_freedom(model, state, task)
    assert freedom.rank == 2
    assert abs(freedom.eigenvalues[0]) < 1e-13
    held = planar_arm(locked_joints=['j3'])
    assert task_freedom(held, at_rest(held, state.q), task).rank == 2
