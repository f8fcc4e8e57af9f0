// The exploration platform: Explored is for the virtual machine what Native is for the real one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pthread.h>
#include <utility>

#include "multicore/explore/explored_atomic.h"
#include "multicore/explore/machine.h"
#include "multicore/explore/renewed.h"
#include "multicore/explore/shadow.h"
#include "multicore/explore/supply.h"
#include "platform/concept.h"
#include "platform/scan_fences.h"

namespace lockswap::explore {

struct Explored {
  template <class T>
  using atomic = ExploredAtomic<T>;
  template <class T>
  using plain = ExploredPlain<T>;
  // Not a step of its own.
  struct tally {
    std::uint64_t n = 0;
    std::uint64_t get() const { return n; }
    void set(std::uint64_t to) { n = to; }
    void add(std::uint64_t more) { n += more; }
  };
  template <class T>
  using nodes = ExploredNodes<T>;
  template <class Head, class Part>
  using blocks = ExploredBlocks<Head, Part>;

  // Two CPUs, on a node each.
  static void prepare_topology() {}
  static std::uint32_t cpus() { return 2; }
  static std::uint32_t node_count() { return 2; }
  static std::uint32_t cpu() { return machine.place(2); }
  static std::uint32_t node() { return machine.place(2); }
  static constexpr std::uint32_t kMostInARow = 1;
  static constexpr std::uint32_t kMostAwake = 2;
  // A node is reused as soon as possible, and a waiter in the queue is impatient at once.
  static constexpr std::uint32_t kRangeNodes = 1, kRangePatience = 0, kRangeLists = 3;
  // A third reader gets no row.
  static constexpr std::uint32_t kRows = 2, kRowSections = 1;
  // Two or three copies fill a chunk.
  static constexpr std::size_t kLogChunk = 512;
  static constexpr std::uint32_t kManyCallbacks = 2;

  template <class T>
  static T& local() {
    return Renewed<T, kMaxThreads>::at(machine.current());
  }
  template <class T>
  static T& global() {
    return Renewed<T, 1>::at(0);
  }

  // Which slot of a table a thread gets depends on self(), so cases choose it.
  static inline std::array<std::uint64_t, kMaxThreads> identities{};
  static std::uint64_t self() { return identities[machine.current()]; }
  // A thread that takes another's place has the same identity, but its own kernel id.
  static std::uint32_t tid() { return tid_of(machine.process(), machine.current()); }
  static std::uint32_t tid_if_known() { return tid(); }
  static std::uint32_t tid_if_noted() { return tid(); }
  static bool is_alone() { return machine.has_one_thread(); }
  static std::uint32_t priority_of(std::uint32_t tid) {
    const std::uint32_t priority = global<Priorities>().of[tid % kThreadsInIds];
    machine.adds(priority);
    return priority;
  }
  static void set_priority(int thread, std::uint32_t priority) {
    global<Priorities>().of[thread] = priority;
    global<Priorities>().any = true;
  }
  // Stores one lock in each execution, the last one noted.
  static void note_waiting_priority(const void* lock, std::uint32_t priority, bool keep_higher) {
    Waiting& w = global<Waiting>();
    machine.visits(w.last);
    if (keep_higher && w.lock == lock && w.priority > priority) return;
    w.lock = lock;
    w.priority = priority;
  }
  static std::uint32_t waiting_priority(const void* lock) {
    Waiting& w = global<Waiting>();
    machine.visits(w.last);
    return w.lock == lock ? w.priority : 0;
  }
  static bool on_thread_exit(void (*hook)()) {
    machine.expect_exit_hook(hook);
    return true;
  }

  // A process that survived a fork has one as well.
  static constexpr std::uint64_t kStampMask = std::uint64_t{0x1ff} << 31;
  static constexpr std::uint64_t kStampTop = std::uint64_t{1} << 31;
  static std::uint64_t process() {
    return kStampTop | static_cast<std::uint64_t>(machine.process() + 1) << 32;
  }
  static std::uint64_t process_mark() { return process(); }
  static bool is_process(std::uint64_t word) { return word << 24 == process() << 24; }
  static std::uint64_t seal() { return process(); }
  static bool is_seal(std::uint64_t word) { return word == process(); }
  // There are no others.
  static bool is_ancestor(std::uint64_t) { return true; }
  static bool is_ancestor_seal(std::uint64_t) { return true; }
  static std::uint32_t survivor(std::uint32_t id, std::uint64_t stamp) {
    const int ancestor = static_cast<int>(stamp >> 32) - 1;
    const int thread = machine.survivor();
    return id == tid_of(ancestor, thread) ? tid_of(machine.process(), thread) : id;
  }
  // In cases that use it, each check may find either value, because the switch may be set at any
  // moment, and seen late.
  static inline bool may_begin_systems = false;
  static bool begins_systems() { return may_begin_systems && machine.happens(); }
  static bool is_shared(const void*) { return false; }
  static bool is_blank(const void*, std::size_t) { return true; }
  struct NoSignals {
    NoSignals() {}  // there are none
  };
  // For a model of the system's lock: whether it is held for reading.
  static inline bool (*system_is_read)(const pthread_rwlock_t*) = nullptr;
  static inline bool (*system_is_written)(const pthread_rwlock_t*) = nullptr;
  static inline void (*system_renew)(pthread_rwlock_t*, bool written) = nullptr;

  // The clock stands still, so that whatever has begun is over at once, or it advances by one at
  // each call. Deadlines pass by choice.
  static inline std::uint64_t tick = 0;
  static std::uint64_t now() {
    struct Clock {
      std::uint64_t now = 1000;
      std::uint64_t last = 0;  // see Machine::visits
    };
    Clock& clock = global<Clock>();
    if (tick != 0) machine.visits(clock.last);
    return clock.now += tick;
  }
  static bool passed(const Deadline& d) {
    return (d.soon != 0 && machine.lost_patience()) || machine.passed(d);
  }
  static Deadline deadline_in(std::uint64_t) { return *machine.deadline(Machine::When::idle); }
  // The machine knows when patience runs out, so a point in time has it. The nanoseconds say that
  // there is some, for those that pass on only the time.
  static constexpr long kPatient = 1;
  static Deadline due(Deadline d) {
    if (d.patience != 0) d.soon = 1;
    return d;
  }
  static Deadline one_sleep(Deadline d) {
    if (d.soon != 0) d.at.tv_nsec = kPatient;
    return d;
  }
  static inline std::uint64_t patience = 0;  // 0: readers wait for ever
  static std::uint64_t reader_patience() { return patience; }
  static inline std::uint64_t hand_off_time = 1;  // it passes as patience does
  static std::uint64_t hand_off_after() { return hand_off_time; }
  // Threads with real-time policies request hand-offs whenever they come.
  static void handed_off(const void* lock) {
    if (hand_off_time != 0 && !global<Priorities>().any) machine.handed_off(lock);
  }
  static void begins_phase() {}
  static void throttled() {}
  static void took_wake_up(const void* word) { machine.came_back(word); }
  static inline std::uint64_t take_back_after = 0;  // 0, because a time would hide lost wake-ups
  static std::uint64_t take_back() { return take_back_after; }
  static inline std::uint32_t slow_reads_per_clock = 1;
  static std::uint32_t reads_per_clock() { return slow_reads_per_clock; }

  // Nobody spins, because a spin is only a later start.
  struct Spins {
    explicit Spins(const void*) {}
    bool more() { return false; }
    void succeeded() {}
  };
  // The same for a spin for an event, except for what it does before. In cases that use it, any
  // wait may begin one, which polls once.
  static inline bool spins_for_events = false;
  struct EventSpins {
    explicit EventSpins(const void*) : begins_(spins_for_events && machine.happens()) {}
    bool begins() const { return begins_; }
    void ends_by(const Deadline&) {}
    bool more() { return std::exchange(begins_, false); }
    void succeeded() {}
    void sleeps() {}

   private:
    bool begins_;
  };
  using BriefSpins = EventSpins;
  // The same for backing off before a thread is counted.
  struct Backoff {
    static bool should_sleep(const void*) { return false; }
    static void learn(const void*, bool) {}
  };
  // Whether one thread alone is faster depends on time, so all threads back off, or none does.
  static inline bool leaves_locks_to_one = false;
  struct ContentionThrottle {
    struct Advice {
      std::uint64_t sleep = 0;
      bool counts = false;
    };
    static Advice advise(const void*) {
      return {.sleep = leaves_locks_to_one ? 1u : 0, .counts = leaves_locks_to_one};
    }
    static void backed_off(const void*) {}
    static bool counted(const void*) { return false; }
  };
  // Any time may have passed since the last one.
  struct FailedTries {
    static bool should_count(const void*) { return true; }
  };
  // Another thread may run at any step.
  struct YieldPolicy {
    static bool should_yield(bool) { return false; }
    static void yield() {}
  };
  static void relax(Site s = Site::current()) { machine.step_aside(s); }
  static void step_aside(unsigned, Site s = Site::current()) { machine.step_aside(s); }

  template <class A, class Pred>
  static bool await(Pause, const A& atom, Order order, Pred pred,
                    const Deadline* deadline = nullptr, Site s = Site::current()) {
    using T = typename A::value_type;
    return machine.await(condition_on<T>(pred, atom.location()), order, deadline, s);
  }
  template <class A>
  static Parked park(const A& atom, std::uint32_t low_half, std::uint32_t channels,
                     const Deadline* deadline, Site s = Site::current()) {
    return machine.park(atom.location(), low_half, channels, deadline, priority_of(tid()), s);
  }
  template <class A>
  static Parked park_for(const A& atom, std::uint32_t low_half, std::uint64_t,
                         Site s = Site::current()) {
    const Deadline* const idle = machine.deadline(Machine::When::idle);
    return machine.park(atom.location(), low_half, ~std::uint32_t{0}, idle, priority_of(tid()), s);
  }
  template <class A>
  static std::uint32_t unpark(const A* atom, std::uint32_t channels, Site s = Site::current()) {
    return machine.unpark(atom, channels, s);
  }
  template <class A>
  static std::uint32_t unpark_one(const A* atom, std::uint32_t channels, Site s = Site::current()) {
    return machine.unpark(atom, channels, s, true);
  }

  // For pairs in which one side is hot: the heavy fence is a seq_cst fence in each thread, and the
  // light one costs nothing.
  static void heavy_fence(Site s = Site::current()) { machine.heavy_fence(s); }
  static void light_fence() {}
  static bool barrier_in_all(Site s = Site::current()) {
    machine.heavy_fence(s);
    return true;
  }
  static void full_fence(Site s = Site::current()) { machine.fence(Op::fence, seq_cst, s); }
  // A separate step in which nothing happens. What a thread does to plain memory is part of the
  // step before.
  static void fork_point(Site s = Site::current()) {
    struct Nowhere {
      ExploredAtomic<std::uint32_t> word{};
    };
    local<Nowhere>().word.load(relaxed, s);
  }
  // The address is that of an atomic, or of nothing.
  static bool word_is(std::uint64_t address, std::uint64_t value, Site s = Site::current()) {
    return reinterpret_cast<const ExploredAtomic<std::uint64_t>*>(address)->load(relaxed, s) ==
           value;
  }

  static bool prepare_heavy_fence() { return true; }

  // All of it is freed when the next execution begins.
  static void* map(std::size_t bytes) {
    struct Heap {
      std::size_t used = 0;
      std::uint64_t last = 0;  // see Machine::visits
    };
    constexpr std::size_t kLine = 64;
    alignas(kLine) static std::byte memory[1 << 16];
    Heap& heap = global<Heap>();
    machine.visits(heap.last);
    std::byte* p = memory + heap.used;
    heap.used += (bytes + kLine - 1) / kLine * kLine;
    if (heap.used > sizeof memory) machine.fail("too much memory: raise the size of map()'s");
    std::memset(p, 0, bytes);
    return p;
  }
  static void unmap(void*, std::size_t) {}
  // Copies word by word, under the race detector.
  static void copy(void* to, const void* from, std::size_t bytes, Site s = Site::current()) {
    for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
      Shadow::read(static_cast<const std::byte*>(from) + i, s);
      Shadow::write(static_cast<std::byte*>(to) + i, s);
    }
    std::memcpy(to, from, bytes);
  }

  template <class T>
  static void forbid(T* p) {
    machine.poison(p, sizeof *p);
  }
  template <class T>
  static void permit(T* p) {
    machine.revive(p, sizeof *p);
  }
  template <class F>
  static void check(const F& holds, Site s = Site::current()) {
    machine.check(holds, s);
  }

  // Guarantees what platform/scan.h promises, and no more. The memory model does not order relaxed
  // loads of different slots, so scanning from the first to the last loses no outcomes except stale
  // reads beyond the bound.
  template <class OnHit>
  static bool scan(const atomic<std::uint64_t>* table, std::size_t n, std::uint64_t key,
                   OnHit on_hit, Site s = Site::current()) {
    const auto fence = [s](Order order) {
      machine.fence(order == seq_cst ? Op::scan_enter : Op::scan_leave, order, s);
    };
    const auto find = [table, n, key, s](std::size_t from) {
      while (from < n && (table[from].load(relaxed, s) | 1) != (key | 1))
        ++from;
      return from;
    };
    return scan_between_fences(n, fence, find, on_hit);
  }

 private:
  struct Priorities {
    std::uint32_t of[kMaxThreads] = {};
    bool any = false;
  };
  struct Waiting {
    const void* lock = nullptr;
    std::uint32_t priority = 0;
    std::uint64_t last = 0;  // see Machine::visits
  };
  static constexpr std::uint32_t kThreadsInIds = 100;
  static std::uint32_t tid_of(int process, int thread) {
    return kThreadsInIds +
           static_cast<std::uint32_t>(10'000 * process + 100 * machine.generation(thread) + thread);
  }
};

static_assert(Platform<Explored>);

}  // namespace lockswap::explore
