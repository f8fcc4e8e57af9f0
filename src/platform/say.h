// The library's own messages on standard error. They use neither malloc nor stdio, since the
// program may be anywhere.
#pragma once

#include <cstring>

#include "platform/syscall.h"
#include "platform/write.h"

namespace lockswap {

inline void say(const char* line) noexcept { write_bytes(2, line, std::strlen(line)); }

// Says why, and ends the program before it has started.
[[noreturn]] inline void refuse(const char* why) noexcept {
  say(why);
  say("\n");
  for (;;)
    raw_syscall(SYS_exit_group, 2);
}

}  // namespace lockswap
