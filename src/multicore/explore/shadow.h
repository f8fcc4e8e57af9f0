// Plain memory words that locks copy (Platform's copy), under the race detector.
#pragma once

#include <cstdint>
#include <map>

#include "multicore/explore/machine.h"
#include "multicore/explore/plain.h"

namespace lockswap::explore {

class Shadow {
 public:
  static void read(const void* word, Site s = Site::current()) {
    machine.touch(word, "read", s);
    at(word).read(nullptr);
  }
  static void write(const void* word, Site s = Site::current()) {
    machine.touch(word, "write", s);
    at(word).write(nullptr);
  }
  // The old contents are over: the memory belongs to another object now.
  static void forget(const void* begin, std::size_t bytes) {
    const auto from = reinterpret_cast<std::uintptr_t>(begin);
    auto& all = words();
    all.erase(all.lower_bound(from), all.lower_bound(from + bytes));
  }

 private:
  static std::map<std::uintptr_t, Plain>& words() {
    static std::map<std::uintptr_t, Plain> all;
    static std::uint32_t run = 0;
    if (run != machine.run_number()) all.clear();
    run = machine.run_number();
    return all;
  }
  static Plain& at(const void* word) { return words()[reinterpret_cast<std::uintptr_t>(word)]; }
};

}  // namespace lockswap::explore
