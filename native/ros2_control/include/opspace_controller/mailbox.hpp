// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0

#ifndef OPSPACE_CONTROLLER__MAILBOX_HPP_
#define OPSPACE_CONTROLLER__MAILBOX_HPP_

#include <array>
#include <atomic>
#include <type_traits>

namespace opspace_controller {

// The newest value from one thread to another. Neither waits: each has a slot of its own, and
// exchanges it for the third one.
template <typename Value>
class Mailbox {
  static_assert(std::is_trivially_copyable_v<Value>, "Copies of a value must not allocate.");

 public:
  // Replace what has not been read.
  void write(const Value& value) noexcept {
    slots_[back_] = value;
    back_ = middle_.exchange(back_ | fresh, std::memory_order_acq_rel) & ~fresh;
  }

  // Return whether there is a new value, and write it to `value`.
  bool read(Value& value) noexcept {
    if (!(middle_.load(std::memory_order_relaxed) & fresh)) return false;
    front_ = middle_.exchange(front_, std::memory_order_acq_rel) & ~fresh;
    value = slots_[front_];
    return true;
  }

 private:
  static constexpr unsigned fresh = 4;

  std::array<Value, 3> slots_{};
  unsigned back_ = 0, front_ = 1;
  std::atomic<unsigned> middle_{2};
};

}  // namespace opspace_controller

#endif  // OPSPACE_CONTROLLER__MAILBOX_HPP_
