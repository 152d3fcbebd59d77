// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// Runs a saved controller, or its servo, through the states and changes of a file, and writes its
// joint forces, and what the servo did.
//
//   replay robot.block kernels.so inputs outputs [servo]
//
// A cycle of the inputs: dt; the number of changes, each a Transaction with its bytes, filled up to
// a multiple of 8; q; v. With a servo dt is its call, a state, a watch, a hold or a restart, and
// stamp, time and fault precede q. Calls of the allocator and of locks in the loop are counted.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "counted.hpp"
#include "opspace.h"

namespace {

std::vector<double> read_numbers(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<double> numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  return numbers;
}

template <typename Type>
Type as(const double* number) {
  Type value{};
  std::memcpy(&value, number, sizeof(value));
  return value;
}

// The law, or a whole servo, with one way to read inputs and to write outputs.
class Law : public opspace::Controller {
 public:
  using Controller::Controller;

  const double* run(double dt, const double* at, std::vector<double>& outputs) {
    std::copy(at, at + header().nq, q());
    at += header().nq;
    std::copy(at, at + header().nv, v());
    cycle(dt);
    outputs.insert(outputs.end(), tau(), tau() + header().nv);
    return at + header().nv;
  }
};

class WholeServo : public opspace::Servo {
 public:
  using Servo::Servo;

  const double* run(double call, const double* at, std::vector<double>& outputs) {
    const auto stamp = as<std::int64_t>(at);
    const double now = at[1], fault = at[2];
    at += 3;
    std::copy(at, at + header().nq, q());
    at += header().nq;
    std::copy(at, at + header().nv, v());
    auto done = opspace::Result::early;
    if (call == 0.0) {
      done = cycle(stamp, now, static_cast<std::int64_t>(fault));
    } else if (call == 1.0) {
      done = watch(now, fault > 0.0);
    } else if (call == 2.0) {
      hold();
    } else {
      restart(now);
    }
    outputs.insert(outputs.end(),
                   {static_cast<double>(done), static_cast<double>(trip()),
                    static_cast<double>(this->fault()), news() ? 1.0 : 0.0,
                    static_cast<double>(dof())});
    outputs.insert(outputs.end(), efforts(), efforts() + header().nv);
    return at + header().nv;
  }
};

// Return the outputs of all cycles, and print what they have cost.
template <typename Robot>
std::vector<double> run(Robot& robot, const std::vector<double>& inputs) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> outputs, times;
  outputs.reserve(2 * inputs.size());
  times.reserve(inputs.size());
  bool good = true;
  const long allocations_before = allocations, locks_before = locks;
  for (const double *at = inputs.data(), *end = at + inputs.size(); at < end;) {
    const double call = *at++;
    for (auto changes = as<std::int64_t>(at++); changes > 0; --changes) {
      const auto change = as<opspace::Transaction>(at);
      good = robot.apply(change, at + 2) && good;
      at += 2 + (change.size + 7) / 8;
    }
    const auto begin = Clock::now();
    at = robot.run(call, at, outputs);
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  const long allocated = allocations - allocations_before, locked = locks - locks_before;
  std::sort(times.begin(), times.end());
  std::printf("cycles %zu\nallocations %ld\nlocks %ld\nchanges %s\n", times.size(), allocated,
              locked, good ? "applied" : "refused");
  if (!times.empty()) {
    std::printf("median %.3f\npercentile_99.9 %.3f\nworst %.3f\n", times[times.size() / 2],
                times[times.size() * 999 / 1000], times.back());
  }
  return outputs;
}

template <typename Robot>
void replay(char** arguments) {
  Robot robot(arguments[1], arguments[2]);
  const std::vector<double> outputs = run(robot, read_numbers(arguments[3]));
  std::ofstream file(arguments[4], std::ios::binary);
  file.write(reinterpret_cast<const char*>(outputs.data()),
             static_cast<std::streamsize>(outputs.size() * sizeof(double)));
}

bool has_python() {
  std::ifstream maps("/proc/self/maps");
  const std::string text((std::istreambuf_iterator<char>(maps)), {});
  return text.find("libpython") != std::string::npos || text.find("/python") != std::string::npos;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 5) {
    std::fprintf(stderr, "usage: %s BLOCK LIBRARY INPUTS OUTPUTS [servo]\n", arguments[0]);
    return 2;
  }
  try {
    (count > 5 ? replay<WholeServo> : replay<Law>)(arguments);
    std::printf("python %s\nlocks_seen %ld\nallocations_seen %ld\n", has_python() ? "yes" : "no",
                locks, allocations);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
