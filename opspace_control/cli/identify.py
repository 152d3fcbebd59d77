# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace identify`: friction of drives and masses from a recorded run, and a motion for it."""

import shlex
import sys
from pathlib import Path

import numpy as np

from opspace_control.arguments import make_parser, names, positions, refuse_existing, writing
from opspace_control.cli.identify_report import parameter_file, report
from opspace_control.collision import CollisionDescription
from opspace_control.collision.description import collision_file
from opspace_control.control.planning.postures import named_posture
from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.errors import OpspaceError
from opspace_control.identification.clearance import Clearance
from opspace_control.identification.description import with_inertias
from opspace_control.identification.excitation import EFFORT, POOR, REACH, SPEED, exciting_motion
from opspace_control.identification.fit import identify
from opspace_control.identification.inertia import body_of_parameters
from opspace_control.identification.samples import CUTOFF, SLOW, motion_samples
from opspace_control.identification.thresholds import collision_thresholds, moving_residuals
from opspace_control.model.bodies import Payload, attach_payloads
from opspace_control.model.urdf import urdf_text

_DESCRIPTION = """\
Fit the friction of drives, and inertias of links or of a payload, to a recorded run.

The run is a file of `opspace record`, in which nothing touched the robot. Written are a parameter
file with the friction (and the payload), and a URDF with the inertias of links. What the motion
does not tell stays as it is in the URDF. The report compares errors of efforts before and after, in
samples that the fit has not seen. Needs no ROS.

With --excite: write a motion from which the parameters of a robot can be told, within its limits.
Look at it with `opspace plan URDF --replay FILE`, and send it with `opspace execute FILE`."""

_EPILOG = """\
from the motion to the parameters:
  opspace identify --excite my_robot.urdf --parameters my_robot.yaml --output excite.csv
  opspace record --output run.mcap            (in another terminal)
  opspace execute excite.csv
  opspace identify run.mcap"""


# Where all is known already, errors of efforts before and after differ by noise only.
_WORSE = 1.05


def main(arguments=None):
    """Write parameters, or a motion; return 1 if an error of efforts grows."""
    options = _parser().parse_args(arguments)
    if options.excite:
        return _excite(options)
    return _identify(options, arguments or ())


def _parser():
    parser = make_parser('identify', _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument('file', metavar='RUN', type=Path,
                        help='a file of opspace record; with --excite a URDF or xacro file')
    parser.add_argument('-o', '--output', type=Path, metavar='FILE',
                        help='the parameters (default: beside RUN, ending in .identified.yaml), or '
                        'the motion (default: excite.csv)')
    parser.add_argument('--force', action='store_true', help='replace existing files')
    fit = parser.add_argument_group('the fit')
    what = fit.add_mutually_exclusive_group()
    what.add_argument('--links', metavar='A,B', type=names,
                      help='links whose inertias are fitted (default: all)')
    what.add_argument('--payload', metavar='LINK',
                      help='fit a payload of this link; the inertias of links are known')
    what.add_argument('--friction-only', action='store_true', help='all inertias are known')
    fit.add_argument('--urdf', type=Path, metavar='FILE',
                     help='the URDF with identified inertias of links (default: beside RUN, ending '
                     'in .identified.urdf)')
    fit.add_argument('--effort', choices=('commanded', 'measured'), default='commanded',
                     help='efforts of the commands, or of the joint states (default: %(default)s)')
    fit.add_argument('--cutoff', metavar='HZ', type=float, default=CUTOFF,
                     help='of the filter (default: %(default)g)')
    fit.add_argument('--slow', metavar='V', type=float, default=SLOW,
                     help='below this velocity, rad/s or m/s, friction follows no law that could '
                     'be fitted (default: %(default)g)')
    excite = parser.add_argument_group('the motion')
    excite.add_argument('--excite', action='store_true', help='write a motion')
    excite.add_argument('--parameters', type=Path, metavar='YAML',
                        help='the parameter file of the nodes: which joints move, and, by the '
                        "simulator's initial_positions, from where")
    excite.add_argument('--home', metavar='JOINT=VALUE,...', type=positions, default={},
                        help='where it begins and ends, rad or m; others at zero or nearest to it')
    excite.add_argument('--locked', metavar='A,B', type=names, default=(),
                        help='joints that stay where they are')
    excite.add_argument('--seconds', type=float, default=30.0, help='(default: %(default)g)')
    excite.add_argument('--reach', type=float, default=REACH[0], metavar='RAD',
                        help='how far joints turn from home at most (default: %(default)g)')
    excite.add_argument('--speed', type=float, default=SPEED, metavar='PART',
                        help='of the velocity limits (default: %(default)g)')
    excite.add_argument('--effort-part', type=float, default=EFFORT, metavar='PART',
                        help='of the effort limits (default: %(default)g)')
    excite.add_argument('--clearance', type=float, default=0.03, metavar='M',
                        help='least distance of the shapes in the file of opspace collision beside '
                        "the URDF, or of the URDF's; 0: distances are not looked at (default: "
                        '%(default)g)')
    return parser


def _identify(options, arguments):
    from opspace_control.ros.parameters.controller_parameters import table_of
    from opspace_control.ros.parameters.robot import make_model
    from opspace_control.runs.motion import read_motion
    from opspace_control.runs.run import Run

    path = options.output or options.file.with_suffix('.identified.yaml')
    urdf = options.urdf or options.file.with_suffix('.identified.urdf')
    links = () if options.payload or options.friction_only else options.links
    of_links = links is None or len(links) > 0
    for output in (path, urdf) if of_links else (path,):
        refuse_existing(output, options)
    run = Run(options.file)
    parameters = {row.name: row.default for row in table_of(run.parameters)} | run.parameters
    _check(run, parameters, options)
    model, joints = make_model(run.robot, parameters)
    for link in links or filter(None, [options.payload]):
        model.frame_index(link)  # an unknown one is told before a long run is read
    motion = read_motion(run, model, joints)
    efforts = np.where(model.active, motion.commanded if options.effort == 'commanded'
                       else motion.measured, np.nan)
    samples = motion_samples(model, motion.time, motion.q, efforts, cutoff=options.cutoff,
                             slow=options.slow, valid=motion.valid)
    found = identify(
        model, samples, links=links, payload=options.payload, nodes=_loaded(model, parameters),
        friction=_known_friction(model, parameters))
    text = with_inertias(run.robot, model, found.bodies) if of_links else run.robot
    load = [] if of_links else [(options.payload, body) for body in found.bodies]
    thresholds = _thresholds(make_model(text, parameters)[0], motion, efforts, parameters, found,
                             load)
    made_by = 'opspace identify ' + shlex.join(map(str, arguments))
    with writing(path):
        path.write_text(parameter_file(found, model, run.controller, options.payload,
                                       parameters['payloads'], thresholds, made_by))
    written = [path]
    if of_links:
        with writing(urdf):
            urdf.write_text(text)
        written.append(urdf)
    print(f'{run.path}: {model.name}, {motion.time[-1]:.1f} s at {motion.rate:.0f} Hz, '
          f'{options.effort} efforts')
    print('\n'.join(report(found, model, thresholds)))
    if options.payload and not found.bodies:
        print(f"  No payload of '{options.payload}' can be told from zero.")
    print(f'Written: {", ".join(map(str, written))}')
    known = np.isfinite(found.after)
    return 1 if (found.after > _WORSE * found.before)[known].any() else 0


def _check(run, parameters, options):
    """Raise an OpspaceError if the efforts of a run are not those of its motion."""
    if not run.robot:
        raise OpspaceError(f'{run.path} has no robot.', path=str(run.path),
                           cure='Record while robot_description is published.')
    if parameters['floating_base']:
        raise OpspaceError(f'The base of the robot in {run.path} floats.', path=str(run.path),
                           cure='Identify it on a stand, with a fixed base.')
    if not parameters['gravity_compensation'] and options.effort == 'commanded':
        raise OpspaceError('The robot compensates gravity itself: its commands are not all of its '
                           'efforts.', cure='Use --effort measured.')
    if parameters['grasps'] or parameters['contacts']:
        print('There are grasps or contacts: what touched the robot falsifies the fit.')


def _loaded(model, parameters, load=()):
    """Return the model's nodes, (n,), with its payloads and others: pairs of a link, a body."""
    from opspace_control.ros.parameters.task_blocks import read_payload

    nodes = model.nodes.copy()
    payloads = [(parameters[f'{name}.frame'] or name, read_payload(name, parameters))
                for name in parameters['payloads']]
    payloads += [(link, Payload(*body_of_parameters(body.after))) for link, body in load]
    attach_payloads(nodes, model.nodes, [
        (model.frames[model.frame_index(link)], payload) for link, payload in payloads])
    return nodes


def _thresholds(model, motion, efforts, parameters, found, load):
    """Return residuals beyond which something touches the robot, (nv,); NaN where unknown."""
    if not parameters['observer.rate'] > 0.0:
        return np.full(model.nv, np.nan)
    residuals = moving_residuals(
        model, motion, efforts, rate=parameters['observer.rate'],
        coulomb=np.nan_to_num(found.coulomb), viscous=np.nan_to_num(found.viscous),
        nodes=_loaded(model, parameters, load))
    return collision_thresholds(residuals, found.coulomb)


def _known_friction(model, parameters):
    """Return Coulomb and viscous friction (2, nv) that parameters or the URDF tell."""
    from opspace_control.ros.parameters.joints import drive_friction

    known = drive_friction(model, parameters | {'drive_friction.fraction': 1.0})
    return np.array([[known[name][joint] for joint in model.dof_names]
                     for name in ('coulomb', 'viscous')])


def _excite(options):
    path = options.output or Path('excite.csv')
    refuse_existing(path, options)
    text, home, locked = urdf_text(options.file), {}, options.locked
    if options.parameters:
        home, still = _parameters(text, options.parameters)
        locked = {*locked, *still}
    model = RobotModel.from_urdf(text, locked_joints=locked)
    home = named_posture(model, home | options.home)
    motion = exciting_motion(
        model, home, duration=options.seconds, reach=(options.reach, REACH[1]),
        speed=options.speed, effort=options.effort_part,
        clearance=_clearance(options, model, home))
    plan = motion.plan(model)
    with writing(path):
        plan.save(path)
    print(f'{path}: {model.name}, {motion.time[-1]:g} s, condition number {motion.condition:.3g}')
    for dof in np.flatnonzero(model.active):
        q = motion.q[:, model.q_index[dof]]
        effort, limit = abs(motion.effort[:, dof]).max(), model.effort_limits[dof]
        print(f'  {model.dof_names[dof]}: from {q.min():.3g} to {q.max():.3g}, at most '
              f'{abs(motion.v[:, dof]).max():.3g} of {model.velocity_limits[dof]:.3g} in velocity, '
              f'{effort:.3g} of {limit:.3g} in effort')
    doubts = [*_doubts(model, motion)]
    for doubt in doubts:
        print(doubt, file=sys.stderr)
    return 1 if doubts else 0


def _doubts(model, motion):
    """Yield sentences about what a motion does not tell."""
    slow = model.names_of(motion.slow(model))
    if slow:
        yield (f'Too slow to tell anything of them: {", ".join(slow)}. Begin where they have more '
               f'room, allow more --reach, or name them in --locked.')
    if motion.condition > POOR:
        yield (f'The condition number is above {POOR:g}: errors of efforts of 1 % are errors of '
               'parameters beyond a fifth. Begin where joints have more room, or allow more of '
               '--reach and --speed.')


def _parameters(text, path):
    """Return the initial positions by joint, and the joints that move not, of a parameter file."""
    from opspace_control.ros.parameters.controller_parameters import table_of
    from opspace_control.ros.parameters.parameter_file import ParameterFile
    from opspace_control.ros.parameters.robot import make_model

    file = ParameterFile(path)
    values = file.of_node('opspace_controller')
    model, _ = make_model(text, {row.name: row.default for row in table_of(values)} | values)
    return file.start(), model.names_of(~model.active)


def _clearance(options, model, home):
    """Return the `Clearance` of the robot's shapes, or None if the user wants none."""
    if options.clearance == 0.0:
        return None
    path = collision_file(options.file)
    if path.is_file():
        description = CollisionDescription.read(path)
    else:
        print(f'There is no {path}: shapes are fitted to the URDF. `opspace collision` makes the '
              'file once and for all.')
        description = CollisionDescription.from_urdf_file(options.file)
    if not description.fits:
        raise OpspaceError(
            f'{options.file} has no <collision> shapes: links may hit each other.',
            path=str(options.file), cure='Give it shapes, or do without by --clearance 0.')
    clearance = Clearance(description.model(model), options.clearance)
    for pair in clearance.near(home):
        raise OpspaceError(
            f"'{pair.first}' and '{pair.second}' are {1e3 * pair.distance:.0f} mm apart where the "
            'motion begins.', cure='Begin from another posture, or allow less --clearance; where '
            'they never meet, name them under excluded_pairs in the file of `opspace collision`.')
    return clearance
