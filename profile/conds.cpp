// The functions of condition variables. A wait releases a mutex and acquires it again, so a hold
// ends and another one begins. A cancellation may unwind a wait: nothing that has to be done stands
// on the stack then, and the hold that the cleanup handler ends is not followed.
#include "profile/acquire.h"
#include "profile/locks.h"
#include "profile/stacks.h"

namespace lockswap::profile {
namespace {

constinit CondOps cond{};
constinit CondOps old_cond{};

// What is to be done before a wait.
std::uint64_t begin_cond_wait(const void* c, const void* mutex, const void* caller) noexcept {
  Entry entry;
  Thread* const t = entry.thread();
  if (t == nullptr) return 0;
  const Seen m = see<Kind::mutex>(*t, mutex, caller);
  if (Release* const release = end_and_announce(*t, m, mutex); release != nullptr)
    locate_release(*t, *m.object, *release, caller);
  if (t->pending.object != nullptr) charge_pending(*t, false);
  const Seen seen = see<Kind::cond>(*t, c, caller);
  const std::uint64_t now = Ticks::now();
  t->live->begin_wait(c, mutex, now, caller, take_stack(*t, caller, now), seen.number, 0);
  return now;
}

void end_cond_wait(const void* c, const void* mutex, const void* caller, std::uint64_t begin,
                   int error) noexcept {
  Entry entry;
  Thread* const t = entry.thread();
  if (t != nullptr && begin != 0) t->live->end_wait();
  // After another error the thread never let go of the mutex, or does not have it.
  if (t == nullptr || (!is_acquired(error) && error != ETIMEDOUT)) return;
  const Seen seen = see<Kind::cond>(*t, c, caller);
  if (seen.tally != nullptr && begin != 0) {
    ModeTally& m = seen.tally->mode[0];
    const std::uint64_t ns = Ticks::ns_between(begin, Ticks::now());
    ++m.acquisitions;
    ++m.contended;
    m.wait_ns += ns;
    m.most_wait_ns = max_of(m.most_wait_ns, ns);
    ++m.wait.n[Histogram::bucket(ns)];
    if (ns >= kThresholdNs) ++m.long_waits;
    if (error == ETIMEDOUT) ++seen.tally->timeouts;
  }
  begin_hold(*t, mutex, see<Kind::mutex>(*t, mutex, caller).number, Mode::exclusive, false, caller);
}

void count_signal(const void* c, const void* caller) noexcept {
  Entry entry;
  Thread* const t = entry.thread();
  if (t == nullptr) return;
  if (const Seen seen = see<Kind::cond>(*t, c, caller); seen.tally != nullptr)
    ++seen.tally->signals;
  t->live->note_signal(c, caller, Ticks::now());
}

template <const CondOps& kNext>
struct Over {
  static int init(pthread_cond_t* c, const pthread_condattr_t* a) {
    return begin_lock<Kind::cond>(c, LOCKSWAP_PROFILE_CALLER, [=] { return kNext.init(c, a); });
  }
  static int destroy(pthread_cond_t* c) {
    return end_lock(c, [=] { return kNext.destroy(c); });
  }
  static int wait(pthread_cond_t* c, pthread_mutex_t* m) {
    const void* const caller = LOCKSWAP_PROFILE_CALLER;
    const std::uint64_t begin = begin_cond_wait(c, m, caller);
    const int error = kNext.wait(c, m);
    end_cond_wait(c, m, caller, begin, error);
    return error;
  }
  static int timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* at) {
    const void* const caller = LOCKSWAP_PROFILE_CALLER;
    const std::uint64_t begin = begin_cond_wait(c, m, caller);
    const int error = kNext.timedwait(c, m, at);
    end_cond_wait(c, m, caller, begin, error);
    return error;
  }
  static int clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const timespec* at) {
    const void* const caller = LOCKSWAP_PROFILE_CALLER;
    const std::uint64_t begin = begin_cond_wait(c, m, caller);
    const int error = kNext.clockwait(c, m, clock, at);
    end_cond_wait(c, m, caller, begin, error);
    return error;
  }
  static int signal(pthread_cond_t* c) {
    count_signal(c, LOCKSWAP_PROFILE_CALLER);
    return kNext.signal(c);
  }
  static int broadcast(pthread_cond_t* c) {
    count_signal(c, LOCKSWAP_PROFILE_CALLER);
    return kNext.broadcast(c);
  }
  static constexpr CondOps table{init, destroy, wait, timedwait, clockwait, signal, broadcast};
};

}  // namespace

CondOps over_cond(const CondOps& behind) noexcept {
  cond = behind;
  return Over<cond>::table;
}
CondOps over_old_cond(const CondOps& behind) noexcept {
  old_cond = behind;
  return Over<old_cond>::table;
}

}  // namespace lockswap::profile
