// The kill switch: whether locks that are initialised from now on are to be the system's.
//
// `lockswap off PID` turns it, by writing to the memory of the process. The kernel allows that to
// whoever may trace the process, so it needs no signal, thread, file or socket.
// It is read when a lock is initialised, which happens once per lock: in its init, or in the first
// call on it. Calls on initialised locks don't read it.
#pragma once

#include <cstdint>

#include "platform/atomic.h"

namespace lockswap {

struct KillSwitch {
  // When it was turned, in seconds since 1970, or 0 if it was not.
  static inline constinit NativeAtomic<std::uint32_t> since{0};

  // relaxed: a thread that sees it late initialises one more lock as ours, and other threads learn
  // of that from the lock's own word.
  static bool is_off() noexcept { return since.load(relaxed) != 0; }
};

}  // namespace lockswap
