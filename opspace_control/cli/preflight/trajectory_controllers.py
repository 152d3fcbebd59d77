# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Joint trajectory controllers of a parameter file: their start position on activation."""

from opspace_control.cli.preflight.verdict import ok, warning
from opspace_control.ros.parameters.parameter_file import ParameterFile

_TYPE = 'joint_trajectory_controller/JointTrajectoryController'
_OPTION = 'set_last_command_interface_value_as_state_on_activation'


def look_at_trajectory_controllers(path, joints, findings):
    """
    Return the joint trajectory controllers for any of the joints; add findings about them.

    A controller that commands positions begins at the last position commanded, not at the one that
    is measured, unless the option says otherwise. The joints have moved in between.

    Parameters
    ----------
    path : path or None
        The parameter file.
    joints : sequence of str
        Those that are commanded.
    findings : list
        Receives a finding for each controller.

    Returns
    -------
    list of dict
        ``name``, and ``begins_where_the_joints_are``, of each.

    """
    found = []
    file = ParameterFile(path) if path else None
    for name in _names(file) if file else ():
        values = file.of_node(name)
        if not set(joints) & {*values.get('joints', ()), *values.get('command_joints', ())}:
            continue
        begins_here = ('position' not in values.get('command_interfaces', ())
                       or values.get(_OPTION, True) is False)
        found.append({'name': name, 'begins_where_the_joints_are': begins_here})
        findings.append(ok(f'{name} begins where the joints are when it gets them back.')
                        if begins_here else warning(
            f'{name} returns to the position that it commanded last when it gets the joints back.',
            f'Give it {_OPTION}: false.'))
    return found


def _names(file):
    """Return the names of the controllers of that type, in the order of the file."""
    return [name.removesuffix('.type') for name, value in file.of_node('controller_manager').items()
            if name.endswith('.type') and value == _TYPE]
