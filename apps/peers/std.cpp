// The locks of C++, which libstdc++ builds on those of pthread: what the preload swaps.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "works.h"

namespace peers {
namespace {

static_assert(HasTimeouts<std::timed_mutex, std::chrono::seconds>);
static_assert(HasTimeouts<std::shared_timed_mutex, std::chrono::seconds>);

// As glibc has them, and lockswap's `auto` as well.
constexpr Promises kOfPthread{.sleeps = true, .timed = true, .recursive = true, .any_thread = true};

struct SharedMutex {
  static constexpr const char* kName = "std";
  static constexpr const char* kType = "std::shared_mutex";
  static constexpr Promises kPromises = kOfPthread;
  using Seat = bench::NoSeat;
  std::shared_mutex own;

  void lock(Seat&) { own.lock(); }
  void unlock(Seat&) { own.unlock(); }
  void lock_shared(Seat&) { own.lock_shared(); }
  void unlock_shared(Seat&) { own.unlock_shared(); }
};

struct Mutex {
  static constexpr const char* kName = "std";
  static constexpr const char* kType = "std::mutex";
  static constexpr Promises kPromises = kOfPthread;
  using Seat = bench::NoSeat;
  std::mutex own;

  void lock(Seat&) { own.lock(); }
  void unlock(Seat&) { own.unlock(); }

  struct Condition {
    std::condition_variable own;

    void wait(Mutex& mutex, Seat&) {
      std::unique_lock held(mutex.own, std::adopt_lock);
      own.wait(held);
      held.release();
    }
    void signal() { own.notify_one(); }
    void broadcast() { own.notify_all(); }
  };
};

const Registered<SharedMutex, Mutex> registered;

}  // namespace
}  // namespace peers
