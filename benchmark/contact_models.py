# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Contacts eliminated, and contacts as large inertias, [WPO15]: what each costs, and how wrong it is.

As a section of the benchmark, cycles of b1 on two and on four feet beside Pinocchio's `aba`.
`python benchmark/contact_models.py` prints how wrong other inertias are; `--write` puts the table
in doc/explanation/contact_forces.md.
"""

import argparse
from functools import cache
from pathlib import Path

import numpy as np
from figures import Figure, Spread, put_into

from opspace_control import OperationalSpaceController, PostureTask, RobotModel, RobotState
from opspace_control.cli.robots import FEET, demo_robot
from opspace_control.control.planning.postures import named_posture
from opspace_control.locomotion import legged_tasks

MODELS = 'exact', 'large_inertia'
STANCES = {'two': (0, 3), 'four': (0, 1, 2, 3)}
SOFTNESS = tuple(10.0**-k for k in range(2, 13))
_STATES, _ROUNDS = 20, 100
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'explanation' / 'contact_forces.md'


def measure():
    """Return the figures of each number of feet: the cost of each model, and the errors of one."""
    import pinocchio
    from timing import interleave

    model, text, _ = robot()
    peer = pinocchio.buildModelFromXML(text, pinocchio.JointModelFreeFlyer())
    data, zeros = peer.createData(), np.zeros(peer.nv)
    contenders = {'aba': (pinocchio.aba, [(peer, data, pinocchio.neutral(peer), zeros, zeros)])}
    for stance, feet in STANCES.items():
        states = standing_states(feet)
        for contact_model in MODELS:
            controller = controller_on(feet, contact_model)
            contenders[stance, contact_model] = controller.compute_torque, [
                (state, np.empty(model.nv)) for state in states]
    times = interleave(contenders, _ROUNDS)
    return [figure for stance, feet in STANCES.items() for figure in (
        *(Figure.ratio(
            f'contact_models.{stance}.{contact_model}',
            f"b1 on {stance} feet, contact_model='{contact_model}': whole cycle without limits "
            "beside Pinocchio's `aba`", times[stance, contact_model], times['aba'])
          for contact_model in MODELS),
        *(Figure(f'contact_models.{stance}.{key}',
                 f"b1 on {stance} feet, contact_model='large_inertia': error of {what}, in parts "
                 'of the largest', Spread.of(values))
          for key, what, values in zip(('acceleration', 'force'), (
              'joint accelerations', 'contact forces'), errors(feet).T, strict=True)))]


@cache
def robot():
    """Return b1, its URDF and the posture in which it stands."""
    b1 = demo_robot('b1')
    text = b1.path().read_text()
    model = RobotModel.from_urdf(text, floating_base=True, passive_joints=('base',))
    return model, text, named_posture(model, b1.start)


def contact_rows(state, feet):
    """Return J_c and J̇_c v of the positions of so many FEET."""
    model, names = state.model, [FEET[foot] for foot in feet]
    return (np.vstack([model.jacobian(state, name)[:3] for name in names]),
            np.concatenate([model.bias_acceleration(state, name)[:3] for name in names]))


def standing_states(feet):
    """Return states near the posture, in motion, whose FEET of these numbers stand still."""
    model, _, home = robot()
    states = []
    for seed in range(_STATES):
        random = np.random.default_rng(seed)
        turn = np.concatenate([np.zeros(6), random.uniform(-0.2, 0.2, model.nv - 6)])
        state = RobotState(model, model.integrate(home, turn, 1.0),
                           random.normal(0.0, 0.5, model.nv))
        J, _ = contact_rows(state, feet)
        states.append(RobotState(model, state.q, state.v - np.linalg.pinv(J) @ (J @ state.v)))
    return states


def controller_on(feet, contact_model, softness=None):
    """Return a controller without limits whose FEET of these numbers are in contact."""
    model, _, home = robot()
    tasks, contacts = legged_tasks(model.root_link, FEET)
    controller = OperationalSpaceController(
        model, tasks, PostureTask(target=home, kp=20.0, kd=5.0), constraints=contacts,
        effort_limits=np.inf, contact_model=contact_model)
    if softness is not None:
        controller._cycle['contact_softness'] = softness
    for foot in feet:
        contacts[foot].engage()
    return controller


def moved(controller, state, feet):
    """Return q̈ and λ of the dense equations of motion, and λ as the controller predicts it."""
    model = state.model
    for contact in controller.constraints.values():
        contact.move_to_present()
    controller.hold()
    tau = controller.compute_torque(state)
    J, bias = contact_rows(state, feet)
    A, h = model.mass_matrix(state), model.inverse_dynamics(state, np.zeros(model.nv))
    K = np.block([[A, -J.T], [J, np.zeros((len(J), len(J)))]])
    x = np.linalg.lstsq(K, np.concatenate([tau - h, -bias]), rcond=1e-12)[0]
    contacts = list(controller.constraints.values())
    return (x[:model.nv], x[model.nv:],
            np.concatenate([contacts[foot].force[:3] for foot in feet]))


def errors(feet, softness=None):
    """
    Return errors of `large_inertia`, one row for each state, in parts of the largest number.

    Of the accelerations, beside those of the exact model; and of the contact forces that the
    controller predicts, beside those of the dense equations of motion under its efforts.
    """
    exact, near = (controller_on(feet, MODELS[0]), controller_on(feet, MODELS[1], softness))
    rows = []
    for state in standing_states(feet):
        a, _, _ = moved(exact, state, feet)
        a_near, force, predicted = moved(near, state, feet)
        rows.append((abs(a_near - a).max() / abs(a).max(),
                     abs(predicted - force).max() / abs(force).max()))
    return np.array(rows)


def table():
    """Return the table of errors by softness, in Markdown."""
    rows = ['| mass of the robot over `I_c` | ' + ' | '.join(
        f'{stance} feet: {what}' for stance in STANCES for what in ('q̈', 'λ')) + ' |',
        '|---:' * (1 + 2 * len(STANCES)) + '|']
    for softness in SOFTNESS:
        cells = [f'{np.median(part):.0e}' for feet in STANCES.values()
                 for part in errors(feet, softness).T]
        rows.append(f'| {softness:.0e} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(rows)


def main():
    """Print the table of errors, and write it where it belongs if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--write', action='store_true', help=f'put the table in {_PAGE}')
    arguments = parser.parse_args()
    text = table()
    print(text)
    if arguments.write:
        put_into(_PAGE, 'contact_models', text)


if __name__ == '__main__':
    main()
