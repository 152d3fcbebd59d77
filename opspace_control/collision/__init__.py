# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Distances of convex shapes on the links of a robot and in its world.

A ModelError names the shape, link or pair that cannot be used, and the cure.
"""

from opspace_control.collision.description import CollisionDescription
from opspace_control.collision.model import CollisionModel, Separation
from opspace_control.collision.shapes import Kind, Shape

__all__ = ['CollisionDescription', 'CollisionModel', 'Kind', 'Separation', 'Shape']
