# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Internal forces between contacts: of least norm, with `JointLimits.least_effort`, and the optimum.

The optimum minimises the squares of efforts, each in parts of its limit, for the motion of the law
and within the same bounds of contact forces; one dense quadratic program a state.
`python benchmark/contact_efforts.py` prints the table, `--write` puts it in
doc/explanation/contact_forces.md.
"""

import argparse
from pathlib import Path

import numpy as np
import quadprog
from figures import put_into

from opspace_control.cli.showcase.legged_scene import FRICTION, LeggedScene

_COURSES = (('b1', 'stand', 0.0), ('go2', 'stand', 0.0), ('b1', 'trot', 1.0), ('go2', 'trot', 1.0))
_SETTLING, _MEASURED, _EVERY = 1.0, 1.0, 20  # s, s, cycles
_PYRAMID = FRICTION / np.sqrt(2.0)
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'explanation' / 'contact_forces.md'


class ComparedScene(LeggedScene):
    """A quadruped; of some cycles, effort and friction of both internal forces, (2, 2)."""

    def __init__(self, robot, least_effort):
        super().__init__(robot)
        self.controller.limits = self.controller.limits.changed(least_effort=least_effort)
        self.cycles, self.seen = 0, []

    def compute_torque(self, state, tau):
        """Compute the torque; compare."""
        super().compute_torque(state, tau)
        self.cycles += 1
        closed = [one for one in self.controller.constraints.values() if one.closed]
        if self.cycles % _EVERY == 0 and len(closed) > 1:
            force = np.array([one.force[:3] - one.internal_wrench[:3] for one in closed])
            J = np.vstack([self.model.jacobian(state, one.frame)[:3] for one in closed])
            best = least_effort(J, tau, force, self.controller.effort_limits)
            change = J[:, 6:].T @ (force - best).ravel()
            self.seen.append([self._measures(tau[6:] + added, forces, closed)
                              for added, forces in ((0.0, force), (change, best))])

    def _measures(self, efforts, forces, closed):
        """Return the sum of squares of efforts in parts, and the greatest friction in parts."""
        along = np.array([f @ one.normal for f, one in zip(forces, closed, strict=True)])
        sideways = np.linalg.norm(forces - along[:, None] * [one.normal for one in closed], axis=1)
        return (np.sum((efforts / self.controller.effort_limits[6:]) ** 2),
                (sideways / (FRICTION * np.maximum(along, 1.0))).max())


def least_effort(J, tau, force, limits):
    """
    Return contact forces (k, 3) of least effort which move the robot as ``force`` do.

    J (3 k, nv) is the Jacobian of the contacts, tau (nv,) and limits (nv,) are efforts, N·m; base
    and joints accelerate alike, so ``J_bᵀ λ`` and ``τ + J_aᵀ λ`` stay.
    """
    W = 1.0 / limits[6:]
    rows = W[:, None] * J[:, 6:].T
    whole = W * (tau[6:] + J[:, 6:].T @ force.ravel())
    U, s, _ = np.linalg.svd(J[:, :6])
    N = U[:, np.count_nonzero(s > 1e-9 * s[0]):]  # λ = force + N y
    if N.shape[1] == 0:
        return force
    cone = np.array([[sign * (axis == 0), sign * (axis == 1), _PYRAMID]
                     for axis in (0, 1) for sign in (1.0, -1.0)])
    cones = np.kron(np.eye(len(force)), cone)
    A = rows @ N
    y = quadprog.solve_qp(A.T @ A + 1e-12 * np.eye(A.shape[1]),
                          A.T @ (whole - rows @ force.ravel()), (cones @ N).T,
                          np.minimum(-cones @ force.ravel(), 0.0))[0]
    return force + (N @ y).reshape(force.shape)


def measured(robot, gait, speed, least_effort):
    """Return effort and friction of a law, and of the optimum, (2, 2), medians."""
    scene = ComparedScene(robot, least_effort)
    scene.run(0.3)
    scene.locomotion.gait = gait
    scene.locomotion.command(speed)
    scene.run(_SETTLING)
    scene.seen.clear()
    scene.run(_MEASURED)
    return np.median(scene.seen, axis=0)


def table():
    """Return the table, Markdown."""
    kinds = 'least norm', '`least_effort` 1', 'optimum'
    lines = [f"| robot, gait | effort: {' | '.join(kinds)} | friction in use: "
             f"{' | '.join(kinds)} |", '|---' + 6 * '|---:' + '|']
    for course in _COURSES:
        (norm, best), (spared, _) = measured(*course, 0.0), measured(*course, 1.0)
        efforts, friction = zip(norm, spared, best, strict=True)
        lines.append(f'| `{course[0]}`, {course[1]} | ' + ' | '.join(
            [*(f'{each:.3f}' for each in efforts), *(f'{each:.2f}' for each in friction)]) + ' |')
    return '\n'.join(lines)


def main():
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--write', action='store_true', help='into the page')
    text = table()
    if parser.parse_args().write:
        put_into(_PAGE, 'contact_efforts', text)
    print(text)


if __name__ == '__main__':
    main()
