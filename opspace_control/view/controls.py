# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Controls of the page: they show the controlled value, and return to it after a refusal."""

import math
import re
import time

import yaml

_TIMEOUT = 1.0  # s, for which a control keeps the user's value, before it shows the controller's
_MARKS = 200  # of a slider
_TURN = math.pi  # rad or m, end of the slider of a joint without limits
_WIDE = 1000.0  # range of a parameter that a slider does not show whole
_SPAN, _SPAN_AT_ZERO = 4.0, 100.0  # end of the slider then: a multiple of the value, or this


def listen(handle, act, do):
    """Have ``act`` run ``do(value)`` when a viewer, not the program, has changed a control."""
    @handle.on_update
    async def _(event):  # the order of events counts
        if event.client is not None:
            value = event.target.value  # now: the program may set another one before ``act`` runs
            act(lambda: do(value))


def on_click(button, act, do):
    """Have ``act`` run ``do()`` when a viewer presses a button."""
    @button.on_click
    async def _(_event):
        act(do)


class Control:
    """A control of the page, which may be gone by the time that an answer comes."""

    gone, touched = False, 0.0  # when a viewer changed it last, s

    def leave(self):
        """Record that it is no longer on the page."""
        self.gone = True

    @property
    def idle(self):
        """Whether it may show the controller's value."""
        return not self.gone and time.monotonic() - self.touched > _TIMEOUT


class Switch(Control):
    """
    A check box that calls a service.

    ``act`` runs a function in the thread of the node, ``ask(on, answered)`` calls the service and
    then ``answered(success, text)``; ``say`` shows a text to all viewers.
    """

    def __init__(self, gui, label, hint, act, ask, say, on=True):
        self._label, self._ask, self._say = label, ask, say
        self._box = gui.add_checkbox(label, on, hint=hint)
        listen(self._box, act, self._on_touch)

    def follow(self, on):
        """Show whether it is on."""
        if self.idle:
            self._box.value = bool(on)

    def _on_touch(self, on):
        self.touched = time.monotonic()

        def answered(success, text):
            if not success:
                self._say(f'{self._label}: {text or "refused"}')
                if not self.gone:
                    self._box.value = not on
        self._ask(on, answered)


class JointSlider(Control):
    """A slider of a joint's position, rad or m, in the posture or in a task of joints."""

    def __init__(self, gui, joint, lower, upper, act, send):
        self._lower, self._upper = max(lower, -_TURN), min(upper, _TURN)
        self._send = send
        self._slider = gui.add_slider(
            joint, self._lower, self._upper, (self._upper - self._lower) / 1000.0,
            self._inside(0.0), hint='Target of this joint, rad or m.')
        listen(self._slider, act, self._on_touch)

    def follow(self, position):
        """Show a position, rad or m."""
        if self.idle:
            self._slider.value = self._inside(round(float(position), 3))

    def _inside(self, position):
        return min(max(position, self._lower), self._upper)

    def _on_touch(self, position):
        self.touched = time.monotonic()
        self._send(position)


class ParameterControl(Control):
    """
    A control of a parameter: a slider, a check box, or a field for what is no single number.

    A slider sends its value while it is dragged, no faster than the node answers.
    """

    def __init__(self, gui, parameters, name, label, act, say):
        self._parameters, self._name, self._say = parameters, name, say
        self._wanted, self._typed, self._requested = None, None, False
        value, descriptor = parameters.values[name], parameters.descriptors[name]
        hint, label = descriptor.description, _with_unit(label, descriptor.description)
        if isinstance(value, bool):
            self._control = gui.add_checkbox(label, value, hint=hint)
        elif _is_number(value):
            low, high = _slider_range(value, descriptor)
            step = 10.0 ** math.floor(math.log10((high - low) / _MARKS))
            self._control = gui.add_slider(label, low, high, step, value, hint=hint)
        else:
            self._control = gui.add_text(label, _text(value), hint=hint)
        listen(self._control, act, self._on_touch)

    def follow(self):
        """Show the present value, unless a viewer is changing it; to be called often."""
        if self.idle and not self._requested:
            if self._typed is None:
                self._show()
            else:
                self._parse()

    def _show(self):
        value = self._parameters.values[self._name]
        shown = self._control.value
        if isinstance(shown, str):
            value = _text(value)
        elif not isinstance(value, type(shown)):
            return  # an array where there was a number: the next page has a field for it
        elif _is_number(value):
            self._control.max = max(self._control.max, value)
        self._control.value = value

    def _on_touch(self, value):
        self.touched = time.monotonic()
        if isinstance(value, str):
            self._typed = value  # a letter at a time: wait for the others
        else:
            self._wanted = value
            self._send()

    def _parse(self):
        """Send the value that was typed."""
        typed, self._typed = self._typed, None
        try:
            self._wanted = _like(self._parameters.values[self._name], yaml.safe_load(typed))
        except (ValueError, TypeError, yaml.YAMLError):
            self._say(f'{self._name}: {typed!r} cannot be understood.')
            self._show()
        self._send()

    def _send(self):
        if self._requested or self._wanted is None:
            return
        value, self._wanted = self._wanted, None
        self._requested = True

        def answered(reason):
            self._requested = False
            if reason:
                self._say(reason)
            if not self.gone:
                if reason:
                    self._show()
                self._send()
        self._parameters.set(self._name, value, answered)


def changeable(parameters, prefix=''):
    """Return the names of the parameters of a prefix that may be changed while the node runs."""
    return [name for name, descriptor in parameters.descriptors.items()
            if name.startswith(prefix) and not descriptor.read_only
            and not name.startswith(('qos_overrides.', 'start_type_description_service'))]


def _with_unit(label, description):
    """Return a label with the unit that stands in brackets at the end of a description."""
    unit = re.search(r' \[([^\[\]]+)\](?= One of: |$)', description)
    return f'{label}, {unit.group(1)}' if unit else label


def _is_number(value):
    return isinstance(value, float) and math.isfinite(value)


def _slider_range(value, descriptor):
    """Return the ends of a slider: near the value, where the range of the parameter is wide."""
    ranges = descriptor.floating_point_range
    low, high = (ranges[0].from_value, ranges[0].to_value) if ranges else (-math.inf, math.inf)
    if high - low <= _WIDE:
        return low, high
    span = _SPAN * value if value > 0.0 else _SPAN_AT_ZERO
    return max(low, -span), min(high, span)


def _text(value):
    """Return a value as YAML has it, in one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=math.inf).split('\n')[0]


def _like(present, value):
    """Return a value of YAML in the type of the present one: 1 where there is 1.0 is 1.0."""
    if isinstance(present, list) and isinstance(value, list):
        return [type(present[0])(each) for each in value] if present else value
    if isinstance(present, list) and isinstance(value, (int, float)):
        return float(value)  # one gain for all axes
    if isinstance(present, float) and isinstance(value, list):
        return [float(each) for each in value]
    return type(present)(value)
