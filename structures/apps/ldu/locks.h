// Locks of pthread, which lockswap may swap, that can note how long threads waited for them, by the
// class of what they protect.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <pthread.h>

#include "common/clock.h"

namespace bench {

enum class LockClass : std::uint8_t { file, anonymous, spool };
inline constexpr const char* kLockClasses[] = {"file", "anonymous", "spool"};
inline constexpr std::size_t kClassesOfLocks = std::size(kLockClasses);
template <class T>
using ByLockClass = std::array<T, kClassesOfLocks>;

// A thread's; set for a phase that looks at it.
struct LockWaits {
  ByLockClass<std::uint64_t> ticks{};
  static LockWaits*& here() {
    thread_local LockWaits* waits = nullptr;
    return waits;
  }
};

// Calls take(), unless try_take() did; with the time that it takes.
template <LockClass kClass, class Try, class Take>
void take_timed(Try try_take, Take take) {
  LockWaits* const waits = LockWaits::here();
  if (waits == nullptr) return take();
  if (try_take()) return;
  const std::uint64_t before = ticks();
  take();
  const std::uint64_t after = ticks();
  waits->ticks[static_cast<std::size_t>(kClass)] += after > before ? after - before : 0;
}

template <LockClass kClass>
class RwLock {
 public:
  RwLock() = default;
  RwLock(const RwLock&) = delete;
  RwLock& operator=(const RwLock&) = delete;
  ~RwLock() { pthread_rwlock_destroy(&lock_); }
  void lock() {
    take_timed<kClass>([this] { return try_lock(); }, [this] { pthread_rwlock_wrlock(&lock_); });
  }
  bool try_lock() { return pthread_rwlock_trywrlock(&lock_) == 0; }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() {
    take_timed<kClass>([this] { return pthread_rwlock_tryrdlock(&lock_) == 0; },
                       [this] { pthread_rwlock_rdlock(&lock_); });
  }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

template <LockClass kClass>
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  ~Mutex() { pthread_mutex_destroy(&lock_); }
  void lock() {
    take_timed<kClass>([this] { return try_lock(); }, [this] { pthread_mutex_lock(&lock_); });
  }
  bool try_lock() { return pthread_mutex_trylock(&lock_) == 0; }
  void unlock() { pthread_mutex_unlock(&lock_); }

 private:
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace bench
