# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The ROS 2 nodes: controller, command watchdog, simulator, goal markers.

Their messages, endpoints and processes are in `middleware`; parameters, and what is built from
them, in `parameters`; the way from joint state to effort in `cycle`; where efforts go in
`commands`; goals and feedback in `topics`; the simulator in `simulated`; clients in `clients`.
"""
