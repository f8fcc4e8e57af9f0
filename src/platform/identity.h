// A number that identifies the calling thread and takes no call.
#pragma once

#include <cstdint>

namespace lockswap {

// Returns the address of the thread control block, which differs between live threads, stays the
// same over a thread's life, and costs nothing to read.
inline std::uintptr_t thread_identity() noexcept {
#if defined(__x86_64__)
  std::uintptr_t self;
  asm("movq %%fs:0, %0" : "=r"(self));
  return self;
#else
  return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
#endif
}

}  // namespace lockswap
