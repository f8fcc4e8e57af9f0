#include "interpose/layout_check.h"

#include <cstddef>

#include "platform/system_rwlock.h"

namespace lockswap {

// A trial run of every function on a lock whose bytes 32..47 are filled with a pattern.
// Uncontended only; the contended paths change the same fields, by glibc's source.
bool glibc_leaves_our_bytes_alone() noexcept {
  pthread_rwlock_t lock;
  const RwOps& real = system_rwlock;
  if (real.init(&lock, nullptr) != 0) return false;
  auto* bytes = reinterpret_cast<unsigned char*>(&lock);
  const auto is_ours = [](std::size_t i) { return i >= 32 && i < 48; };
  const auto pattern = [](std::size_t i) { return static_cast<unsigned char>(0xA5 + i); };
  for (std::size_t i = 0; i < sizeof lock; ++i) {
    if (is_ours(i)) bytes[i] = pattern(i);
  }

  const timespec past{0, 0};
  const bool worked =
      real.rdlock(&lock) == 0 && real.tryrdlock(&lock) == 0 && real.trywrlock(&lock) != 0 &&
      real.clockwrlock(&lock, CLOCK_MONOTONIC, &past) != 0 && real.unlock(&lock) == 0 &&
      real.unlock(&lock) == 0 && real.wrlock(&lock) == 0 && real.tryrdlock(&lock) != 0 &&
      real.unlock(&lock) == 0 && real.trywrlock(&lock) == 0 && real.unlock(&lock) == 0 &&
      real.timedrdlock(&lock, &past) == 0 && real.unlock(&lock) == 0;
  bool untouched = true;
  for (std::size_t i = 0; i < sizeof lock; ++i) {
    untouched = untouched && (!is_ours(i) || bytes[i] == pattern(i));
  }
  return worked && untouched && real.destroy(&lock) == 0;
}

}  // namespace lockswap
