// The states that a search has explored, so that it need not explore them again.
//
// Two executions in the same state have the same futures, except for what is left of their bounds,
// and more of a bound allows everything that less of it allows. So an execution ends in a state
// that was met before with no less left of any bound. This is happens-before caching (Musuvathi,
// Qadeer, "Partial-Order Reduction for Context-Bounded State Exploration", Microsoft Research
// MSR-TR-2007-12). Sleep sets and persistent sets would be unsound here: they leave out executions
// because of equivalent ones, which may exceed a bound.
//
// A state is identified by a hash of 64 bits (Machine::fingerprint). At most four million are
// stored, so the probability that any two of them have the same hash is below one in a million.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace lockswap::explore {

class SeenStates {
 public:
  // What is left of each bound, one byte each.
  using Left = std::array<std::uint8_t, 8>;

  void clear();
  // Returns whether the state was met before with no less left. Otherwise stores it.
  bool has(std::uint64_t fingerprint, const Left& left);

 private:
  struct Entry {
    std::uint64_t fingerprint;  // 0: free
    Left left;
  };
  static constexpr std::size_t kFirst = std::size_t{1} << 12;
  static constexpr std::size_t kMost = std::size_t{1} << 23;  // 128 MiB

  static bool covers(const Left& more, const Left& less);
  void put(const Entry& entry);
  void grow();

  std::vector<Entry> entries_ = std::vector<Entry>(kFirst);
  std::size_t used_ = 0;
};

}  // namespace lockswap::explore
