// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0

#include "opspace_controller/operational_space_controller.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "lifecycle_msgs/msg/state.hpp"
#include "opspace_controller/interface_parts.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace opspace_controller {
namespace {

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;

constexpr std::chrono::milliseconds report_period(50);
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

CallbackReturn OperationalSpaceController::on_init() {
  auto_declare<std::string>("block", "");
  auto_declare<std::string>("library", "");
  auto_declare<std::vector<std::string>>("joints", {});
  auto_declare<std::string>("memory", "");
  auto_declare<std::vector<std::string>>("sensors", {});
  auto_declare<std::string>("base", "");
  auto_declare<std::string>("imu", "");
  return CallbackReturn::SUCCESS;
}

InterfaceConfiguration OperationalSpaceController::command_interface_configuration() const {
  InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
  for (const auto& joint : joints_->driven()) {
    wanted.names.push_back(joint + "/" + hardware_interface::HW_IF_EFFORT);
  }
  return wanted;
}

InterfaceConfiguration OperationalSpaceController::state_interface_configuration() const {
  InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
  for (const auto& joint : joints_->measured()) {
    wanted.names.push_back(joint + "/" + hardware_interface::HW_IF_POSITION);
    wanted.names.push_back(joint + "/" + hardware_interface::HW_IF_VELOCITY);
  }
  if (joints_->has_base()) {
    const std::string base = get_node()->get_parameter("base").as_string();
    const std::string imu = get_node()->get_parameter("imu").as_string();
    for (const std::string part : motion_parts) {
      const bool turns = part.rfind("orientation", 0) == 0 || part.rfind("angular", 0) == 0;
      wanted.names.push_back((turns && !imu.empty() ? imu : base) + "/" + part);
    }
  }
  for (const auto& sensor : joints_->sensors()) {
    for (const char* part : wrench_parts) wanted.names.push_back(sensor + "/" + part);
  }
  return wanted;
}

CallbackReturn OperationalSpaceController::on_configure(const rclcpp_lifecycle::State&) {
  const auto node = get_node();
  const std::string block = node->get_parameter("block").as_string();
  const std::string library = node->get_parameter("library").as_string();
  if (block.empty() || library.empty()) {
    RCLCPP_ERROR(node->get_logger(),
                 "The parameter '%s' is empty. Give the path of %s, which 'opspace export' writes.",
                 block.empty() ? "block" : "library",
                 block.empty() ? "robot.block" : "libopspace_kernels.so");
    return CallbackReturn::FAILURE;
  }
  const std::scoped_lock lock(configured_);
  const std::string memory = node->get_parameter("memory").as_string();
  const auto sensors = node->get_parameter("sensors").as_string_array();
  joints_.reset();  // its block is in the memory of the link
  link_.reset();
  try {
    if (!memory.empty()) link_ = std::make_unique<NodeLink>(memory);
    opspace::Place place;
    if (link_) place = [this](std::size_t size) { return link_->place(size); };
    joints_ = std::make_unique<JointServo>(block, library,
                                           node->get_parameter("joints").as_string_array(), place);
    if (joints_->has_base() == node->get_parameter("base").as_string().empty()) {
      throw std::runtime_error(
          joints_->has_base()
              ? "base: the robot has a floating base. Name the component whose state interfaces "
                "have its pose and twist, or take the topic route."
              : "base: the robot has no floating base. Leave it empty.");
    }
    if (!joints_->has_base() && !node->get_parameter("imu").as_string().empty()) {
      throw std::runtime_error("imu: the robot has no floating base. Leave it empty.");
    }
    // Those of the others come by the controller node.
    if (link_ || !sensors.empty()) joints_->take_sensors(sensors);
    if (link_) link_->serve(joints_->servo());
  } catch (const std::exception& error) {
    RCLCPP_ERROR(node->get_logger(), "%s", error.what());
    return CallbackReturn::FAILURE;
  }
  if (!link_) make_topics();
  timer_ = node->create_wall_timer(report_period, [this] { report(); });
  RCLCPP_INFO(node->get_logger(), "%zu joints, tasks: %zu, sensors: %zu, of %s.",
              joints_->driven().size(), joints_->tasks().size(), joints_->sensors().size(),
              block.c_str());
  return CallbackReturn::SUCCESS;
}

// With a controller node goals and trips are on its topics.
void OperationalSpaceController::make_topics() {
  const auto node = get_node();
  goals_.clear();
  subscriptions_.clear();
  for (const auto& task : joints_->tasks()) listen(task);
  trip_ = node->create_publisher<std_msgs::msg::String>("~/trip",
                                                        rclcpp::QoS(1).transient_local());
  service_ = node->create_service<std_srvs::srv::Trigger>(
      "~/hold", [this](const std_srvs::srv::Trigger::Request::SharedPtr&,
                       const std_srvs::srv::Trigger::Response::SharedPtr& response) {
        hold_ = response->success =
            get_lifecycle_id() == lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE;
        response->message = response->success ? "" : "The controller is not active. Activate it.";
      });
}

void OperationalSpaceController::listen(const std::string& task) {
  const auto goals = std::make_shared<Mailbox<Goal>>();
  goals_.push_back(goals);
  subscriptions_.push_back(get_node()->create_subscription<Pose>(
      "~/" + task + "/target_pose", rclcpp::SystemDefaultsQoS(),
      [this, task, goals](const Pose::ConstSharedPtr& pose) { on_goal(task, *pose, *goals); }));
}

void OperationalSpaceController::on_goal(const std::string& task, const Pose& message,
                                         Mailbox<Goal>& goals) {
  if (!message.header.frame_id.empty()) {
    RCLCPP_WARN_THROTTLE(get_node()->get_logger(), *get_node()->get_clock(), 1000,
                         "The goal of '%s' is in '%s'. Leave header.frame_id empty, and give it in "
                         "the base frame: a plug-in has no TF.",
                         task.c_str(), message.header.frame_id.c_str());
    return;
  }
  const auto& [p, o] = std::tie(message.pose.position, message.pose.orientation);
  goals.write({{p.x, p.y, p.z}, {o.x, o.y, o.z, o.w}, {}});
}

// The loop does not log: what it has to say is said here.
void OperationalSpaceController::report() {
  News news{};
  const std::scoped_lock lock(configured_);
  if (!joints_ || !news_.read(news)) return;
  const auto logger = get_node()->get_logger();
  if (news.faults != reported_.faults && news.faults) {
    const std::string name = joints_->servo().trip_name(news.fault);
    const std::string dof = joints_->dof_name(news.dof);
    RCLCPP_ERROR(logger, "%s%s%s: the robot is braked.", name.c_str(), dof.empty() ? "" : " of ",
                 dof.c_str());
  }
  if (news.missed > reported_.missed) {
    RCLCPP_WARN_THROTTLE(logger, *get_node()->get_clock(), 1000,
                         "Interfaces were busy: states or efforts of %lu cycles are missing.",
                         static_cast<unsigned long>(news.missed));
  }
  if (news.lost && !reported_.lost) {
    RCLCPP_ERROR(logger, "The controller node gives no sign of life: the robot is damped, then "
                         "released. Start the node again.");
  }
  if (news.refused > reported_.refused) {
    RCLCPP_ERROR(logger, "The controller node has sent what fits no block: %lu messages are "
                         "ignored. Restart both.", static_cast<unsigned long>(news.refused));
  }
  if (trip_ && news.trip != reported_.trip) {
    std_msgs::msg::String message;
    message.data = joints_->servo().trip_name(news.trip);
    trip_->publish(message);
    if (message.data.empty() && news.faults) RCLCPP_INFO(logger, "The trip is over.");
  }
  reported_ = news;
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
OperationalSpaceController::on_export_reference_interfaces_list() {
  std::vector<hardware_interface::CommandInterface::SharedPtr> references;
  for (const auto& task : joints_->tasks()) {
    for (const char* part : motion_parts) {
      references.push_back(std::make_shared<hardware_interface::CommandInterface>(
          std::string(get_node()->get_name()) + "/" + task, part));
    }
  }
  return references;
}

bool OperationalSpaceController::find_interfaces() {
  const auto find = [this](auto& interfaces, const auto& names, auto& found) {
    found.clear();
    for (const auto& name : names) {
      const auto there = std::find_if(
          interfaces.begin(), interfaces.end(),
          [&name](const auto& interface) { return interface.get_name() == name; });
      if (there == interfaces.end()) {
        RCLCPP_ERROR(get_node()->get_logger(), "There is no interface '%s'.", name.c_str());
        return false;
      }
      found.push_back(&*there);
    }
    return true;
  };
  return find(command_interfaces_, command_interface_configuration().names, commands_) &&
         find(state_interfaces_, state_interface_configuration().names, states_);
}

CallbackReturn OperationalSpaceController::on_activate(const rclcpp_lifecycle::State&) {
  if (!find_interfaces()) return CallbackReturn::ERROR;
  for (auto& goal : goals_) {  // those from before do not count
    Goal old{};
    goal->read(old);
  }
  for (auto& reference : ordered_exported_reference_interfaces_) {
    if (!reference->set_value(unknown)) return CallbackReturn::ERROR;
  }
  hold_ = false;
  told_ = {opspace::Servo::no_trip, -1, opspace::Servo::no_trip, 0, 0, 0, false};
  const double now = steady_time();
  if (link_) {
    link_->begin(now);
    link_->activate(now);
  }
  const bool begun = joints_->restart(now, read_state());
  if (link_) link_->end();
  // Drives would have no effort until the first cycle: the manager writes before it.
  if (begun) write_efforts(false);
  news_.write(told_);
  return CallbackReturn::SUCCESS;
}

CallbackReturn OperationalSpaceController::on_deactivate(const rclcpp_lifecycle::State&) {
  release();
  return CallbackReturn::SUCCESS;
}

// It is not configured any more, then.
CallbackReturn OperationalSpaceController::on_error(const rclcpp_lifecycle::State& state) {
  release();
  return on_cleanup(state);
}

CallbackReturn OperationalSpaceController::on_cleanup(const rclcpp_lifecycle::State&) {
  const std::scoped_lock lock(configured_);
  timer_ = nullptr;
  service_.reset();
  trip_.reset();
  subscriptions_.clear();
  goals_.clear();
  joints_.reset();
  link_.reset();
  return CallbackReturn::SUCCESS;
}

// Without a loop nothing may go on pushing: drives get no effort.
void OperationalSpaceController::release() {
  if (link_) link_->deactivate();
  if (!write_efforts(true)) {
    RCLCPP_ERROR(get_node()->get_logger(),
                 "An effort interface was busy: a drive may keep its last effort. Stop it.");
  }
  commands_.clear();
  states_.clear();
}

}  // namespace opspace_controller

PLUGINLIB_EXPORT_CLASS(opspace_controller::OperationalSpaceController,
                       controller_interface::ChainableControllerInterface)
