// Semaphores, barriers and joins. A wait that a cancellation ends is not counted.
#include "profile/meetings.h"

#include <cerrno>

#include "platform/ended_thread.h"
#include "profile/acquire.h"
#include "profile/cancelled.h"
#include "profile/stacks.h"

namespace lockswap::profile {
namespace {

constinit WaitOps waits{};

constexpr std::uint64_t address_of(pthread_t thread) noexcept { return thread; }

void begin_meeting(Thread& t, const Seen& seen, const void* what, std::uint64_t now,
                   const void* caller, bool has_deadline, const CallMark& mark) noexcept {
  enter_wait(t, mark);
  t.live->begin_wait(what, nullptr, now, caller, take_stack(t, caller, now), seen.number, 0,
                     has_deadline);
  Object& o = *seen.object;
  // relaxed, both: a thread that ends the wait before it sees them does so soon.
  if (o.waiters.fetch_add(1, relaxed) == 0) o.waits_since.store(now, relaxed);
}

void count_unwaited(const Seen& seen) noexcept {
  if (seen.tally != nullptr) ++seen.tally->mode[0].acquisitions;
}

void count_meeting(Thread& t, const Seen& seen, std::uint64_t begin, const void* caller) noexcept {
  const std::uint64_t end = Ticks::now();
  const std::uint64_t ns = Ticks::ns_between(begin, end);
  watch(*seen.object);
  count_unwaited(seen);
  if (seen.tally != nullptr) {
    count_contended(seen.tally->mode[0], ns);
    note_wait(*seen.tally, begin, end);
  }
  if (ns < kThresholdNs) return;
  charge_wait(t, {seen.object, seen.object->release.load(acquire), begin, end, seen.number,
                  take_stack(t, caller), Mode::exclusive, holds_locks(t)});
}

enum class End { met, timed_out, other };

// `wait` may sleep, and `end_of` interprets its result and errno. `expected`: the object's state
// said that the thread must wait. The thread is not in its bookkeeping during `wait`, so signal
// handlers may use it.
template <bool kTimed = false, class Wait, class EndOf>
int wait_here(Entry& entry, const Seen& seen, const void* caller, bool expected, Wait wait,
              EndOf end_of) {
  const std::uint32_t process = world().number;
  const std::uint64_t begin = Ticks::now();
  const Ref before = last_release(*seen.object, Mode::exclusive);
  const CallMark mark;
  Thread& mine = *entry.thread();
  // relaxed: an address stays once it is stored.
  begin_meeting(mine, seen, reinterpret_cast<const void*>(seen.object->address.load(relaxed)),
                begin, caller, kTimed, mark);
  entry.leave();
  const auto end_wait = [&]() noexcept {
    mine.live->end_wait();
    seen.object->waiters.fetch_sub(1, relaxed);  // relaxed: a count
  };
  const int result = unless_cancelled(wait, [&]() noexcept {
    entry.again();
    if (process == world().number) end_wait();
    entry.leave();
  });
  const int error = errno;
  Thread* const t = entry.again();
  if (process == world().number) {  // otherwise a handler forked, and none of this is the child's
    end_wait();
    const End end = t == nullptr ? End::other : end_of(result, error);
    if (end == End::met) {
      if (expected || has_waited(*seen.object, {begin, before, 0}, Mode::exclusive)) {
        count_meeting(*t, seen, begin, caller);
      } else {
        count_unwaited(seen);
      }
    } else if (end == End::timed_out && seen.tally != nullptr) {
      ++seen.tally->timeouts;
      seen.tally->timed_out_ns += Ticks::ns_between(begin, Ticks::now());
    }
  }
  errno = error;
  return result;
}

// A call that need not wait, by the object's state. It may still be a cancellation point.
template <Kind kKind, class Call>
int call_at_once(Entry& entry, const void* object, const void* caller, Call call) {
  entry.leave();
  const int result = call();
  const int error = errno;
  Thread* const t = entry.again();
  if (t != nullptr && result == 0) count_unwaited(see<kKind>(*t, object, caller));
  errno = error;
  return result;
}

// --- semaphores

bool has_units(sem_t* s) noexcept {
  int value = 0;
  return waits.sem_getvalue(s, &value) == 0 && value > 0;
}

template <class Try>
int try_semaphore(sem_t* s, const void* caller, Try attempt) {
  Entry entry;
  Thread* const t = entry.thread();
  if (t == nullptr) return attempt();
  const Seen seen = see<Kind::semaphore>(*t, s, caller);
  const int result = attempt();
  if (seen.tally == nullptr) return result;
  if (result == 0) {
    ++seen.tally->mode[0].acquisitions;
  } else if (errno == EAGAIN) {
    ++seen.tally->failed_tries;
  }
  return result;
}

template <bool kTimed, class Wait>
int wait_for_semaphore(sem_t* s, const void* caller, Wait wait) {
  Entry entry;
  Thread* const t = entry.thread();
  const Seen seen = t != nullptr ? see<Kind::semaphore>(*t, s, caller) : Seen{};
  if (seen.object == nullptr) {
    entry.leave();
    return wait();
  }
  const bool is_open = has_units(s);
  if (is_open && !seen.object->is_watched())
    return call_at_once<Kind::semaphore>(entry, s, caller, wait);
  return wait_here<kTimed>(entry, seen, caller, !is_open, wait, [](int result, int error) {
    if (result == 0) return End::met;
    return error == ETIMEDOUT ? End::timed_out : End::other;  // a signal may interrupt too
  });
}

// Like a signal: a post to one of several waiting threads leaves the others without work.
template <class Post>
int post_semaphore(sem_t* s, const void* caller, Post post) {
  Entry entry;
  Thread* const t = entry.thread();
  if (t == nullptr) return post();
  const Seen seen = see<Kind::semaphore>(*t, s, caller);
  if (seen.tally != nullptr) ++seen.tally->signals;
  // relaxed: a thread that is not seen yet does not wait long for this post
  const std::uint32_t waiting = seen.object == nullptr ? 0 : seen.object->waiters.load(relaxed);
  if (waiting == 0) return post();
  const std::uint64_t now = Ticks::now();
  Release& release =
      announce_release(*t, *seen.object, waiting > 1 ? Mode::shared : Mode::exclusive, now, caller);
  const int result = post();
  locate_signal(*t, release, caller, now);
  return result;
}

// --- barriers

void begin_barrier(const pthread_barrier_t* b, unsigned count) noexcept {
  Object* const o = is_recording() ? find_object(reinterpret_cast<std::uint64_t>(b)) : nullptr;
  if (o == nullptr) return;
  // relaxed, both: the program hands the object on
  o->arrived.store(0, relaxed);
  o->was_for_all.store(count, relaxed);
}

template <class Wait>
int wait_at_barrier(pthread_barrier_t* b, const void* caller, Wait wait) {
  Entry entry;
  Thread* const t = entry.thread();
  if (t == nullptr) return wait();
  const Seen seen = see<Kind::barrier>(*t, b, caller);
  if (seen.object == nullptr) {
    entry.leave();
    return wait();
  }
  // relaxed, both: if two threads arrive at the same time, either may count as the last one.
  const std::uint32_t count = seen.object->was_for_all.load(relaxed);
  const std::uint32_t arrived = seen.object->arrived.fetch_add(1, relaxed) + 1;
  if (count == 0 || arrived % count != 0)
    return wait_here(entry, seen, caller, true, wait, [](int, int) { return End::met; });
  if (seen.tally != nullptr) ++seen.tally->mode[0].acquisitions;
  const std::uint64_t now = Ticks::now();
  Release& release = announce_release(*t, *seen.object, Mode::exclusive, now, caller);
  const std::uint32_t process = world().number;
  entry.leave();
  const int result = wait();
  Thread* const again = entry.again();
  if (again != nullptr && process == world().number)
    locate_release(*again, *seen.object, release, caller);
  return result;
}

// --- joins

template <class Join>
int join_thread(pthread_t thread, const void* caller, Join join) {
  Entry entry;
  Thread* const t = entry.thread();
  if (t == nullptr) return join();
  const auto* const object = reinterpret_cast<const void*>(address_of(thread));
  const Seen seen = see<Kind::join>(*t, object, caller);
  if (seen.object == nullptr) {
    entry.leave();
    return join();
  }
  const int error = EndedThread::is(thread)
                        ? call_at_once<Kind::join>(entry, object, caller, join)
                        : wait_here(entry, seen, caller, true, join,
                                    [](int e, int) { return e == 0 ? End::met : End::other; });
  // The next thread with this pthread_t is another one, and may be joined elsewhere.
  if (is_recording()) seen.object->what.store(0, relaxed);  // relaxed: only a guess
  return error;
}

struct Profiled {
  static int on(auto call, auto... args) { return call.next(args...); }

  static int on(InitCall auto call, sem_t* s, int shared, unsigned value) {
    return begin_lock<Kind::semaphore>(s, call.caller, [=] { return call.next(s, shared, value); });
  }
  static int on(InitCall auto call, pthread_barrier_t* b, const pthread_barrierattr_t* attributes,
                unsigned count) {
    return begin_lock<Kind::barrier>(b, call.caller, [=] {
      const int error = call.next(b, attributes, count);
      if (error == 0) begin_barrier(b, count);
      return error;
    });
  }
  static int on(DestroyCall auto call, auto* object) {
    return end_lock(object, [=] { return call.next(object); });
  }
  template <WaitCall C>
  static int on(C call, sem_t* s, auto... args) {
    const auto next = [=] { return C::next(s, args...); };
    if constexpr (C::kForm == Form::attempt) {
      return try_semaphore(s, call.caller, next);
    } else {
      return wait_for_semaphore<C::kHasDeadline>(s, call.caller, next);
    }
  }
  static int on(SignalCall auto call, sem_t* s) {
    return post_semaphore(s, call.caller, [=] { return call.next(s); });
  }
  static int on(WaitCall auto call, pthread_barrier_t* b) {
    return wait_at_barrier(b, call.caller, [=] { return call.next(b); });
  }
  static int on(WaitCall auto call, pthread_t thread, void** result) {
    return join_thread(thread, call.caller, [=] { return call.next(thread, result); });
  }
};

}  // namespace

void announce_end(Thread& t) noexcept {
  Object* const o = known_object(address_of(::pthread_self()));
  // relaxed, both: a thread that begins to wait now does not wait long.
  if (o == nullptr || !Object::is_of(o->what.load(relaxed), Kind::join)) return;
  if (o->waiters.load(relaxed) == 0) return;
  announce_release(t, *o, Mode::exclusive, Ticks::now(), nullptr).stack.store(t.root, release);
}

WaitOps over_waits(const WaitOps& behind) noexcept {
  waits = behind;
  return around<Profiled, waits>;
}

}  // namespace lockswap::profile
