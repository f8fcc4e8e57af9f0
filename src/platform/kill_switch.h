// The kill switch: whether locks that begin from now on are to be the system's.
//
// `lockswap off PID` turns it, by a write into the memory of the process. The kernel allows that to
// whoever may trace the process, so there is no signal, no thread, no file and no socket for it.
// It is read where a lock begins, which happens once for each lock: in its init, or in the first
// call on it. Calls on locks that have begun don't read it.
#pragma once

#include <cstdint>

#include "platform/atomic.h"

namespace lockswap {

struct KillSwitch {
  // Seconds since 1970 at which it was turned; 0: it was not.
  static inline constinit NativeAtomic<std::uint32_t> since{0};

  // relaxed: a thread that sees it late begins one more lock of ours, and others agree with that by
  // the lock's own word.
  static bool is_off() noexcept { return since.load(relaxed) != 0; }
};

}  // namespace lockswap
