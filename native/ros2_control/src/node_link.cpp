// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0

#include "opspace_controller/node_link.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace opspace_controller {
namespace {

using opspace::Result;
using opspace::Servo;

constexpr char magic[] = "OPSHARE1";
constexpr std::size_t page = 4096;
constexpr std::size_t entry_count = 4096;
constexpr double seen_age = 0.05;  // s, up to which a state is used

std::size_t pages(std::size_t size) { return (size + page - 1) / page * page; }

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::runtime_error(path + " cannot be the memory that is shared with the node: " + why);
}

// A process that lives keeps its memory.
void leave_to_the_living(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return;
  char bytes[sizeof(Frame)];
  const bool whole = read(file, bytes, sizeof(bytes)) == static_cast<ssize_t>(sizeof(bytes));
  close(file);
  if (!whole || std::memcmp(bytes, magic, 8) != 0) {
    refuse(path, "there is another file. Give another path.");
  }
  std::int64_t process = 0;
  std::memcpy(&process, bytes + offsetof(Frame, process), sizeof(process));
  if (process != getpid() && (kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM)) {
    refuse(path, "process " + std::to_string(process) + " uses it. End that one first.");
  }
}

}  // namespace

NodeLink::NodeLink(std::string path) : path_(std::move(path)) {
  leave_to_the_living(path_);
}

NodeLink::~NodeLink() {
  if (!memory_) return;
  munmap(memory_, size_);
  unlink(path_.c_str());
}

void* NodeLink::place(std::size_t size) {
  message_.resize(2 * pages(size));  // a change of all numbers and more
  const std::size_t ring = pages(sizeof(Frame)), entries = ring + message_.size(),
                    block = entries + pages(entry_count * sizeof(Entry));
  size_ = block + pages(size);
  unlink(path_.c_str());
  const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) refuse(path_, std::strerror(errno));
  const bool there = ftruncate(file, static_cast<off_t>(size_)) == 0;
  void* const memory = there ? mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_POPULATE, file, 0)
                             : MAP_FAILED;
  const int why = errno;
  close(file);
  if (memory == MAP_FAILED) {
    unlink(path_.c_str());
    refuse(path_, std::strerror(why));
  }
  memory_ = memory;
  char* const first = static_cast<char*>(memory);
  frame_ = new (first) Frame{};
  const auto offset = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  frame_->ring = offset(ring);
  frame_->ring_size = offset(message_.size());
  frame_->entries = offset(entries);
  frame_->entry_count = offset(entry_count);
  frame_->block = offset(block);
  frame_->block_size = offset(size);
  frame_->process = getpid();
  ring_ = first + ring;
  entries_ = reinterpret_cast<Entry*>(first + entries);
  return first + block;
}

void NodeLink::serve(Servo& servo) {
  servo_ = &servo;
  known_ = servo.numbers<bool>("state.known");
  last_accepted_ = servo.numbers<double>("state.last_accepted");
  release_time_ = servo.numbers<double>("supervisor.release_time");
  effort_ = servo.numbers<double>("servo.effort");
  limited_ = servo.numbers<std::int64_t>("cycle.limited");
  unsolved_ = servo.numbers<std::int64_t>("cycle.unsolved");
  skipped_ = servo.numbers<std::int64_t>("cycle.levels_skipped");
  attained_ = servo.numbers<bool>("cycle.attained");
  least_eigenvalue_ = servo.numbers<double>("cycle.least_eigenvalue");
  while (!servo.trip_name(trip_count_).empty()) ++trip_count_;
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(frame_->magic, magic, 8);  // now a node may attach
}

void NodeLink::activate(double now) noexcept {
  set_mode(Mode::run, now);
  lost_ = false;
  frame_->active.store(1, std::memory_order_relaxed);
}

void NodeLink::deactivate() noexcept { frame_->active.store(0, std::memory_order_release); }

void NodeLink::begin(double now) noexcept {
  frame_->sequence.fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  receive(now);
}

void NodeLink::end() noexcept { frame_->sequence.fetch_add(1, std::memory_order_release); }

Result NodeLink::cycle(bool read, std::int64_t stamp, double now) noexcept {
  const std::int64_t beat = frame_->beat.load(std::memory_order_relaxed),
                     timeout = frame_->timeout.load(std::memory_order_relaxed);
  const bool attended = mode() == Mode::run || mode() == Mode::gravity_hold;
  if (attended && beat && timeout &&
      now - 1e-9 * static_cast<double>(beat) > 1e-9 * static_cast<double>(timeout)) {
    set_mode(Mode::release, now);
    lost_ = true;
  }
  const Result result = act(read, stamp, now);
  note(result, stamp, now);
  return result;
}

Result NodeLink::act(bool read, std::int64_t stamp, double now) noexcept {
  if (mode() == Mode::run) {
    return read ? servo_->cycle(stamp, now, Servo::no_trip, wrong_) : servo_->watch(now);
  }
  if (read) servo_->accept(stamp, now);
  if (mode() == Mode::gravity_hold && *known_ && now - *last_accepted_ < seen_age) {
    return servo_->gravity_hold(now);
  }
  const double part = fading(now);
  const Result result = servo_->damp(now, part);
  const double* const efforts = servo_->efforts();
  if (mode() == Mode::release && part == 0.0 &&
      std::all_of(efforts, efforts + servo_->header().nv, [](double x) { return x == 0.0; })) {
    set_mode(Mode::released, now);
  }
  return result;
}

double NodeLink::fading(double now) const noexcept {
  return *release_time_ > 0.0 ? std::max(0.0, 1.0 - (now - since_) / *release_time_) : 0.0;
}

void NodeLink::set_mode(Mode mode, double now) noexcept {
  since_ = now;
  frame_->mode.store(mode, std::memory_order_relaxed);
}

// Take all messages; note the trip that one asks for, or no_trip.
void NodeLink::receive(double now) noexcept {
  wrong_ = Servo::no_trip;
  const std::uint64_t written = frame_->bytes_written.load(std::memory_order_acquire);
  std::uint64_t read = frame_->bytes_read.load(std::memory_order_relaxed);
  const std::uint64_t ring_size = message_.size();
  const auto copy = [this, ring_size](std::uint64_t from, char* to, std::size_t size) {
    const std::size_t first = from % ring_size, piece = std::min(size, ring_size - first);
    std::memcpy(to, ring_ + first, piece);
    std::memcpy(to + piece, ring_, size - piece);
  };
  while (read != written) {
    Message head{};
    if (written - read >= sizeof(head)) copy(read, reinterpret_cast<char*>(&head), sizeof(head));
    const auto size = static_cast<std::uint64_t>(head.size);
    bool good = size >= sizeof(head) && size <= written - read && size <= ring_size;
    if (!good) {  // where the next one begins is not known
      read = written;
    } else {
      copy(read, message_.data(), size);
      read += size;
      switch (head.kind) {
        case Message::Kind::numbers:
          good = change(message_.data() + sizeof(head),
                        head.size - static_cast<std::int64_t>(sizeof(head)));
          break;
        case Message::Kind::hold:
          servo_->hold();
          break;
        case Message::Kind::trip:
          good = head.number >= 0 && head.number < trip_count_;
          if (good) wrong_ = head.number;
          break;
        case Message::Kind::mode:
          good = head.number >= 0 && head.number <= static_cast<std::int64_t>(Mode::release);
          if (good) set_mode(static_cast<Mode>(head.number), now);
          if (good && head.number == static_cast<std::int64_t>(Mode::run)) lost_ = false;
          break;
        default:
          good = false;
      }
    }
    if (!good) frame_->refused.fetch_add(1, std::memory_order_relaxed);
  }
  // After the copies: the node writes its next messages where these were.
  frame_->bytes_read.store(read, std::memory_order_release);
}

// Apply transactions, all of them or none.
bool NodeLink::change(const char* bytes, std::int64_t size) noexcept {
  for (const bool applied : {false, true}) {
    for (std::int64_t at = 0; at < size;) {
      opspace::Transaction change{};
      if (size - at < static_cast<std::int64_t>(sizeof(change))) return false;
      std::memcpy(&change, bytes + at, sizeof(change));
      at += static_cast<std::int64_t>(sizeof(change));
      if (!servo_->fits(change) || change.size > size - at) return false;
      if (applied) servo_->apply(change, bytes + at);
      at += (change.size + 7) / 8 * 8;
    }
  }
  return true;
}

void NodeLink::note(Result result, std::int64_t stamp, double now) noexcept {
  const std::uint64_t count = frame_->cycles.load(std::memory_order_relaxed);
  const bool law = result == Result::control || result == Result::resume;
  Entry& entry = entries_[count % entry_count];
  entry = {static_cast<std::int64_t>(1e9 * now),
           stamp,
           static_cast<std::int64_t>(result),
           servo_->trip(),
           servo_->news() && mode() == Mode::run ? servo_->fault() : Servo::no_trip,
           servo_->dof(),
           *effort_,
           law ? *limited_ : 0,
           law ? *unsolved_ : 0,
           law ? *skipped_ : 0,
           *attained_ ? 1 : 0,
           *least_eigenvalue_};
  frame_->cycles.store(count + 1, std::memory_order_release);  // after the entry
}

}  // namespace opspace_controller
