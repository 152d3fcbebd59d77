// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// A control loop around a saved controller: states in, joint forces out, a goal for one task.
//
//   loop robot.block kernels.so [task]
//
// Robot is where yours comes in. Here it is a robot at rest at the posture that was saved.

#include <sys/mman.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

#include "opspace.h"

namespace {

class Robot {
 public:
  void read(opspace::Controller&) {}            // write the joints' q() and v()
  void command(const opspace::Controller&) {}   // send tau()
};

// Ask for the scheduler of real-time programs, and for memory that stays; many may not.
bool become_real_time() {
  sched_param priority{};
  priority.sched_priority = 80;
  return sched_setscheduler(0, SCHED_FIFO, &priority) == 0 &&
         mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
}

void run(opspace::Controller& controller, const char* task, int cycles) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds period(1);
  // What a loop changes is looked up before it. A goal is a position and a rotation; 10 mm higher.
  double* goal = nullptr;
  const double* place = nullptr;
  if (task) {
    goal = controller.numbers<double>(std::string(task) + ".target_p", 3);
    place = controller.numbers<double>(std::string(task) + ".p", 3);
  }
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(cycles));
  Robot robot;
  auto due = Clock::now();
  for (int k = 0; k < cycles; ++k) {
    std::this_thread::sleep_until(due);
    due += period;
    robot.read(controller);
    const auto begin = Clock::now();
    controller.cycle(1e-3);
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    robot.command(controller);
    if (goal && k == 0) {
      std::copy(place, place + 3, goal);
      goal[2] += 0.01;
    }
  }
  std::sort(times.begin(), times.end());
  std::printf("cycle, us: median %.2f, 99.9 %% %.2f, worst %.2f\n", times[times.size() / 2],
              times[times.size() * 999 / 1000], times.back());
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: %s BLOCK LIBRARY [TASK]\n", arguments[0]);
    return 2;
  }
  try {
    opspace::Controller controller(arguments[1], arguments[2]);
    controller.cycle(0.0);  // the goals of tasks without one are where they are
    for (std::int64_t k = 0; k < controller.header().nv; ++k) {
      std::printf("tau %.17g\n", controller.tau()[k]);
    }
    std::printf("real time: %s\n", become_real_time() ? "yes" : "not allowed");
    run(controller, count > 3 ? arguments[3] : nullptr, 1000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
