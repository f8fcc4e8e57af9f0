// Which mutex threads use to wait for each condition variable. POSIX requires that all threads that
// wait for one at the same time use the same mutex.
#pragma once

#include <cstddef>
#include <cstdint>

#include "audit/guard.h"
#include "audit/me.h"

namespace lockswap::audit {

class Conds {
 public:
  // Called before a wait. in_there: the number of threads in a wait by glibc's own count, which
  // includes threads that have been woken but have not run yet.
  void waits(const Me& m, std::uint64_t cond, std::uint64_t mutex, std::uint64_t site,
             std::uint32_t in_there) noexcept;
  // Called before a signal or broadcast.
  void wakes(std::uint64_t cond, bool all) noexcept;
  // Called when the condition variable begins or ends.
  void forget(std::uint64_t cond) noexcept;

 private:
  struct Use {
    std::uint64_t address{};  // 0 = empty
    std::uint64_t mutex{};    // of the last wait
    std::uint64_t site{};
    std::uint32_t stack{};
    std::uint32_t tid{};
    std::uint32_t waiting{};  // at most; includes waiters whose deadline has passed
    bool changes_said{};
  };
  static constexpr std::size_t kUses = 8, kSets = 512;
  struct Set {
    Guard guard;
    std::uint32_t oldest{};
    Use use[kUses]{};

    Use* find(std::uint64_t cond) noexcept;
  };

  Set& set_of(std::uint64_t cond) noexcept;

  Set sets_[kSets]{};
};

}  // namespace lockswap::audit
