// The functions of condition variables. A wait releases a mutex and acquires it again, so a hold
// ends and another one begins, even if a cancellation ends the wait.
#include "profile/acquire.h"
#include "profile/cancelled.h"
#include "profile/locks.h"
#include "profile/stacks.h"

namespace lockswap::profile {
namespace {

constinit CondOps cond{};
constinit CondOps old_cond{};

std::uint64_t acquisitions_of(const Seen& mutex) noexcept {
  return mutex.tally == nullptr ? 0 : mutex.tally->mode[0].acquisitions;
}

// Called before a wait.
std::uint64_t begin_cond_wait(const void* c, const void* mutex, const void* caller,
                              bool has_deadline, const CallMark& mark) noexcept {
  Entry entry;
  Thread* const t = entry.thread();
  if (t == nullptr) return 0;
  const Seen m = see<Kind::mutex>(*t, mutex, caller);
  const bool in_vain = t->woken.cond == c && t->woken.acquisitions == acquisitions_of(m);
  t->woken = {};
  Release* const release = end_and_announce(*t, m, mutex, caller);
  if (release != nullptr && m.object != nullptr)  // without an object there is no release
    locate_release(*t, *m.object, *release, caller);
  if (t->pending.object != nullptr) charge_pending(*t, false);
  const Seen seen = see<Kind::cond>(*t, c, caller);
  if (in_vain && seen.tally != nullptr) ++seen.tally->mode[0].woken_in_vain;
  const std::uint64_t now = Ticks::now();
  enter_wait(*t, mark);
  t->live->begin_wait(c, mutex, now, caller, take_stack(*t, caller, now), seen.number, 0,
                      has_deadline);
  if (seen.object != nullptr) {
    // relaxed, both: a signal that does not see them is sent without the mutex, and is not charged.
    seen.object->mutex.store(m.object, relaxed);
    seen.object->waiters.fetch_add(1, relaxed);
  }
  return now;
}

void count_cond_wait(const Seen& seen, std::uint64_t ns, bool has_timed_out) noexcept {
  if (seen.tally == nullptr) return;
  ModeTally& m = seen.tally->mode[0];
  ++m.acquisitions;
  count_contended(m, ns);
  if (has_timed_out) ++seen.tally->timeouts;
}

// Returns whether, as far as this library knows, no other thread is about to acquire the mutex.
// This guess decides which release is charged. relaxed, all.
bool leave_cond(Object* o) noexcept {
  if (o == nullptr) return true;
  // A child that a signal handler forked meanwhile has no counts.
  if (o->waiters.load(relaxed) == 0) return true;
  return o->waiters.fetch_sub(1, relaxed) == 1 || o->was_for_all.load(relaxed) == 0;
}

// Charges the wait up to the signal to that signal. The rest is a wait for the mutex, if another
// thread released that later.
void charge_cond_wait(Thread& t, const Seen& seen, const Seen& mutex, std::uint64_t begin,
                      std::uint64_t end, const void* caller) noexcept {
  if (seen.object == nullptr || Ticks::ns_between(begin, end) < kThresholdNs) return;
  const std::uint32_t stack = take_stack(t, caller);
  const Pending for_signal{seen.object,     seen.object->release.load(acquire),
                           begin,           end,
                           seen.number,     stack,
                           Mode::exclusive, holds_locks(t)};
  const std::uint64_t signalled = ended_at(for_signal);
  charge_wait(t, for_signal);
  if (signalled == 0 || mutex.object == nullptr) return;
  const Pending for_mutex{mutex.object,    mutex.object->release.load(acquire),
                          signalled,       end,
                          mutex.number,    stack,
                          Mode::exclusive, holds_locks(t)};
  const std::uint64_t ns = Ticks::ns_between(signalled, end);
  if (ns < kThresholdNs || ended_at(for_mutex) == 0) return;
  if (mutex.tally != nullptr) {
    ModeTally& m = mutex.tally->mode[0];
    ++m.acquisitions;
    count_contended(m, ns);
    note_wait(*mutex.tally, signalled, end);
  }
  charge_wait(t, for_mutex);
}

// error: ECANCELED if a cancellation ended the wait. Then too the thread has the mutex.
void end_cond_wait(const void* c, const void* mutex, const void* caller, std::uint64_t begin,
                   int error) noexcept {
  const std::uint64_t end = Ticks::now();
  Entry entry;
  Thread* const t = entry.thread();
  if (t == nullptr) return;
  const Seen seen = see<Kind::cond>(*t, c, caller);
  const Seen m = see<Kind::mutex>(*t, mutex, caller);
  if (begin != 0) {
    t->live->end_wait();
    const bool is_last = leave_cond(seen.object);
    if (m.object != nullptr && is_last && (m.object->waiters.load(relaxed) & Object::kWoken) != 0)
      m.object->waiters.fetch_and(~Object::kWoken, relaxed);
  }
  // After any other error the thread never released the mutex, or does not have it.
  if (!is_acquired(error) && error != ETIMEDOUT && error != ECANCELED) return;
  if (begin != 0 && error != ECANCELED) {
    count_cond_wait(seen, Ticks::ns_between(begin, end), error == ETIMEDOUT);
    if (error != ETIMEDOUT) charge_cond_wait(*t, seen, m, begin, end, caller);
    // relaxed: the last signal, which may not be the one that ended this wait
    const bool with_all = seen.object != nullptr && seen.object->was_for_all.load(relaxed) != 0;
    if (error != ETIMEDOUT && with_all && seen.tally != nullptr) {
      ++seen.tally->mode[0].woken_with_all;
      t->woken = {c, acquisitions_of(m)};
    }
  }
  begin_hold(*t, mutex, m, Mode::exclusive, false, caller);
}

template <class Wait>
int wait_on_cond(const void* c, const void* mutex, const void* caller, bool has_deadline,
                 Wait wait) {
  const CallMark mark;
  const std::uint64_t begin = begin_cond_wait(c, mutex, caller, has_deadline, mark);
  const int error =
      unless_cancelled(wait, [=]() noexcept { end_cond_wait(c, mutex, caller, begin, ECANCELED); });
  end_cond_wait(c, mutex, caller, begin, error);
  return error;
}

// The mode says how the signal affected the waiters: `shared` is a signal to one of several, so the
// others had nothing to do, and `exclusive` one that all were waiting for.
template <class Signal>
int signal_cond(const void* c, const void* caller, bool to_all, Signal signal) noexcept {
  Entry entry;
  Thread* const t = entry.thread();
  if (t == nullptr) return signal();
  const Seen seen = see<Kind::cond>(*t, c, caller);
  if (seen.tally != nullptr) {
    ++seen.tally->signals;
    if (to_all) ++seen.tally->broadcasts;
  }
  const std::uint64_t now = Ticks::now();
  // relaxed, all: a signal sent under the mutex sees threads that began to wait under it.
  const std::uint32_t waiters = seen.object == nullptr ? 0 : seen.object->waiters.load(relaxed);
  t->live->note_signal(c, caller, now, waiters == 1 || (to_all && waiters != 0));
  if (waiters == 0) return signal();
  const Mode mode = waiters > 1 && !to_all ? Mode::shared : Mode::exclusive;
  Release& release = announce_release(*t, *seen.object, mode, now, caller);
  seen.object->was_for_all.store(to_all ? 1 : 0, relaxed);
  if (Object* const mutex = seen.object->mutex.load(relaxed); mutex != nullptr) {
    mutex->waits_since.store(now, relaxed);
    mutex->waiters.fetch_or(Object::kWoken, relaxed);
  }
  const int error = signal();
  locate_signal(*t, release, caller, now);
  return error;
}

// glibc's waits until the last thread has left its wait there.
template <class Destroy>
int destroy_cond(const void* c, const void* caller, Destroy destroy) {
  const CallMark mark;
  const std::uint32_t process = world().number;
  Thread* waits = nullptr;
  {
    Entry entry;
    Thread* const t = entry.thread();
    const Object* const o =
        t == nullptr ? nullptr : known_object(reinterpret_cast<std::uint64_t>(c));
    // relaxed, both: a thread that begins to wait now is a bug in the program, which isn't noticed
    // here.
    if (o != nullptr && Object::is_of(o->what.load(relaxed), Kind::cond) &&
        o->waiters.load(relaxed) != 0) {
      const Seen seen = see<Kind::cond>(*t, c, caller);
      const std::uint64_t now = Ticks::now();
      enter_wait(*t, mark);
      t->live->begin_wait(c, nullptr, now, caller, take_stack(*t, caller, now), seen.number,
                          Waiting::kDestroys, false);
      waits = t;
    }
  }
  const int error = end_lock(c, destroy);
  if (waits != nullptr && process == world().number) waits->live->end_wait();
  return error;
}

struct Profiled {
  static int on(InitCall auto call, pthread_cond_t* c, auto* attributes) {
    return begin_lock<Kind::cond>(c, call.caller, [=] { return call.next(c, attributes); });
  }
  static int on(DestroyCall auto call, pthread_cond_t* c) {
    return destroy_cond(c, call.caller, [=] { return call.next(c); });
  }
  template <WaitCall C>
  static int on(C call, pthread_cond_t* c, pthread_mutex_t* m, auto... args) {
    return wait_on_cond(c, m, call.caller, C::kHasDeadline, [=] { return C::next(c, m, args...); });
  }
  template <SignalCall C>
  static int on(C call, pthread_cond_t* c) {
    return signal_cond(c, call.caller, C::kAct == Act::broadcast, [=] { return C::next(c); });
  }
};

}  // namespace

CondOps over_cond(const CondOps& behind) noexcept {
  cond = behind;
  return around<Profiled, cond>;
}
CondOps over_old_cond(const CondOps& behind) noexcept {
  old_cond = behind;
  return around<Profiled, old_cond>;
}

}  // namespace lockswap::profile
