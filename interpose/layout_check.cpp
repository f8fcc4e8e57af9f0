#include "interpose/layout_check.h"

#include <cstddef>
#include <cstring>

#include "platform/system_rwlock.h"

namespace lockswap {

// A trial run of every function on a lock whose bytes 32..47 are filled with a pattern. Uncontended
// only; the contended paths change the same fields, by glibc's source.
bool glibc_leaves_our_bytes_alone() noexcept {
  constexpr std::size_t kFrom = 32;
  constexpr std::size_t kBytes = 16;
  pthread_rwlock_t lock;
  const RwOps& real = system_rwlock;
  if (real.init(&lock, nullptr) != 0) return false;
  unsigned char pattern[kBytes];
  for (std::size_t i = 0; i < kBytes; ++i)
    pattern[i] = static_cast<unsigned char>(0xA5 + i);
  auto* bytes = reinterpret_cast<unsigned char*>(&lock) + kFrom;
  std::memcpy(bytes, pattern, kBytes);

  const timespec past{0, 0};
  const bool worked =
      real.rdlock(&lock) == 0 && real.tryrdlock(&lock) == 0 && real.trywrlock(&lock) != 0 &&
      real.clockwrlock(&lock, CLOCK_MONOTONIC, &past) != 0 && real.unlock(&lock) == 0 &&
      real.unlock(&lock) == 0 && real.wrlock(&lock) == 0 && real.tryrdlock(&lock) != 0 &&
      real.unlock(&lock) == 0 && real.trywrlock(&lock) == 0 && real.unlock(&lock) == 0 &&
      real.timedrdlock(&lock, &past) == 0 && real.unlock(&lock) == 0;
  return worked && std::memcmp(bytes, pattern, kBytes) == 0 && real.destroy(&lock) == 0;
}

}  // namespace lockswap
