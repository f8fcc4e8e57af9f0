#include "registry/policy_ops.h"

#include <cstddef>
#include <cstdint>

#include "locks/common/events.h"
#include "locks/common/mutex_layout.h"
#include "locks/common/rw_layout.h"
#include "ops/counted_mutex.h"
#include "ops/system_ops.h"
#include "platform/kill_switch.h"
#include "platform/native.h"
#include "posix/adoption.h"
#include "posix/rw_word.h"
#include "registry/mutex_forms.h"
#include "registry/mutexes.h"
#include "registry/rw_forms.h"
#include "registry/rwlocks.h"
#include "registry/waits.h"
#include "stats/policy_catches.h"
#include "stats/stats.h"

namespace lockswap {
namespace {

constinit const Policy* policy = nullptr;

// The decision about an object that nobody has used.
class Decision {
 public:
  Decision(ObjectKind kind, const void* object, const void* caller) noexcept
      : kind_(kind),
        caller_(caller),
        site_(KillSwitch::is_off() ? CallSite{} : find_rule(*policy, kind, object, caller)) {}

  Runner runner() const noexcept {
    return site_.rule < 0 ? kGlibc
                          : policy->rules[site_.rule].runner[static_cast<std::size_t>(kind_)];
  }
  // Called only by the thread whose decision it is, because several may find the object at once.
  void count() const noexcept { count_catch(kind_, site_, caller_); }

 private:
  ObjectKind kind_;
  const void* caller_;
  CallSite site_;
};

// --- reader-writer locks

// Aligned to a power of two, so that a shift finds it.
struct alignas(128) RwRunner {
  RwOps ops;
  bool (*adopt)(pthread_rwlock_t*);  // nullptr: glibc's lock
};
constinit RwRunner rw_runners[kMostRunners]{};

using Word = RwWord<Native>;
struct AnyCore {};
// Fits into a comparison instruction.
constexpr std::uint64_t kGlibcsWord = kSystemsWord;

NativeAtomic<std::uint64_t>& word_of(pthread_rwlock_t* l) noexcept {
  return reinterpret_cast<RwFrame<Native, AnyCore>*>(l)->contract;
}
// Returns the word of an object for which a runner with glibc's lock was decided.
std::uint64_t word_for(Runner r) noexcept {
  return kGlibcsWord | std::uint64_t{r} << Word::kGenerationShift;
}
Runner runner_in(std::uint64_t word) noexcept {
  return static_cast<Runner>(Word::generation_in(word) % kMostRunners);
}

template <bool kCount>
struct RwByPolicy {
  static constexpr const RwOps& kSystem = kCount ? counting_system_ops : system_rwlock;

  static int on(InitCall auto call, pthread_rwlock_t* l, const pthread_rwlockattr_t* a) noexcept {
    const Decision mine(ObjectKind::rwlock, l, call.caller);
    const Runner r = mine.runner();
    if constexpr (kCount) mine.count();
    const int error = r == kGlibc ? call.next(l, a) : rw_runners[r].ops.init(l, a);
    if (error == 0 && rw_runners[r].adopt == nullptr && !is_process_shared(l)) {
      word_of(l).store(word_for(r), relaxed);  // relaxed: the program hands the object on
    }
    return error;
  }
  template <class C>
  static int on(C call, pthread_rwlock_t* l, auto... args) noexcept {
    // relaxed: the functions behind this acquire what they must. For glibc's lock the decision
    // publishes nothing, because its bytes are as an initialiser left them.
    const std::uint64_t word = word_of(l).load(relaxed);
    if (word == kGlibcsWord) [[likely]]
      return call.next(l, args...);
    if (const std::uint64_t r = Word::generation_in(word) % kMostRunners; r != kGlibc) [[likely]]
      return call.of(rw_runners[r].ops, l, args...);
    return undecided<C>(l, args...);
  }

 private:
  // All calls up to here are jumps, so a function returns into the program.
  template <class C, class... Args>
  [[gnu::noinline]] static int undecided(pthread_rwlock_t* l, Args... args) noexcept {
    if (is_process_shared(l)) return C::next(l, args...);
    return decide<C>(l, __builtin_return_address(0), args...);
  }
  template <class C, class... Args>
  [[gnu::noinline]] static int decide(pthread_rwlock_t* l, const void* caller,
                                      Args... args) noexcept {
    // An object that was never used needs no decision in order to end.
    if constexpr (DestroyCall<C>) return C::next(l, args...);
    const Decision mine(ObjectKind::rwlock, l, caller);
    const Runner r = mine.runner();
    std::uint64_t fresh = 0;
    const auto adopt = rw_runners[r].adopt;
    const bool is_first = adopt != nullptr ? adopt(l)
                                           : word_of(l).compare_exchange(
                                                 fresh, word_for(r), relaxed);  // relaxed: as above
    if (kCount && is_first) mine.count();
    // By the word, because another thread may have been faster.
    const Runner decided = runner_in(word_of(l).load(relaxed));
    return decided == kGlibc ? C::next(l, args...) : C::of(rw_runners[decided].ops, l, args...);
  }
};
template <bool kCount>
constexpr RwOps rw_by_policy = around<RwByPolicy<kCount>, RwByPolicy<kCount>::kSystem>;

// --- mutexes

struct alignas(64) MutexRunner {  // as RwRunner
  MutexOps ops;
};
constinit MutexRunner mutex_runners[kMostRunners]{};
constinit MutexOfConds of_conds[kMostRunners]{};  // empty: glibc's mutexes

// Upper bytes that no pointer has there: in a robust mutex, this is half of a pointer.
constexpr std::uint32_t kChosen = 0x4c530000;

NativeAtomic<std::uint32_t>& choice_of(pthread_mutex_t* m) noexcept {
  return reinterpret_cast<MutexFrame<Native, AnyCore>*>(m)->choice;
}
// Returns kGlibc also if nothing has been decided.
Runner runner_in(std::uint32_t choice) noexcept {
  return choice - kChosen < kMostRunners ? static_cast<Runner>(choice - kChosen) : kGlibc;
}
bool is_left_to_glibc(const pthread_mutex_t* m) noexcept {
  return (static_cast<std::uint32_t>(m->__data.__kind) & mutex_kind::kGlibcs) != 0;
}

template <bool kCount>
struct MutexByPolicy {
  static constexpr const MutexOps& kSystem = kCount ? counting_system_mutex : system_mutex;

  static int on(InitCall auto call, pthread_mutex_t* m, const pthread_mutexattr_t* a) noexcept {
    const Decision mine(ObjectKind::mutex, m, call.caller);
    const Runner r = mine.runner();
    if constexpr (kCount) mine.count();
    const int error = r == kGlibc ? call.next(m, a) : mutex_runners[r].ops.init(m, a);
    if (error == 0 && !is_left_to_glibc(m))
      choice_of(m).store(kChosen + r, relaxed);  // relaxed: the program hands the object on
    return error;
  }
  template <class C>
  static int on(C call, pthread_mutex_t* m, auto... args) noexcept {
    const std::uint32_t choice = choice_of(m).load(relaxed);  // relaxed: as RwByPolicy's
    if (choice == kChosen) [[likely]]
      return call.next(m, args...);
    if (const std::uint32_t r = choice - kChosen; r < kMostRunners) [[likely]]
      return call.of(mutex_runners[r].ops, m, args...);
    return undecided<C>(m, choice, args...);
  }

 private:
  template <class C, class... Args>
  [[gnu::noinline]] static int undecided(pthread_mutex_t* m, std::uint32_t choice,
                                         Args... args) noexcept {
    if (is_left_to_glibc(m)) return C::next(m, args...);
    return decide<C>(m, choice, __builtin_return_address(0), args...);
  }
  template <class C, class... Args>
  [[gnu::noinline]] static int decide(pthread_mutex_t* m, std::uint32_t seen, const void* caller,
                                      Args... args) noexcept {
    if constexpr (DestroyCall<C>) return C::next(m, args...);
    const Decision mine(ObjectKind::mutex, m, caller);
    const Runner r = mine.runner();
    // If another thread is faster, `seen` is that thread's decision.
    const bool is_first = choice_of(m).compare_exchange(seen, kChosen + r, relaxed);
    if (kCount && is_first) mine.count();
    const Runner decided = is_first ? r : runner_in(seen);
    return decided == kGlibc ? C::next(m, args...) : C::of(mutex_runners[decided].ops, m, args...);
  }
};
template <bool kCount>
constexpr MutexOps mutexes_by_policy =
    around<MutexByPolicy<kCount>, MutexByPolicy<kCount>::kSystem>;

// For condition variables. relaxed: the calling thread holds the mutex.
bool is_ours(pthread_mutex_t* m) noexcept {
  return !is_left_to_glibc(m) && of_conds[runner_in(choice_of(m).load(relaxed))].is_ours != nullptr;
}
void count_waiter(pthread_mutex_t* m, bool begins) noexcept {
  of_conds[runner_in(choice_of(m).load(relaxed))].count_waiter(m, begins);
}

}  // namespace

const RwOps* prepare_policy_of_rwlocks(const Config& config, const char*& why) noexcept {
  policy = config.policy;
  const bool count = config.stats != nullptr;
  if (count && !prepare_catches()) {
    why = "no memory for the counts of LOCKSWAP_STATS; raise the limit (ulimit -v)";
    return nullptr;
  }
  if (!policy->has_rules_of(ObjectKind::rwlock))
    return count ? &counting_system_ops : &system_rwlock;
  // All of them, because memory that never was a lock may name any.
  for (RwRunner& runner : rw_runners)
    runner = {count ? counting_system_ops : system_rwlock, nullptr};
  for (Runner r = 1; r < kMostRunners && policy->runners[0][r] != nullptr; ++r) {
    const RwLockInfo* lock = find_rwlock(policy->runners[0][r]);
    if (lock->chosen != nullptr) lock = find_rwlock(lock->chosen(config));
    const RwOps* ops = prepare_rwlock_of(*lock, config, count, why);
    if (ops == nullptr) return nullptr;
    rw_runners[r] = {*ops, nullptr};
    if (lock->code == nullptr) continue;
    const RwCode& code = lock->code->of[choose_wait(config.wait)][count];
    rw_runners[r].adopt = code.adopt;
    code.set_numbers({kMostRunners, r});
  }
  return count ? &rw_by_policy<true> : &rw_by_policy<false>;
}

MutexPolicy prepare_policy_of_mutexes(const Config& config, const char*& why) noexcept {
  policy = config.policy;
  const bool count = config.stats != nullptr;
  MutexPolicy result{count ? &counting_system_mutex : &system_mutex, {}, false};
  if (!policy->has_rules_of(ObjectKind::mutex)) return result;
  for (MutexRunner& runner : mutex_runners)
    runner.ops = *result.ops;
  for (Runner r = 1; r < kMostRunners && policy->runners[1][r] != nullptr; ++r) {
    const MutexInfo* mutex = find_mutex(policy->runners[1][r]);
    if (mutex->chosen != nullptr) mutex = find_mutex(mutex->chosen(config));
    if (mutex->code == nullptr) continue;  // it is chosen for this machine
    const MutexCode& code = mutex->code->of[choose_wait(config.wait)][count];
    if (!code.prepare()) {
      why = kNoQueueNodes;
      return {};
    }
    mutex_runners[r].ops = *code.ops;
    of_conds[r] = code.of_conds;
    result.swaps = true;
  }
  result.ops = count ? &mutexes_by_policy<true> : &mutexes_by_policy<false>;
  result.of_conds = {.is_ours = is_ours, .count_waiter = count_waiter};
  return result;
}

}  // namespace lockswap
