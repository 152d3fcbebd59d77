# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the parameter files of robots on legs have beside those of other robots."""

# Of the floor, and that which the controller counts on.
_FRICTION, _COUNTED_ON = 0.8, 0.7

# Part of the sole in which the controller keeps the centre of pressure; least normal force, N.
_SOLE, _LEAST = 0.9, 20.0


def controller_values(robot):
    """Return the parameters of the controller, by name, that differ from their defaults."""
    return _on_points(robot) if robot.feet else _on_soles(robot)


def _on_soles(robot):
    """Return those of a humanoid: balance before trunk and height, these before the hands."""
    values = {
        'tasks': ['balance', 'trunk', 'height', 'left_hand', 'right_hand'],
        'contacts': list(robot.soles), 'limits.effort_rate': 200.0, 'limits.velocity_scale': 1.3,
        'safety.release_time': 1.0,
        'balance.type': 'center_of_mass', 'balance.axes': 'x y', 'balance.kp': 20.0,
        'trunk.frame': 'base_link', 'trunk.axes': 'rx ry rz', 'trunk.kp': 50.0, 'trunk.priority': 1,
        'height.frame': 'torso_2_link', 'height.axes': 'z', 'height.kp': 30.0,
        'height.priority': 2}
    for hand in ('left_hand', 'right_hand'):
        values |= {f'{hand}.kp': 40.0, f'{hand}.priority': 3}
    for link in robot.soles:
        x, y, z = (0.5 * length for length in robot.shapes[link])
        values |= {f'{link}.engaged': True, f'{link}.friction': 0.5,
                   f'{link}.min_normal_force': _LEAST,
                   f'{link}.sole': [-_SOLE * x, -_SOLE * y, -z, _SOLE * x, _SOLE * y, -z]}
    return values


def _on_points(robot):
    """Return those of a robot that walks."""
    values = {
        'contacts': list(robot.feet), 'legs.feet': list(robot.feet), 'legs.gait': 'trot',
        'legs.max_velocity': list(robot.fastest),
        # Without its node a robot that trots falls within half a second.
        'safety.node_timeout': 0.1,
        # The load of a leg changes within a few milliseconds, and it stops within one.
        'limits.effort_rate': 500.0, 'limits.acceleration': 1000.0, 'limits.approach_rate': 50.0,
        'limits.velocity_kept': 1.0, 'limits.velocity_scale': 1.3,
        # As long as it takes to lie down.
        'safety.release_time': 1.0}
    for foot in robot.feet:
        values |= {f'{foot}.kind': 'point', f'{foot}.engaged': True,
                   f'{foot}.friction': _COUNTED_ON}
    return values | {f'stance.{joint}.position': value for joint, value in robot.start.items()}


def simulator_values(robot):
    """Return those of the simulator."""
    values = {
        'pace': 'patient', 'floor': True, 'friction': _FRICTION,
        'initial_base_pose': [0.0, 0.0, robot.height, 0.0, 0.0, 0.0, 1.0],
        'odom_noise': [0.002, 0.003, 0.03, 0.02], 'odom_delay': 0.002,
        'shapes': list(robot.shapes)}
    return values | {f'{link}.size': list(size) for link, size in robot.shapes.items()}
