// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// A library to preload into a controller manager. It counts what the update() of chainable
// controllers calls: the allocator, locks that wait, and the log. The counts are in the file that
// OPSPACE_COUNTS names.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "../../test/counted.hpp"

namespace {

struct Counts {
  long allocations, releases, locks, logs;
};
// What the test reads: the calls in all updates, and those of their thread in all.
struct Page {
  long updates;
  Counts inside, all;
};
thread_local long logs = 0;
std::atomic<long> all_logs{0};

Counts counts() noexcept { return {allocations, releases, locks, logs}; }

Page* open_page() {
  const char* const path = std::getenv("OPSPACE_COUNTS");
  const int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file < 0 || ftruncate(file, sizeof(Page)) != 0) std::abort();
  void* const memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) std::abort();
  return new (memory) Page{};
}

void add(const Counts& before, const Counts& after) {
  static Page* const page = open_page();
  ++page->updates;
  page->inside.allocations += after.allocations - before.allocations;
  page->inside.releases += after.releases - before.releases;
  page->inside.locks += after.locks - before.locks;
  page->inside.logs += after.logs - before.logs;
  page->all = {after.allocations, after.releases, after.locks, all_logs.load()};
}

}  // namespace

// Where all lines of rclcpp's log arrive.
extern "C" void rcl_logging_multiple_output_handler(const void* location, int severity,
                                                    const char* name, std::int64_t time,
                                                    const char* format, va_list* words) {
  using Handler = void(const void*, int, const char*, std::int64_t, const char*, va_list*);
  static const auto write = next<Handler>("rcl_logging_multiple_output_handler");
  ++logs;
  ++all_logs;
  write(location, severity, name, time, format, words);
}

namespace rclcpp {
class Time;
class Duration;
}  // namespace rclcpp

namespace controller_interface {

enum class return_type : std::uint8_t {};

class ChainableControllerInterface {
 public:
  return_type update(const rclcpp::Time& time, const rclcpp::Duration& period);
};

return_type ChainableControllerInterface::update(const rclcpp::Time& time,
                                                 const rclcpp::Duration& period) {
  using Update = return_type(ChainableControllerInterface*, const rclcpp::Time&,
                             const rclcpp::Duration&);
  static const auto update = next<Update>(
      "_ZN20controller_interface28ChainableControllerInterface6updateERKN6rclcpp4TimeERKNS1_"
      "8DurationE");
  const Counts before = counts();
  const return_type result = update(this, time, period);
  add(before, counts());
  return result;
}

}  // namespace controller_interface
