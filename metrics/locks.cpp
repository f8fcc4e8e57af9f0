#include "metrics/locks.h"

#include "metrics/counters.h"
#include "platform/looks.h"
#include "platform/ticks.h"

namespace lockswap::metrics {
namespace {

constinit MutexOps mutex{};
constinit RwOps rwlock{};
constinit CondOps cond{};
constinit CondOps old_cond{};

template <bool kReads>
Look look_at(const pthread_mutex_t* m) noexcept {
  return Looks::at(m);
}
template <bool kReads>
Look look_at(const pthread_rwlock_t* l) noexcept {
  return Looks::at<kReads>(l);
}

// The common case takes four instructions, with the jump, or six if glibc's words are checked.
// Releases take none, because they go directly to the functions behind.
template <Kind kKind, bool kInWords>
struct Counted {
  static int on(InitCall auto call, auto* lock, auto* attributes) noexcept {
    begin_lock(lock, kKind, call.caller);
    return call.next(lock, attributes);
  }
  static int on(DestroyCall auto call, auto* lock) noexcept {
    end_lock(lock);
    return call.next(lock);
  }
  template <LockCall C>
  [[gnu::always_inline]] static int on(C, auto* lock, auto... args) noexcept {
    if (is_due()) [[unlikely]]
      return look<C>(lock, args...);
    if constexpr (kInWords && C::kForm != Form::attempt) {
      if (Looks::may_be_taken<C::kReads>(lock)) [[unlikely]]
        return wait<C>(lock, args...);
    }
    return C::next(lock, args...);
  }
  [[gnu::always_inline]] static int on(UnlockCall auto call, auto* lock) noexcept {
    if (per_thread<Held>.lock == lock) [[unlikely]]
      end_hold();
    return call.next(lock);
  }

 private:
  template <class C>
  static constexpr Asked kAsked{kKind, C::kReads ? Mode::shared : Mode::exclusive,
                                C::kForm != Form::plain, kInWords};

  // Both end with a jump, or with a function that does not return here. So the return address is in
  // the program, because the exported function jumps here.
  template <class C>
  [[gnu::noinline]] static int look(auto* lock, auto... args) noexcept {
    const Sample sample = begin_sample(lock, kAsked<C>, __builtin_return_address(0));
    if (sample.weight == 0) return C::next(lock, args...);
    return time<C, true>(sample, lock, args...);
  }
  template <class C>
  [[gnu::noinline]] static int wait(auto* lock, auto... args) noexcept {
    if (look_at<C::kReads>(lock) != Look::taken) return C::next(lock, args...);
    const Sample sample = begin_wait(lock, kAsked<C>, __builtin_return_address(0));
    if (sample.weight == 0) return C::next(lock, args...);
    return time<C, false>(sample, lock, args...);
  }
  template <class C, bool kIsDue>
  [[gnu::noinline]] static int time(Sample sample, auto* lock, auto... args) noexcept {
    const Look found = kIsDue ? look_at<C::kReads>(lock) : Look::taken;
    const std::uint64_t begin = Ticks::now();
    const int error = C::next(lock, args...);
    const Outcome outcome{found, begin, error};
    kIsDue ? end_sample(lock, kAsked<C>, sample, outcome) : end_wait(kAsked<C>, sample, outcome);
    return error;
  }
};

struct DroppingHolds {
  static int on(auto call, auto... args) { return call.next(args...); }
  static int on(WaitCall auto call, pthread_cond_t* c, pthread_mutex_t* m, auto... args) {
    if (per_thread<Held>.lock == m) drop_hold();
    return call.next(c, m, args...);
  }
};

}  // namespace

MutexOps over_mutex(const MutexOps& behind, Choice choice) noexcept {
  mutex = behind;
  MutexOps counted = choice.has_glibcs && Looks::are_known()
                         ? around<Counted<Kind::mutex, true>, mutex>
                         : around<Counted<Kind::mutex, false>, mutex>;
  if (!choice.counts_holds) counted.unlock = behind.unlock;
  return counted;
}

RwOps over_rwlock(const RwOps& behind, Choice choice) noexcept {
  rwlock = behind;
  RwOps counted = choice.has_glibcs && Looks::are_known()
                      ? around<Counted<Kind::rwlock, true>, rwlock>
                      : around<Counted<Kind::rwlock, false>, rwlock>;
  if (!choice.counts_holds) counted.unlock = behind.unlock;
  return counted;
}

CondOps over_cond(const CondOps& behind) noexcept {
  cond = behind;
  return around<DroppingHolds, cond>;
}

CondOps over_old_cond(const CondOps& behind) noexcept {
  old_cond = behind;
  return around<DroppingHolds, old_cond>;
}

}  // namespace lockswap::metrics
