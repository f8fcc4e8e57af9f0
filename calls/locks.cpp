#include "calls/locks.h"

#include <cerrno>

#include "calls/book.h"

namespace lockswap::calls {
namespace {

constinit MutexOps mutex{};
constinit RwOps rwlock{};
constinit CondOps cond{};
constinit CondOps old_cond{};

bool is_acquired(int error) noexcept { return error == 0 || error == EOWNERDEAD; }

// Returns the time at which a call begins.
std::uint64_t begin_call() noexcept {
  const std::uint64_t begin = Ticks::now();
  if (Entry::is_long_gap(begin)) [[unlikely]] {
    Entry entry(begin);
    if (entry.is()) entry.look_at_gap(begin);
  }
  return begin;
}
void end_call(What what, std::uint32_t object, std::uint64_t begin) noexcept {
  const std::uint64_t end = Ticks::now();
  Entry entry(begin);
  if (entry.is()) entry.note(what, object, begin, end);
}

struct Recorded {
  static int on(InitCall auto call, auto* object, auto* attributes) noexcept {
    forget(object);
    return call.next(object, attributes);
  }
  static int on(DestroyCall auto call, auto* object) noexcept {
    forget(object);
    return call.next(object);
  }
  template <LockCall C>
  static int on(C call, auto* lock, auto... args) noexcept {
    if (!is_on()) return call.next(lock, args...);
    const std::uint64_t begin = begin_call();
    const int error = call.next(lock, args...);
    if (is_acquired(error)) {
      end_call(what_of<C>(lock), number_of(lock), begin);
    } else {
      Entry entry(begin);
      if (entry.is()) entry.count_failed();
    }
    return error;
  }
  static int on(UnlockCall auto call, auto* lock) noexcept {
    if (!is_on()) return call.next(lock);
    const std::uint64_t begin = begin_call();
    const std::uint32_t number = number_of(lock);  // afterwards another object may be there
    const int error = call.next(lock);
    if (error == 0) end_call(What::unlock, number, begin);
    return error;
  }
  // The mutex is released, and acquired again when the wait is over, however it ends.
  template <WaitCall C>
  static int on(C call, pthread_cond_t* c, pthread_mutex_t* m, auto... args) {
    if (!is_on()) return call.next(c, m, args...);
    const std::uint64_t begin = begin_call();
    {
      Entry entry(begin);
      if (entry.is()) entry.note(What::unlock, number_of(m), begin, begin);
    }
    const int error = call.next(c, m, args...);
    end_call(error == ETIMEDOUT ? What::timed_out : What::wait, number_of(c), begin);
    const std::uint64_t end = per_thread<Me>.last;
    Entry entry(end);
    if (entry.is()) entry.note(What::lock, number_of(m), end, end);
    return error;
  }
  template <SignalCall C>
  static int on(C call, pthread_cond_t* c) noexcept {
    if (!is_on()) return call.next(c);
    const std::uint64_t begin = begin_call();
    const std::uint32_t number = number_of(c);
    const int error = call.next(c);
    end_call(C::kAct == Act::broadcast ? What::broadcast : What::signal, number, begin);
    return error;
  }

 private:
  template <class C>
  static constexpr What what_of(const pthread_mutex_t*) noexcept {
    return What::lock;
  }
  template <class C>
  static constexpr What what_of(const pthread_rwlock_t*) noexcept {
    return C::kReads ? What::read : What::write;
  }
};

}  // namespace

MutexOps over_mutex(const MutexOps& behind) noexcept {
  mutex = behind;
  return around<Recorded, mutex>;
}
RwOps over_rwlock(const RwOps& behind) noexcept {
  rwlock = behind;
  return around<Recorded, rwlock>;
}
CondOps over_cond(const CondOps& behind) noexcept {
  cond = behind;
  return around<Recorded, cond>;
}
CondOps over_old_cond(const CondOps& behind) noexcept {
  old_cond = behind;
  return around<Recorded, old_cond>;
}

}  // namespace lockswap::calls
