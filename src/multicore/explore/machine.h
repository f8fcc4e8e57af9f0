// The virtual multicore: threads, their schedule, their waits, and one execution after the other.
//
// A thread may be switched before each access to an atom. Switching away from a thread that could
// go on is a preemption; preemptions, stale reads, spurious wake-ups and time-outs are bounded by a
// budget for each execution, which keeps the search finite and short.
//
// execution.cpp has executions, schedule.cpp the choice of the thread that runs next, access.cpp
// has operations on atoms, wait.cpp has waiting, sleeping and time.
#pragma once

#include <array>
#include <cstdarg>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "multicore/explore/memory.h"
#include "multicore/explore/mutation.h"
#include "multicore/explore/search.h"
#include "multicore/fiber.h"
#include "platform/clock.h"
#include "platform/futex.h"

namespace lockswap::explore {

// The place's file as an #include names it: "locks/rw/ba.h". Outside src and include: its name.
const char* file_of(const Site& site);

struct Bounds {
  int preemptions = 2;
  int stale = 2;     // c11: reads of a value that is not the newest, and stores placed before it;
                     // tso: stores that are delayed
  int spurious = 1;  // wake-ups for no reason: stray wakes, EINTR
  int timeouts = 1;  // deadlines that pass while another thread could go on
  int moves = 1;     // of a thread to another CPU
};

// What threads do, from the beginning of the world to its end.
struct Scenario {
  int threads = 0;
  std::function<void()> setup;          // alone, before
  std::function<void(int)> body;        // thread i
  std::function<void(int)> after_fork;  // thread i, created in a forked child
  std::function<void()> finish;         // alone, after all have ended
  // No thread can go on: a thread that should, since nothing that threads do keeps it waiting, and
  // why; empty: there is none. Else a time-out of the code's own, as patience, would hide it.
  std::function<std::string()> overdue;
  // A hash of what decides what may happen, or fail, and that no operation of the machine returns
  // (state.cpp). Without this, executions go on from states that were met before.
  std::function<std::uint64_t()> state;
};

// A predicate over an atom's value, without its type.
struct Condition {
  bool (*holds)(const void* pred, std::uint64_t value) = nullptr;
  const void* pred = nullptr;
  int location = 0;

  bool operator()(std::uint64_t v) const { return holds(pred, v); }
};

// Views are aligned to lines, which leaves gaps.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
class Machine {
 public:
  static constexpr int kMain = kMaxThreads - 1;

  // --- an execution
  // Runs the scenario once along the search's choices. Returns false if it failed; failure() says
  // what was found.
  bool run(const Scenario& scenario, const Bounds& bounds);
  Search search;
  MemoryModel model = MemoryModel::c11;
  const std::string& failure() const { return failure_; }
  std::uint32_t run_number() const { return run_; }
  int steps() const { return steps_; }  // of this execution, so far
  // The execution ended where another one had gone on.
  bool was_cut_short() const { return cut_short_; }
  // Not null: hashes of the states in which executions end are put there.
  std::unordered_set<std::uint64_t>* final_states = nullptr;
  void on_new_thread(void (*hook)(int thread)) { new_threads_.push_back(hook); }

  const Mutation* mutation = nullptr;
  std::uint64_t mutated = 0;                             // how often the mutation's place was met
  std::vector<std::string>* trace = nullptr;             // not null: what happens is written there
  std::function<std::string(const void* atom)> what_is;  // for the trace: "slot 2"
  Sites* sites = nullptr;  // not null: places with an order are collected there

  // --- the calling virtual thread
  int current() const { return current_; }
  bool alone() const { return current_ == kMain; }
  View& view() { return memory_.thread(current_).now; }
  // Returns whether the process has one thread, as the case says: its others have not begun, or
  // have ended.
  bool has_one_thread() const { return one_thread_ || alone(); }
  void set_one_thread(bool one) { one_thread_ = one; }
  // An update that only the one thread of a process may make is about to be.
  void expect_one_thread(Op op, const Site& site);
  // Runs when the thread ends. One that has nothing more to do has not ended.
  void expect_exit_hook(void (*hook)());
  // The thread ends, and another begins in its place that knows what it knew: a join and a create.
  void end_and_begin_thread();
  int generation(int thread) const { return threads_[thread].generation; }
  // The process forks, and the execution goes on in the child: all other threads end, wherever they
  // are, and new ones begin in their places. `at_fork` runs while they stand still.
  void fork(const std::function<void()>& at_fork);
  int process() const { return process_; }  // how many forks there were
  int survivor() const { return survivor_; }
  // Returns whether a thread from before the fork waits for a condition that does not hold.
  bool blocked(int thread) const;
  // Calls `on_doorway` at the thread's next read-modify-write, once.
  void expect_doorway() { me().at_doorway = true; }
  std::function<void(int thread)> on_doorway;
  // Returns whether each load of this execution read the newest value, so that what a thread did
  // before another one began is seen by that.
  bool reads_the_newest() const { return left_.stale == most_stale_; }
  // Patience runs out only when no thread can go on, or also at any time, which costs a time-out.
  bool patience_is_short = false;
  // How often all patience runs out in an execution before another deadline passes. Then nothing
  // but another thread ends a wait.
  int most_patience = kMostPatience;
  static constexpr int kMostPatience = 8;
  [[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 2, 3)));
  // What the code says of itself: the execution fails if it is not so. What `holds` loads is no
  // step of the thread's, and is the newest that it could see.
  template <class F>
  void check(const F& holds, const Site& site) {
    checking_ = true;
    const bool so = holds();
    checking_ = false;
    if (!so) fail("an invariant does not hold, at %s:%u", file_of(site), site.line());
  }
  bool is_checking() const { return checking_; }
  // For the trace, if there is one. Arguments that take time are made only then (is_traced).
  bool is_traced() const { return trace != nullptr; }
  void note(const char* format, ...) __attribute__((format(printf, 2, 3)));

  // --- an execution that does not begin with zeroes
  // An atom, and the value that it has when it is first touched.
  struct Preset {
    const void* atom;
    std::uint64_t value;
  };
  std::vector<Preset> presets;
  std::uint64_t preset(const void* atom, std::uint64_t otherwise) const {
    for (const Preset& p : presets) {
      if (p.atom == atom) return p.value;
    }
    return otherwise;
  }
  // The atoms that were touched so far, with their newest values.
  std::vector<Preset> values() const;

  // --- memory
  int enroll(const void* address, std::uint64_t initial);
  void poison(const void* begin, std::size_t bytes) { memory_.poison(begin, bytes); }
  void heal(const void* begin) { memory_.heal(begin); }
  void revive(const void* begin, std::size_t bytes) { memory_.revive(begin, bytes); }
  // Plain memory is about to be looked at or changed.
  void touch(const void* address, const char* how, const Site& site);
  std::uint64_t load(int location, Order order, const Site& site);
  void store(int location, std::uint64_t value, Order order, const Site& site);
  // What the platform itself writes there. No step of the thread, and nothing that others wait for.
  void scribble(int location, std::uint64_t value);
  bool compare_exchange(int location, std::uint64_t& expected, std::uint64_t desired, Order order,
                        const Site& site);
  template <class F>
  std::uint64_t update(Op op, int location, F f, Order order, const Site& site) {
    order = begin_update(op, location, order, site);
    const int read = choose_place(location, order);
    const std::uint64_t old = memory_.value(location, read);
    finish_update(op, location, read, f(old), order, site);
    return old;
  }
  void fence(Op op, Order order, const Site& site);
  // A seq_cst fence in every thread, one after the other, between two of the caller's own.
  void heavy_fence(const Site& site);
  // A message from one thread to another outside the modelled memory: its number.
  int hand_on();
  void take_over(int parcel) { memory_.take_over(current_, parcel); }

  // --- waiting and time
  bool await(const Condition& c, Order declared, const Deadline* deadline, const Site& site);
  Parked park(int location, std::uint32_t low_half, std::uint32_t channels,
              const Deadline* deadline, std::uint32_t priority, const Site& site);
  // `one`: of those that sleep with the highest priority, any, or with wakes_in_order the one that
  // fell asleep first.
  std::uint32_t unpark(const void* address, std::uint32_t channels, const Site& site,
                       bool one = false);
  bool wakes_in_order = false;
  // The lock wakes one thread at a time, and the next one only after a thread has rechecked. A word
  // that has had two more such wake-ups than threads that came back from it is a failure. A thread
  // that found the word changed before it slept counts as back: it rechecks, perhaps before the
  // thread that was woken has run.
  bool wakes_one_at_a_time = false;
  void came_back(const void* address);
  // A lock that rations hand-offs was handed off to the calling thread. A failure if the patience
  // of none of its waits ended since the last hand-off of that lock.
  void handed_off(const void* lock);
  // The thread sleeps, and nothing is on its way that ends that for sure.
  bool asleep(int thread) const {
    const Thread& t = threads_[thread];
    return t.wait == Thread::Wait::parked && !t.woken && !ready(thread);
  }
  // Since forget_sleeps, when the thread first fell asleep on what `other` sleeps on now: a number
  // that grows; 0: it did not. Both are 0 if `other` is awake, or about to be.
  struct FirstSleeps {
    int own, other;
  };
  FirstSleeps first_sleeps(int thread, int other) const;
  // A thread that no wake-up ended a sleep of has lost its place: from then on it has none.
  void forget_sleeps() {
    me().sleeps = {};
    me().lost_place = false;
  }
  bool wake_dropped(const Site& site) { return mutates(Mutation::drop, Op::wake, relaxed, site); }
  void step_aside(const Site& site);
  bool passed(const Deadline& deadline);
  // The patience of the thread's last wait was over.
  bool lost_patience() {
    adds(me().impatient ? 1 : 0);
    return me().impatient;
  }
  // A new deadline for the calling thread. `over`: it has passed already. `far`: it never comes.
  // `idle`: it passes only when no thread can go on otherwise, and each time anew.
  enum class When : std::uint8_t { some_time, over, far, idle };
  const Deadline* deadline(When when);
  bool deadline_is_over() { return me().expired; }

  // The CPU, or node, that the thread is on: its own number's at first; it may move at each look.
  std::uint32_t place(std::uint32_t places);

  // --- the past of the calling thread, for fingerprints of states
  void adds(std::uint64_t what) { memory_.adds_to_past(current_, what); }
  // Threads share data behind the machine's back, as the arena's. Its state follows from the order
  // of the visits; `last` belongs to it, and is 0 at first.
  void visits(std::uint64_t& last) {
    adds(last);
    last = memory_.past(current_);
  }

  // Returns whether something happens to the calling thread that may happen to it or not.
  bool happens();

  // The place that called the wait policy, and what it waits for; see wait_at.h.
  struct Caller {
    Site site{};
    Condition condition{};
    bool set = false;
  };
  Caller& caller() { return me().caller; }

  // A switch may happen here.
  void point();

 private:
  // When a thread first fell asleep on each of some words.
  struct Sleeps {
    struct First {
      const void* address = nullptr;
      int number = 0;
    };
    std::array<First, 4> first{};

    void note(const void* address, int number) {
      for (First& f : first) {
        if (f.address == address) return;
        if (f.address != nullptr) continue;
        f = {address, number};
        return;
      }
    }
    int at(const void* address) const {
      for (const First& f : first) {
        if (f.address == address) return f.number;
      }
      return 0;
    }
  };
  // What came to those that sleep on a word.
  struct Wakes {
    const void* address = nullptr;
    int of_one = 0;
    int back = 0;  // on any channel, woken or not: each of them rechecks
  };
  Wakes& wakes_of(const void* address);
  void wakes_one(const void* address);
  struct HandOff {
    const void* lock = nullptr;
    int moment = 0;
  };
  struct Thread {
    multicore::Fiber fiber;
    bool finished;
    bool expired;     // its deadline has passed
    bool impatient;   // so has the patience of its wait
    bool at_doorway;  // its next update is to be reported
    int generation;   // how many threads were here before it
    unsigned place;
    Site at;  // its newest step
    std::vector<void (*)()> exit_hooks;
    Caller caller;

    enum class Wait : std::uint8_t { none, await, parked, aside } wait;
    Condition condition;     // await
    Order order;             // await
    bool timed;              // await, parked
    bool idle;               // the same, with a deadline that passes when nobody can go on
    bool idle_over;          // which has passed
    bool patient;            // the same: its deadline has patience
    const void* address;     // parked
    std::uint32_t channels;  // parked
    std::uint32_t priority;  // parked; 0: none of a real-time policy
    bool woken;              // parked
    int asleep_since;        // parked: the number of that sleep
    Sleeps sleeps;
    bool lost_place;            // a sleep ended without a wake-up
    int patience_over;          // when the patience of a wait was over last; see moments_
    std::uint64_t writes_seen;  // aside
    std::uint64_t results;      // a hash of what operations returned, if final_states are kept
  };

  Thread& me() { return threads_[current_]; }
  static void thread_main();
  static void forked_main();
  [[noreturn]] void end_thread();
  void end_execution();
  void reset(const Scenario& scenario);
  void run_alone(const std::function<void()>& part);

  bool ready(int thread) const;  // can go on for sure
  bool lucky(int thread) const;  // can go on by a choice that costs budget
  void let_others();
  int next_thread();
  std::uint64_t state_of(int thread) const;
  std::uint64_t fingerprint() const;
  std::uint64_t final_state() const;
  SeenStates::Left left() const;
  bool was_here();
  void returns(std::uint64_t value) {
    if (final_states != nullptr) [[unlikely]]
      me().results = mix(me().results, value);
  }
  bool let_time_pass();
  void fail_if_a_wakeup_is_lost();
  bool let_naps_end();
  bool let_busy_loops_go_round();
  bool let_patience_end();
  bool let_deadlines_pass();
  // Where each thread is that has not ended.
  std::string whereabouts() const;

  bool mutates(Mutation::Kind kind, Op op, Order declared, const Site& site) {
    if (mutation == nullptr || mutation->kind != kind || !mutation->at(op, declared, site)) {
      return false;
    }
    ++mutated;
    return true;
  }
  Order order_of(Op op, Order order, const Site& site) {
    if (mutation == nullptr && sites == nullptr) [[likely]]
      return order;
    return mutated_order(op, order, site);
  }
  Order mutated_order(Op op, Order order, const Site& site);
  const Site& site_of(Op op, const Site& site);

  Order begin_access(Op op, int location, Order order, const Site& site);
  Order begin_update(Op op, int location, Order order, const Site& site);
  int choose_write(int location, Order order);
  int choose_place(int location, Order order);
  void finish_update(Op op, int location, int read, std::uint64_t value, Order order,
                     const Site& site);
  void append(int location, int before, std::uint64_t value, Order order, bool is_update);
  // The thread's own view of an atom's newest value.
  std::uint64_t newest_for(int thread, int location) const;
  void flush_one(int thread);
  void drain(int thread);
  void flush_delayed_stores(int location);
  bool somebody_waits() const;
  std::string atom_name(int location) const;
  void trace_access(Op op, int location, Order order, const Site& site, const char* format, ...)
      __attribute__((format(printf, 6, 7)));
  bool time_out();
  void begins_to_wait(const Deadline* deadline);
  bool may_time_out(const Thread& t) const;
  bool may_lose_patience(const Thread& t) const;
  void lose_patience();

  static constexpr int kMostSteps = 3000;
  static constexpr int kMostIdleRounds = 8;

  std::array<Thread, kMaxThreads> threads_;
  multicore::Fiber outside_;
  Memory memory_;
  const Scenario* scenario_ = nullptr;
  const std::function<void()>* part_ = nullptr;
  int count_ = 0;
  int current_ = kMain;
  int process_ = 0;
  bool one_thread_ = false;
  bool cut_short_ = false;
  bool checking_ = false;
  int survivor_ = kMain;  // of the newest fork
  Bounds left_;
  int most_stale_ = 0;  // at the beginning
  int steps_ = 0;
  int sleeps_ = 0;
  int idle_rounds_ = 0;
  int patience_rounds_ = 0;
  int moments_ = 0;  // numbers of hand-offs and of the ends of patience
  std::array<HandOff, 8> hand_offs_{};
  std::array<Wakes, 16> wakes_{};
  std::uint64_t writes_ = 0;
  std::uint32_t run_ = 0;
  std::string failure_;
  std::vector<void (*)(int)> new_threads_;
};

extern Machine machine;

}  // namespace lockswap::explore
