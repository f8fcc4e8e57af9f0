// The production platform: the real machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform/adaptive/backoff.h"
#include "platform/adaptive/brief_spins.h"
#include "platform/adaptive/contention_throttle.h"
#include "platform/adaptive/event_spins.h"
#include "platform/adaptive/failed_tries.h"
#include "platform/adaptive/spins.h"
#include "platform/adaptive/yield_policy.h"
#include "platform/alone.h"
#include "platform/arena.h"
#include "platform/atomic.h"
#include "platform/barrier.h"
#include "platform/blocks.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "platform/futex.h"
#include "platform/kill_switch.h"
#include "platform/memory.h"
#include "platform/process.h"
#include "platform/processors.h"
#include "platform/real_time.h"
#include "platform/rereading.h"
#include "platform/scan.h"
#include "platform/scan_fences.h"
#include "platform/signals.h"
#include "platform/step_aside.h"
#include "platform/system_rwlock.h"
#include "platform/thread.h"
#include "platform/topology.h"
#include "platform/wait_events.h"
#include "platform/waiting_priority.h"

namespace lockswap {

struct Native {
  template <class T>
  using atomic = NativeAtomic<T>;
  template <class T>
  using plain = NativePlain<T>;
  using tally = NativeTally;

  // --- state of the calling thread, state of the process (both start as zeroes)
  template <class T>
  static T& local() noexcept {
    return per_thread<T>;
  }
  template <class T>
  static constexpr T& global() noexcept {
    return process_state<T>;
  }

  static std::uint64_t self() noexcept { return thread_identity(); }
  static std::uint32_t tid() noexcept { return thread_id(); }
  static std::uint32_t tid_if_known() noexcept { return thread_id_if_known(); }
  [[gnu::always_inline]] static std::uint32_t tid_if_noted() noexcept {
    return thread_id_if_noted();
  }
  static std::uint32_t priority_of(std::uint32_t tid) noexcept { return real_time_priority(tid); }
  static void note_waiting_priority(const void* lock, std::uint32_t priority,
                                    bool keep_higher) noexcept {
    WaitingPriority::note(lock, priority, keep_higher);
  }
  static std::uint32_t waiting_priority(const void* lock) noexcept {
    return WaitingPriority::of(lock);
  }
  [[gnu::always_inline]] static bool is_alone() noexcept { return Alone::is(); }
  static bool on_thread_exit(ThreadExit::Hook hook) noexcept {
    return ThreadExit::add(hook) && ThreadExit::arm();
  }

  // --- processes: this one and its ancestors
  static constexpr std::uint64_t kStampMask = Process::kStampMask;
  static constexpr std::uint64_t kStampTop = Process::kStampTop;
  static std::uint64_t process() noexcept { return Process::stamp(); }
  static std::uint64_t process_mark() noexcept { return Process::mark(); }
  static bool is_process(std::uint64_t word) noexcept { return Process::is(word); }
  static std::uint64_t seal() noexcept { return Process::seal(); }
  static bool is_seal(std::uint64_t word) noexcept { return Process::is_seal(word); }
  static bool is_ancestor(std::uint64_t stamp) noexcept { return Process::is_ancestor(stamp); }
  static bool is_ancestor_seal(std::uint64_t seal) noexcept {
    return Process::is_ancestor_seal(seal);
  }
  static bool begins_systems() noexcept { return KillSwitch::is_off(); }
  using NoSignals = lockswap::NoSignals;
  static std::uint32_t survivor(std::uint32_t tid, std::uint64_t process) noexcept {
    make_survivor_known();
    return Survivor::id_of(tid, process);
  }
  static bool is_shared(const void* p) noexcept { return is_shared_memory(p); }
  // `bytes` is a multiple of a word's size.
  static bool is_blank(const void* p, std::size_t bytes) noexcept {
    const auto* const words = static_cast<const std::uint64_t*>(p);
    for (std::size_t i = 0; i < bytes / sizeof *words; ++i) {
      if (__atomic_load_n(words + i, __ATOMIC_RELAXED) != 0) return false;
    }
    return true;
  }
  static bool system_is_read(const pthread_rwlock_t* l) noexcept { return is_read(l); }
  static bool system_is_written(const pthread_rwlock_t* l) noexcept { return is_written(l); }
  static void system_renew(pthread_rwlock_t* l, bool written) noexcept { renew(l, written); }

  // --- the machine
  static void set_pretence(Pretence pretence) noexcept {
    if (pretence == pretence_) return;
    pretence_ = pretence;
    topology_is_read_ = false;
  }
  // The topology is read once: when the inner lock of a range lock is prepared later, other locks
  // already use it.
  static void prepare_topology() noexcept {
    if (!topology_is_read_) read_topology(pretence_);
    topology_is_read_ = true;
  }
  static std::uint32_t cpus() noexcept { return topology.cpus; }
  static std::uint32_t node_count() noexcept { return topology.nodes; }
  static std::uint32_t cpu() noexcept { return current_cpu(); }
  static std::uint32_t node() noexcept { return current_node(); }

  static constexpr std::uint32_t kMostInARow = 32;
  static constexpr std::uint32_t kMostAwake = 5;
  static constexpr std::uint32_t kRangeNodes = 128;
  static constexpr std::uint32_t kRangePatience = 8;
  static constexpr std::uint32_t kRangeLists = 1024;
  static constexpr std::uint32_t kRows = 1 << 12;
  static constexpr std::uint32_t kRowSections = 7;
  static constexpr std::size_t kLogChunk = 1 << 14;
  static constexpr std::uint32_t kManyCallbacks = 256;

  // --- time
  static std::uint64_t now() noexcept { return monotonic_ns(); }
  static bool passed(const Deadline& d) noexcept { return has_passed(d); }
  static Deadline deadline_in(std::uint64_t ns) noexcept {
    return lockswap::deadline_in(monotonic_ns(), ns);
  }
  static Deadline due(const Deadline& d) noexcept { return due_from_now(d); }
  static Deadline one_sleep(const Deadline& d) noexcept { return lockswap::one_sleep(d); }
  static std::uint64_t reader_patience() noexcept { return reader_patience_; }
  static void set_reader_patience(std::uint64_t ns) noexcept { reader_patience_ = ns; }
  static std::uint64_t hand_off_after() noexcept { return hand_off_after_; }
  static void set_hand_off_after(std::uint64_t ns) noexcept { hand_off_after_ = ns; }
  // These are kept per thread until the contract counts them (posix/count_waits.h).
  static void handed_off(const void*) noexcept { ++per_thread<WaitEvents>.hand_offs; }
  static void begins_phase() noexcept { ++per_thread<WaitEvents>.phases; }
  static void throttled() noexcept { ++per_thread<WaitEvents>.backoffs; }
  static void took_wake_up(const void*) noexcept {}  // only the model checker counts it
  // Longer than threads usually wait for a busy lock.
  static std::uint64_t take_back() noexcept { return 250'000'000; }
  static constexpr std::uint32_t reads_per_clock() noexcept { return 64; }

  // --- waiting
  using Spins = lockswap::Spins;
  using EventSpins = lockswap::EventSpins;
  using BriefSpins = lockswap::BriefSpins;
  using Backoff = lockswap::Backoff;
  using ContentionThrottle = lockswap::ContentionThrottle;
  using FailedTries = lockswap::FailedTries;
  using YieldPolicy = lockswap::YieldPolicy;
  // Called at start-up, by one thread. Sets how long threads may spin before they sleep, how many
  // processors there are, and how to find that out again. Later calls do nothing: other locks are
  // already in use when the inner lock of a range lock is prepared.
  static void set_most_pauses(std::uint32_t pauses, const Processors& p,
                              Rereading::Again again = nullptr) noexcept {
    if (Rereading::is_prepared()) return;
    Spins::prepare(pauses, p);
    YieldPolicy::adapt(p);
    Rereading::prepare(again, p);
  }

  static void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    asm volatile("yield" ::: "memory");
#endif
  }

  static void step_aside(unsigned round) noexcept { lockswap::step_aside(round); }

  // Pauses in which a running thread takes its next few steps.
  static constexpr std::uint32_t kMoment = 64;
  // Polls after which a thread queries its scheduling policy: about a millisecond of either.
  static constexpr std::uint32_t kLongSpin = 1u << 14;
  static constexpr std::uint32_t kLongYield = 1u << 10;

  template <class A, class Pred>
  static bool await(Pause pause, const A& atom, Order order, Pred pred,
                    const Deadline* deadline = nullptr) noexcept {
    bool naps = false;  // it has a real-time policy, so neither a spin nor a yield lets others run
    Deadline point{};
    for (std::uint32_t round = 1; !pred(atom.load(order)); ++round) {
      const bool spins = pause == Pause::spin || (pause == Pause::nap && round <= kMoment);
      const std::uint32_t is_long = pause == Pause::spin ? kLongSpin : kLongYield;
      if (pause != Pause::nap && round % is_long == 0) naps = has_real_time_policy();
      if (naps) {
        nap_in_real_time();
      } else if (spins) {
        relax();
      } else {
        step_aside(pause == Pause::yield ? 0 : round - kMoment - 1);
      }
      // A pause is shorter than reading the clock; a yield may take as long as others' time slices.
      const bool look = !spins || naps || round % 64 == 0;
      if (deadline == nullptr || !look) continue;
      if (deadline->patience != 0) {
        point = due(*deadline);
        deadline = &point;
      } else if (has_passed(*deadline)) {
        return pred(atom.load(order));
      }
    }
    return true;
  }

  // 64-bit atoms sleep on their low half.
  template <class A>
  static Parked park(const A& atom, std::uint32_t low_half, std::uint32_t channels,
                     const Deadline* deadline) noexcept {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    Rereading::before_sleep();
    return futex_wait(&atom, low_half, channels, deadline);
  }
  template <class A>
  static Parked park_for(const A& atom, std::uint32_t low_half, std::uint64_t ns) noexcept {
    return futex_wait_for(&atom, low_half, ns);
  }
  static bool word_is(std::uint64_t address, std::uint64_t value) noexcept {
    return futex_word_is(address, static_cast<std::uint32_t>(value)) &&
           futex_word_is(address + 4, static_cast<std::uint32_t>(value >> 32));
  }
  template <class A>
  static std::uint32_t unpark(const A* atom, std::uint32_t channels) noexcept {
    return futex_wake(atom, channels);
  }
  template <class A>
  static std::uint32_t unpark_one(const A* atom, std::uint32_t channels) noexcept {
    return futex_wake_one(atom, channels);
  }

  // --- the asymmetric fence
  static bool prepare_heavy_fence() noexcept { return Barrier::prepare(); }
  static void heavy_fence() noexcept { Barrier::heavy(); }
  static bool barrier_in_all() noexcept { return Barrier::in_all(); }
  static void full_fence() noexcept { fence(seq_cst); }
  [[gnu::always_inline]] static void light_fence() noexcept { Barrier::light(); }
  [[gnu::always_inline]] static void fork_point() noexcept { signal_fence(); }

  // --- memory for one thread; zeroed, or nullptr
  static void* map(std::size_t bytes) noexcept { return map_pages(bytes); }
  static void unmap(void* p, std::size_t bytes) noexcept { unmap_pages(p, bytes); }
  static void copy(void* to, const void* from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
  }

  // --- an object that nobody may access for a while, which the model checker checks
  template <class T>
  static void forbid(T*) noexcept {}
  template <class T>
  static void permit(T*) noexcept {}
  // Invariants. The model checker checks them; here they compile to nothing.
  template <class F>
  [[gnu::always_inline]] static void check(const F&) noexcept {}

  // --- queue nodes, and memory in addition to locks
  template <class T>
  using nodes = Arena<T>;
  template <class Head, class Part>
  using blocks = Blocks<Head, Part>;

  // --- the revocation scan: see platform/scan.h. on_hit(index) says whether to go on.
  template <class OnHit>
  static bool scan(const atomic<std::uint64_t>* table, std::size_t n, std::uint64_t key,
                   OnHit on_hit) noexcept {
    return scan_between_fences(
        n, [](Order order) { fence(order); },
        [table, n, key](std::size_t from) { return find_slot(table, from, n, key); }, on_hit);
  }

 private:
  template <class T>
  static inline constinit T process_state{};
  static inline constinit std::uint64_t reader_patience_ = 0;
  static inline constinit std::uint64_t hand_off_after_ = 500'000;
  static inline constinit Pretence pretence_{};
  static inline constinit bool topology_is_read_ = false;
};

static_assert(Platform<Native>);

}  // namespace lockswap
