// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// Runs a controller of opspace_control, written by `controller.save(path)` or `opspace export`.
//
// Two files make a controller: a block, with all its numbers, and the library of kernels, with its
// machine code. Both are read by the constructor; after that nothing allocates, locks or throws.
// A Controller is the law alone; a Servo is a whole cycle, with checks of states, trips, a brake
// and bounds of efforts. C++17, and for the library -ldl where the C library needs it.

#ifndef OPSPACE_H_
#define OPSPACE_H_

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace opspace {

// What a block begins with; opspace_control/control/saved.py describes the fields.
struct Header {
  char magic[8];
  char sources[24];
  char law[40];
  char servo[40];
  std::int64_t size, table, entries, servo_table, spans, span_count, fields, field_count, arrays;
  std::int64_t dt, work, now, number, q, v, tau, nq, nv;
};
static_assert(sizeof(Header) == 256, "The header of a block has no gaps.");

// An array of the block, and where the tables of arguments have its address.
struct Span {
  std::int64_t place, offset, size;
};

// Numbers of the block with a name.
struct Field {
  char name[104];
  char type[8];
  std::int64_t offset, count;
};

// A change of numbers of the block: `size` bytes from `offset` on.
struct Transaction {
  std::int64_t offset, size;
};

// Returns memory for a block of this size, zero bytes at an address that 64 divides; it outlives
// the controller.
using Place = std::function<void*(std::size_t)>;

// The law: q and v in, cycle(dt), tau out, all in SI units and in the order of the model.
class Controller {
 public:
  // Read the files; a std::runtime_error says what is wrong with one, and the cure. The block is
  // in memory of its own, or at a `place`.
  Controller(const std::string& block, const std::string& library, const Place& place = {})
      : path_(block) {
    std::ifstream file(block, std::ios::binary);
    if (!file) refuse(block, "cannot be read.");
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    begin(bytes.data(), bytes.size(), library, place);
  }

  // The same for a block in memory, which is copied.
  Controller(const void* block, std::size_t size, const std::string& library)
      : path_("The block") {
    begin(block, size, library, {});
  }

  const Header& header() const noexcept { return *at<Header>(0); }
  double* q() noexcept { return at<double>(header().q); }
  double* v() noexcept { return at<double>(header().v); }
  const double* tau() const noexcept { return at<double>(header().tau); }

  // Compute tau from q and v; dt is the time since the last cycle, s.
  void cycle(double dt) noexcept {
    *at<double>(header().dt) = dt;
    law_(at<std::int64_t>(header().table));
  }

  // Return numbers by their name, such as l_hand.target_p, 3 of double; not within the loop.
  template <typename Number>
  Number* numbers(const std::string& name, std::int64_t count = 1) {
    const char* const type = std::is_same_v<Number, double>         ? "<f8"
                             : std::is_same_v<Number, std::int64_t> ? "<i8"
                             : std::is_same_v<Number, bool>         ? "|b1"
                                                                    : "";
    for (std::int64_t k = 0; k < header().field_count; ++k) {
      const Field& field = at<Field>(header().fields)[k];
      if (name != field.name) continue;
      if (std::strcmp(field.type, type) != 0 || field.count != count) {
        std::ostringstream what;
        what << name << " is " << field.count << " numbers of type " << field.type << ".";
        throw std::runtime_error(what.str());
      }
      return at<Number>(field.offset);
    }
    throw std::runtime_error("The controller has no '" + name + "'.");
  }

  // Whether a change is one of the arrays.
  bool fits(const Transaction& change) const noexcept {
    const Header& h = header();
    return change.offset >= h.arrays && change.offset <= h.size && change.size >= 0 &&
           change.size <= h.size - change.offset;
  }

  // Change numbers between two cycles; false, changing nothing, for what is not in the arrays.
  bool apply(const Transaction& change, const void* bytes) noexcept {
    if (!fits(change)) return false;
    std::memcpy(at<char>(change.offset), bytes, static_cast<std::size_t>(change.size));
    return true;
  }

 protected:
  using Function = std::int64_t (*)(std::int64_t*);

  template <typename Type>
  Type* at(std::int64_t offset) const noexcept {
    return reinterpret_cast<Type*>(block_ + offset);
  }

  [[noreturn]] static void refuse(const std::string& path, const std::string& why) {
    throw std::runtime_error(path + " " + why);
  }

  Function find(const char* name) const {
    const auto* sources = static_cast<const char*>(dlsym(library_.get(), "opspace_sources"));
    void* const found = dlsym(library_.get(), name);
    if (std::strcmp(sources, header().sources) != 0 || !found) {
      refuse(path_, std::string("was saved by a package with kernels ") + header().sources +
                        ", and the library has kernels " + sources +
                        ", or others: layouts of memory may differ. Save the controller again, "
                        "with the package that the library is from.");
    }
    Function function = nullptr;
    std::memcpy(&function, &found, sizeof(function));
    return function;
  }

  std::string path_;

 private:
  struct Free {
    void operator()(char* block) const noexcept { std::free(block); }
  };
  struct Close {
    void operator()(void* library) const noexcept { dlclose(library); }
  };

  // Copy and check the block, load the library, and turn offsets in the tables into addresses.
  void begin(const void* bytes, std::size_t size, const std::string& library,
             const Place& place) {
    if (size < sizeof(Header) || std::memcmp(bytes, "OPSPACE2", 8) != 0) {
      refuse(path_, "is no controller for this header. Save the controller again, with the package "
                    "that the header is from.");
    }
    if (!place) own_.reset(static_cast<char*>(std::aligned_alloc(64, (size / 64 + 1) * 64)));
    block_ = place ? static_cast<char*>(place(size)) : own_.get();
    if (!block_) refuse(path_, "does not fit into the memory.");
    std::memcpy(block_, bytes, size);
    check(static_cast<std::int64_t>(size));
    load(library);
    law_ = find(header().law);
    for (std::int64_t k = 0; k < header().span_count; ++k) {
      const Span& span = at<Span>(header().spans)[k];
      at<std::int64_t>(header().table)[span.place] =
          static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(at<char>(span.offset)));
    }
  }

  // Refuse a block that would have a cycle touch other memory.
  void check(std::int64_t size) const {
    const Header& h = header();
    const auto inside = [&h](std::int64_t offset, std::int64_t count, std::int64_t each) {
      return offset >= static_cast<std::int64_t>(sizeof(Header)) && offset <= h.size &&
             count >= 0 && count <= (h.size - offset) / each;
    };
    bool good = h.size == size && inside(h.table, h.entries, 8) && inside(h.servo_table, 0, 8) &&
                inside(h.spans, h.span_count, sizeof(Span)) &&
                inside(h.fields, h.field_count, sizeof(Field)) && inside(h.dt, 1, 8) &&
                inside(h.q, h.nq, 8) && inside(h.v, h.nv, 8) && inside(h.tau, h.nv, 8);
    for (const std::int64_t place : {h.work, h.now, h.number}) {
      good = good && (h.servo[0] == 0 || inside(place, 1, 8));
    }
    for (std::int64_t k = 0; good && k < h.span_count; ++k) {
      const Span& span = at<Span>(h.spans)[k];
      good = span.place >= 0 && span.place < h.entries && inside(span.offset, span.size, 1);
    }
    for (std::int64_t k = 0; good && k < h.field_count; ++k) {
      const Field& field = at<Field>(h.fields)[k];
      good = inside(field.offset, field.count, 8) ||
             (std::strcmp(field.type, "|b1") == 0 && inside(field.offset, field.count, 1));
    }
    if (!good) refuse(path_, "is damaged. Save the controller again.");
  }

  void load(const std::string& path) {
    // A name without a slash would be looked for among the system's libraries alone.
    const std::string file_path = path.find('/') == std::string::npos ? "./" + path : path;
    library_.reset(dlopen(file_path.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!library_) refuse(path, std::string("cannot be loaded: ") + dlerror());
    const auto* features = static_cast<const char*>(dlsym(library_.get(), "opspace_processor"));
    if (!features || !dlsym(library_.get(), "opspace_sources")) {
      refuse(path, "is no library of kernels for this header.");
    }
    std::ifstream file("/proc/cpuinfo");
    std::string line, wanted, missing;
    while (std::getline(file, line)) {
      if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0) break;
    }
    line += ' ';
    for (std::istringstream words(features); words >> wanted;) {
      if (line.find(' ' + wanted + ' ') == std::string::npos) missing += ' ' + wanted;
    }
    if (!missing.empty()) {
      refuse(path, "needs a processor with" + missing + ". Build it on this one: "
                   "python -m opspace_control.compilation --native.");
    }
  }

  char* block_ = nullptr;
  std::unique_ptr<char, Free> own_;  // the block, unless it has a place
  std::unique_ptr<void, Close> library_;
  Function law_ = nullptr;
};

// What a call of a Servo did: nothing is to be sent; the efforts to be sent are those of the law;
// the same, after a trip; they are those of the brake.
enum class Result : std::int64_t { early, control, resume, braked };

// A whole cycle, as opspace_control.safety.servo.Servo: states in, efforts that may be sent out.
// Times are steady, s. All that it knows has a name for numbers(), such as servo.rate_limited.
class Servo : private Controller {
 public:
  static constexpr std::int64_t no_trip = -1;

  Servo(const std::string& block, const std::string& library, const Place& place = {})
      : Controller(block, library, place) {
    attach();
  }
  Servo(const void* block, std::size_t size, const std::string& library)
      : Controller(block, size, library) {
    attach();
  }

  using Controller::apply;
  using Controller::fits;
  using Controller::header;
  using Controller::numbers;

  // Begin, at the steady time `now`: the state is unknown, and there is no trip. Goals stay.
  void restart(double now) noexcept { step(Work::restart, now, 0.0); }

  // Where the state that has come is written, before cycle().
  double* q() noexcept { return q_; }
  double* v() noexcept { return v_; }

  // Do a cycle for a state that has come, with a time stamp in ns, 0 for none. If it cannot be
  // read `fault` is the number of a trip; if something else is wrong with the robot, `wrong`.
  Result cycle(std::int64_t stamp, double now, std::int64_t fault = no_trip,
               std::int64_t wrong = no_trip) noexcept {
    Work work = Work::take;
    std::int64_t trip = fault;
    if (wrong != no_trip) {
      work = Work::decide;
      trip = accept(stamp, now, fault);
      if (trip == no_trip) trip = wrong;
    }
    *stamp_ = stamp;
    const auto done = static_cast<Result>(step(work, now, static_cast<double>(trip)));
    if (done != Result::control && done != Result::resume) return done;
    assign(Controller::q(), last_q_, header().nq);
    assign(Controller::v(), last_v_, header().nv);
    Controller::cycle(*dt_);
    assign(tau_, Controller::tau(), header().nv);
    const auto sent = static_cast<Result>(step(Work::send, now, static_cast<double>(no_trip)));
    return sent == Result::braked ? sent : done;
  }

  // Accept a state, without a cycle; return the number of a trip, or no_trip.
  std::int64_t accept(std::int64_t stamp, double now, std::int64_t fault = no_trip) noexcept {
    *stamp_ = stamp;
    return step(Work::accept, now, static_cast<double>(fault));
  }

  // Hold a robot of known state about its position at the first of these calls.
  Result gravity_hold(double now) noexcept {
    return static_cast<Result>(step(Work::gravity_hold, now, 0.0));
  }

  // Damp a robot by its last known state, with this part of the damping.
  Result damp(double now, double part) noexcept {
    return static_cast<Result>(step(Work::damp, now, part));
  }

  // Look at the age of the state; to be called often. In a paused simulation it may be old.
  Result watch(double now, bool paused = false) noexcept {
    return static_cast<Result>(step(Work::watch, now, paused ? 1.0 : 0.0));
  }

  // Make the pose of the next cycle every goal, and acknowledge a trip.
  void hold() noexcept { step(Work::hold, 0.0, 0.0); }

  // The efforts to be sent, in the order of the model, N m or N.
  const double* efforts() const noexcept { return tau_; }
  // The number of the active trip, or no_trip; trip.<name> is a number with the name of each.
  std::int64_t trip() const noexcept { return *trip_; }
  // The number of the trip of the last call's fault, or no_trip, and whether to report it: once.
  std::int64_t fault() const noexcept { return *fault_; }
  bool news() const noexcept { return *news_; }
  // The degree of freedom that a fault is about, -1 for none.
  std::int64_t dof() const noexcept { return *dof_; }

  // Return the name of a trip, by its number; not within the loop.
  std::string trip_name(std::int64_t trip) const {
    for (std::int64_t k = 0; k < header().field_count; ++k) {
      const Field& field = at<Field>(header().fields)[k];
      if (std::strncmp(field.name, "trip.", 5) == 0 && *at<std::int64_t>(field.offset) == trip) {
        return field.name + 5;
      }
    }
    return "";
  }

 private:
  // Of opspace_control/safety/servo_data.py.
  enum class Work : int {
    take, accept, decide, send, brake, gravity_hold, damp, watch, hold, restart
  };

  void attach() {
    if (header().servo[0] == 0) {
      refuse(path_, "has no servo. Save it with one: controller.save(path, servo).");
    }
    servo_ = find(header().servo);
    q_ = numbers<double>("state.q", header().nq);
    v_ = numbers<double>("state.v", header().nv);
    last_q_ = numbers<double>("state.last_q", header().nq);
    last_v_ = numbers<double>("state.last_v", header().nv);
    tau_ = numbers<double>("servo.tau", header().nv);
    stamp_ = numbers<std::int64_t>("state.stamp");
    dt_ = numbers<double>("servo.dt");
    trip_ = numbers<std::int64_t>("supervisor.trip");
    fault_ = numbers<std::int64_t>("servo.fault");
    news_ = numbers<bool>("servo.news");
    dof_ = numbers<std::int64_t>("servo.dof");
  }

  static void assign(double* to, const double* from, std::int64_t count) noexcept {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(double));
  }

  std::int64_t step(Work work, double now, double number) noexcept {
    *at<double>(header().work) = static_cast<double>(work);
    *at<double>(header().now) = now;
    *at<double>(header().number) = number;
    return servo_(at<std::int64_t>(header().servo_table));
  }

  Function servo_ = nullptr;
  double *q_ = nullptr, *v_ = nullptr, *last_q_ = nullptr, *last_v_ = nullptr, *tau_ = nullptr;
  double* dt_ = nullptr;
  std::int64_t *stamp_ = nullptr, *trip_ = nullptr, *fault_ = nullptr, *dof_ = nullptr;
  bool* news_ = nullptr;
};

}  // namespace opspace

#endif  // OPSPACE_H_
