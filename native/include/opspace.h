// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// Runs a controller of opspace_control that `controller.save(path)` or `opspace export` has written.
//
// Two files make a controller: a block, with all its numbers, and the library of kernels, with its
// machine code. Both are read by the constructor; after that nothing allocates, locks or throws.
// C++17, and for the library -ldl where the C library needs it.

#ifndef OPSPACE_H_
#define OPSPACE_H_

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
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
  char function[40];
  std::int64_t size, table, entries, spans, span_count, fields, field_count, arrays;
  std::int64_t dt, q, v, tau, nq, nv;
};
static_assert(sizeof(Header) == 184, "The header of a block has no gaps.");

// An array of the block, and where the table of arguments has its address.
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

// A controller: q and v in, cycle(dt), tau out, all in SI units and in the order of the model.
class Controller {
 public:
  // Read the files; a std::runtime_error says what is wrong with one, and the cure.
  Controller(const std::string& block, const std::string& library) {
    read(block);
    load(block, library);
    for (std::int64_t k = 0; k < header().span_count; ++k) {
      const Span& span = at<Span>(header().spans)[k];
      at<std::int64_t>(header().table)[span.place] =
          static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(at<char>(span.offset)));
    }
  }

  const Header& header() const noexcept { return *at<Header>(0); }
  double* q() noexcept { return at<double>(header().q); }
  double* v() noexcept { return at<double>(header().v); }
  const double* tau() const noexcept { return at<double>(header().tau); }

  // Compute tau from q and v; dt is the time since the last cycle, s.
  void cycle(double dt) noexcept {
    *at<double>(header().dt) = dt;
    function_(at<std::int64_t>(header().table));
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

  // Change numbers between two cycles; false, changing nothing, for what is not in the arrays.
  bool apply(const Transaction& change, const void* bytes) noexcept {
    const Header& h = header();
    if (change.offset < h.arrays || change.offset > h.size || change.size < 0 ||
        change.size > h.size - change.offset) {
      return false;
    }
    std::memcpy(at<char>(change.offset), bytes, static_cast<std::size_t>(change.size));
    return true;
  }

 private:
  struct Free {
    void operator()(char* block) const noexcept { std::free(block); }
  };
  struct Close {
    void operator()(void* library) const noexcept { dlclose(library); }
  };

  template <typename Type>
  Type* at(std::int64_t offset) const noexcept {
    return reinterpret_cast<Type*>(block_.get() + offset);
  }

  [[noreturn]] static void refuse(const std::string& path, const std::string& why) {
    throw std::runtime_error(path + " " + why);
  }

  void read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) refuse(path, "cannot be read.");
    file.seekg(0, std::ios::end);
    const std::int64_t size = file.tellg();
    file.seekg(0);
    const std::size_t room = (static_cast<std::size_t>(size) / 64 + 1) * 64;
    block_.reset(static_cast<char*>(std::aligned_alloc(64, room)));
    if (!block_) refuse(path, "does not fit into the memory.");
    file.read(block_.get(), size);
    if (size < static_cast<std::int64_t>(sizeof(Header)) ||
        std::memcmp(header().magic, "OPSPACE1", 8) != 0) {
      refuse(path, "is no controller for this header. Save the controller again, with the package "
                   "that the header is from.");
    }
    check(path, size);
  }

  // Refuse a block that would have a cycle touch other memory.
  void check(const std::string& path, std::int64_t size) const {
    const Header& h = header();
    const auto inside = [&h](std::int64_t offset, std::int64_t count, std::int64_t each) {
      return offset >= static_cast<std::int64_t>(sizeof(Header)) && offset <= h.size &&
             count >= 0 && count <= (h.size - offset) / each;
    };
    bool good = h.size == size && inside(h.table, h.entries, 8) &&
                inside(h.spans, h.span_count, sizeof(Span)) &&
                inside(h.fields, h.field_count, sizeof(Field)) && inside(h.dt, 1, 8) &&
                inside(h.q, h.nq, 8) && inside(h.v, h.nv, 8) && inside(h.tau, h.nv, 8);
    for (std::int64_t k = 0; good && k < h.span_count; ++k) {
      const Span& span = at<Span>(h.spans)[k];
      good = span.place >= 0 && span.place < h.entries && inside(span.offset, span.size, 1);
    }
    for (std::int64_t k = 0; good && k < h.field_count; ++k) {
      const Field& field = at<Field>(h.fields)[k];
      good = inside(field.offset, field.count, 8) ||
             (std::strcmp(field.type, "|b1") == 0 && inside(field.offset, field.count, 1));
    }
    if (!good) refuse(path, "is damaged. Save the controller again.");
  }

  void load(const std::string& block, const std::string& path) {
    library_.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!library_) refuse(path, std::string("cannot be loaded: ") + dlerror());
    const auto* sources = static_cast<const char*>(dlsym(library_.get(), "opspace_sources"));
    const auto* features = static_cast<const char*>(dlsym(library_.get(), "opspace_processor"));
    if (!sources || !features) refuse(path, "is no library of kernels for this header.");
    check_processor(path, features);
    void* const function = dlsym(library_.get(), header().function);
    if (std::strcmp(sources, header().sources) != 0 || !function) {
      refuse(block, std::string("was saved by a package with kernels ") + header().sources +
                        ", and " + path + " has kernels " + sources +
                        ", or others: layouts of memory may differ. Save the controller again, "
                        "with the package that the library is from.");
    }
    std::memcpy(&function_, &function, sizeof(function));
  }

  static void check_processor(const std::string& path, const std::string& features) {
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

  std::unique_ptr<char, Free> block_;
  std::unique_ptr<void, Close> library_;
  std::int64_t (*function_)(std::int64_t*) = nullptr;
};

}  // namespace opspace

#endif  // OPSPACE_H_
