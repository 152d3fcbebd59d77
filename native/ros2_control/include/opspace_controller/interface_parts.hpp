// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0

#ifndef OPSPACE_CONTROLLER__INTERFACE_PARTS_HPP_
#define OPSPACE_CONTROLLER__INTERFACE_PARTS_HPP_

#include <array>

namespace opspace_controller {

// Of a goal, or of a base, and of a wrench, as other controllers and sensors name them.
inline constexpr std::array<const char*, 13> motion_parts{
    "position.x",        "position.y",        "position.z",        "orientation.x",
    "orientation.y",     "orientation.z",     "orientation.w",     "linear_velocity.x",
    "linear_velocity.y", "linear_velocity.z", "angular_velocity.x", "angular_velocity.y",
    "angular_velocity.z"};
inline constexpr std::array<const char*, 6> wrench_parts{
    "force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z"};

}  // namespace opspace_controller

#endif  // OPSPACE_CONTROLLER__INTERFACE_PARTS_HPP_
