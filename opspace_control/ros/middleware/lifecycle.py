# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Additions to rclpy's lifecycle node."""

from lifecycle_msgs.msg import State


def is_unconfigured(node):
    """Return whether a LifecycleNode is unconfigured."""
    return node._state_machine.current_state[0] == State.PRIMARY_STATE_UNCONFIGURED


def refuse_impossible_transitions(node):
    """
    Let a LifecycleNode answer False to requests for transitions that its state does not have.

    Until after Jazzy rclpy raises an exception for such a request, which ends the process: a late
    activate of another client would stop a robot's controller.
    """
    service = node._service_change_state
    change_state = service.callback

    def answer(request, response):
        wanted = request.transition
        possible = [number for number, *_ in node._state_machine.available_transitions]
        if not wanted.label and wanted.id not in possible:
            node.get_logger().warning(
                f'Transition {wanted.id} is refused: the node is '
                f'{node._state_machine.current_state[1]}.')
            response.success = False
            return response
        return change_state(request, response)
    service.callback = answer
