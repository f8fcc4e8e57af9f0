#include "registry/cond_ops.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "platform/cancel.h"
#include "platform/clock.h"
#include "platform/native.h"
#include "platform/step_aside.h"
#include "posix/condvar.h"
#include "registry/probes.h"
#include "wait/park.h"

namespace lockswap {
namespace {

using Cond = Condvar<Native, Park<Native>>;

constinit MutexOps mutex_functions{};
constinit MutexOfConds mutex_of_conds{};

// glibc's: bit 0, process-shared; bit 1, the clock.
constexpr unsigned kShared = 1;
constexpr unsigned kMonotonic = 2;

// The mutex of a wait. While a thread waits with it the mutex counts it, so that to destroy it
// gives EBUSY: glibc's as well as ours, robust ones aside, where glibc does not look either.
class WaitersMutex {
 public:
  explicit WaitersMutex(pthread_mutex_t* m) noexcept
      : m_(m), ours_(mutex_of_conds.is_ours(m)), process_(Native::process()) {}

  bool is_ours() const noexcept { return ours_; }
  // For Condvar::wait. A thread that waits with one that hands priorities on may not wait for other
  // waiters.
  std::uint64_t key() const noexcept {
    const bool hands_on = (m_->__data.__kind & (kInherits | kProtects)) != 0;
    return hands_on ? Cond::kNoRelay : reinterpret_cast<std::uintptr_t>(m_);
  }
  int unlock() noexcept {
    count(true);  // before: afterwards nothing keeps another thread from destroying it
    probes::mutex_release(m_);
    const int error = mutex_functions.unlock(m_);
    if (error != 0) count(false);
    return error;
  }
  int lock() noexcept {
    probes::mutex_entry(m_);
    const int error = mutex_functions.lock(m_);
    if (error == 0) count(false);
    return error;
  }

 private:
  // glibc's, of kinds.
  static constexpr int kRobust = 16, kInherits = 32, kProtects = 64;

  void count(bool begins) const noexcept {
    if (ours_) {
      // A child's repair has forgotten the waiters of the parent.
      if (Native::process() == process_) mutex_of_conds.count_waiter(m_, begins);
    } else if (m_->__data.__owner == static_cast<int>(Native::tid()) &&
               (m_->__data.__kind & kRobust) == 0) {
      // Its own wait would leave the thread among the mutex's users.
      begins ? ++m_->__data.__nusers : --m_->__data.__nusers;
    }
  }

  pthread_mutex_t* m_;
  bool ours_;
  std::uint64_t process_;
};

Cond& state(pthread_cond_t* c) noexcept { return *reinterpret_cast<Cond*>(c); }

// The two layouts.
struct New {
  static_assert(sizeof(Cond) <= offsetof(pthread_cond_t, __data.__wrefs));
  static unsigned flags(const pthread_cond_t* c) noexcept { return c->__data.__wrefs; }
  static const CondOps& system() noexcept { return system_cond; }
};
struct Old {
  static_assert(sizeof(Cond) <= 24);  // what such programs have room for
  static unsigned flags(const pthread_cond_t*) noexcept { return 0; }
  static const CondOps& system() noexcept { return system_old_cond; }
};

template <class Layout>
struct Ops {
  static bool is_glibcs(const pthread_cond_t* c) noexcept {
    return (Layout::flags(c) & kShared) != 0;
  }

  static int init(pthread_cond_t* c, const pthread_condattr_t* attributes) noexcept {
    if constexpr (std::is_same_v<Layout, New>) {
      return system_cond.init(c, attributes);  // zeroes, then sets the flags
    } else {
      new (c) Cond{};
      return 0;  // as glibc's: there were no attributes
    }
  }
  static int destroy(pthread_cond_t* c) noexcept {
    if (is_glibcs(c)) return Layout::system().destroy(c);
    state(c).destroy();
    return 0;
  }

  static int wait_until(pthread_cond_t* c, pthread_mutex_t* m, const Deadline* deadline) noexcept {
    if (deadline != nullptr && !is_valid_time(deadline->at)) return EINVAL;
    if (is_glibcs(c)) return wait_for_glibcs(c, m, deadline);
    const DeferredCancellation deferred;
    CancellableSleep sleep;
    WaitersMutex mutex(m);
    const auto unlock = [&mutex] { return mutex.unlock(); };
    const auto lock = [&mutex] { return mutex.lock(); };
    const Cond::Outcome o = state(c).wait(mutex.key(), sleep, deadline, unlock, lock);
    if (o.cancelled) sleep.go_on();
    return o.error;
  }
  static int wait(pthread_cond_t* c, pthread_mutex_t* m) noexcept {
    return wait_until(c, m, nullptr);
  }
  static int timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* at) noexcept {
    const bool monotonic = (Layout::flags(c) & kMonotonic) != 0;
    return clockwait(c, m, monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, at);
  }
  static int clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                       const timespec* at) noexcept {
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    const Deadline deadline{clock, *at};
    return wait_until(c, m, &deadline);
  }
  static int signal(pthread_cond_t* c) noexcept {
    if (is_glibcs(c)) return Layout::system().signal(c);
    state(c).signal();
    return 0;
  }
  static int broadcast(pthread_cond_t* c) noexcept {
    if (is_glibcs(c)) return Layout::system().broadcast(c);
    state(c).broadcast();
    return 0;
  }

  // A process-shared condition variable. With a mutex of ours glibc cannot wait: it would release
  // the mutex by its own code. POSIX lets a wait end for no reason, so this one ends soon.
  static int wait_for_glibcs(pthread_cond_t* c, pthread_mutex_t* m,
                             const Deadline* deadline) noexcept {
    const CondOps& system = Layout::system();
    WaitersMutex mutex(m);
    if (!mutex.is_ours()) {
      return deadline == nullptr ? system.wait(c, m)
                                 : system.clockwait(c, m, deadline->clock, &deadline->at);
    }
    constexpr long kSoon = 1'000'000;  // ns
    if (const int error = mutex.unlock(); error != 0) return error;
    nap(kSoon);
    const int error = mutex.lock();
    if (error != 0) return error;
    pthread_testcancel();
    return deadline != nullptr && has_passed(*deadline) ? ETIMEDOUT : 0;
  }

  static constexpr CondOps table{init, destroy, wait, timedwait, clockwait, signal, broadcast};
};

}  // namespace

bool prepare_conds(const MutexOps& mutexes, const MutexOfConds& of_conds) noexcept {
  mutex_functions = mutexes;
  mutex_of_conds = of_conds;
  return Cond::prepare();
}

constinit const CondOps cond_ops = Ops<New>::table;
constinit const CondOps old_cond_ops = Ops<Old>::table;

}  // namespace lockswap
