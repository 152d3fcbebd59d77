// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// What runs in the loop of the controller manager: nothing here allocates, locks or logs.

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>

#include "opspace_controller/interface_parts.hpp"
#include "opspace_controller/operational_space_controller.hpp"

namespace opspace_controller {
namespace {

using controller_interface::return_type;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// Return the value of an interface, NaN for one without, and note one that is busy.
template <typename Interface>
double value_of(const Interface& interface, bool& busy) noexcept {
  try {
    const auto value = interface.get_optional();
    busy = busy || !value.has_value();
    return value.value_or(unknown);
  } catch (const std::exception&) {
    return unknown;
  }
}

}  // namespace

double OperationalSpaceController::steady_time() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

return_type OperationalSpaceController::update_reference_from_subscribers(
    const rclcpp::Time&, const rclcpp::Duration&) {
  const bool tripped = joints_->servo().trip() != opspace::Servo::no_trip;
  for (std::size_t k = 0; k < goals_.size(); ++k) {
    Goal goal{};
    if (goals_[k]->read(goal) && !tripped) joints_->set_goal(k, goal);
  }
  return return_type::OK;
}

void OperationalSpaceController::read_references() noexcept {
  bool busy = false;
  auto reference = ordered_exported_reference_interfaces_.cbegin();
  for (std::size_t k = 0; k < joints_->tasks().size(); ++k) {
    std::array<double, motion_parts.size()> numbers{};
    for (double& number : numbers) number = value_of(**reference++, busy);
    Goal goal{};
    std::copy(numbers.begin(), numbers.begin() + 3, goal.position);
    std::copy(numbers.begin() + 3, numbers.begin() + 7, goal.quaternion);
    std::copy(numbers.begin() + 7, numbers.end(), goal.twist);
    joints_->set_goal(k, goal);
  }
}

// Return whether a state has come: an interface that another thread has is one without a state.
bool OperationalSpaceController::read_state() noexcept {
  bool busy = false;
  auto state = states_.cbegin();
  for (std::size_t k = 0; k < joints_->measured().size(); ++k, state += 2) {
    joints_->set_state(k, value_of(*state[0], busy), value_of(*state[1], busy));
  }
  if (joints_->has_base()) {
    double base[13];
    for (double& number : base) number = value_of(**state++, busy);
    joints_->set_base(base);
  }
  if (busy) return false;
  for (std::size_t k = 0; k < joints_->sensors().size(); ++k, state += 6) {
    double wrench[6];
    for (std::size_t r = 0; r < 6; ++r) wrench[r] = value_of(*state[static_cast<long>(r)], busy);
    joints_->set_wrench(k, wrench);
  }
  return true;
}

bool OperationalSpaceController::write_efforts(bool released) noexcept {
  bool written = true;
  for (std::size_t k = 0; k < commands_.size(); ++k) {
    try {
      written = commands_[k]->set_value(released ? 0.0 : joints_->effort(k)) && written;
    } catch (const std::exception&) {
      written = false;
    }
  }
  return written;
}

return_type OperationalSpaceController::update_and_write_commands(const rclcpp::Time& time,
                                                                  const rclcpp::Duration&) {
  opspace::Servo& servo = joints_->servo();
  const double now = steady_time();
  const News before = told_;
  if (link_) link_->begin(now);  // references replace goals of the node
  if (hold_.exchange(false, std::memory_order_relaxed)) servo.hold();
  if (is_in_chained_mode()) read_references();
  const bool read = read_state();
  const opspace::Result result = link_  ? link_->cycle(read, time.nanoseconds(), now)
                                 : read ? servo.cycle(time.nanoseconds(), now)
                                        : servo.watch(now);
  if (link_) link_->end();
  const bool written = result == opspace::Result::early || write_efforts(false);
  told_.trip = servo.trip();
  told_.missed += !(read && written);
  if (servo.news()) {
    ++told_.faults;
    told_.fault = servo.fault();
    told_.dof = servo.dof();
  }
  if (link_) {
    told_.lost = link_->lost();
    told_.refused = link_->refused();
  }
  if (servo.news() || told_.trip != before.trip || told_.missed != before.missed ||
      told_.lost != before.lost || told_.refused != before.refused) {
    news_.write(told_);
  }
  return link_ && link_->ended() ? return_type::ERROR : return_type::OK;
}

}  // namespace opspace_controller
