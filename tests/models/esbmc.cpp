// The shipped PF-T for ESBMC: a third platform, small enough for a bounded model checker.
//
// Each operation on an atom is one atomic step (sequential consistency is all that ESBMC has). A
// wait is an assumption: only executions in which it ends are followed, so this checks exclusion,
// not progress.
#include <pthread.h>

#include "locks/rw/pf-t.h"

namespace {

using lockswap::Deadline;
using lockswap::Order;

template <class T>
struct Atom {
  using value_type = T;
  T v{};

  // Declared alone: Platform lists them, and PF-T does not use them.
  T exchange(T, Order);
  T fetch_sub(T, Order);
  T fetch_and(T, Order);
  T fetch_add_alone(T);
  bool compare_exchange_alone(T&, T);

  T load(Order) const { return v; }
  bool is(T) const;
  void store(T n, Order) { v = n; }
  bool compare_exchange(T& expected, T desired, Order) {
    __ESBMC_atomic_begin();
    const bool same = v == expected;
    if (same)
      v = desired;
    else
      expected = v;
    __ESBMC_atomic_end();
    return same;
  }
  T fetch_add(T n, Order) {
    __ESBMC_atomic_begin();
    const T old = v;
    v = old + n;
    __ESBMC_atomic_end();
    return old;
  }
  T fetch_or(T n, Order) {
    __ESBMC_atomic_begin();
    const T old = v;
    v = old | n;
    __ESBMC_atomic_end();
    return old;
  }
};

// What Platform lists and PF-T does not use: declared alone.
struct Unused {
  template <class T>
  struct plain {
    T get() const;
    void set(T);
  };
  struct tally {
    std::uint64_t get() const;
    void add(std::uint64_t), set(std::uint64_t);
  };
  template <class T>
  struct nodes {
    static bool prepare();
    static T& at(std::uint32_t);
    static bool is_handle(std::uint32_t);
    static std::uint32_t take(), try_take();
    static void give(std::uint32_t);
    static std::uint32_t take_kept();
    static bool keep(std::uint32_t);
    static void give_shared(std::uint32_t);
  };
  template <class Head, class Part>
  struct blocks {
    static bool prepare(std::uint32_t);
    static std::uint32_t parts();
    static Part& part(Head&, std::uint32_t);
    static std::size_t bytes_with(std::uint32_t);
    template <class Reclaim>
    static Head& take(const Reclaim&);
    static void give(Head&);
    static bool is_block(std::uint64_t);
  };
  struct NoSignals {};
  template <class T>
  static T& local();
  template <class T>
  static T& global();
  static bool prepare_heavy_fence();
  static bool barrier_in_all();
  static void heavy_fence(), light_fence(), full_fence(), fork_point();
  template <class A, class OnHit>
  static bool scan(const A*, std::size_t, std::uint64_t, OnHit);
  static void* map(std::size_t);
  static void unmap(void*, std::size_t);
  static void copy(void*, const void*, std::size_t);
  static bool word_is(std::uint64_t, std::uint64_t);
  template <class T>
  static void forbid(T*);
  template <class T>
  static void permit(T*);
  template <class F>
  static void check(const F&) {}
  static std::uint64_t self(), process(), process_mark(), seal(), now();
  static std::uint32_t tid(), tid_if_known(), tid_if_noted();
  static std::uint32_t priority_of(std::uint32_t), waiting_priority(const void*);
  static void note_waiting_priority(const void*, std::uint32_t, bool);
  static bool is_alone();
  static bool on_thread_exit(void (*)());
  static constexpr std::uint64_t kStampMask = 0, kStampTop = 0;
  static bool is_process(std::uint64_t), is_seal(std::uint64_t), is_ancestor(std::uint64_t),
      is_ancestor_seal(std::uint64_t);
  static std::uint32_t survivor(std::uint32_t, std::uint64_t);
  static bool begins_systems(), is_shared(const void*), is_blank(const void*, std::size_t);
  static bool system_is_read(const pthread_rwlock_t*), system_is_written(const pthread_rwlock_t*);
  static void system_renew(pthread_rwlock_t*, bool);
  static void prepare_topology();
  static std::uint32_t cpus(), node_count(), cpu(), node();
  static constexpr std::uint32_t kMostInARow = 1, kMostAwake = 1, kRows = 1, kRowSections = 1;
  static constexpr std::uint32_t kRangeNodes = 1, kRangePatience = 0, kRangeLists = 1;
  static constexpr std::uint32_t kLogChunk = 1, kManyCallbacks = 1;
  static constexpr std::uint32_t reads_per_clock() { return 1; }
  static bool passed(const Deadline&);
  static Deadline deadline_in(std::uint64_t);
  static Deadline due(const Deadline&), one_sleep(const Deadline&);
  static std::uint64_t reader_patience();
  template <class A, class Pred>
  static bool await(lockswap::Pause, const A&, Order, Pred, const Deadline* = nullptr);
  static void step_aside(unsigned);
  template <class A>
  static lockswap::Parked park(const A&, std::uint32_t, std::uint32_t, const Deadline*);
  template <class A>
  static lockswap::Parked park_for(const A&, std::uint32_t, std::uint64_t);
  template <class A>
  static std::uint32_t unpark(const A*, std::uint32_t);
  template <class A>
  static std::uint32_t unpark_one(const A*, std::uint32_t);
  static std::uint64_t hand_off_after();
  static void handed_off(const void*);
  static void begins_phase();
  static void throttled();
  static void took_wake_up(const void*);
  static std::uint64_t take_back();
};
struct Checked : Unused {
  template <class T>
  using atomic = Atom<T>;
  // Nobody spins: a spin is only a later start.
  struct Spins {
    explicit Spins(const void*) {}
    bool more() { return false; }
    void succeeded() {}
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
  struct YieldPolicy {
    static bool should_yield(bool) { return false; }
    static void yield() {}
  };
  static void relax() {}
};
struct Assumed {
  static constexpr bool kParks = true;
  template <class A, class Pred>
  static bool until(A& atom, Order order, typename A::value_type, std::uint32_t, const Deadline*,
                    Pred pred) {
    __ESBMC_assume(pred(atom.load(order)));
    return true;
  }
  template <class A>
  static void wake(const A*, std::uint32_t) {}
};

lockswap::PfT<Checked, Assumed> lock;
int readers, writers;

void* read(void*) {
  const std::uint32_t phase = lock.read_arrive();
  if (phase != 0) lock.read_wait(phase, nullptr);
  __ESBMC_atomic_begin();
  ++readers;
  __ESBMC_assert(writers == 0, "a reader beside a writer");
  __ESBMC_atomic_end();
  --readers;
  lock.read_unlock();
  return nullptr;
}
void* write(void*) {
  lock.write_lock(lockswap::NobodyListens{});
  __ESBMC_atomic_begin();
  ++writers;
  __ESBMC_assert(writers == 1 && readers == 0, "a writer beside another");
  __ESBMC_atomic_end();
  --writers;
  lock.write_unlock();
  return nullptr;
}

}  // namespace

int main() {
  pthread_t t[3];
  pthread_create(&t[0], nullptr, write, nullptr);
#if WRITERS == 2
  pthread_create(&t[1], nullptr, write, nullptr);
#else
  pthread_create(&t[1], nullptr, read, nullptr);
#endif
  pthread_create(&t[2], nullptr, read, nullptr);
  return 0;
}
