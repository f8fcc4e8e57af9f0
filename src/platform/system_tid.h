// The kernel's id of the calling thread, without a call of the kernel, which a filter may refuse.
//
// glibc knows it, also right after a fork, and writes it into each mutex that looks at its owner.
// So a mutex of its own shows it to the thread, and what debuggers find in our locks is what they
// find in glibc's.
#pragma once

#include <cstdint>
#include <pthread.h>

#include "platform/identity.h"
#include "platform/object_layout.h"
#include "platform/syscall.h"
#include "platform/system_mutex.h"

namespace lockswap {

// No two threads that live at once have the same, and none has 0.
[[gnu::noinline]] inline std::uint32_t system_thread_id() noexcept {
  if (object_layout.mutex_shows_owner) {
    // This kind is never elided, which would leave the owner out.
    pthread_mutex_t mine = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    system_mutex.lock(&mine);
    const auto id = static_cast<std::uint32_t>(mine.__data.__owner);
    system_mutex.unlock(&mine);
    if (id != 0) return id;
  }
  // The functions are another library's, or nobody has looked at its mutexes (tests).
  if (const long id = raw_syscall(SYS_gettid); id > 0) return static_cast<std::uint32_t>(id);
  // At least one that no other thread has: the kernel's are below 2^22, and thread control blocks
  // are not as near to each other as 64 bytes, nor as far from each other as 128 GB.
  constexpr std::uint32_t kNotTheKernels = 1u << 31;
  return kNotTheKernels | static_cast<std::uint32_t>(thread_identity() >> 6);
}

}  // namespace lockswap
