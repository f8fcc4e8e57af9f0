// Abseil's mutex, which readers can share.
#include <absl/synchronization/mutex.h>

#include "works.h"

namespace peers {
namespace {

struct Mutex {
  static constexpr const char* kName = "absl";
  static constexpr const char* kType = "absl::Mutex";
  // A wait for a condition has a deadline, but the mutex is acquired afterwards in any case.
  static constexpr Promises kPromises{.sleeps = true};
  static constexpr bool kIsMutex = true;
  using Seat = bench::NoSeat;
  absl::Mutex own;

  // Debian compiles Abseil with its assertions, so that it looks for deadlocks at each acquisition
  // unless it is told not to. Programs that are built for speed don't.
  Mutex() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

  void lock(Seat&) { own.Lock(); }
  void unlock(Seat&) { own.Unlock(); }
  void lock_shared(Seat&) { own.ReaderLock(); }
  void unlock_shared(Seat&) { own.ReaderUnlock(); }

  struct Condition {
    absl::CondVar own;

    void wait(Mutex& mutex, Seat&) { own.Wait(&mutex.own); }
    void signal() { own.Signal(); }
    void broadcast() { own.SignalAll(); }
  };
};

const Registered<Mutex> registered;

}  // namespace
}  // namespace peers
