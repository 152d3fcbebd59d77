# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Operational-space control with control barrier functions, by frax and cbfpy.

D. Morton and M. Pavone, "Safe, task-consistent manipulation with operational space control barrier
functions", IROS 2025, for two hands instead of one. The operational-space law with a posture in its
null space proposes efforts. A quadratic problem changes the accelerations of hands and posture as
little as the barriers and the limits of efforts demand; both are relaxed. The barriers have the
relative degree two: distances of spheres, limits of positions, the manipulability of each hand.
Penalties and gains of barriers are those of the authors' examples. The posture's weight is not:
with theirs, 1, a hand and the posture share what is left where a joint is at its limit, and hands
end some cm from their goals.
"""

import itertools
import os
import time
from xml.etree import ElementTree

# What frax and cbfpy recommend on a CPU. JAX reads it when it is imported.
os.environ.update(JAX_PLATFORMS='cpu', JAX_ENABLE_X64='1', OPENBLAS_NUM_THREADS='1', XLA_FLAGS=(
    '--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1 '
    '--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED'))

import elastiqp.jax  # noqa: F401
import jax
import jax.numpy as jnp
import numpy as np
from cbfpy import CBF, CBFConfig
from frax import Robot
from frax.utils.rotation_utils import orientation_error_3D
from hand_goals import KP, MARGIN, PERIOD, POSTURE_KP

from opspace_control import RobotState
from opspace_control.collision.shapes import Kind

GAIN = 10.0             # 1/s, of both orders of barriers
WEIGHT = 1e-4           # of the posture's accelerations, as in placo's problem; of the hands' 1
MANIPULABILITY = 1e-3   # least product of the singular values of a hand's Jacobian
TOLERANCE = 1e-6        # of the solver, for which cbfpy advises 1e-5 or less
# Cells that a shape of dual_arm is cut into, each in a sphere: along x, y, z of a box, along a
# cylinder; of shapes that are not named, one.
CELLS = {'base_link': (3, 3, 1), 'base_link/2': 4, 'torso_pitch_link': 2, 'torso': (2, 2, 3),
         'upper_arm': 2, 'forearm': 2, 'palm': (2, 1, 2)}


def cover(shape, cells):
    """Return spheres around the cells of a box or cylinder: centers (n, 3), link frame; radius."""
    radius, counts = 0.0, np.ones(3, int)
    if shape.kind == Kind.BOX:
        half, counts[:] = 0.5 * np.array(shape.size), cells
    else:
        radius, *length = shape.size
        half, counts[2] = 0.5 * np.array([0.0, 0.0, sum(length)]), cells
    half /= counts
    centers = list(itertools.product(*(
        width * (2.0 * np.arange(count) + 1.0 - count)
        for width, count in zip(half, counts, strict=True))))
    return (centers @ np.transpose(shape.rotation) + shape.position,
            float(np.linalg.norm([radius, *half])))


def sphere_model(hands, ancestors, joints_between):
    """
    Return spheres and their pairs as frax takes them, from those of a `CollisionModel`.

    Links that fewer joints connect have no pairs.
    """
    carriers = {joint.find('child').get('link'): joint.get('name') for joint in
                ElementTree.parse(hands.robot.path).getroot().findall('joint')}
    joints, shapes = [None, *hands.model.dof_names], hands.collision.shapes
    positions, radii, numbers = [[] for _ in joints], [[] for _ in joints], {}
    for k, shape in sorted(((joints.index(carriers.get(shape.link)), shape) for shape in shapes),
                           key=lambda carried: carried[0]):
        centers, radius = cover(
            shape, CELLS.get(shape.name.removeprefix('l_').removeprefix('r_'), 1))
        first = len(radii[0]) if k == 0 else sum(map(len, radii[1:]))
        numbers[shape.name] = k, range(first, first + len(centers))
        positions[k] += map(tuple, centers)
        radii[k] += [radius] * len(centers)
    pairs = {False: [], True: []}  # by whether both move
    chains = np.vstack([np.zeros(len(ancestors), bool), ancestors])
    for pair in hands.collision.pairs:
        (a, first), (b, second) = sorted(
            (numbers[name] for name in pair), key=lambda number: number[0])
        if (chains[a] ^ chains[b]).sum() >= joints_between:
            pairs[a > 0] += itertools.product(first, second)
    return {'positions': tuple(map(tuple, positions[1:])), 'radii': tuple(map(tuple, radii[1:])),
            'root_positions': positions[0], 'root_radii': radii[0],
            'body_sc_pairs': pairs[True], 'body_sc_tols': [MARGIN] * len(pairs[True]),
            'root_sc_pairs': pairs[False], 'root_sc_tols': [MARGIN] * len(pairs[False])}


@jax.tree_util.register_static
class Barriers(CBFConfig):
    """What cbfpy is to know: dynamics ż = f + g u of z = [q, q̇] and u = τ, barriers, weights."""

    def __init__(self, robot, frames):
        self.robot, self.frames = robot, frames
        limits = robot.actuated_joint_max_forces
        super().__init__(2 * robot.nv, robot.nv, u_min=-limits, u_max=limits, backend='elastiqp',
                         solver_tol=TOLERANCE)

    def jacobians(self, transforms):
        """Return the Jacobian (6, nv) of each hand, from the transforms of all joints."""
        return [self.robot._frame_jacobian(transforms, offset, chain)
                for offset, chain in self.frames]

    def inverse_inertia(self, q):
        """Return M⁻¹ (nv, nv)."""
        return self.robot.mass_matrix_inverse(self.robot.mass_matrix(q))

    def f(self, z):
        """Return [q̇, -M⁻¹ (c + g)] (2 nv,)."""
        q, v = jnp.split(z, 2)
        return jnp.concatenate([v, -self.inverse_inertia(q) @ self.robot.nonlinear_bias(q, v)])

    def g(self, z):
        """Return [0; M⁻¹] (2 nv, nv)."""
        inverse = self.inverse_inertia(jnp.split(z, 2)[0])
        return jnp.concatenate([jnp.zeros_like(inverse), inverse])

    def h_2(self, z):
        """Return the barriers: distances beyond the margin, room of joints, manipulability."""
        robot, q = self.robot, jnp.split(z, 2)[0]
        jacobians = self.jacobians(robot.joint_to_world_transforms(q))
        manipulability = jnp.array([
            jnp.prod(jnp.linalg.svd(J[:, chain], compute_uv=False))
            for J, (_, chain) in zip(jacobians, self.frames, strict=True)])
        return jnp.concatenate([
            robot.self_collision_distances(q), robot.actuated_joint_upper_limits - q,
            q - robot.actuated_joint_lower_limits, manipulability - MANIPULABILITY])

    def alpha(self, h):
        """Return by how much a barrier may decrease, per s."""
        return GAIN * h

    alpha_2 = alpha

    def P(self, z, desired):  # noqa: N802
        """Return the weights (nv, nv) of efforts: those of accelerations of hands and posture."""
        q = jnp.split(z, 2)[0]
        J = jnp.concatenate(self.jacobians(self.robot.joint_to_world_transforms(q)))
        inverse = self.inverse_inertia(q)
        of_hands = J @ inverse
        of_posture = inverse - of_hands.T @ jnp.linalg.inv(of_hands @ J.T) @ of_hands
        return of_hands.T @ of_hands + WEIGHT * of_posture.T @ of_posture

    def q(self, z, desired):
        """Return the linear part (nv,): without barriers the desired efforts are the best."""
        return -self.P(z, desired) @ desired


class Oscbf:
    """
    The law of `Hands`, compiled once for all goals; ``pairs`` counts its pairs of spheres.

    The models of frax have no pairs of links next but one: ``joints_between`` is 3 for these. With
    2 they have some, whose spheres keep wrists from bending.
    """

    def __init__(self, hands, joints_between):
        model, path, names = hands.model, str(hands.robot.path), list(hands.model.dof_names)
        self._hands, start = hands, hands.q[model.q_index]
        ancestors = Robot(path, joint_ordering=names).ancestor_mask
        robot = Robot(path, sphere_model(hands, ancestors, joints_between), names)
        self.pairs = len(robot.body_sc_pairs) + len(robot.root_sc_pairs)
        transforms, frames = np.asarray(robot.joint_to_world_transforms(start)), []
        state = RobotState(model, hands.q, np.zeros(model.nv))
        for hand, pose in hands.starts.items():
            last = np.flatnonzero(model.jacobian(state, hand).any(axis=0)).max()
            frames.append((np.linalg.solve(transforms[last], pose),
                           np.flatnonzero(robot.ancestor_mask[last])))
        config = Barriers(robot, frames)
        barriers = CBF.from_config(config)
        self.law = jax.jit(lambda *inputs: barriers.safety_filter(
            inputs[0], desired_effort(config, start, *inputs)))
        Seeker(self, hands, hands.starts).torque(state)  # compiles

    def seek(self, goals):
        """Return what sends the hands to goals."""
        return Seeker(self, self._hands, goals)


def desired_effort(config, posture, z, poses, twists):
    """Return efforts (nv,) of operational-space control, with a posture in its null space."""
    robot, (q, v) = config.robot, jnp.split(z, 2)
    transforms = robot.joint_to_world_transforms(q)
    M, J = robot.mass_matrix(q), jnp.concatenate(config.jacobians(transforms))
    inverse, errors = robot.mass_matrix_inverse(M), []
    for (offset, chain), pose in zip(config.frames, poses, strict=True):
        here = transforms[chain[-1]] @ offset
        errors += [here[:3, 3] - pose[:3, 3], orientation_error_3D(here[:3, :3], pose[:3, :3])]
    wanted = -KP * jnp.concatenate(errors) - 2.0 * np.sqrt(KP) * (J @ v - jnp.ravel(twists))
    rest = -POSTURE_KP * (q - posture) - 2.0 * np.sqrt(POSTURE_KP) * v
    force = jnp.linalg.inv(J @ inverse @ J.T) @ (wanted - J @ rest)
    return J.T @ force + M @ rest + robot.nonlinear_bias(q, v)


class Seeker:
    """Sends the hands to goals by a compiled law."""

    def __init__(self, oscbf, hands, goals):
        self._law, self._index = oscbf.law, hands.model.q_index
        self._ways, self._cycle = hands.ways(goals), 0

    def torque(self, state):
        """Return efforts (nv,) and how long they took, s; none if they are not finite."""
        elapsed = self._cycle * PERIOD
        self._cycle += 1
        poses = np.array([way.pose(elapsed) for way in self._ways])
        twists = np.array([way.twist(elapsed) for way in self._ways])
        begun = time.process_time()
        z = np.concatenate([state.q[self._index], state.v])
        effort = np.asarray(self._law(z, poses, twists))
        return effort if np.isfinite(effort).all() else None, time.process_time() - begun
