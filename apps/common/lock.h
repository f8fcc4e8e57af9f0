// A lock as workers take it that are compiled for any: those of pairs and rwbench, and of peers/.
#pragma once

#include <atomic>
#include <concepts>
#include <memory>
#include <pthread.h>

#include "common/report.h"

namespace bench {

// `Seat` is what a lock needs of a thread that takes it, such as a queue node. Each thread has one
// for each lock, which stays where it is.
template <class Lock>
concept Lockable = std::default_initializable<Lock> &&
    std::constructible_from<typename Lock::Seat, Lock&> &&
    requires(Lock& lock, typename Lock::Seat& seat) {
  lock.lock(seat);
  lock.unlock(seat);
};

template <class Lock>
concept SharedLockable = Lockable<Lock> && requires(Lock& lock, typename Lock::Seat& seat) {
  lock.lock_shared(seat);
  lock.unlock_shared(seat);
};

// With more threads than processors, one acquisition of a lock that never sleeps can take many time
// slices. So its workers look at each turn whether they shall stop.
template <class Lock>
inline constexpr bool kOnlySpins = requires {
  requires Lock::kOnlySpins;
};

template <class Lock>
bool ends_early(const std::atomic<bool>& stop) noexcept {
  if constexpr (kOnlySpins<Lock>) return stop.load(std::memory_order_relaxed);
  return false;
}

// For the locks that need nothing.
struct NoSeat {
  template <class Lock>
  explicit NoSeat(Lock&) noexcept {}
};

// A worker's seat, on cache lines of its own. The worker may be moved.
template <class Lock>
class Seated {
 public:
  explicit Seated(Lock& lock) : seat_(std::make_unique<Padded>(lock)) {}
  typename Lock::Seat& operator*() const noexcept { return seat_->seat; }

 private:
  struct alignas(128) Padded {
    explicit Padded(Lock& lock) : seat(lock) {}
    typename Lock::Seat seat;
  };
  std::unique_ptr<Padded> seat_;
};

struct PthreadRwlock {
  using Seat = NoSeat;
  pthread_rwlock_t own = PTHREAD_RWLOCK_INITIALIZER;

  void lock(Seat&) { must(pthread_rwlock_wrlock(&own), "pthread_rwlock_wrlock"); }
  void unlock(Seat&) { must(pthread_rwlock_unlock(&own), "pthread_rwlock_unlock"); }
  void lock_shared(Seat&) { must(pthread_rwlock_rdlock(&own), "pthread_rwlock_rdlock"); }
  void unlock_shared(Seat& seat) { unlock(seat); }
};

struct PthreadMutex {
  using Seat = NoSeat;
  pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

  void lock(Seat&) { must(pthread_mutex_lock(&own), "pthread_mutex_lock"); }
  void unlock(Seat&) { must(pthread_mutex_unlock(&own), "pthread_mutex_unlock"); }
};

}  // namespace bench
