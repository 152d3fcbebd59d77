// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// Runs a servo whose memory is shared, without ROS, by lines of its input, and answers each.
//
//   node_link robot.block kernels.so memory
//
// "activate time", "deactivate", "cycle time" with position and velocity of all measured joints and
// then pose and twist of a floating base, "blind time" for a cycle without a state, "spin number"
// of cycles one after the other, each with a position of its own for all joints, and "end". A cycle
// answers result, trip, whether the node is lost, whether that has ended, how many messages were
// refused, and the efforts; spin answers the calls of the allocator and of locks.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../../test/counted.hpp"
#include "opspace_controller/joint_servo.hpp"
#include "opspace_controller/node_link.hpp"

namespace {

using opspace_controller::JointServo;
using opspace_controller::NodeLink;

void cycle(NodeLink& link, bool read, double now) {
  link.begin(now);
  const opspace::Result result =
      link.cycle(read, static_cast<std::int64_t>(std::llround(1e9 * now)), now);
  link.end();
  std::printf("%d", static_cast<int>(result));
}

void answer(NodeLink& link, JointServo& joints) {
  std::printf(" %ld %d %d %lu", static_cast<long>(joints.servo().trip()), link.lost(),
              link.ended(), static_cast<unsigned long>(link.refused()));
  for (std::size_t k = 0; k < joints.driven().size(); ++k) std::printf(" %a", joints.effort(k));
  std::printf("\n");
}

// In every cycle the state of all joints is the same number, so that a reader sees whether what it
// has read is of one cycle.
void spin(NodeLink& link, JointServo& joints, long count) {
  const long allocated = allocations, locked = locks;
  for (long k = 0; k < count; ++k) {
    const double now = 10.0 + 1e-3 * static_cast<double>(k),
                 position = 0.2 + 1e-6 * static_cast<double>(k);
    link.begin(now);
    for (std::size_t j = 0; j < joints.measured().size(); ++j) joints.set_state(j, position, 0.0);
    link.cycle(true, static_cast<std::int64_t>(std::llround(1e9 * now)), now);
    link.end();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  std::printf("%ld %ld\n", allocations - allocated, locks - locked);
}

void set_state(JointServo& joints, const std::vector<double>& numbers) {
  const std::size_t count = joints.measured().size();
  for (std::size_t k = 0; k < count; ++k) {
    joints.set_state(k, numbers[1 + 2 * k], numbers[2 + 2 * k]);
  }
  if (joints.has_base()) {
    double base[13];
    std::copy_n(numbers.begin() + 1 + 2 * static_cast<std::ptrdiff_t>(count), 13, base);
    joints.set_base(base);
  }
}

void run(NodeLink& link, JointServo& joints) {
  for (std::string line; std::getline(std::cin, line) && line != "end"; std::fflush(stdout)) {
    std::istringstream words(line);
    std::string what, word;
    words >> what;
    std::vector<double> numbers;
    while (words >> word) numbers.push_back(std::stod(word));  // streams read no hexadecimals
    if (what == "activate") {
      link.begin(numbers[0]);
      link.activate(numbers[0]);
      joints.restart(numbers[0]);
      link.end();
      std::printf("active\n");
    } else if (what == "deactivate") {
      link.deactivate();
      std::printf("inactive\n");
    } else if (what == "spin") {
      spin(link, joints, std::lround(numbers[0]));
    } else {
      if (what == "cycle") set_state(joints, numbers);
      cycle(link, what == "cycle", numbers[0]);
      answer(link, joints);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count != 4) throw std::runtime_error("usage: node_link BLOCK LIBRARY MEMORY");
    NodeLink link(arguments[3]);
    JointServo joints(arguments[1], arguments[2], {},
                      [&link](std::size_t size) { return link.place(size); });
    link.serve(joints.servo());
    std::printf("ready\n");
    std::fflush(stdout);
    run(link, joints);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
