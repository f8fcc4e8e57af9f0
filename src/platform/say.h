// What the library says for itself, on standard error: without malloc and stdio, since the program
// may be anywhere.
#pragma once

#include <cstring>

#include "platform/syscall.h"
#include "platform/write.h"

namespace lockswap {

inline void say(const char* line) noexcept { write_bytes(2, line, std::strlen(line)); }

// Says why, and ends the program before it has begun.
[[noreturn]] inline void refuse(const char* why) noexcept {
  say(why);
  say("\n");
  for (;;)
    raw_syscall(SYS_exit_group, 2);
}

}  // namespace lockswap
