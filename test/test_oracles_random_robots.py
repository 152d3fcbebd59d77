# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The dynamics of robots made by hypothesis: any tree, every joint type, brakes, both bases."""

from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assert_agrees, pinocchio_oracle
from random_robots import robots
from samples import random_state

from opspace_control import RobotModel


@st.composite
def frames_and_brakes(draw, urdf, floating_base):
    """Draw one to three frames, links at random and not always different, and locked joints."""
    model = RobotModel.from_urdf(urdf, floating_base=floating_base)
    frames = draw(st.lists(st.sampled_from(model.frame_names), min_size=1, max_size=3))
    locked = draw(st.lists(st.sampled_from(model.joint_names), unique=True,
                           max_size=len(model.joint_names) // 3))
    return frames, tuple(locked)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.data(), robots(), st.booleans(), st.integers(0, 2**32 - 1))
def test_everything_agrees(data, urdf, floating_base, seed):
    frames, locked = data.draw(frames_and_brakes(urdf, floating_base))
    model = RobotModel.from_urdf(urdf, floating_base=floating_base, locked_joints=locked)
    state = random_state(model, seed)
    assert_agrees(model, state, frames, pinocchio_oracle(model, urdf, state, frames))
