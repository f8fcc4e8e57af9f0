// Histories of a set of keys, and whether there is an order of their operations that explains them.
//
// Operations on different keys commute, so each key is looked at by itself (M. Herlihy, J. Wing,
// "Linearizability", TOPLAS 1990, locality): a key is in the set or not.
// Idea: J. Wing, C. Gong, "Testing and Verifying Concurrent Objects", JPDC 1993: try every
// operation that began before the end of every other one that is left.
// Cost: at worst exponential in the operations of a key; at most 32 of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace bench {

enum class SetCall : std::uint8_t { contains, insert, remove };

struct SetOperation {
  SetCall call;
  bool result;
  std::uint64_t began;  // by a clock of all threads, each time once
  std::uint64_t ended;
};

class KeyHistory {
 public:
  explicit KeyHistory(std::vector<SetOperation> all) : all_(std::move(all)) {}

  // Whether an order explains it, if the key is there at first or not.
  bool is_linearizable(bool there) {
    dead_ends_.clear();
    return explains(0, there);
  }

 private:
  bool explains(std::uint32_t done, bool there) {
    if (done == (std::uint64_t{1} << all_.size()) - 1) return true;
    if (!dead_ends_.insert({done, there}).second) return false;
    std::uint64_t first_end = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if ((done >> i & 1) == 0) first_end = std::min(first_end, all_[i].ended);
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const SetOperation& o = all_[i];
      if ((done >> i & 1) != 0 || o.began > first_end) continue;
      const bool must = o.call == SetCall::insert ? !there : there;
      if (o.result != must) continue;
      const bool then = o.call == SetCall::contains ? there : o.call == SetCall::insert;
      if (explains(done | std::uint32_t{1} << i, then)) return true;
    }
    return false;
  }

  std::vector<SetOperation> all_;
  std::set<std::pair<std::uint32_t, bool>> dead_ends_;
};

}  // namespace bench
