// Plain data that a lock protects, with a race detector: two accesses, of which one is a write,
// must be ordered by happens-before according to the declared memory orders. That is stronger than
// mutual exclusion: critical sections that overlap are a race, and so are ones that only follow
// each other in time.
#pragma once

#include <array>
#include <cstdint>

#include "multicore/explore/machine.h"

namespace lockswap::explore {

class Plain {
 public:
  void reset() { *this = Plain{}; }

  // what: for the trace; nullptr if it needs no line
  void read(const char* what = "the data") {
    for (int t = 0; t < kMaxThreads; ++t)
      check(t, written_[t], "reads what", "writes");
    read_[machine.current()] = now();
    if (what != nullptr) machine.note("reads %s", what);
  }
  void write(const char* what = "the data") {
    for (int t = 0; t < kMaxThreads; ++t) {
      check(t, written_[t], "writes what", "writes");
      check(t, read_[t], "writes what", "reads");
    }
    written_[machine.current()] = now();
    if (what != nullptr) machine.note("writes %s", what);
  }

 private:
  std::uint8_t now() const { return machine.view().clock(machine.current()); }
  void check(int t, std::uint8_t when, const char* mine, const char* its) const {
    if (t == machine.current() || when <= machine.view().clock(t)) return;
    machine.fail("data race: T%d %s T%d %s, and no order between them", machine.current(), mine, t,
                 its);
  }

  std::array<std::uint8_t, kMaxThreads> written_{};
  std::array<std::uint8_t, kMaxThreads> read_{};
};

}  // namespace lockswap::explore
