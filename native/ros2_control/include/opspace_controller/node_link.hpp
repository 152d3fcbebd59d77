// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// The memory that a servo shares with the controller node, in a file. Nothing here needs ROS.
//
// The node reads the block of the servo between cycles, and changes it by messages, which the servo
// takes between cycles, each as a whole. Neither waits for the other.

#ifndef OPSPACE_CONTROLLER__NODE_LINK_HPP_
#define OPSPACE_CONTROLLER__NODE_LINK_HPP_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "opspace.h"

namespace opspace_controller {

// What the servo does; opspace_control/safety/shared_memory.py has the same numbers and records.
enum class Mode : std::int64_t {
  run,           // cycles
  gravity_hold,  // hold the robot in position
  release,       // damp it, ever less
  released,      // no effort
};

// What the memory begins with; offsets and sizes are in bytes.
struct Frame {
  char magic[8];
  std::int64_t block, block_size, ring, ring_size, entries, entry_count, process;
  // Written by the servo.
  alignas(64) std::atomic<std::uint64_t> sequence;  // odd during a cycle
  std::atomic<std::uint64_t> cycles;      // entries written so far
  std::atomic<std::uint64_t> bytes_read;  // of messages so far
  std::atomic<std::uint64_t> refused;     // messages that fit no block
  std::atomic<Mode> mode;
  std::atomic<std::int64_t> active;  // whether there are cycles
  // Written by the node.
  alignas(64) std::atomic<std::uint64_t> bytes_written;  // of messages so far
  std::atomic<std::int64_t> beat;     // steady time of its last sign of life, ns, 0 for none yet
  std::atomic<std::int64_t> timeout;  // after which a silent node is lost, ns, 0 for never
};
static_assert(sizeof(Frame) == 192, "The node knows where each number is.");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "Processes share no lock.");

// What a cycle did.
struct Entry {
  std::int64_t time, stamp;  // steady, and of the state, ns
  std::int64_t result, trip, fault;  // a fault to report, or opspace::Servo::no_trip
  std::int64_t dof;  // of the fault
  double effort;     // that was not finite
  std::int64_t limited, unsolved, levels_skipped, attained;
  double least_eigenvalue;
};

// What a message begins with. `size` counts all of it; a change of numbers is followed by
// transactions, each with its bytes, filled up to 8.
struct Message {
  enum class Kind : std::int64_t { numbers, hold, trip, mode } kind;
  std::int64_t size, number;
};

class NodeLink {
 public:
  // Make the file, in place of one whose process is gone; a std::runtime_error says what is wrong.
  explicit NodeLink(std::string path);
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  // Return the place of a block; once.
  void* place(std::size_t size);
  // Take the servo whose block is there.
  void serve(opspace::Servo& servo);

  // All that follows neither allocates, locks nor throws.

  // The block changes between these two only; the first one takes the messages.
  void begin(double now) noexcept;
  void end() noexcept;
  // Be active, with cycles of the servo; between `begin` and `end`.
  void activate(double now) noexcept;
  void deactivate() noexcept;
  // Do a cycle for a state, if one was read; between `begin` and `end`.
  opspace::Result cycle(bool read, std::int64_t stamp, double now) noexcept;
  // Whether the node was lost, and the robot is released.
  bool ended() const noexcept { return lost_ && mode() == Mode::released; }
  bool lost() const noexcept { return lost_; }
  std::uint64_t refused() const noexcept { return frame_->refused.load(std::memory_order_relaxed); }

 private:
  Mode mode() const noexcept { return frame_->mode.load(std::memory_order_relaxed); }
  void receive(double now) noexcept;
  bool change(const char* bytes, std::int64_t size) noexcept;
  void set_mode(Mode mode, double now) noexcept;
  opspace::Result act(bool read, std::int64_t stamp, double now) noexcept;
  double fading(double now) const noexcept;
  void note(opspace::Result result, std::int64_t stamp, double now) noexcept;

  std::string path_;
  void* memory_ = nullptr;
  std::size_t size_ = 0;
  Frame* frame_ = nullptr;
  char* ring_ = nullptr;
  Entry* entries_ = nullptr;
  std::vector<char> message_;  // as large as the ring

  opspace::Servo* servo_ = nullptr;
  std::int64_t trip_count_ = 0;
  double since_ = 0.0;  // of the mode, s
  std::int64_t wrong_ = opspace::Servo::no_trip;  // what the node says is wrong with the robot
  bool lost_ = false;
  const bool* known_ = nullptr;
  const double *last_accepted_ = nullptr, *release_time_ = nullptr, *effort_ = nullptr;
  const bool* attained_ = nullptr;
  const double* least_eigenvalue_ = nullptr;
  const std::int64_t *limited_ = nullptr, *unsolved_ = nullptr, *skipped_ = nullptr;
};

}  // namespace opspace_controller

#endif  // OPSPACE_CONTROLLER__NODE_LINK_HPP_
