// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// Hardware whose robot another process simulates, in lock-step with the controller manager. Each
// read sends the manager's time, s, and all commands to the socket of the parameter `socket`, and
// waits for all states. Commands and states, doubles, are in the order of the URDF: those of
// joints, then those of sensors.

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "hardware_interface/system_interface.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace opspace_stepped_hardware {

using hardware_interface::CallbackReturn;
using hardware_interface::return_type;

class SteppedHardware : public hardware_interface::SystemInterface {
 public:
  ~SteppedHardware() override {
    if (socket_ >= 0) close(socket_);
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State&) override {
    const auto collect = [this](const auto& components) {
      for (const auto& component : components) {
        for (const auto& one : component.state_interfaces) {
          states_.push_back(component.name + "/" + one.name);
        }
        for (const auto& one : component.command_interfaces) {
          commands_.push_back(component.name + "/" + one.name);
        }
      }
    };
    states_.clear();
    commands_.clear();
    collect(info_.joints);
    collect(info_.sensors);
    received_.resize(states_.size());
    sent_.resize(1 + commands_.size());
    return join(info_.hardware_parameters.at("socket")) ? CallbackReturn::SUCCESS
                                                        : CallbackReturn::ERROR;
  }

  return_type read(const rclcpp::Time& time, const rclcpp::Duration&) override {
    sent_[0] = time.seconds();
    for (std::size_t k = 0; k < commands_.size(); ++k) sent_[1 + k] = get_command(commands_[k]);
    const auto size = static_cast<ssize_t>(received_.size() * sizeof(double));
    if (send(socket_, sent_.data(), sent_.size() * sizeof(double), MSG_NOSIGNAL) < 0 ||
        recv(socket_, received_.data(), received_.size() * sizeof(double), 0) != size) {
      return return_type::ERROR;
    }
    for (std::size_t k = 0; k < states_.size(); ++k) set_state(states_[k], received_[k]);
    return return_type::OK;
  }

  return_type write(const rclcpp::Time&, const rclcpp::Duration&) override {
    return return_type::OK;
  }

 private:
  bool join(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) return false;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const timeval longest{5, 0};
    return socket_ >= 0 &&
           setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest)) == 0 &&
           connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }

  int socket_ = -1;
  std::vector<std::string> states_, commands_;
  std::vector<double> received_, sent_;
};

}  // namespace opspace_stepped_hardware

PLUGINLIB_EXPORT_CLASS(opspace_stepped_hardware::SteppedHardware,
                       hardware_interface::SystemInterface)
