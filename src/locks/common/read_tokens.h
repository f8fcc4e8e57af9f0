// Read holds of a core, whether or not they have tokens of their own.
//
// The holds of a small core are all alike. Those of a core with kHasTokens are in one of several
// places, and the token says in which: read_arrive and read_wait give it, read_unlock takes it.
// Such a core has besides
//   read_unlock(token)     false: the hold is there no more; another thread, which released a hold
//                          without a token, has taken it for that one
//   read_unlock_any()      releases any hold, wherever it is; false: there is none
// and perhaps
//   fast_read_unlock(token)  read_unlock as a hot path, which may leave the rest to that
#pragma once

#include <cstdint>

#include "platform/clock.h"

namespace lockswap {

// In an attempt of such a core: it did not get the lock. Below are tokens; 0 stands for a hold of
// which nobody knows where it is, so that only read_unlock_any can end it.
inline constexpr std::uint32_t kMustWait = 1u << 28;

template <class Core>
struct ReadTokens {
  static constexpr bool kHasTokens = requires { Core::kHasTokens; };

  static constexpr bool is_in(std::uint32_t attempt) noexcept {
    return kHasTokens ? attempt < kMustWait : attempt == 0;
  }
  // After it, the attempt is one that is in.
  static bool wait(Core& core, std::uint32_t& attempt, const Deadline* deadline) noexcept {
    const bool in = core.read_wait(attempt, deadline);
    if constexpr (!kHasTokens) attempt = in ? 0 : attempt;
    return in;
  }
  static bool try_lock(Core& core, std::uint32_t& token) noexcept {
    if constexpr (kHasTokens) {
      return core.try_read_lock(token);
    } else {
      token = 0;
      return core.try_read_lock();
    }
  }
  static bool unlock(Core& core, std::uint32_t token) noexcept {
    if constexpr (kHasTokens) {
      return core.read_unlock(token);
    } else {
      core.read_unlock();
      return true;
    }
  }
  // False: go on with unlock.
  [[gnu::always_inline]] static bool unlock_fast(Core& core, std::uint32_t token) noexcept {
    if constexpr (requires { core.fast_read_unlock(token); }) {
      return core.fast_read_unlock(token);
    } else {
      return unlock(core, token);
    }
  }
  static bool unlock_any(Core& core) noexcept {
    if constexpr (kHasTokens) {
      return core.read_unlock_any();
    } else {
      if (!core.has_readers()) return false;
      core.read_unlock();
      return true;
    }
  }
};

}  // namespace lockswap
