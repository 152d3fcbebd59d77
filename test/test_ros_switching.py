# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Who must let go of the joints, and who gets them back."""

from types import SimpleNamespace

import pytest

from opspace_control.ros.commands.switching import Switch, give_back, take_over

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
    'names that begin alike': (
        [rival('effort_left', 'c/effort'), rival('a', 'd/effort'), rival('d', 'd/effort'), ours()],
        ['effort'], []),
}


@pytest.mark.parametrize(('controllers', 'on', 'off'), SCENES.values(), ids=SCENES)
def test_takes_what_it_needs_and_no_more(controllers, on, off):
    switch = take_over(controllers, 'effort')
    assert sorted(switch.activate) == sorted(on)
    assert sorted(switch.deactivate) == sorted(off)
    assert not any(take_over(switched(controllers, switch), 'effort'))


@pytest.mark.parametrize('controllers', [scene for scene, *_ in SCENES.values()], ids=SCENES)
def test_giving_back_restores_what_was(controllers):
    taken = take_over(controllers, 'effort')
    after = switched(controllers, taken)
    restored = switched(after, give_back(after, 'effort', taken))
    assert restored == switched(controllers, Switch([], []))


def test_giving_back_leaves_alone_what_others_changed():
    controllers = [rival('position', 'a/position'), rival('velocity', 'a/velocity', state=INACTIVE),
                   ours()]
    taken = take_over(controllers, 'effort')
    usurped = switched(controllers, Switch(['velocity'], ['position', 'effort']))
    assert give_back(usurped, 'effort', taken) == Switch([], [])
    unloaded = [each for each in switched(controllers, taken) if each.name != 'position']
    assert give_back(unloaded, 'effort', taken) == Switch([], ['effort'])
    assert give_back(controllers[:2], 'effort', taken) == Switch([], [])


def test_a_switch_that_went_half_way_is_undone():
    """The manager deactivates first; what it could not activate then leaves nobody in charge."""
    controllers = [rival('position', 'a/position'), ours()]
    taken = take_over(controllers, 'effort')
    half = switched(controllers, Switch([], ['position']))
    assert give_back(half, 'effort', taken) == Switch(['position'], [])


def test_nobody_gets_back_the_joints_that_a_fallback_controller_has():
    """Position and effort of a joint are different interfaces: the manager would allow it."""
    controllers = [rival('trajectory', 'a/position'), ours()]
    taken = take_over(controllers, 'effort')
    stepped_in = [*switched(controllers, Switch([], ['trajectory'])), fallback('hold', 'b/effort')]
    assert give_back(stepped_in, 'effort', taken) == Switch([], [])
