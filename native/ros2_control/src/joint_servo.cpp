// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0

#include "opspace_controller/joint_servo.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace opspace_controller {
namespace {

// Of the norm of a quaternion, as in Python.
constexpr double quaternion_tolerance = 1e-2;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

template <std::size_t count>
bool finite(const double (&numbers)[count]) noexcept {
  return std::all_of(numbers, numbers + count, [](double x) { return std::isfinite(x); });
}

// Return the norm of a quaternion, NaN if it is none of a rotation.
double norm_of(const double* quaternion) noexcept {
  double square = 0.0;
  for (int k = 0; k < 4; ++k) square += quaternion[k] * quaternion[k];
  const double norm = std::sqrt(square);
  return std::abs(norm - 1.0) <= quaternion_tolerance ? norm
                                                      : std::numeric_limits<double>::quiet_NaN();
}

// Write the rotation matrix of a quaternion x y z w, by row.
void rotate(const double* quaternion, double norm, double* R) noexcept {
  const double x = quaternion[0] / norm, y = quaternion[1] / norm, z = quaternion[2] / norm,
               w = quaternion[3] / norm;
  const double rows[9] = {
      1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
      2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
      2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
  std::copy(rows, rows + 9, R);
}

}  // namespace

JointServo::JointServo(const std::string& block, const std::string& library,
                       const std::vector<std::string>& joints, const opspace::Place& place)
    : servo_(block, library, place) {
  find_base();
  find_joints(block, joints);
  tasks_ = names("", ".target_p");
  for (const auto& task : tasks_) {
    poses_.push_back({servo_.numbers<double>(task + ".target_p", 3),
                      servo_.numbers<double>(task + ".target_R", 9),
                      servo_.numbers<double>(task + ".target_twist", 6),
                      servo_.numbers<double>(task + ".target_acceleration", 6)});
  }
  take_sensors(names("sensor.", ".reading"));
}

void JointServo::take_sensors(const std::vector<std::string>& wanted) {
  const auto there = names("sensor.", ".reading");
  sensors_.clear();
  readings_.clear();
  for (const auto& sensor : wanted) {
    if (!contains(there, sensor)) {
      throw std::runtime_error("sensors: there is no sensor '" + sensor + "'. Take some of: " +
                               listed(there) + ".");
    }
    sensors_.push_back(sensor);
    readings_.push_back({servo_.numbers<double>("sensor." + sensor + ".reading", 6),
                         servo_.numbers<double>("sensor." + sensor + ".age")});
  }
}

void JointServo::find_base() {
  if (!contains(names("base.", ""), "pose")) return;
  base_pose_ = servo_.numbers<double>("base.pose", 7);
  base_twist_ = servo_.numbers<double>("base.twist", 6);
}

void JointServo::find_joints(const std::string& block, std::vector<std::string> wanted) {
  dofs_ = names("servo.tau.", "");
  measured_ = names("state.q.", "");
  for (const auto& dof : dofs_) {
    if (!contains(measured_, dof)) {
      throw std::runtime_error(
          block + ": '" + dof + "' is no joint with one position, and no state interface has its "
          "state. A robot with such joints takes the topic route.");
    }
    if (*servo_.numbers<bool>("driven." + dof)) driven_.push_back(dof);
  }
  if (wanted.empty()) wanted = driven_;
  for (const auto& joint : wanted) {
    if (!contains(dofs_, joint)) {
      throw std::runtime_error("joints: " + block + " has no joint '" + joint +
                               "'. Take some of: " + listed(driven_) + ".");
    }
    if (!contains(driven_, joint)) {
      throw std::runtime_error("joints: '" + joint + "' is passive or locked in " + block +
                               ". Leave it out, or export again with a drive for it.");
    }
    if (std::count(wanted.begin(), wanted.end(), joint) > 1) {
      throw std::runtime_error("joints: '" + joint + "' is there twice. Name it once.");
    }
  }
  for (const auto& joint : driven_) {
    if (!contains(wanted, joint)) {
      throw std::runtime_error(
          "joints: " + block + " drives '" + joint + "', too. Add it, or export again with it "
          "among locked_joints or passive_joints.");
    }
  }
  driven_ = wanted;
  for (const auto& joint : measured_) {
    positions_.push_back(servo_.numbers<double>("state.q." + joint));
    velocities_.push_back(servo_.numbers<double>("state.v." + joint));
  }
  for (const auto& joint : driven_) {
    efforts_.push_back(servo_.numbers<double>("servo.tau." + joint));
  }
}

std::vector<std::string> JointServo::names(const std::string& beginning,
                                           const std::string& ending) const {
  const opspace::Header& header = servo_.header();
  const char* const place = reinterpret_cast<const char*>(&header) + header.fields;
  std::vector<std::string> found;
  for (std::int64_t k = 0; k < header.field_count; ++k) {
    const std::string name = reinterpret_cast<const opspace::Field*>(place)[k].name;
    const std::size_t shorter = beginning.size() + ending.size();
    if (name.size() > shorter && name.rfind(beginning, 0) == 0 &&
        name.compare(name.size() - ending.size(), ending.size(), ending) == 0) {
      found.push_back(name.substr(beginning.size(), name.size() - shorter));
    }
  }
  return found;
}

bool JointServo::restart(double now, bool read) noexcept {
  const auto begin = [this, now] {
    servo_.restart(now);
    servo_.hold();
  };
  begin();
  if (!read) return false;
  if (servo_.cycle(0, now) == opspace::Result::control) return true;  // its time is not known
  begin();  // what is wrong with this state is wrong with the next one
  return false;
}

void JointServo::set_state(std::size_t joint, double position, double velocity) noexcept {
  *positions_[joint] = position;
  *velocities_[joint] = velocity;
}

void JointServo::set_base(const double (&numbers)[13]) noexcept {
  const double norm = norm_of(numbers + 3);
  double R[9];
  rotate(numbers + 3, norm, R);
  std::copy(numbers, numbers + 7, base_pose_);
  if (std::isnan(norm)) base_pose_[3] = norm;  // such a state trips
  double* world = base_twist_;
  for (const double* own = numbers + 7; own < numbers + 13; own += 3) {
    for (const double* row = R; row < R + 9; row += 3) {
      *world++ = row[0] * own[0] + row[1] * own[1] + row[2] * own[2];
    }
  }
}

void JointServo::set_wrench(std::size_t sensor, const double (&wrench)[6]) noexcept {
  if (!finite(wrench)) return;
  std::copy(wrench, wrench + 6, readings_[sensor].reading);
  *readings_[sensor].age = 0.0;
}

bool JointServo::set_goal(std::size_t task, const Goal& goal) noexcept {
  const double norm = norm_of(goal.quaternion);
  if (!finite(goal.position) || std::isnan(norm)) return false;
  const Pose& pose = poses_[task];
  std::copy(goal.position, goal.position + 3, pose.position);
  rotate(goal.quaternion, norm, pose.rotation);
  for (std::size_t k = 0; k < 6; ++k) {
    pose.twist[k] = std::isfinite(goal.twist[k]) ? goal.twist[k] : 0.0;
    pose.acceleration[k] = 0.0;
  }
  return true;
}

std::string JointServo::dof_name(std::int64_t dof) const {
  if (dof < 0) return "";
  const std::size_t index = static_cast<std::size_t>(dof), first = has_base() ? 6 : 0;
  if (index < first) return "base";
  return index - first < dofs_.size() ? dofs_[index - first] : "";
}

}  // namespace opspace_controller
