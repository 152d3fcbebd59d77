// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// Joints that stand still. The position of the first one carries a mark, a small random number in
// each cycle, so that the efforts tell which state they are of. What cycles read and wrote, and
// when, goes to the file that OPSPACE_MARKS names, when the hardware ends: times in ns of a steady
// clock, mark in rad, effort of the first joint in N m.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "hardware_interface/system_interface.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace opspace_marked_hardware {

using hardware_interface::CallbackReturn;
using hardware_interface::return_type;

class MarkedHardware : public hardware_interface::SystemInterface {
 public:
  ~MarkedHardware() override {
    const char* const path = std::getenv("OPSPACE_MARKS");
    std::FILE* const file = path ? std::fopen(path, "w") : nullptr;
    if (!file) return;
    for (const Cycle& cycle : cycles_) {
      std::fprintf(file, "%lld %lld %.17g %.17g\n", static_cast<long long>(cycle.read),
                   static_cast<long long>(cycle.written), cycle.mark, cycle.effort);
    }
    std::fclose(file);
  }

  CallbackReturn on_init(
      const hardware_interface::HardwareComponentInterfaceParams& parameters) override {
    cycles_.reserve(1000000);
    return SystemInterface::on_init(parameters);
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State&) override {
    for (const auto& joint : info_.joints) {
      for (const auto& state : joint.state_interfaces) {
        set_state(joint.name + "/" + state.name,
                  state.initial_value.empty() ? 0.0 : std::stod(state.initial_value));
      }
    }
    name_ = info_.joints[0].name;
    start_ = get_state(name_ + "/" + hardware_interface::HW_IF_POSITION);
    return CallbackReturn::SUCCESS;
  }

  return_type read(const rclcpp::Time&, const rclcpp::Duration&) override {
    now_ = {steady(), 0, amplitude * (2.0 * uniform_(engine_) - 1.0), 0.0};
    set_state(name_ + "/" + hardware_interface::HW_IF_POSITION, start_ + now_.mark);
    return return_type::OK;
  }

  return_type write(const rclcpp::Time&, const rclcpp::Duration&) override {
    now_.effort = get_command(name_ + "/" + hardware_interface::HW_IF_EFFORT);
    now_.written = steady();
    if (cycles_.size() < cycles_.capacity()) cycles_.push_back(now_);
    return return_type::OK;
  }

 private:
  struct Cycle {
    std::int64_t read, written;
    double mark, effort;
  };
  static constexpr double amplitude = 1e-4;  // rad, far below what trips

  static std::int64_t steady() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  std::vector<Cycle> cycles_;
  Cycle now_{};
  std::string name_;
  double start_ = 0.0;
  std::mt19937 engine_{1};
  std::uniform_real_distribution<double> uniform_{0.0, 1.0};
};

}  // namespace opspace_marked_hardware

PLUGINLIB_EXPORT_CLASS(opspace_marked_hardware::MarkedHardware, hardware_interface::SystemInterface)
