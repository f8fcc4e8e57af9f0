// Proof that a lock kept others out: a count that is written twice.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "common/report.h"

namespace bench {

// Each write that was done was counted once, or two writers were in together.
inline void must_agree(std::uint64_t done, std::uint64_t left) {
  if (done != left) {
    wrong_result("writes got lost: " + std::to_string(done) + " were done, " +
                 std::to_string(left) + " are left");
  }
}

// What a benchmark's locks protect. Count: an unsigned integer, as wide as there is room.
template <class Count>
class Witness {
 public:
  // Under a lock that excludes all others. Between the two a reader that is let in sees that
  // something is wrong.
  void begin_write() noexcept { bump(begun_); }
  void end_write() noexcept { bump(ended_); }
  void write() noexcept {
    begin_write();
    end_write();
  }
  // Under a lock that excludes writers, at its begin or its end.
  void check() const {
    if (load(begun_) != load(ended_)) [[unlikely]]
      wrong_result("a reader was in together with a writer");
  }
  // When all is over.
  Count writes() const {
    check();
    return load(ended_);
  }
  void check_writes(std::uint64_t done) const { must_agree(static_cast<Count>(done), writes()); }

 private:
  // Atomic only so that a lock that fails is found by the counts and not by the compiler; plain
  // loads and stores on the machine.
  using Word = std::atomic<Count>;
  static Count load(const Word& c) noexcept { return c.load(std::memory_order_relaxed); }
  static void bump(Word& c) noexcept { c.store(load(c) + 1, std::memory_order_relaxed); }

  Word begun_{0};
  Word ended_{0};
};

// One that has a cache line to itself.
struct alignas(64) Slot : Witness<std::uint64_t> {};

// When all is over, of all of them.
template <class Slots>
void check_writes_in(const Slots& slots, std::uint64_t done) {
  std::uint64_t left = 0;
  for (const Slot& s : slots)
    left += s.writes();
  must_agree(done, left);
}

}  // namespace bench
