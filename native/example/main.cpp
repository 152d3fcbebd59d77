// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// A control loop around a saved controller: states in, efforts that may be sent out, a goal for a
// task.
//
//   loop robot.block kernels.so [task]
//
// Robot is where yours comes in. Here it is a robot at rest at its neutral posture.

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "opspace.h"

namespace {

using Clock = std::chrono::steady_clock;

class Robot {
 public:
  void read(opspace::Servo&) {}            // write the joints' q() and v()
  void command(const opspace::Servo&) {}   // send efforts()
};

double steady_time() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// Ask for the scheduler of real-time programs, and for memory that stays; many may not.
bool become_real_time() {
  sched_param priority{};
  priority.sched_priority = 80;
  return sched_setscheduler(0, SCHED_FIFO, &priority) == 0 &&
         mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
}

void run(opspace::Servo& servo, const char* task, int cycles) {
  constexpr std::chrono::milliseconds period(1);
  // What a loop changes is looked up before it. A goal is a position and a rotation; 10 mm higher.
  double* goal = nullptr;
  const double* place = nullptr;
  if (task) {
    goal = servo.numbers<double>(std::string(task) + ".target_p", 3);
    place = servo.numbers<double>(std::string(task) + ".p", 3);
  }
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(cycles));
  Robot robot;
  auto due = Clock::now();
  for (int k = 0; k < cycles; ++k) {
    std::this_thread::sleep_until(due);
    due += period;
    robot.read(servo);
    const auto begin = Clock::now();
    const opspace::Result done = servo.cycle(0, steady_time());
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    if (done != opspace::Result::early) robot.command(servo);
    if (servo.news()) std::printf("trip: %s\n", servo.trip_name(servo.fault()).c_str());
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
    opspace::Servo servo(arguments[1], arguments[2]);
    servo.restart(steady_time());
    servo.hold();
    servo.cycle(0, steady_time());  // the goals of tasks are where they are
    for (std::int64_t k = 0; k < servo.header().nv; ++k) {
      std::printf("effort %.17g\n", servo.efforts()[k]);
    }
    std::printf("real time: %s\n", become_real_time() ? "yes" : "not allowed");
    run(servo, count > 3 ? arguments[3] : nullptr, 1000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
