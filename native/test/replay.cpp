// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// Runs a saved controller through the states and changes of a file, and writes its joint forces.
//
//   replay robot.block kernels.so inputs outputs
//
// A cycle of the inputs: dt; the number of changes, each a Transaction with its bytes, filled up to
// a multiple of 8; q; v. Calls of the allocator and of locks within the loop are counted.

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "opspace.h"

namespace {
long allocations = 0, locks = 0;
}

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto next = reinterpret_cast<int (*)(pthread_mutex_t*)>(
      dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return next(mutex);
}
}

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
  Type value;
  std::memcpy(&value, number, sizeof(value));
  return value;
}

// Return the joint forces of all cycles, and print what they have cost.
std::vector<double> run(opspace::Controller& controller, const std::vector<double>& inputs) {
  using Clock = std::chrono::steady_clock;
  const std::int64_t nq = controller.header().nq, nv = controller.header().nv;
  std::vector<double> outputs, times;
  outputs.reserve(inputs.size());
  times.reserve(inputs.size());
  bool good = true;
  const long allocations_before = allocations, locks_before = locks;
  for (const double *at = inputs.data(), *end = at + inputs.size(); at < end;) {
    const double dt = *at++;
    for (auto changes = as<std::int64_t>(at++); changes > 0; --changes) {
      const auto change = as<opspace::Transaction>(at);
      good = controller.apply(change, at + 2) && good;
      at += 2 + (change.size + 7) / 8;
    }
    const auto begin = Clock::now();
    std::copy(at, at + nq, controller.q());
    std::copy(at + nq, at + nq + nv, controller.v());
    controller.cycle(dt);
    outputs.insert(outputs.end(), controller.tau(), controller.tau() + nv);
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    at += nq + nv;
  }
  const long allocated = allocations - allocations_before, locked = locks - locks_before;
  std::sort(times.begin(), times.end());
  std::printf("cycles %zu\nallocations %ld\nlocks %ld\nchanges %s\n", times.size(), allocated,
              locked, good ? "applied" : "refused");
  std::printf("median %.3f\npercentile_99.9 %.3f\nworst %.3f\n", times[times.size() / 2],
              times[times.size() * 999 / 1000], times.back());
  return outputs;
}

bool has_python() {
  std::ifstream maps("/proc/self/maps");
  const std::string text((std::istreambuf_iterator<char>(maps)), {});
  return text.find("libpython") != std::string::npos || text.find("/python") != std::string::npos;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr, "usage: %s BLOCK LIBRARY INPUTS OUTPUTS\n", arguments[0]);
    return 2;
  }
  try {
    opspace::Controller controller(arguments[1], arguments[2]);
    const std::vector<double> outputs = run(controller, read_numbers(arguments[3]));
    std::ofstream file(arguments[4], std::ios::binary);
    file.write(reinterpret_cast<const char*>(outputs.data()),
               static_cast<std::streamsize>(outputs.size() * sizeof(double)));
    std::printf("python %s\nlocks_seen %ld\nallocations_seen %ld\n", has_python() ? "yes" : "no",
                locks, allocations);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
