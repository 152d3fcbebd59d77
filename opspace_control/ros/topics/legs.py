# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Locomotion of the controller node: cmd_vel, gaits, and the trip of a robot that has fallen."""

import math

import numpy as np
from geometry_msgs.msg import Twist, TwistStamped

from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import RosInterfaceError, SafetyError
from opspace_control.locomotion import Locomotion, Stepping
from opspace_control.locomotion.footholds import rotate_about_z
from opspace_control.locomotion.trunk import LEVEL, VELOCITY, set_standing, set_support
from opspace_control.ros.middleware.conversions import nanoseconds, six_from_message
from opspace_control.ros.middleware.endpoints import RELIABLE, Part
from opspace_control.ros.parameters import joints
from opspace_control.ros.parameters.leg_parameters import EXTERNAL, STAND, STEPPING
from opspace_control.safety.envelope import LONGEST_STEP
from opspace_control.safety.supervisor import FALLEN
from opspace_control.spatial.rotations import yaw_of

# Greatest distance of a foot from its place, in parts of the height, to stand up with.
_FEET_BELOW = 0.3
# Greatest distance of a joint from its position in the stance, rad; legs are folded by half a turn.
_FOLDED = 1.4
_PLANAR = [0, 1, 5]  # of a twist: ahead, to the left, yaw rate


class Legs(Part):
    """
    ``cmd_vel``, by which a `Locomotion` sets goals and contacts before each cycle.

    Without ``legs.feet`` there is none, and nothing is done. ``external`` is whether another gait
    sets them, by topics.
    """

    def __init__(self, parameters, *common):
        super().__init__(*common)
        self._locomotion, self._last = None, math.inf
        self._gait = self._set = STAND  # as the parameter says, and as the robot was told
        self._command, self._heard, self._begins = np.zeros(3), -math.inf, True
        if not parameters['legs.feet']:
            return
        self._posture = joints.standing_posture(self._controller.model, parameters)
        self._locomotion = Locomotion(self._controller, parameters['legs.feet'], self._posture)
        velocity = self._controller.tasks[VELOCITY]
        self._gains = velocity.kp, velocity.kd  # of a robot that steps
        if parameters['legs.cmd_vel_stamped']:
            self._endpoints.listen(TwistStamped, 'cmd_vel', self._on_stamped, RELIABLE)
        else:
            self._endpoints.listen(Twist, 'cmd_vel', self._on_command, RELIABLE)
        self.apply(parameters)

    external = property(lambda self: self._gait == EXTERNAL)
    present = property(lambda self: self._locomotion is not None, doc='Whether the robot has legs.')

    def apply(self, parameters):
        """Apply the present values of parameters."""
        if not self.present:
            return
        before, self._gait = self._gait, parameters['legs.gait']
        self._timeout = parameters['legs.cmd_vel_timeout']
        self._fastest = np.array(parameters['legs.max_velocity'])
        self._most = (parameters['legs.max_tilt'],
                      parameters['legs.max_drop'] * self._locomotion.stance.height)
        self._locomotion.stepping = Stepping(**{
            row.name.rpartition('.')[2]: parameters[row.name] for row in STEPPING})
        if EXTERNAL in (before, self._gait) and before != self._gait:
            self._cycle.soon(self._hand_over if self.external else self.restart)

    def check(self, gait):
        """Raise an OpspaceError if the robot cannot change to a gait of this name now."""
        if not self.present:
            if gait != STAND:
                raise RosInterfaceError('The robot has no legs.', cure='Give legs.feet.')
            return
        moves = self._is_active() and not self._locomotion.standing
        if gait == EXTERNAL and moves:
            raise RosInterfaceError('The robot steps.', cure="Set legs.gait to 'stand' first.")
        if gait not in (STAND, EXTERNAL) and moves:
            self._locomotion.check_gait(gait)

    def check_free(self, name):
        """Raise a RosInterfaceError if the gait sets the task or contact of this name."""
        if self.present and not self.external and name in (LEVEL, VELOCITY, *self._locomotion.feet):
            raise RosInterfaceError(f"The gait sets '{name}'.", name=name,
                                    cure="Set legs.gait to 'external', or send cmd_vel.")

    def set_support(self):
        """Let the trunk's tasks control what feet with engaged contacts can, for another gait."""
        if self.present:
            controller = self._controller
            feet = [foot for foot in self._locomotion.feet if controller.constraints[foot].closed]
            poses = controller.model.forward_kinematics(self._cycle.state, feet)
            set_support(controller.tasks[LEVEL], controller.tasks[VELOCITY],
                        [poses[foot][:3, 3] for foot in feet])

    def stop(self):
        """Stop and stand after the present steps, until the next cmd_vel, as without cmd_vel."""
        self._heard = -math.inf

    def restart(self):
        """Stand where the feet are, until the next cmd_vel."""
        if self.present:
            self._last, self._heard, self._set = math.inf, -math.inf, STAND
            self._begins = True
            with self._cycle.ramps.smoothly():  # which tells which tasks are enabled
                self._locomotion.restart()

    def _hand_over(self):
        """Have the trunk's velocity controlled, and not its place, for another gait's goals."""
        set_standing(self._controller.tasks[VELOCITY], *self._gains, standing=False)

    def advance(self, time):
        """
        Set goals and contacts for the cycle of a state at a time, ns.

        A SafetyError FALLEN says that the trunk is tilted, or too low.
        """
        if not self.present:
            return
        walk, state = self._locomotion, self._cycle.state
        if self._begins:
            (self.set_support if self.external else self._check_posture)()
        self._begins = False
        if not self.external:
            # A first joint state without a stamp has another clock than the next one.
            dt = min(max(1e-9 * (time - self._last), 0.0), LONGEST_STEP)
            self._last = time
            self._choose(1e-9 * (time - self._heard))
            walk.update(state, dt)
        tilt, drop = walk.deviation(state)
        if tilt > self._most[0]:
            raise SafetyError(FALLEN, f'The trunk is tilted by {tilt:.2f} rad.', value=tilt)
        if drop > self._most[1] and not self.external:
            raise SafetyError(FALLEN, f'The trunk is {drop:.2f} m below its goal.', value=drop)

    def _check_posture(self):
        """Raise a SafetyError FALLEN if the legs are not folded, the feet not below the trunk."""
        state = self._cycle.state
        for joint, position in self._posture.items():
            away = abs(state.q[state.model.q_index[state.model.dof_index(joint)]] - position)
            if away > _FOLDED:
                raise SafetyError(FALLEN, f"'{joint}' is {away:.2f} rad from where it is when the "
                                  'robot stands.', joint=joint, value=away)
        stance, feet = self._locomotion.stance, self._locomotion.feet
        poses = self._controller.model.forward_kinematics(state, feet)
        away = stance.excursions(state.q[:3], rotate_about_z(yaw_of(state.q[3:7])), np.array(
            [poses[foot][:3, 3] for foot in feet])).max()
        if away > _FEET_BELOW * stance.height:
            raise SafetyError(FALLEN, f'A foot is {away:.2f} m from its place below the trunk.',
                              value=away)

    def footholds(self):
        """Return the places (3,), m, world axes, where swinging feet will be put down."""
        if not self.present or self.external:
            return []
        return list(self._locomotion.footholds[~self._locomotion.on_ground])

    def facts(self):
        """Return diagnostics, a dict of text, and no warnings."""
        if not self.present:
            return {}, []
        walk, values = self._locomotion, {'gait': self._gait}
        gait = walk.gait
        if gait != STAND:  # in which it may still make its last steps
            period = gait.period * math.sqrt(walk.stance.height / -GRAVITY[2])
            values |= {'stride [s]': f'{period:.3f}', 'duty factor': f'{gait.duty:.2f}'}
        values['velocity command'] = ' '.join(f'{one:.2f}' for one in walk.velocity)
        return values, []

    def _choose(self, age):
        """Set command and gait, the last cmd_vel being so old, s."""
        walk, moves = self._locomotion, 0.0 <= age <= self._timeout and self._gait != STAND
        walk.command(*(self._command if moves else (0.0,)))
        wanted = self._gait if moves else self._set if walk.velocity.any() else STAND
        if wanted == self._set:
            return
        with self._refusing(f"The gait '{wanted}'"):
            walk.gait = wanted
            self._set = wanted

    def _on_command(self, message):
        with self._refusing('A cmd_vel'):
            twist = six_from_message(message)[_PLANAR]
            self._command = np.clip(twist, -self._fastest, self._fastest)
            self._heard = self._cycle.time

    def _on_stamped(self, message):
        stamp = nanoseconds(message.header.stamp)
        late = 1e-9 * (self._cycle.time - stamp)
        with self._refusing('A cmd_vel'):
            if stamp and abs(late) > self._timeout:
                raise RosInterfaceError(
                    f'it is {abs(late):.2f} s {"older" if late > 0.0 else "newer"} than the joint '
                    'states.', cure='Leave its time stamp empty, or use their clock.', value=late)
            self._on_command(message.twist)
