# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Scratch memory: filled with NaN when made, and never read before it is written."""

from operator import attrgetter

import numpy as np
import pytest
from robots import chain
from samples import by_sample, random_state, sample

from opspace_control import (
    JointLimits,
    ModelError,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    operational_space,
)
from opspace_control.dynamics.data import NODE_STATE, POINT, make_points, moment_nodes, nan_filled
from opspace_control.model.nodes import WORLD

# What a cycle writes before it reads it: whole arguments, and fields of the others.
FIELDS = {
    'robot.states': NODE_STATE.names,
    'robot.points': [
        name for name in POINT.names if POINT[name].base.kind == 'f' and name != 'axes'],
    'demand.tasks': ['R', 'p', 'axis_error', 'rate', 'row_activation', 'acceleration',
                     'spring_wrench', 'compliant', 'applied_wrench', 'wrench'],
    'cycle': ['least_eigenvalue', 'R'],
}


@pytest.mark.parametrize('shape', [7, (3, 4), (0,), (5, 0, 2), 0])
def test_poison_is_everywhere(shape):
    assert np.isnan(nan_filled(shape)).all()
    records = nan_filled(shape, NODE_STATE)
    for name in NODE_STATE.names:
        assert np.isnan(records[name]).all(), name


@by_sample
def test_nothing_returned_is_poisoned(name, floating_base):
    _, model, frames = sample(name, floating_base)
    state = random_state(model, 1)
    osd = operational_space(model, state, frames)
    ones = np.ones(model.nv)
    for value in (model.mass_matrix(state), model.bias_force(state), model.gravity(state),
                  model.jacobian(state, frames), model.bias_acceleration(state, frames),
                  model.inverse_dynamics(state, ones), model.forward_dynamics(state, ones),
                  *model.forward_kinematics(state).values(),
                  *(value for value in vars(osd).values() if isinstance(value, np.ndarray))):
        assert np.isfinite(value).all()


def write_nan(arrays):
    """Write NaN to all numbers, but for a projection, whose zeros are those of joints without."""
    for array in arrays:
        if isinstance(array, tuple):
            write_nan(part for name, part in array._asdict().items() if name != 'projection')
        elif array is not None and array.dtype.kind == 'f':
            array[...] = np.nan


@pytest.mark.parametrize('limited', [False, True], ids=['bare', 'within limits'])
@pytest.mark.parametrize('q', [0.4, 0.0], ids=['regular', 'stretched'])
@pytest.mark.parametrize(('name', 'floating_base'), [
    ('planar_3r', False), ('dual_arm', False), ('talos', True), ('tree', True)])
def test_cycle_reads_nothing_of_the_last_one(name, floating_base, q, limited):
    """Poison all scratch between two cycles at one state: the torques must not change."""
    _, model, frames = sample(name, floating_base)
    q = model.integrate(model.neutral(), np.full(model.nv, q), 1.0)
    state = RobotState(model, q, np.linspace(-1.0, 1.0, model.nv))
    tasks = [PoseTask(frame, max_linear_velocity=0.3, mode='impedance' if e else 'decoupled',
                      force_axes='z rx', axes_frame=frames[-1]) for e, frame in enumerate(frames)]
    controller = OperationalSpaceController(
        model, tasks, PostureTask(target=model.neutral()),
        limits=JointLimits(model) if limited else None)
    for task in tasks:
        task.force.approach_velocity = task.force.approach_rate = 0.0
        task.force.set_target(np.ones(6))
        task.set_target([0.3, 0.2, 0.1, 0.0, 0.0, 0.0, 1.0])
    for _ in range(4):  # until the same limits are active; what takes time stands still
        torque = controller.compute_torque(state, dt=0.0)
    assert np.isfinite(torque).all()
    arguments = controller._arguments
    for path, fields in FIELDS.items():
        for field in fields:
            attrgetter(path)(arguments)[field][...] = np.nan
    write_nan([*arguments.storage.results, arguments.storage.scratch])
    if floating_base:
        arguments.cycle['origin'] = np.nan
    again = controller.compute_torque(state, out=np.full(model.nv, np.nan), dt=0.0)
    np.testing.assert_array_equal(again, torque)


def test_nodes_support_the_points_they_carry():
    model = sample('humanoid').model
    points, supports = make_points(model, ['l_hand', 'feet', 'chest', 'l_hand'])
    moving = {model.dof_names[model.nodes['v_index'][i]] for i in np.flatnonzero(supports[:, 2])}
    assert moving == {'ankle_pitch', 'knee_pitch', 'hip_pitch', 'torso_yaw', 'torso_roll',
                      'torso_pitch', 'chest_pitch'}
    assert not supports[:, 1].any()
    assert points['frame']['node'][1] == WORLD
    np.testing.assert_array_equal(supports[:, 0], supports[:, 3])
    assert supports[:, 0].sum() == 14
    with pytest.raises(ModelError, match="no link 'nose'"):
        make_points(model, ['nose'])


def test_only_a_floating_base_is_taken_out_of_the_moments():
    model = RobotModel.from_urdf(chain('revolute', 'planar', inner=(
        '<limit lower="-1" upper="1" effort="1" velocity="1"/>')), floating_base=True)
    assert moment_nodes(model)['q_scale'].tolist() == [0.0] * 3 + [1.0] * 7
    assert (model.nodes['q_scale'] == 1.0).all()
    fixed = sample('tree').model
    np.testing.assert_array_equal(moment_nodes(fixed), fixed.nodes)
