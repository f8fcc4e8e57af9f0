// With which mutex threads wait for each condition variable. POSIX has it that all that wait for
// one at the same time do so with one mutex.
#pragma once

#include <cstddef>
#include <cstdint>

#include "audit/guard.h"
#include "audit/me.h"

namespace lockswap::audit {

class Conds {
 public:
  // The thread is about to wait. in_there: how many threads are in a wait, by glibc's own count,
  // among them such as were woken up and did not run yet.
  void waits(const Me& m, std::uint64_t cond, std::uint64_t mutex, std::uint64_t site,
             std::uint32_t in_there) noexcept;
  // A signal or broadcast is about to be sent.
  void wakes(std::uint64_t cond, bool all) noexcept;
  // It begins or ends.
  void forget(std::uint64_t cond) noexcept;

 private:
  struct Use {
    std::uint64_t address{};  // 0 = empty
    std::uint64_t mutex{};    // of the last wait
    std::uint64_t site{};
    std::uint32_t stack{};
    std::uint32_t tid{};
    std::uint32_t waiting{};  // at most: waiters that a deadline ended are still in it
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
