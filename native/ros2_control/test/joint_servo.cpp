// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// Runs a JointServo through the lines of a file, without ROS, and prints what it does.
//
//   joint_servo robot.block kernels.so inputs joint ...
//
// Of the inputs: "restart time", "goal task 13 numbers", "wrench sensor 6 numbers", "hold", and
// "cycle time", followed by position and velocity of all measured joints, and, of a robot with a
// floating base, by 13 numbers of this.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../../test/counted.hpp"
#include "opspace_controller/joint_servo.hpp"
#include "opspace_controller/mailbox.hpp"

namespace {

using opspace_controller::Goal;
using opspace_controller::JointServo;

void print(const char* what, const std::vector<std::string>& names) {
  std::printf("%s", what);
  for (const auto& name : names) std::printf(" %s", name.c_str());
  std::printf("\n");
}

// Streams read neither nan nor inf.
double number(std::ifstream& file) {
  std::string word;
  file >> word;
  return std::stod(word);
}

// What a line of the inputs asks for; reading it allocates, doing it must not.
struct Step {
  std::string what;
  std::size_t index = 0;
  double time = 0.0, wrench[6] = {};
  Goal goal{};
  std::vector<double> state;
};

std::vector<Step> read_steps(const char* path, std::size_t numbers) {
  std::ifstream file(path);
  std::vector<Step> steps;
  for (Step step; file >> step.what; steps.push_back(step)) {
    step.state.clear();
    if (step.what == "restart" || step.what == "cycle") step.time = number(file);
    if (step.what == "goal" || step.what == "wrench") file >> step.index;
    if (step.what == "goal") {
      for (double& value : step.goal.position) value = number(file);
      for (double& value : step.goal.quaternion) value = number(file);
      for (double& value : step.goal.twist) value = number(file);
    }
    if (step.what == "wrench") {
      for (double& value : step.wrench) value = number(file);
    }
    for (std::size_t k = 0; step.what == "cycle" && k < numbers; ++k) {
      step.state.push_back(number(file));
    }
  }
  return steps;
}

void run(JointServo& joints, const std::vector<Step>& steps) {
  std::vector<double> efforts;
  std::vector<std::int64_t> marks;
  efforts.reserve(steps.size() * joints.driven().size());
  marks.reserve(3 * steps.size());
  const long allocated = allocations, locked = locks;
  for (const Step& step : steps) {
    if (step.what == "restart") joints.restart(step.time);
    if (step.what == "hold") joints.servo().hold();
    if (step.what == "wrench") joints.set_wrench(step.index, step.wrench);
    if (step.what == "goal") marks.push_back(joints.set_goal(step.index, step.goal));
    if (step.what != "cycle") continue;
    for (std::size_t k = 0; k < joints.measured().size(); ++k) {
      joints.set_state(k, step.state[2 * k], step.state[2 * k + 1]);
    }
    if (joints.has_base()) {
      double base[13];
      std::copy(step.state.end() - 13, step.state.end(), base);
      joints.set_base(base);
    }
    marks.push_back(static_cast<std::int64_t>(joints.servo().cycle(
        static_cast<std::int64_t>(std::llround(1e9 * step.time)), step.time)));
    marks.push_back(joints.servo().trip());
    for (std::size_t k = 0; k < joints.driven().size(); ++k) efforts.push_back(joints.effort(k));
  }
  std::printf("allocations %ld\nlocks %ld\nefforts", allocations - allocated, locks - locked);
  for (const double effort : efforts) std::printf(" %a", effort);
  std::printf("\nmarks");
  for (const std::int64_t mark : marks) std::printf(" %ld", static_cast<long>(mark));
  std::printf("\n");
}

// The reader of a mailbox sees whole values, never an older one after a newer one, and the last.
bool exchange() {
  struct Value {
    long numbers[16];
  };
  constexpr long count = 200000;
  opspace_controller::Mailbox<Value> mailbox;
  std::thread writer([&mailbox] {
    for (long k = 1; k <= count; ++k) {
      Value value{};
      for (long& part : value.numbers) part = k;
      mailbox.write(value);
    }
  });
  bool good = true;
  for (long last = 0; good && last < count;) {
    Value value{};
    if (!mailbox.read(value)) continue;
    for (const long part : value.numbers) good = good && part == value.numbers[0];
    good = good && value.numbers[0] > last;
    last = value.numbers[0];
  }
  writer.join();
  Value value{};
  return good && !mailbox.read(value);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count < 4) throw std::runtime_error("usage: joint_servo BLOCK LIBRARY INPUTS JOINT ...");
    JointServo joints(arguments[1], arguments[2], {arguments + 4, arguments + count});
    print("driven", joints.driven());
    print("measured", joints.measured());
    print("tasks", joints.tasks());
    print("sensors", joints.sensors());
    run(joints, read_steps(arguments[3], 2 * joints.measured().size() +
                                          (joints.has_base() ? 13 : 0)));
    std::printf("mailbox %s\nallocations_seen %ld\n", exchange() ? "whole" : "torn", allocations);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
