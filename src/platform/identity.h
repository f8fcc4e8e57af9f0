// A number for the calling thread that takes no call.
#pragma once

#include <cstdint>

namespace lockswap {

// Different for any two threads that live at once, constant over a thread's life, free to read: the
// thread control block's address.
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
