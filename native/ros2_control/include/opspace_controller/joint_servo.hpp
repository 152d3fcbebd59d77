// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// A saved servo by the names of joints, tasks and sensors. Nothing here needs ROS.

#ifndef OPSPACE_CONTROLLER__JOINT_SERVO_HPP_
#define OPSPACE_CONTROLLER__JOINT_SERVO_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "opspace.h"

namespace opspace_controller {

// A goal of a task, in the base frame: m, a quaternion x y z w, m/s and rad/s.
struct Goal {
  double position[3], quaternion[4], twist[6];
};

class JointServo {
 public:
  // Read the files. `joints` are those with effort interfaces, in any order; none: all that the
  // controller drives. A std::runtime_error names the file or the joint, and the cure. The block is
  // in memory of its own, or at a `place`.
  JointServo(const std::string& block, const std::string& library,
             const std::vector<std::string>& joints, const opspace::Place& place = {});

  // Take the readings of these sensors only; a std::runtime_error names one that is not there.
  void take_sensors(const std::vector<std::string>& wanted);

  // Joints that get efforts; joints whose positions and velocities a cycle needs; tasks with poses;
  // force-torque sensors. What follows takes the index in one of these.
  const std::vector<std::string>& driven() const noexcept { return driven_; }
  const std::vector<std::string>& measured() const noexcept { return measured_; }
  const std::vector<std::string>& tasks() const noexcept { return tasks_; }
  const std::vector<std::string>& sensors() const noexcept { return sensors_; }

  // All that follows neither allocates, locks nor throws.

  // Whether the robot has a floating base, whose state a cycle needs.
  bool has_base() const noexcept { return base_pose_ != nullptr; }

  // Begin at a steady time, s: the next pose is every goal. Return whether there are efforts: those
  // of a first cycle, if a state was `read` for it.
  bool restart(double now, bool read = false) noexcept;
  // Write a joint's position and velocity, rad or m, and rad/s or m/s.
  void set_state(std::size_t joint, double position, double velocity) noexcept;
  // Write the base's position, quaternion x y z w and twist, which is in its own axes.
  void set_base(const double (&numbers)[13]) noexcept;
  // Write the reading of a sensor, N and N m, in its axes; one that is not finite does not count.
  void set_wrench(std::size_t sensor, const double (&wrench)[6]) noexcept;
  // Set the goal of a task; false, changing nothing, for one that is not finite or no rotation. Of
  // the twist what is not finite is 0.
  bool set_goal(std::size_t task, const Goal& goal) noexcept;
  // The effort of a driven joint, N m or N, after a cycle.
  double effort(std::size_t joint) const noexcept { return *efforts_[joint]; }

  opspace::Servo& servo() noexcept { return servo_; }
  // The name of a degree of freedom, such as that of a fault, or "base"; empty for none.
  std::string dof_name(std::int64_t dof) const;

 private:
  struct Pose {
    double *position, *rotation, *twist, *acceleration;
  };
  struct Sensor {
    double *reading, *age;
  };

  void find_base();
  void find_joints(const std::string& block, std::vector<std::string> wanted);
  // Return what comes between a beginning and an ending in the names of numbers, in their order.
  std::vector<std::string> names(const std::string& beginning, const std::string& ending) const;

  opspace::Servo servo_;
  std::vector<std::string> dofs_, driven_, measured_, tasks_, sensors_;
  std::vector<double*> positions_, velocities_, efforts_;
  double *base_pose_ = nullptr, *base_twist_ = nullptr;
  std::vector<Pose> poses_;
  std::vector<Sensor> readings_;
};

}  // namespace opspace_controller

#endif  // OPSPACE_CONTROLLER__JOINT_SERVO_HPP_
