# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Who must let go of the joints, and who gets them back."""

from types import SimpleNamespace

import pytest

from opspace_control.ros.commands.switching import (
    PreviousControllers,
    Switch,
    activation_of,
    reversal_of,
    rivals,
)

ACTIVE, INACTIVE = 'active', 'inactive'


def controller(name, *interfaces, state=INACTIVE):
    return SimpleNamespace(
        name=name, state=state, is_chainable=name in ('limiter', 'pid', 'trajectory'),
        required_command_interfaces=list(interfaces),
        claimed_interfaces=list(interfaces) if state == ACTIVE else [])


def ours(state=INACTIVE):
    return controller('effort', 'a/effort', 'b/effort', state=state)


def switched(controllers, switch):
    """Return the controllers after a switch."""
    state = {**dict.fromkeys(switch.activate, ACTIVE), **dict.fromkeys(switch.deactivate, INACTIVE)}
    return [controller(each.name, *each.required_command_interfaces,
                       state=state.get(each.name, each.state)) for each in controllers]


def rival(name, *interfaces, state=ACTIVE):
    return controller(name, *interfaces, state=state)


def fallback(name, *interfaces):
    controller = rival(name, *interfaces)
    controller.claimed_interfaces = []
    return controller


BROADCASTER = rival('joint_state_broadcaster')
SCENES = {
    'alone': ([BROADCASTER, ours()], ['effort'], []),
    'same interface': ([rival('other', 'b/effort', 'c/effort'), ours()], ['effort'], ['other']),
    'same joint': ([rival('position', 'a/position'), ours()], ['effort'], ['position']),
    'other joints': ([rival('position', 'c/position'), ours()], ['effort'], []),
    'not active': ([rival('position', 'a/position', state=INACTIVE), ours()], ['effort'], []),
    'active already': ([ours(ACTIVE)], [], []),
    'active beside a rival': (
        [ours(ACTIVE), rival('position', 'a/position')], [], ['position']),
    'rival is commanded through references': (
        [rival('pid', 'a/effort'), rival('trajectory', 'pid/a/position'),
         rival('admittance', 'trajectory/a/position'), rival('far', 'c/effort'), ours()],
        ['effort'], ['pid', 'trajectory', 'admittance']),
    'ours commands references': (
        [controller('limiter', 'a/effort'), controller('effort', 'limiter/a/effort'),
         rival('position', 'a/position')], ['effort', 'limiter'], ['position']),
    'ours commands references of who is active': (
        [rival('limiter', 'a/effort'), controller('effort', 'limiter/a/effort')], ['effort'], []),
    "references we need are another one's": (
        [rival('limiter', 'a/effort'), controller('effort', 'limiter/a/effort'),
         rival('other', 'limiter/a/effort')], ['effort'], ['other']),
    # The manager has not noted what it claims: nobody asked for it, it stepped in for another.
    'a fallback controller': (
        [fallback('hold', 'a/position'), fallback('park', 'hold/a/position'), ours()],
        ['effort'], ['hold', 'park']),
    'ours is commanded through references': (
        [ours(ACTIVE), rival('planner', 'effort/a/effort')], [], ['planner']),
    'names that begin alike': (
        [rival('effort_left', 'c/effort'), rival('a', 'd/effort'), rival('d', 'd/effort'), ours()],
        ['effort'], []),
}


@pytest.mark.parametrize(('controllers', 'on', 'off'), SCENES.values(), ids=SCENES)
def test_takes_what_it_needs_and_no_more(controllers, on, off):
    switch = activation_of(controllers, 'effort')
    assert sorted(switch.activate) == sorted(on)
    assert sorted(switch.deactivate) == sorted(off)
    assert not any(activation_of(switched(controllers, switch), 'effort'))


@pytest.mark.parametrize('controllers', [scene for scene, *_ in SCENES.values()], ids=SCENES)
def test_giving_back_restores_what_was(controllers):
    done = activation_of(controllers, 'effort')
    after = switched(controllers, done)
    restored = switched(after, reversal_of(after, 'effort', done))
    assert restored == switched(controllers, Switch([], []))


def test_what_is_not_loaded_takes_nothing():
    assert activation_of([BROADCASTER, rival('position', 'a/position')], 'effort') == ([], [])


def test_giving_back_leaves_alone_what_others_changed():
    controllers = [rival('position', 'a/position'), rival('velocity', 'a/velocity', state=INACTIVE),
                   ours()]
    done = activation_of(controllers, 'effort')
    usurped = switched(controllers, Switch(['velocity'], ['position', 'effort']))
    assert reversal_of(usurped, 'effort', done) == Switch([], [])
    unloaded = [each for each in switched(controllers, done) if each.name != 'position']
    assert reversal_of(unloaded, 'effort', done) == Switch([], ['effort'])
    assert reversal_of(controllers[:2], 'effort', done) == Switch([], [])


def test_a_switch_that_went_half_way_is_undone():
    """The manager deactivates first; what it could not activate then leaves nobody in charge."""
    controllers = [rival('position', 'a/position'), ours()]
    done = activation_of(controllers, 'effort')
    half = switched(controllers, Switch([], ['position']))
    assert reversal_of(half, 'effort', done) == Switch(['position'], [])


def test_nobody_gets_back_the_joints_that_a_fallback_controller_has():
    """Position and effort of a joint are different interfaces: the manager would allow it."""
    controllers = [rival('trajectory', 'a/position'), ours()]
    done = activation_of(controllers, 'effort')
    stepped_in = [*switched(controllers, Switch([], ['trajectory'])), fallback('hold', 'b/effort')]
    assert reversal_of(stepped_in, 'effort', done) == Switch([], [])


@pytest.mark.parametrize(('other', 'interfaces'), [
    (rival('position', 'b/position', 'b/velocity', 'c/position'), ['b/position', 'b/velocity']),
    (rival('planner', 'effort/b/effort', 'effort/c/effort'), ['effort/b/effort',
                                                              'effort/c/effort']),
    (fallback('hold', 'a/position'), ['a/position']),
    (rival('far', 'c/effort'), []),
    (rival('position', 'a/position', state=INACTIVE), []),
])
def test_rivals_command_our_joints_by_any_interface(other, interfaces):
    assert rivals([BROADCASTER, ours(ACTIVE), other], 'effort') == (
        {other.name: interfaces} if interfaces else {})


class TestPreviousControllers:

    def scene(self, **states):
        everything = [rival('position', 'a/position', 'b/position'), rival('left', 'a/velocity'),
                      rival('pid', 'b/effort'), rival('trajectory', 'pid/b/position'), ours()]
        return switched(everything, Switch(
            [name for name, state in states.items() if state == ACTIVE],
            [each.name for each in everything if states.get(each.name, INACTIVE) == INACTIVE]))

    def after(self, *scenes):
        """Return who gets the joints after take-overs in these scenes, and who gives them."""
        previous = PreviousControllers('effort')
        for controllers in scenes:
            previous.note(controllers)
        return previous.hand_back(self.scene(effort=ACTIVE))

    def test_those_before_a_fault_are_due_until_they_have_the_joints(self):
        assert self.after(self.scene(position=ACTIVE), self.scene(effort=ACTIVE)) == (
            ['position'], ['effort'])
        assert self.after(self.scene(position=ACTIVE), self.scene()) == (['position'], ['effort'])

    def test_what_the_user_has_activated_meanwhile_takes_their_place(self):
        assert self.after(self.scene(position=ACTIVE), self.scene(left=ACTIVE)) == (
            ['left'], ['effort'])
        assert self.after(self.scene(left=ACTIVE), self.scene(position=ACTIVE)) == (
            ['position'], ['effort'])

    def test_of_each_joint_by_itself(self):
        chain = self.scene(left=ACTIVE, pid=ACTIVE, trajectory=ACTIVE)
        switch = self.after(chain, self.scene(left=ACTIVE))
        assert sorted(switch.activate) == ['left', 'pid', 'trajectory']

    def test_no_controller_is_activated_without_the_one_that_it_commands(self):
        chain = self.scene(left=ACTIVE, pid=ACTIVE, trajectory=ACTIVE)
        assert self.after(chain, self.scene(position=ACTIVE)).activate == ['position']

    def test_they_are_remembered_while_ours_is_not_loaded(self):
        """A controller manager that was started anew loads one controller after the other."""
        previous = PreviousControllers('effort')
        previous.note(self.scene(position=ACTIVE))
        assert previous.note([BROADCASTER, rival('left', 'a/velocity')]) == ([], [])
        assert previous.hand_back(self.scene(effort=ACTIVE)).activate == ['position']

    def test_once_they_have_the_joints_nothing_is_due(self):
        previous = PreviousControllers('effort')
        previous.note(self.scene(position=ACTIVE))
        previous.forget()
        previous.note(self.scene(effort=ACTIVE))
        assert previous.hand_back(self.scene(effort=ACTIVE)) == ([], [])
