// The cost model's platform: Modelled is for the modelled machine what Native is for the real one.
//
// Backing off and throttling do nothing here, and a bounded spin always has the same bound. Threads
// yield only if there are more of them than hardware threads.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <pthread.h>

#include "multicore/cost/machine.h"
#include "multicore/cost/modelled_atomic.h"
#include "multicore/cost/per_run.h"
#include "multicore/cost/supply.h"
#include "platform/concept.h"

namespace lockswap::cost {

struct Modelled {
  template <class T>
  using atomic = ModelledAtomic<T>;
  template <class T>
  using plain = ModelledPlain<T>;
  struct tally {
    std::uint64_t n = 0;
    std::uint64_t get() const { return n; }
    void set(std::uint64_t to) { n = to; }
    void add(std::uint64_t more) { n += more; }
  };
  template <class T>
  using nodes = ModelledNodes<T>;
  template <class Head, class Part>
  using blocks = ModelledBlocks<Head, Part>;

  static void prepare_topology() {}
  static std::uint32_t cpus() { return static_cast<std::uint32_t>(machine.costs().place.size()); }
  static std::uint32_t node_count() {
    int most = 0;
    for (const Place& p : machine.costs().place)
      most = std::max(most, p.node);
    return static_cast<std::uint32_t>(most) + 1;
  }
  static std::uint32_t cpu() { return static_cast<std::uint32_t>(machine.processor()); }
  static std::uint32_t node() { return static_cast<std::uint32_t>(machine.place().node); }

  // As in the library (native.h).
  static constexpr std::uint32_t kMostInARow = 32;
  static constexpr std::uint32_t kMostAwake = 5;
  static constexpr std::uint32_t kRangeNodes = 128, kRangePatience = 8, kRangeLists = 1024;
  static constexpr std::uint32_t kRows = 1 << 12, kRowSections = 7;
  static constexpr std::size_t kLogChunk = 1 << 14;
  static constexpr std::uint32_t kManyCallbacks = 256;
  static constexpr std::uint32_t reads_per_clock() { return 64; }

  template <class T>
  static T& local() {
    return PerRun<T, kMostThreads>::at(machine.current());
  }
  template <class T>
  static T& global() {
    return PerRun<T, 1>::at(0);
  }

  // Like glibc's placement of thread descriptors: at the ends of adjacent stacks.
  static std::uint64_t self() {
    constexpr std::uint64_t kFirst = 0x7f5a'3c00'06c0, kStack = (8 << 20) + 4096;
    return kFirst - kStack * static_cast<std::uint64_t>(machine.current());
  }
  static std::uint32_t tid() { return 1000 + static_cast<std::uint32_t>(machine.current()); }
  static std::uint32_t tid_if_known() { return tid(); }
  static std::uint32_t tid_if_noted() { return tid(); }
  static std::uint32_t priority_of(std::uint32_t) { return 0; }
  static void note_waiting_priority(const void*, std::uint32_t, bool) {}
  static std::uint32_t waiting_priority(const void*) { return 0; }
  static bool is_alone() { return false; }
  static bool on_thread_exit(void (*)()) { return true; }

  static constexpr std::uint64_t kStampMask = std::uint64_t{0x1ff} << 31;
  static constexpr std::uint64_t kStampTop = std::uint64_t{1} << 31;
  static std::uint64_t process() { return kStampTop | std::uint64_t{1} << 32; }
  static std::uint64_t process_mark() { return process(); }
  static bool is_process(std::uint64_t word) { return word << 24 == process() << 24; }
  static std::uint64_t seal() { return process(); }
  static bool is_seal(std::uint64_t word) { return word == process(); }
  static bool is_ancestor(std::uint64_t) { return true; }
  static bool is_ancestor_seal(std::uint64_t) { return true; }
  static std::uint32_t survivor(std::uint32_t id, std::uint64_t) { return id; }
  static bool begins_systems() { return false; }
  static bool is_shared(const void*) { return false; }
  static bool is_blank(const void*, std::size_t) { return true; }
  struct NoSignals {
    NoSignals() {}
  };
  static bool system_is_read(const pthread_rwlock_t*) { return false; }
  static bool system_is_written(const pthread_rwlock_t*) { return false; }
  static void system_renew(pthread_rwlock_t*, bool) {}

  static std::uint64_t now() {
    machine.spend(machine.costs().clock);
    return time();
  }
  static bool passed(const Deadline& d) { return machine.now() >= end_of(d); }
  static Deadline deadline_in(std::uint64_t ns) { return lockswap::deadline_in(time(), ns); }
  static Deadline due(Deadline d) {
    if (d.patience != 0) {
      const std::uint64_t at = time() + (d.longer != 0 ? d.longer : d.patience);
      if (d.soon == 0 || at < d.soon) d.soon = at;
      d.patience = d.longer = 0;
    }
    return d;
  }
  static Deadline one_sleep(const Deadline& d) { return d; }
  static std::uint64_t reader_patience() { return 20'000'000; }
  static std::uint64_t hand_off_after() { return 500'000; }
  static std::uint64_t take_back() { return 250'000'000; }
  static void handed_off(const void*) {}
  static void begins_phase() {}
  static void throttled() {}
  static void took_wake_up(const void*) {}

  struct Spins {
    explicit Spins(const void*) : left_(machine.costs().pauses) {}
    bool more() { return left_ != 0 && left_-- != 0; }
    void succeeded() {}

   private:
    std::uint32_t left_;
  };
  struct EventSpins {
    explicit EventSpins(const void*) {}
    bool begins() { return false; }
    void ends_by(const Deadline&) {}
    bool more() { return false; }
    void succeeded() {}
    void sleeps() {}
  };
  using BriefSpins = EventSpins;
  struct Backoff {
    static bool should_sleep(const void*) { return false; }
    static void learn(const void*, bool) {}
  };
  struct ContentionThrottle {
    struct Advice {
      std::uint64_t sleep = 0;
      bool counts = false;
    };
    static Advice advise(const void*) { return {}; }
    static void backed_off(const void*) {}
    static bool counted(const void*) { return false; }
  };
  struct FailedTries {
    static bool should_count(const void*) { return true; }
  };
  // As platform/adaptive/yield_policy.h counts.
  struct YieldPolicy {
    static bool should_yield(bool is_queued) {
      if (!machine.shares_processors()) return false;
      std::uint32_t& counted = local<Count>().counted;
      counted += is_queued ? kHeadReleases / kReleases : 1;
      if (counted < kHeadReleases) return false;
      counted = 0;
      return true;
    }
    static void yield() { machine.yield(); }

   private:
    struct Count {
      std::uint32_t counted;
    };
    static constexpr std::uint32_t kReleases = 512, kHeadReleases = 2048;
  };
  static void relax() { machine.spend(machine.costs().pause); }
  static void step_aside(unsigned round) {
    constexpr unsigned kYields = 16;
    if (!machine.shares_processors()) {
      machine.spend(machine.costs().pause);
    } else if (round < kYields) {
      machine.yield();
    } else {
      nap(1'000L << (round < kYields + 6 ? 4 + round - kYields : 10));
    }
  }

  template <class A, class Pred>
  static bool await(Pause pause, const A& atom, Order order, Pred pred,
                    const Deadline* deadline = nullptr) {
    const Deadline until = deadline != nullptr ? due(*deadline) : Deadline{};
    const double end = deadline != nullptr ? end_of(until) : kNever;
    const bool steps_aside = pause != Pause::spin && machine.shares_processors();
    for (unsigned round = 0; !pred(atom.load(order)); ++round) {
      if (steps_aside && machine.now() < end) {
        step_aside(pause == Pause::nap ? round : 0);
      } else if (steps_aside || !machine.watch(&atom, end)) {
        return pred(atom.load(order));
      }
    }
    return true;
  }
  template <class A>
  static Parked park(const A& atom, std::uint32_t low_half, std::uint32_t channels,
                     const Deadline* deadline) {
    return park_until(atom, low_half, channels, deadline != nullptr ? end_of(*deadline) : kNever);
  }
  template <class A>
  static Parked park_for(const A& atom, std::uint32_t low_half, std::uint64_t ns) {
    return park_until(atom, low_half, ~std::uint32_t{0}, machine.now() + static_cast<double>(ns));
  }
  template <class A>
  static std::uint32_t unpark(const A* atom, std::uint32_t channels) {
    return machine.wake(atom, channels, std::numeric_limits<std::uint32_t>::max());
  }
  template <class A>
  static std::uint32_t unpark_one(const A* atom, std::uint32_t channels) {
    return machine.wake(atom, channels, 1);
  }

  static bool prepare_heavy_fence() { return true; }
  static void heavy_fence() { machine.spend(machine.costs().barrier); }
  static void light_fence() {}
  static bool barrier_in_all() {
    machine.spend(machine.costs().barrier);
    return true;
  }
  static void full_fence() { machine.spend(machine.costs().fence); }
  static void fork_point() {}

  static void* map(std::size_t bytes) { return zeroed(bytes); }
  static void unmap(void*, std::size_t) {}
  static void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  static bool word_is(std::uint64_t address, std::uint64_t value) {
    return reinterpret_cast<const ModelledAtomic<std::uint64_t>*>(address)->peek() == value;
  }
  template <class T>
  static void forbid(T*) {}
  template <class T>
  static void permit(T*) {}
  template <class F>
  static void check(const F&) {}

  template <class OnHit>
  static bool scan(const atomic<std::uint64_t>* table, std::size_t n, std::uint64_t key,
                   OnHit on_hit) {
    machine.spend(machine.costs().fence);
    machine.stream(table, n * sizeof *table);
    bool all = true;
    for (std::size_t i = 0; all && i < n; ++i) {
      if ((table[i].peek() | 1) == (key | 1)) all = on_hit(i);
    }
    return all;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  static std::uint64_t time() { return static_cast<std::uint64_t>(machine.now()); }
  static void nap(long ns) {
    constexpr std::uint32_t kNobody = 0;
    machine.spend(machine.costs().park);
    machine.sleep(&kNobody, 0, machine.now() + static_cast<double>(ns));
  }
  static double end_of(const Deadline& d) {
    double end = has_no_time(d)
                     ? kNever
                     : static_cast<double>(d.at.tv_sec) * 1e9 + static_cast<double>(d.at.tv_nsec);
    if (d.soon != 0) end = std::fmin(end, static_cast<double>(d.soon));
    return end;
  }
  template <class A>
  static Parked park_until(const A& atom, std::uint32_t low_half, std::uint32_t channels,
                           double end) {
    machine.spend(machine.costs().park);
    machine.access(&atom, Access::read);
    if (static_cast<std::uint32_t>(atom.peek()) != low_half) return Parked::changed;
    return machine.sleep(&atom, channels, end) ? Parked::woken : Parked::timed_out;
  }
};

static_assert(Platform<Modelled>);

}  // namespace lockswap::cost
