// An acquisition and a release of a lock of any kind.
#pragma once

#include <cerrno>

#include "platform/looks.h"
#include "profile/parent.h"
#include "profile/waits.h"

namespace lockswap::profile {

// The exported functions jump here, so the return address is in the program.
#define LOCKSWAP_PROFILE_CALLER __builtin_return_address(0)

inline bool is_acquired(int error) noexcept { return error == 0 || error == EOWNERDEAD; }

template <Kind kKind>
inline void count_acquisition(Thread& t, const Seen& seen, const void* lock, Mode mode, bool waited,
                              const void* caller) noexcept {
  note_recent<kKind>(t, seen, lock, mode);
  begin_hold(t, lock, seen, mode, waited, caller);
  if (seen.tally != nullptr) ++seen.tally->mode[static_cast<std::uint32_t>(mode)].acquisitions;
}

// Called after a call that returned `error` and, as far as the profile knows, did not wait.
template <Kind kKind>
inline int count_result(Thread& t, int error, const void* lock, Mode mode,
                        const void* caller) noexcept {
  const Seen seen = see<kKind>(t, lock, caller);
  if (seen.object == nullptr) return error;
  if (is_acquired(error)) {
    count_acquisition<kKind>(t, seen, lock, mode, false, caller);
  } else if (seen.tally != nullptr) {
    if (error == EBUSY) ++seen.tally->failed_tries;
    if (error == ETIMEDOUT) ++seen.tally->timeouts;
  }
  return error;
}
template <Kind kKind>
[[gnu::noinline]] int count_later(int error, const void* lock, Mode mode,
                                  const void* caller) noexcept {
  const Entry entry;
  Thread* const t = entry.thread();
  return t == nullptr ? error : count_result<kKind>(*t, error, lock, mode, caller);
}

// An acquisition that must wait, or may have to. `acquire` makes the program's own call. kTimed: it
// has a deadline.
template <Kind kKind, bool kTimed, class Acquire>
[[gnu::noinline]] int acquire_slowly(Entry& entry, Seen seen, const void* lock, Mode mode,
                                     const void* caller, bool expected, Acquire acquire) noexcept {
  const CallMark mark;
  const Wait wait = begin_wait(*entry.thread(), seen, lock, mode, caller, expected, kTimed, mark);
  Thread& mine = *entry.thread();
  const std::uint32_t process = world().number;
  entry.leave();
  const int error = acquire();
  bool waited = expected;
  // In a child that a signal handler forked meanwhile, the counts are not this thread's.
  if (process == world().number) {
    stop_waiting(mine, *seen.object);
    waited = waited || has_waited(*seen.object, wait, mode);
  }
  const std::uint64_t end = waited ? Ticks::now() : 0;
  Thread* const t = entry.again();
  if (t == nullptr) return error;
  seen = see<kKind>(*t, lock, caller);  // the lock or the process may be another one now
  if (seen.object == nullptr) return error;
  if (is_acquired(error)) {
    if (waited) count_wait(*t, seen, wait, mode, end, caller);
    count_acquisition<kKind>(*t, seen, lock, mode, waited, caller);
  } else if (error == ETIMEDOUT && seen.tally != nullptr) {
    ++seen.tally->timeouts;
    if (waited) {
      seen.tally->timed_out_ns += Ticks::ns_between(wait.begin, end);
      note_wait(*seen.tally, wait.begin, end);
    }
  }
  return error;
}

// The full path, which handles new locks, timed holds and waits. look() returns whether the thread
// has to wait.
template <Kind kKind, bool kTimed, class LookAt, class Acquire>
[[gnu::noinline]] int acquire_in_full(const void* lock, Mode mode, const void* caller, LookAt look,
                                      Acquire acquire) noexcept {
  Entry entry;
  Thread* t = entry.thread();
  if (t == nullptr) [[unlikely]]
    return acquire();
  // relaxed: only this thread writes it.
  if (t->live->waiting.load(relaxed) != 0) [[unlikely]]
    look_for_left(*t, __builtin_frame_address(0));
  const Seen seen = see<kKind>(*t, lock, caller);
  if (seen.object == nullptr) [[unlikely]] {
    entry.leave();
    return acquire();
  }
  const Look found = look();
  if (found != Look::open || seen.object->is_watched())
    return acquire_slowly<kKind, kTimed>(entry, seen, lock, mode, caller, found == Look::taken,
                                         acquire);
  entry.leave();
  const int error = acquire();
  t = entry.again();
  return t == nullptr ? error : count_result<kKind>(*t, error, lock, mode, caller);
}

// Most acquisitions are of a free lock that the thread has taken before. They take this short path,
// which writes only the counts and the hold.
template <Kind kKind, bool kTimed, class LookAt, class Acquire>
[[gnu::always_inline]] inline int acquire_lock(const void* lock, Mode mode, LookAt look,
                                               Acquire acquire) noexcept {
  const Recent* recent;
  if (!find_recent<kKind>(me(), lock, mode, recent) || look() != Look::open) [[unlikely]]
    return acquire_in_full<kKind, kTimed>(
        lock, mode, LOCKSWAP_PROFILE_CALLER,
        [=] { return Looks::are_known() ? look() : Look::unknown; }, acquire);
  const int error = acquire();
  if (error != 0 || !begin_plain_hold(me(), lock, *recent, Recent::key_of(lock, kKind, mode),
                                      LOCKSWAP_PROFILE_CALLER)) [[unlikely]]
    return count_later<kKind>(error, lock, mode, LOCKSWAP_PROFILE_CALLER);
  return 0;
}

template <Kind kKind, class Try>
[[gnu::always_inline]] inline int try_lock(const void* lock, Mode mode, Try attempt) noexcept {
  const Recent* recent;
  const bool is_recent = find_recent<kKind>(me(), lock, mode, recent);
  const int error = attempt();
  if (error != 0 || !is_recent ||
      !begin_plain_hold(me(), lock, *recent, Recent::key_of(lock, kKind, mode),
                        LOCKSWAP_PROFILE_CALLER)) [[unlikely]]
    return count_later<kKind>(error, lock, mode, LOCKSWAP_PROFILE_CALLER);
  return 0;
}

// Called before a release. Returns nullptr if nobody waits for it.
inline Release* end_and_announce(Thread& t, const Seen& seen, const void* lock,
                                 const void* caller) noexcept {
  const EndedHold hold = end_hold(t, lock);
  if (hold.mode == Mode::unknown) [[unlikely]]
    forget_hold_of_parent(lock);
  if (hold.waited) [[unlikely]]
    charge_pending(t, false);
  if (seen.object == nullptr) return nullptr;
  // relaxed: a waiter that is not seen yet begins now, so it does not wait long for this hold.
  const bool has_waiters = seen.object->waiters.load(relaxed) != 0 && !hold.inner;
  if (hold.since == 0 && !has_waiters) [[likely]]
    return nullptr;
  const std::uint64_t now = Ticks::now();
  count_hold(t, seen.tally, lock, hold, now);
  if (!has_waiters) return nullptr;
  return &announce_end(t, *seen.object, hold, now, caller);
}

template <Kind kKind, class Unlock>
[[gnu::noinline]] int release_slowly(const void* lock, const void* caller, Unlock unlock) noexcept {
  Entry entry;
  Thread* const t = entry.thread();
  if (t == nullptr) [[unlikely]]
    return unlock();
  const Seen seen = see<kKind>(*t, lock, caller);
  Release* const release = end_and_announce(*t, seen, lock, caller);
  const int error = unlock();
  // Without an object there is no release.
  if (release != nullptr && seen.object != nullptr) [[unlikely]]
    locate_release(*t, *seen.object, *release, caller);
  if (t->pending.object != nullptr) [[unlikely]]
    charge_pending(*t, false);
  if (!holds_locks(*t)) {  // later charges are not a cause of the next holds
    t->cause = {};
    t->pending.holding = false;
  }
  return error;
}

template <Kind kKind, class Unlock>
[[gnu::always_inline]] inline int release_lock(const void* lock, const void* caller,
                                               Unlock unlock) noexcept {
  if (end_plain_hold(me(), lock)) [[likely]]
    return unlock();
  return release_slowly<kKind>(lock, caller, unlock);
}

// Called when the object begins, or begins again.
template <Kind kKind, class Init>
int begin_lock(const void* lock, const void* caller, Init init) noexcept {
  Entry entry;
  const int error = init();
  if (Thread* const t = entry.thread(); t != nullptr && error == 0) {
    forget_hold_of_parent(lock);
    if (Object* const o = find_object(reinterpret_cast<std::uint64_t>(lock)); o != nullptr) {
      o->what.store(0, relaxed);  // relaxed: the program hands the object on
      decide(*t, *o, kKind, caller, true);
    }
  }
  return error;
}

// Whatever is here next is another object.
template <class Destroy>
int end_lock(const void* lock, Destroy destroy) noexcept {
  const Entry entry;
  const int error = destroy();
  if (entry.thread() != nullptr && error == 0) {
    forget_hold_of_parent(lock);
    if (Object* const o = find_object(reinterpret_cast<std::uint64_t>(lock)); o != nullptr)
      o->what.store(0, relaxed);  // relaxed: nobody may use it now
  }
  return error;
}

}  // namespace lockswap::profile
