# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The cycle with passive joints, constraints and priorities, against dense algebra over Pinocchio.

The torques are put into the dense equations of motion, constraint forces and all; what the robot
then does is held against the optimum of Gauss: of all motions that meet the tasks, that the
constraints allow and that the drives can make, the one nearest to the posture's in the metric A.
"""

import numpy as np
import pytest
from printed_law import ALL_AXES
from robots import TALOS
from test_cycle import (
    TALOS_FEET,
    TALOS_HANDS,
    posture_acceleration,
    random_goal,
    random_state,
    robot,
)

from opspace_control import (
    ControlError,
    ModelError,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    TaskError,
)
from opspace_control.control.constraints.constraint import Constraint
from opspace_control.dynamics.passive_forces import PassiveForces
from opspace_control.share import share_directory

DUAL_ARM = share_directory() / 'urdf' / 'dual_arm.urdf'
ANYMAL = 'anymal_b_simple_description/robots/anymal.urdf'
ANYMAL_FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
BASE = tuple(f'base/{axis}' for axis in ALL_AXES)


class Case:
    """A controller at a random state beside the dense equations of the same robot."""

    def __init__(self, name, goals, *, floating=False, passive=(), locked=(), constraints=(),
                 priorities=None, seed=0, push=None, threshold=1e-11, limits=None):
        self.model, self.dense = robot(name, (), floating)
        rng = np.random.default_rng(seed)
        self.goals = [random_goal(frame, np.random.default_rng([seed, i]), axes)
                      for i, (frame, axes) in enumerate(goals)]
        tasks = [PoseTask(goal.frame, name=f'task {i}', kp=goal.kp, kd=goal.kd, axes=goal.axes,
                          priority=priorities[i] if priorities else 0)
                 for i, goal in enumerate(self.goals)]
        for task, goal in zip(tasks, self.goals, strict=True):
            goal.max_linear_velocity = goal.max_angular_velocity = np.inf
            task.set_target(goal.pose.homogeneous, goal.twist, goal.acceleration)
        self.held = [Constraint(*frames, name=f'{frames} {axes}', axes=axes)
                     for *frames, axes in constraints]
        self.controller = OperationalSpaceController(
            self.model, tasks, PostureTask(kp=20.0, kd=3.0), constraints=self.held,
            passive_forces=PassiveForces(self.model), effort_limits=np.inf,
            limits=limits(self.model) if limits else None, singularity_threshold=threshold)
        # Accelerations and efforts that joints are to have whatever the tasks want, by dof.
        self.fixed, self.efforts = {}, {}
        self.controller.set_status(passive, locked)
        self.controller.posture.set_target(random_state(self.model, rng).q)
        self.passive, self.locked = self.controller.passive, self.controller.locked
        self.applied = np.where(self.passive, rng.normal(size=self.model.nv), 0.0)
        self.controller.passive_forces.set_applied(self.applied)
        self.active = ~self.passive & ~self.locked
        self.state = self._consistent(random_state(self.model, rng))
        for constraint in self.held:
            constraint.close()
            if push is not None:
                constraint.internal_wrench = push
        self.tau = self.controller.compute_torque(self.state, np.full(self.model.nv, np.nan))

    def _consistent(self, state):
        """Return the state with velocities that constraints and brakes allow."""
        self.dense.at(state.q, state.v)
        J = self._constraint_rows()[0]
        rows = np.vstack([J, np.eye(self.model.nv)[self.locked]])
        v = state.v - np.linalg.pinv(rows) @ rows @ state.v
        self.dense.at(state.q, v)
        return type(state)(self.model, state.q, v)

    def _constraint_rows(self):
        rows, bias = [np.zeros((0, self.model.nv))], [np.zeros(0)]
        for constraint in self.held:
            pose, J, h = self.dense.frame(constraint.frame)
            if constraint.other is not None:
                other, J_other, h_other = self.dense.frame(constraint.other)
                r = pose.translation - other.translation
                w = (J_other @ np.linalg.solve(self.dense.T, self.dense.v))[3:]
                J = J - np.vstack([J_other[:3] - np.cross(r, J_other[3:], axisb=0, axisc=0),
                                   J_other[3:]])
                h = h - np.r_[h_other[:3] + np.cross(h_other[3:], r)
                              + np.cross(w, np.cross(w, r)), h_other[3:]]
            on = np.isin(ALL_AXES, constraint.axes)
            rows.append(J[on])
            bias.append(h[on])
        return np.vstack(rows), np.concatenate(bias)

    def task_rows(self, indices=None):
        """Return J, J̇ v and a* of the goals."""
        v = self.state.v
        rows, bias, wanted = [], [], []
        for i in range(len(self.goals)) if indices is None else indices:
            goal = self.goals[i]
            pose, J, h = self.dense.frame(goal.frame)
            on = np.isin(ALL_AXES, goal.axes)
            rows.append(J[on])
            bias.append(h[on])
            wanted.append(goal.demand(pose, J @ v)[on])
        return np.vstack(rows), np.concatenate(bias), np.concatenate(wanted)

    def motion(self):
        """Return what the dense robot does under the torques, and the constraint forces."""
        J, h = self._constraint_rows()
        free = ~self.locked
        A, Jf = self.dense.A[np.ix_(free, free)], J[:, free]
        n, c = A.shape[0], len(h)
        right = np.r_[(self.tau + self.applied - self.dense.bias)[free], -h]
        system = np.block([[A, -Jf.T], [Jf, np.zeros((c, c))]])
        solution = np.linalg.lstsq(system, right, rcond=1e-12)[0]
        a = np.zeros(self.model.nv)
        a[free] = solution[:n]
        return a, solution[n:], J

    def gauss(self):
        """Return the optimum of Gauss."""
        free = np.flatnonzero(~self.locked)
        A = self.dense.A[np.ix_(free, free)]
        C, hc = self._constraint_rows()
        T, ht, wanted = self.task_rows()
        C, T = C[:, free], T[:, free]
        p, torque = np.isin(free, np.flatnonzero(self.passive)), self.applied.copy()
        for k, effort in self.efforts.items():
            p, torque[k] = p | (free == k), effort
        n, c = len(free), len(hc)
        # Unknown: the motion, and constraint forces that let joints of known effort make it.
        rows = np.vstack([
            np.hstack([T, np.zeros((len(ht), c))]),
            np.hstack([C, np.zeros((c, c))]),
            np.hstack([A[p], -C[:, p].T]),
            np.hstack([np.eye(self.model.nv)[list(self.fixed)][:, free],
                       np.zeros((len(self.fixed), c))])])
        right = np.r_[wanted - ht, -hc, (torque - self.dense.bias)[free][p],
                      list(self.fixed.values())]
        root = np.linalg.cholesky(A).T
        q_null = self.advice()[free]
        particular = np.linalg.lstsq(rows, right, rcond=1e-11)[0]
        assert np.allclose(rows @ particular, right, atol=1e-6 * abs(right).max()), 'not feasible'
        _, s, V = np.linalg.svd(rows)
        null = V[(s > 1e-9 * s[0]).sum():].T
        # Internal forces move nothing: measured by A, not by the largest step there is.
        U, s, V = np.linalg.svd(root @ null[:n], full_matrices=False)
        moving = s > 1e-8 * np.linalg.norm(root, 2)
        step = V[moving].T @ (U[:, moving].T @ root @ (q_null - particular[:n]) / s[moving])
        a = np.zeros(self.model.nv)
        a[free] = particular[:n] + null[:n] @ step
        return a

    def advice(self):
        """Return q̈_null, with that of passive joints."""
        posture, model = self.controller.posture, self.model
        a = posture_acceleration(model, self.state, posture.target, posture.kp, posture.kd)
        return np.where(self.locked, 0.0, a)

    def check(self, tolerance=1e-8):
        a, _, _ = self.motion()
        J, h, wanted = self.task_rows()
        scale = abs(wanted).max()
        np.testing.assert_allclose(J @ a + h, wanted, rtol=0.0, atol=tolerance * scale)
        best = self.gauss()
        np.testing.assert_allclose(a, best, rtol=0.0, atol=tolerance * abs(best).max())
        assert (self.tau[~self.active] == 0.0).all()


POSITION = ALL_AXES[:3]

PASSIVE = [
    ('dual_arm.urdf', [('l_hand', ALL_AXES)], {'passive': ['r_elbow']}),
    ('dual_arm.urdf', [('l_hand', POSITION)], {'passive': ['l_wrist_roll', 'torso_yaw']}),
    ('dual_arm.urdf', [('l_hand', POSITION), ('r_hand', POSITION)],
     {'passive': ['l_elbow', 'r_wrist_pitch'], 'locked': ['r_shoulder_yaw']}),
    (TALOS, [(hand, ALL_AXES) for hand in TALOS_HANDS], {'floating': True, 'passive': BASE}),
    (TALOS, [(hand, ALL_AXES) for hand in TALOS_HANDS],
     {'floating': True, 'passive': (*BASE, 'torso_1_joint'), 'locked': ['leg_left_4_joint']}),
    (ANYMAL, [(foot, POSITION) for foot in ANYMAL_FEET[:3]], {'floating': True, 'passive': BASE}),
]


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('name, goals, arguments', PASSIVE)
def test_passive_joints(name, goals, arguments, seed):
    Case(name, goals, seed=seed, **arguments).check()


CONSTRAINED = [
    ('dual_arm.urdf', [('l_hand', ALL_AXES)], {'constraints': [('r_hand', 'l_hand', ALL_AXES)]}),
    ('dual_arm.urdf', [('l_hand', POSITION)], {'constraints': [('r_hand', 'l_hand', POSITION)]}),
    ('dual_arm.urdf', [('l_hand', POSITION)], {'constraints': [('r_hand', None, POSITION)]}),
    (TALOS, [(TALOS_HANDS[0], ALL_AXES)],
     {'constraints': [(TALOS_HANDS[1], TALOS_HANDS[0], ALL_AXES)]}),
    # Standing on two feet; twelve rows, of which the base takes six.
    (TALOS, [(TALOS_HANDS[0], POSITION), ('base_link', ALL_AXES)],
     {'floating': True, 'passive': BASE,
      'constraints': [(foot, None, ALL_AXES) for foot in TALOS_FEET]}),
    (ANYMAL, [('base', ALL_AXES)],
     {'floating': True, 'passive': BASE,
      'constraints': [(foot, None, POSITION) for foot in ANYMAL_FEET]}),
    (ANYMAL, [('base', ALL_AXES), ('RH_FOOT', POSITION)],
     {'floating': True, 'passive': BASE,
          'constraints': [(foot, None, POSITION) for foot in ANYMAL_FEET[:3]]}),
    # Both hands on one thing, floating in space, and one elbow without a drive.
    (TALOS, [(TALOS_HANDS[0], POSITION)],
     {'floating': True, 'passive': (*BASE, 'arm_right_4_joint'),
          'constraints': [(TALOS_HANDS[1], TALOS_HANDS[0], ALL_AXES)]}),
    # The same loop twice: redundant rows.
    ('dual_arm.urdf', [('l_hand', ALL_AXES)],
     {'constraints': [('r_hand', 'l_hand', ALL_AXES), ('r_hand', 'l_hand', POSITION)]}),
]


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('name, goals, arguments', CONSTRAINED)
def test_constraints(name, goals, arguments, seed):
    Case(name, goals, seed=seed, **arguments).check(1e-7)


def test_push_is_an_internal_force():
    """What two links exert on each other moves nothing, and is what the constraint then bears."""
    arguments = {'constraints': [('r_hand', 'l_hand', ALL_AXES)]}
    push = np.array([20.0, -5.0, 3.0, 1.0, 0.5, -2.0])
    goals = [('l_hand', ALL_AXES)]
    idle, pushing = Case('dual_arm.urdf', goals, **arguments), Case(
        'dual_arm.urdf', goals, push=push, **arguments)
    assert abs(pushing.tau - idle.tau).max() > 1.0
    moving, force, _ = pushing.motion()
    expected, idle_force, _ = idle.motion()
    np.testing.assert_allclose(moving, expected, atol=1e-9 * abs(expected).max())
    np.testing.assert_allclose(force, idle_force - push, atol=1e-8 * abs(idle_force).max())


@pytest.mark.parametrize('name, goals, arguments', [
    case for case in CONSTRAINED if not any('l_hand' in c and c[2] == POSITION and len(
        case[2]['constraints']) > 1 for c in case[2]['constraints'])])
def test_constraint_forces_are_predicted(name, goals, arguments):
    case = Case(name, goals, **arguments)
    _, force, J = case.motion()
    predicted = np.concatenate([held.force[np.isin(ALL_AXES, held.axes)] for held in case.held])
    # Redundant rows share a load in many ways; what the joints feel of it is one.
    free = ~case.locked
    np.testing.assert_allclose(J[:, free].T @ predicted, J[:, free].T @ force,
                               atol=1e-7 * abs(J.T @ force).max())


@pytest.mark.parametrize('arguments', [
    {}, {'passive': ['r_wrist_roll']}, {'constraints': [('r_hand', 'l_forearm', POSITION)]}])
def test_priorities(arguments):
    """The first level is met exactly, the second as well as that allows."""
    name, goals = 'dual_arm.urdf', [('l_forearm', POSITION), ('l_hand', ALL_AXES),
                                    ('l_hand', POSITION)]
    case = Case(name, goals, priorities=[0, 1, 2], threshold=1e-6, **arguments)
    a, _, _ = case.motion()
    J, h, wanted = case.task_rows([0])
    np.testing.assert_allclose(J @ a + h, wanted, atol=1e-8 * abs(wanted).max())
    # The second is in conflict with the third: the same point is to go elsewhere.
    alone = Case(name, goals[:2], priorities=[0, 1], threshold=1e-6, **arguments)
    np.testing.assert_allclose(case.tau, alone.tau, atol=1e-6 * abs(alone.tau).max())


def test_priorities_cost_nothing_where_there_is_no_conflict():
    goals = [('l_hand', ALL_AXES), ('r_hand', ALL_AXES)]
    stacked, strict = Case('dual_arm.urdf', goals), Case('dual_arm.urdf', goals, priorities=[1, 0])
    assert list(strict.controller.tasks) == ['task 1', 'task 0']
    np.testing.assert_allclose(strict.tau, stacked.tau, atol=1e-9 * abs(stacked.tau).max())


def test_status_can_change_at_any_time():
    case = Case('dual_arm.urdf', [('l_hand', POSITION)])
    controller = case.controller
    controller.set_status(['l_elbow'], ['torso_yaw'])
    assert [case.model.dof_names[k] for k in np.flatnonzero(controller.passive)] == ['l_elbow']
    tau = controller.compute_torque(case.state)
    assert tau[case.model.dof_index('l_elbow')] == tau[case.model.dof_index('torso_yaw')] == 0.0
    controller.set_status(passive_joints=())
    assert not controller.passive.any() and controller.locked.any()
    controller.set_status((), ())
    np.testing.assert_array_equal(controller.compute_torque(case.state), case.tau)
    with pytest.raises(ModelError, match='l_elbow'):
        controller.set_status(['l_elbwo'])
    np.testing.assert_array_equal(controller.compute_torque(case.state), case.tau)


def test_a_model_with_passive_joints_begins_so():
    model = RobotModel.from_urdf_file(DUAL_ARM, passive_joints=['l_elbow'])
    assert OperationalSpaceController(model).passive.sum() == 1


@pytest.mark.parametrize('make, message', [
    (lambda: Constraint('l_hand', kp=-1.0), 'kp = -1.0'),
    (lambda: OperationalSpaceController(
        RobotModel.from_urdf_file(DUAL_ARM), constraints=[Constraint('l_hand')] * 2), 'Two const'),
    (lambda: OperationalSpaceController(
        RobotModel.from_urdf_file(DUAL_ARM), constraints=['l_hand']), 'not a constraint'),
    (lambda: PoseTask('l_hand', priority=-1), 'priority = -1'),
])
def test_what_cannot_be_used_is_refused(make, message):
    with pytest.raises((ControlError, TaskError), match=message):
        make()
