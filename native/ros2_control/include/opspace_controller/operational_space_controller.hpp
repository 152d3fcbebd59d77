// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// A saved servo as a chainable controller of ros2_control: efforts out, joints' states in, and
// goals of tasks from a controller before it, from the controller node, or without it from topics.

#ifndef OPSPACE_CONTROLLER__OPERATIONAL_SPACE_CONTROLLER_HPP_
#define OPSPACE_CONTROLLER__OPERATIONAL_SPACE_CONTROLLER_HPP_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "geometry_msgs/msg/pose_stamped.hpp"
#include "opspace_controller/joint_servo.hpp"
#include "opspace_controller/mailbox.hpp"
#include "opspace_controller/node_link.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_msgs/msg/string.hpp"
#include "std_srvs/srv/trigger.hpp"

namespace opspace_controller {

class OperationalSpaceController : public controller_interface::ChainableControllerInterface {
 public:
  controller_interface::CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State&) override;
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State&) override;
  controller_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State&) override;
  controller_interface::CallbackReturn on_cleanup(const rclcpp_lifecycle::State&) override;
  controller_interface::CallbackReturn on_error(const rclcpp_lifecycle::State&) override;

 protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() override;
  controller_interface::return_type update_reference_from_subscribers(
      const rclcpp::Time&, const rclcpp::Duration&) override;
  controller_interface::return_type update_and_write_commands(
      const rclcpp::Time& time, const rclcpp::Duration&) override;

 private:
  using Pose = geometry_msgs::msg::PoseStamped;

  // What the loop tells the thread of the node.
  struct News {
    std::int64_t fault, dof, trip;
    std::uint64_t faults, missed, refused;
    bool lost;
  };

  void make_topics();
  void listen(const std::string& task);
  void on_goal(const std::string& task, const Pose& message, Mailbox<Goal>& goals);
  void report();
  static double steady_time() noexcept;
  bool find_interfaces();
  void read_references() noexcept;
  bool read_state() noexcept;
  bool write_efforts(bool released) noexcept;
  void release();

  std::unique_ptr<NodeLink> link_;  // none without a controller node
  std::unique_ptr<JointServo> joints_;
  std::mutex configured_;  // of joints_, for the thread of the node; the loop never takes it
  std::vector<const hardware_interface::LoanedStateInterface*> states_;
  std::vector<hardware_interface::LoanedCommandInterface*> commands_;

  // Between the loop and the thread of the node.
  std::vector<std::shared_ptr<Mailbox<Goal>>> goals_;
  Mailbox<News> news_;
  std::atomic<bool> hold_{false};
  News told_{};      // by the loop
  News reported_{};  // by the thread of the node

  std::vector<rclcpp::Subscription<Pose>::SharedPtr> subscriptions_;
  rclcpp::Publisher<std_msgs::msg::String>::SharedPtr trip_;
  rclcpp::Service<std_srvs::srv::Trigger>::SharedPtr service_;
  rclcpp::TimerBase::SharedPtr timer_;
};

}  // namespace opspace_controller

#endif  // OPSPACE_CONTROLLER__OPERATIONAL_SPACE_CONTROLLER_HPP_
