// The exploration platform: what Native is to the real machine, Explored is to the virtual one.
//
// Operations carry the place in the source that they were called from, so that a trace names it and
// a mutation finds it. An atom enrols itself in the machine's memory when it is first touched in an
// execution; its own bytes only say under which number. So starting over costs nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <pthread.h>
#include <type_traits>

#include "multicore/explore/machine.h"
#include "multicore/explore/plain.h"
#include "platform/concept.h"

namespace lockswap::explore {

template <class T>
class ExploredAtomic {
  static_assert(std::is_unsigned_v<T>);

 public:
  using value_type = T;

  constexpr ExploredAtomic() noexcept = default;
  constexpr explicit ExploredAtomic(T v) noexcept : initial_(v) {}
  ExploredAtomic(const ExploredAtomic&) = delete;
  ExploredAtomic& operator=(const ExploredAtomic&) = delete;

  T load(Order o, Site s = Site::current()) const {
    return static_cast<T>(machine.load(location(), o, s));
  }
  void store(T v, Order o, Site s = Site::current()) { machine.store(location(), v, o, s); }
  T exchange(T v, Order o, Site s = Site::current()) {
    return update(
        Op::exchange, [v](T) { return v; }, o, s);
  }
  bool compare_exchange(T& expected, T desired, Order o, Site s = Site::current()) {
    std::uint64_t seen = expected;
    const bool done = machine.compare_exchange(location(), seen, desired, o, s);
    expected = static_cast<T>(seen);
    return done;
  }
  T fetch_add(T v, Order o, Site s = Site::current()) {
    return update(
        Op::fetch_add, [v](T old) { return static_cast<T>(old + v); }, o, s);
  }
  T fetch_sub(T v, Order o, Site s = Site::current()) {
    return update(
        Op::fetch_sub, [v](T old) { return static_cast<T>(old - v); }, o, s);
  }
  T fetch_or(T v, Order o, Site s = Site::current()) {
    return update(
        Op::fetch_or, [v](T old) { return old | v; }, o, s);
  }
  T fetch_and(T v, Order o, Site s = Site::current()) {
    return update(
        Op::fetch_and, [v](T old) { return old & v; }, o, s);
  }

  int location() const {
    if (!is_enrolled()) {
      location_ = machine.enroll(this, static_cast<T>(machine.preset(this, initial_)));
      run_ = machine.run_number();
    }
    return location_;
  }

  bool is_enrolled() const { return run_ == machine.run_number(); }

 private:
  template <class F>
  T update(Op op, F f, Order o, const Site& s) {
    return static_cast<T>(machine.update(
        op, location(), [f](std::uint64_t old) { return f(static_cast<T>(old)); }, o, s));
  }

  T initial_{};
  mutable std::uint32_t run_ = 0;
  mutable int location_ = 0;
};

// Data without an order of its own, and the race detector over it.
template <class T>
class ExploredPlain {
 public:
  T get(Site s = Site::current()) const {
    machine.touch(this, "read", s);
    races_.read(nullptr);
    return value_;
  }
  void set(T v, Site s = Site::current()) {
    machine.touch(this, "write", s);
    races_.write(nullptr);
    value_ = v;
  }

 private:
  T value_{};
  mutable Plain races_;
};

// A predicate over T as the machine takes it. It lives as long as the caller's `pred` does.
template <class T, class Pred>
Condition condition_on(const Pred& pred, int location) {
  return Condition{[](const void* p, std::uint64_t v) {
                     return static_cast<bool>((*static_cast<const Pred*>(p))(static_cast<T>(v)));
                   },
                   &pred, location};
}

// One T for each virtual thread, or one for the process; as new in each execution. What belongs to
// a thread is as new for a thread that follows in its place, too. An execution renews what it comes
// to: a run of all cases has many hundred of these, and an execution comes to a few.
template <class T, int kCopies>
class Renewed {
 public:
  static T& at(int i) {
    static Renewed copies;
    if (!kRenewsItself && copies.run_ != machine.run_number()) copies.renew();
    return *std::launder(reinterpret_cast<T*>(copies.bytes_[i]));
  }

 private:
  // Large types consist of atoms, which renew themselves.
  static constexpr bool kRenewsItself = sizeof(T) > 4096;

  Renewed() {
    bytes_ = std::make_unique<Bytes[]>(kCopies);
    static Renewed* self = this;
    renew();
    if (kCopies != kMaxThreads) return;
    machine.on_new_thread(+[](int i) {
      if (self->run_ == machine.run_number()) new (self->bytes_[i]) T{};
    });
  }
  void renew() {
    run_ = machine.run_number();
    for (int i = 0; i < kCopies; ++i)
      new (bytes_[i]) T{};
  }

  using Bytes = std::byte[sizeof(T)];
  std::unique_ptr<Bytes[]> bytes_;
  std::uint32_t run_ = 0;
};

// How many nodes, of all types, are in use.
inline int& nodes_in_use() { return Renewed<int, 1>::at(0); }

// Queue nodes as platform/arena.h gives them out: each thread keeps one free node to itself (there
// some more), the others lie on one stack, through which a node passes on what its last user knew;
// a thread that ends puts its free node there. A free node's link is the arena's, so a node comes
// back with another one. The arena's own atomics are not explored.
template <class T>
class ExploredNodes {
 public:
  using Handle = std::uint32_t;

  static bool prepare() { return true; }
  static T& at(Handle h) {
    if (h == 0 || h >= kNodes) machine.fail("a handle of no node: %#x", h);
    return Renewed<Node, kNodes>::at(static_cast<int>(h)).item;
  }
  static Handle take() {
    const Handle h = take_kept();
    if (h != 0) return h;
    return take_shared();
  }
  static void give(Handle h) {
    if (!keep(h)) give_shared(h);
  }
  static Handle take_kept() {
    Handle& mine = shared().cached[machine.current()];
    const Handle h = mine;
    mine = 0;
    if (h != 0) mark_taken(h);
    return h;
  }
  static bool keep(Handle h) {
    Handle& mine = shared().cached[machine.current()];
    if (mine != 0) return false;
    mark_given(h);
    mine = h;
    machine.expect_exit_hook(&on_thread_exit);
    return true;
  }
  static void give_shared(Handle h) {
    mark_given(h);
    push(h);
  }
  static int in_use() {
    int n = 0;
    for (bool t : shared().taken)
      n += t ? 1 : 0;
    return n;
  }

 private:
  static Handle take_shared() {
    Shared& s = shared();
    Handle h = 0;
    if (s.free != 0) {
      h = s.stack[--s.free];
      machine.take_over(s.known[h]);
    }
    if (h == 0) h = ++s.used;
    mark_taken(h);
    return h;
  }
  static void mark_taken(Handle h) {
    Shared& s = shared();
    if (h >= kNodes - 1) machine.fail("too many queue nodes");
    if (s.taken[h]) machine.fail("node %u is taken twice", h);
    s.taken[h] = true;
    ++nodes_in_use();
  }
  static void mark_given(Handle h) {
    Shared& s = shared();
    if (h == 0 || h >= kNodes || !s.taken[h]) machine.fail("node %u is given back twice", h);
    s.taken[h] = false;
    --nodes_in_use();
    // To a node that is never given out, so a thread that follows an old link gets to no harm.
    auto& link = Renewed<Node, kNodes>::at(static_cast<int>(h)).item.link;
    if (link.is_enrolled()) machine.scribble(link.location(), kNodes - 1);
  }

  static constexpr int kNodes = 16;
  struct Node {
    T item{};
  };
  struct Shared {
    Handle cached[kMaxThreads];
    bool taken[kNodes];
    Handle stack[kNodes];
    int free;
    Handle used;
    int known[kNodes];
  };
  static void push(Handle h) {
    Shared& s = shared();
    s.known[h] = machine.hand_on();
    s.stack[s.free++] = h;
  }
  static void on_thread_exit() {
    Handle& mine = shared().cached[machine.current()];
    if (mine != 0) push(mine);
    mine = 0;
  }
  static Shared& shared() { return Renewed<Shared, 1>::at(0); }
};

// Blocks as platform/blocks.h gives them out, with two parts each; without the cache of a thread.
template <class Head, class Part>
class ExploredBlocks {
 public:
  static bool prepare(std::uint32_t parts) { return parts <= kParts; }
  static std::uint32_t parts() { return kParts; }
  static std::size_t bytes_with(std::uint32_t parts) { return sizeof(Head) + parts * sizeof(Part); }

  // From the third on the others are asked first.
  template <class Reclaim>
  static Head& take(const Reclaim& reclaim) {
    Shared& s = shared();
    for (int i = 0; s.free == 0 && s.used >= 2 && i < s.used; ++i) {
      if (reclaim(block(i).head)) give(block(i).head);
    }
    const int i = s.free != 0 ? s.stack[--s.free] : s.used++;
    if (i >= kBlocks) machine.fail("too many blocks");
    if (s.known[i] != 0) machine.take_over(s.known[i] - 1);
    return block(i).head;
  }
  static void give(Head& head) {
    Shared& s = shared();
    const int i = index_of(head);
    for (int k = 0; k < s.free; ++k) {
      if (s.stack[k] == i) machine.fail("block %d is given back twice", i);
    }
    s.known[i] = machine.hand_on() + 1;
    s.stack[s.free++] = i;
  }
  static Part& part(Head& head, std::uint32_t i) { return block(index_of(head)).parts[i]; }
  static bool is_block(std::uint64_t address) {
    for (int i = 0; i < shared().used; ++i) {
      if (reinterpret_cast<std::uintptr_t>(&block(i).head) == address) return true;
    }
    return false;
  }

 private:
  static constexpr int kBlocks = 6;
  static constexpr std::uint32_t kParts = 2;
  struct Block {
    Head head{};
    Part parts[kParts]{};
  };
  struct Shared {
    int stack[kBlocks];
    int free;
    int used;
    int known[kBlocks];  // a parcel's number, and one
  };
  static Block& block(int i) { return Renewed<Block, kBlocks>::at(i); }
  static int index_of(const Head& head) {
    for (int i = 0; i < kBlocks; ++i) {
      if (&block(i).head == &head) return i;
    }
    machine.fail("no block lies there");
  }
  static Shared& shared() { return Renewed<Shared, 1>::at(0); }
};

struct Explored {
  template <class T>
  using atomic = ExploredAtomic<T>;
  template <class T>
  using plain = ExploredPlain<T>;
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
  // A node is used again as soon as it may; a waiter in the queue is impatient at once.
  static constexpr std::uint32_t kRangeNodes = 1, kRangePatience = 0, kRangeLists = 3;
  // A third reader finds no place.
  static constexpr std::uint32_t kRows = 2, kRowSections = 1;

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
  // A thread that follows in another's place has that one's identity, but a kernel id of its own.
  static std::uint32_t tid() { return tid_of(machine.process(), machine.current()); }
  static std::uint32_t tid_at(std::uint64_t) { return tid(); }
  static std::uint32_t tid_if_known() { return tid(); }
  static std::uint32_t priority_of(std::uint32_t tid) {
    return global<Priorities>().of[tid % kThreadsInIds];
  }
  static void set_priority(std::uint32_t priority) {
    global<Priorities>().of[machine.current()] = priority;
  }
  static bool on_thread_exit(void (*hook)()) {
    machine.expect_exit_hook(hook);
    return true;
  }

  // So has one that survived a fork.
  static constexpr std::uint64_t kStampMask = std::uint64_t{0x1ff} << 31;
  static constexpr std::uint64_t kStampTop = std::uint64_t{1} << 31;
  static std::uint64_t process() {
    return kStampTop | static_cast<std::uint64_t>(machine.process() + 1) << 32;
  }
  static std::uint64_t process_mark() { return process(); }
  static bool is_process(std::uint64_t word) { return word << 24 == process() << 24; }
  static std::uint32_t survivor(std::uint32_t id, std::uint64_t stamp) {
    const int ancestor = static_cast<int>(stamp >> 32) - 1;
    const int thread = machine.survivor();
    return id == tid_of(ancestor, thread) ? tid_of(machine.process(), thread) : id;
  }
  static bool is_shared(const void*) { return false; }
  struct NoSignals {
    NoSignals() {}  // there are none
  };
  // What a model of the system's lock says of itself.
  static inline bool (*system_is_read)(const pthread_rwlock_t*) = nullptr;
  static inline bool (*system_is_written)(const pthread_rwlock_t*) = nullptr;
  static inline void (*system_renew)(pthread_rwlock_t*, bool written) = nullptr;

  // The clock stands still, so that what has begun is over at once, or goes on by one at each look.
  // Deadlines pass by choice.
  static inline std::uint64_t tick = 0;
  static std::uint64_t now() {
    struct Clock {
      std::uint64_t now = 1000;
    };
    return global<Clock>().now += tick;
  }
  static bool passed(const Deadline& d) { return machine.passed(d); }
  static Deadline deadline_in(std::uint64_t) { return *machine.deadline(Machine::When::idle); }
  // The machine knows when patience runs out. Nanoseconds say that there is some, for those that
  // pass on nothing but the time.
  static constexpr long kPatient = 1;
  static Deadline due(Deadline d) {
    if (d.patience != 0) d.at.tv_nsec = kPatient;
    return d;
  }
  static inline std::uint64_t patience = 0;  // 0: readers wait for ever
  static std::uint64_t reader_patience() { return patience; }
  static constexpr std::uint32_t kReadsPerClock = 1;

  static std::uint32_t spin_budget() { return 0; }
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
    return machine.park(atom.location(), low_half, channels, deadline, s);
  }
  template <class A>
  static Parked park_for(const A& atom, std::uint32_t low_half, std::uint64_t,
                         Site s = Site::current()) {
    const Deadline* const idle = machine.deadline(Machine::When::idle);
    return machine.park(atom.location(), low_half, ~std::uint32_t{0}, idle, s);
  }
  template <class A>
  static std::uint32_t unpark(const A* atom, std::uint32_t channels, Site s = Site::current()) {
    return machine.unpark(atom, channels, s);
  }

  // For pairs of which one side is hot: the heavy fence is a seq_cst fence in every thread, the
  // light one costs nothing.
  static void heavy_fence(Site s = Site::current()) { machine.heavy_fence(s); }
  static void light_fence() {}
  static void barrier_in_all(Site s = Site::current()) { machine.heavy_fence(s); }
  // The address is an atom's, or nobody's.
  static bool word_is(std::uint64_t address, std::uint64_t value, Site s = Site::current()) {
    return reinterpret_cast<const ExploredAtomic<std::uint64_t>*>(address)->load(relaxed, s) ==
           value;
  }

  static bool prepare_heavy_fence() { return true; }

  // All of it is given back when the next execution begins.
  static void* map(std::size_t bytes) {
    struct Heap {
      std::size_t used = 0;
    };
    constexpr std::size_t kLine = 64;
    alignas(kLine) static std::byte memory[1 << 16];
    Heap& heap = global<Heap>();
    std::byte* p = memory + heap.used;
    heap.used += (bytes + kLine - 1) / kLine * kLine;
    if (heap.used > sizeof memory) machine.fail("too much memory: raise the size of map()'s");
    std::memset(p, 0, bytes);
    return p;
  }
  static void unmap(void*, std::size_t) {}

  template <class T>
  static void forbid(T* p) {
    machine.poison(p, sizeof *p);
  }
  template <class T>
  static void permit(T* p) {
    machine.revive(p, sizeof *p);
  }

  // As platform/scan.h promises, no more. Relaxed loads of different slots are not ordered by the
  // memory model, so going from the first to the last loses no outcome but stale reads beyond the
  // bound.
  template <class OnHit>
  static bool scan(const atomic<std::uint64_t>* table, std::size_t n, std::uint64_t key,
                   OnHit on_hit, Site s = Site::current()) {
    machine.fence(Op::scan_enter, seq_cst, s);
    bool all = true;
    for (std::size_t i = 0; all && i < n; ++i) {
      if ((table[i].load(relaxed, s) | 1) == (key | 1)) all = on_hit(i);
    }
    machine.fence(Op::scan_leave, acquire, s);
    return all;
  }

 private:
  struct Priorities {
    std::uint32_t of[kMaxThreads] = {};
  };
  static constexpr std::uint32_t kThreadsInIds = 100;
  static std::uint32_t tid_of(int process, int thread) {
    return kThreadsInIds +
           static_cast<std::uint32_t>(10'000 * process + 100 * machine.generation(thread) + thread);
  }
};

static_assert(Platform<Explored>);

}  // namespace lockswap::explore
