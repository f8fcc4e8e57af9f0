// The virtual multicore: threads, their schedule, their waits, and one execution after another.
//
// A thread may be switched out before each access to an atomic. Switching away from a thread that
// could continue is a preemption. Preemptions, stale reads, spurious wake-ups and time-outs are
// bounded by a budget for each execution, which keeps the search finite and short.
//
// execution.cpp has executions, schedule.cpp the choice of the next thread, access.cpp operations
// on atomics, and wait.cpp waiting, sleeping and time.
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
  int spurious = 1;  // spurious wake-ups: stray wakes, EINTR
  int timeouts = 1;  // deadlines that pass while another thread could continue
  int moves = 1;     // moves of a thread to another CPU
};

// What threads do, from beginning to end.
struct Scenario {
  int threads = 0;
  std::function<void()> setup;          // runs alone, first
  std::function<void(int)> body;        // thread i
  std::function<void(int)> after_fork;  // thread i, created in a forked child
  std::function<void()> finish;         // runs alone, after all threads have ended
  // Called when no thread can continue. Returns a thread that should be able to, because nothing
  // that threads do keeps it waiting, and the reason, or "" if there is none. Otherwise a time-out
  // of the code's own, such as patience, would hide the fault.
  std::function<std::string()> overdue;
  // A hash of everything that decides what may happen or fail and is not returned by an operation
  // of the machine (state.cpp). Without this function, executions also continue from states that
  // were met before.
  std::function<std::uint64_t()> state;
};

// A predicate on an atomic's value, without its type.
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
  // Runs the scenario once along the search's choices. Returns false if it failed, and then
  // failure() has the reason.
  bool run(const Scenario& scenario, const Bounds& bounds);
  Search search;
  MemoryModel model = MemoryModel::c11;
  const std::string& failure() const { return failure_; }
  std::uint32_t run_number() const { return run_; }
  int steps() const { return steps_; }  // of this execution, so far
  // Returns whether the execution ended in a state from which another one has continued.
  bool was_cut_short() const { return cut_short_; }
  // If not null, gets the hashes of the states in which executions end.
  std::unordered_set<std::uint64_t>* final_states = nullptr;
  void on_new_thread(void (*hook)(int thread)) { new_threads_.push_back(hook); }

  const Mutation* mutation = nullptr;
  std::uint64_t mutated = 0;                  // how often the mutation's place was reached
  std::vector<std::string>* trace = nullptr;  // if not null, gets what happens
  std::function<std::string(const void* atom)> what_is;  // for the trace: "slot 2"
  Sites* sites = nullptr;  // if not null, gets the places that have an order

  // --- the calling virtual thread
  int current() const { return current_; }
  bool alone() const { return current_ == kMain; }
  View& view() { return memory_.thread(current_).now; }
  // Returns whether the process has only one thread, according to the case: the others have not
  // begun, or have ended.
  bool has_one_thread() const { return one_thread_ || alone(); }
  void set_one_thread(bool one) { one_thread_ = one; }
  // Called before an update that only the single thread of a process may make.
  void expect_one_thread(Op op, const Site& site);
  // Registers a hook for the end of the thread. A thread that has nothing left to do has not ended.
  void expect_exit_hook(void (*hook)());
  // Ends the thread, and begins another in its place that knows what it knew: a join and a create.
  void end_and_begin_thread();
  int generation(int thread) const { return threads_[thread].generation; }
  // Forks the process, and continues the execution in the child: all other threads end, wherever
  // they are, and new ones begin in their places. Calls `at_fork` while they stand still.
  void fork(const std::function<void()>& at_fork);
  int process() const { return process_; }  // the number of forks so far
  int survivor() const { return survivor_; }
  // Returns whether a thread from before the fork waits for a condition that does not hold.
  bool blocked(int thread) const;
  // Calls `on_doorway` at the thread's next read-modify-write, once.
  void expect_doorway() { me().at_doorway = true; }
  std::function<void(int thread)> on_doorway;
  // Returns whether each load of this execution has read the newest value, so that what a thread
  // did before another one began is visible to that one.
  bool reads_the_newest() const { return left_.stale == most_stale_; }
  // Whether patience may run out at any time, which costs a time-out, or only when no thread can
  // continue.
  bool patience_is_short = false;
  // How often all patience runs out in an execution before another deadline passes. After that,
  // only other threads end waits.
  int most_patience = kMostPatience;
  static constexpr int kMostPatience = 8;
  [[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 2, 3)));
  // Checks a statement of the code: the execution fails if it does not hold. What `holds` loads is
  // not a step of the thread, and is the newest value that it could see.
  template <class F>
  void check(const F& holds, const Site& site) {
    checking_ = true;
    const bool so = holds();
    checking_ = false;
    if (!so) fail("an invariant does not hold, at %s:%u", file_of(site), site.line());
  }
  bool is_checking() const { return checking_; }
  // For the trace, if there is one. Compute expensive arguments only if is_traced().
  bool is_traced() const { return trace != nullptr; }
  void note(const char* format, ...) __attribute__((format(printf, 2, 3)));

  // --- an execution that does not begin with zeroes
  // An atomic, and the value that it has when it is first accessed.
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
  // Returns the atomics that have been accessed, with their newest values.
  std::vector<Preset> values() const;

  // --- memory
  int enroll(const void* address, std::uint64_t initial);
  void poison(const void* begin, std::size_t bytes) { memory_.poison(begin, bytes); }
  void heal(const void* begin) { memory_.heal(begin); }
  void revive(const void* begin, std::size_t bytes) { memory_.revive(begin, bytes); }
  // Called before plain memory is read or written.
  void touch(const void* address, const char* how, const Site& site);
  std::uint64_t load(int location, Order order, const Site& site);
  void store(int location, std::uint64_t value, Order order, const Site& site);
  // Writes by the platform itself, which are not steps of the thread, and for which nobody waits.
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
  // A seq_cst fence in each thread, one after another, between two of the caller's own.
  void heavy_fence(const Site& site);
  // Makes a message from one thread to another outside the modelled memory, and returns its number.
  int hand_on();
  void take_over(int parcel) { memory_.take_over(current_, parcel); }

  // --- waiting and time
  bool await(const Condition& c, Order declared, const Deadline* deadline, const Site& site);
  Parked park(int location, std::uint32_t low_half, std::uint32_t channels,
              const Deadline* deadline, std::uint32_t priority, const Site& site);
  // `one`: wakes one of the sleepers with the highest priority: any of them or, with
  // wakes_in_order, the one that fell asleep first.
  std::uint32_t unpark(const void* address, std::uint32_t channels, const Site& site,
                       bool one = false);
  bool wakes_in_order = false;
  // The lock wakes one thread at a time, and the next one only after a thread has rechecked. It is
  // a failure if a word has had two more such wake-ups than threads that came back from it. A
  // thread that found the word changed before it slept counts as back, because it rechecks, perhaps
  // before the thread that was woken runs.
  bool wakes_one_at_a_time = false;
  void came_back(const void* address);
  // A lock that rations hand-offs was handed off to the calling thread. It is a failure if none of
  // its waits' patience has ended since the last hand-off of that lock.
  void handed_off(const void* lock);
  // Returns whether the thread sleeps, and nothing that will certainly end that is on its way.
  bool asleep(int thread) const {
    const Thread& t = threads_[thread];
    return t.wait == Thread::Wait::parked && !t.woken && !ready(thread);
  }
  // Returns whether the thread waits and no deadline ends that, neither its caller's nor a short
  // one of the lock's own.
  bool waits_for_others(int thread) const {
    const Thread& t = threads_[thread];
    const bool waits = t.wait == Thread::Wait::await || t.wait == Thread::Wait::parked;
    return waits && !t.timed && !t.idle;
  }
  // When, since forget_sleeps, the thread and `other` first fell asleep on what `other` sleeps on
  // now: an increasing number, or 0 for never. Both are 0 if `other` is awake, or about to be.
  struct FirstSleeps {
    int own, other;
  };
  FirstSleeps first_sleeps(int thread, int other) const;
  // A thread whose sleep ended without a wake-up has lost its place, and has none from then on.
  void forget_sleeps() {
    me().sleeps = {};
    me().lost_place = false;
  }
  bool wake_dropped(const Site& site) { return mutates(Mutation::drop, Op::wake, relaxed, site); }
  void step_aside(const Site& site);
  bool passed(const Deadline& deadline);
  // Returns whether the patience of the thread's last wait was over.
  bool lost_patience() {
    adds(me().impatient ? 1 : 0);
    return me().impatient;
  }
  // Makes a new deadline for the calling thread. over: it has passed already. far: it never passes.
  // idle: it passes only when no thread can continue otherwise, and each time again.
  enum class When : std::uint8_t { some_time, over, far, idle };
  const Deadline* deadline(When when);
  bool deadline_is_over() { return me().expired; }

  // Returns the CPU, or node, that the thread is on. It begins on the one with its own number, and
  // may move at each call.
  std::uint32_t place(std::uint32_t places);

  // --- the calling thread's past, for fingerprints of states
  void adds(std::uint64_t what) { memory_.adds_to_past(current_, what); }
  // Records that threads share data without the machine, such as the arena's. The state of the data
  // follows from the order of these visits. `last` belongs to the data, and is 0 at first.
  void visits(std::uint64_t& last) {
    adds(last);
    last = memory_.past(current_);
  }

  // Returns whether an event that may or may not happen to the calling thread does happen.
  bool happens();

  // The place that called the wait policy, and what it waits for; see wait_at.h.
  struct Caller {
    Site site{};
    Condition condition{};
    bool set = false;
  };
  Caller& caller() { return me().caller; }

  // A thread switch may happen here.
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
  // The wake-ups of those that sleep on a word.
  struct Wakes {
    const void* address = nullptr;
    int of_one = 0;
    int back = 0;  // on any channel, woken or not, since each of them rechecks
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
    bool impatient;   // and so has the patience of its wait
    bool at_doorway;  // its next update will be reported
    int generation;   // the number of threads that were here before it
    unsigned place;
    Site at;  // its last step
    std::vector<void (*)()> exit_hooks;
    Caller caller;

    enum class Wait : std::uint8_t { none, await, parked, aside } wait;
    Condition condition;     // await
    Order order;             // await
    bool timed;              // await, parked
    bool idle;               // the same, with an idle deadline
    bool idle_over;          // which has passed
    bool patient;            // the same: its deadline has patience
    const void* address;     // parked
    std::uint32_t channels;  // parked
    std::uint32_t priority;  // parked; 0: no real-time policy
    bool woken;              // parked
    int asleep_since;        // parked: the number of that sleep
    Sleeps sleeps;
    bool lost_place;            // a sleep has ended without a wake-up
    int patience_over;          // when the patience of a wait was last over; see moments_
    std::uint64_t writes_seen;  // aside
    std::uint64_t results;      // a hash of operations' results, for final_states
  };

  Thread& me() { return threads_[current_]; }
  static void thread_main();
  static void forked_main();
  [[noreturn]] void end_thread();
  void end_execution();
  void reset(const Scenario& scenario);
  void run_alone(const std::function<void()>& part);

  bool ready(int thread) const;  // can certainly continue
  bool lucky(int thread) const;  // can continue by a choice that costs budget
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
  // Returns where each thread is that has not ended.
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
  // Returns the thread's own view of an atomic's newest value.
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
  void fail_without_channel(std::uint32_t channels, const Site& site);
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
  int survivor_ = kMain;  // of the last fork
  Bounds left_;
  int most_stale_ = 0;  // at the beginning
  int steps_ = 0;
  int sleeps_ = 0;
  int idle_rounds_ = 0;
  int patience_rounds_ = 0;
  int moments_ = 0;  // numbers hand-offs and ends of patience
  std::array<HandOff, 8> hand_offs_{};
  std::array<Wakes, 16> wakes_{};
  std::uint64_t writes_ = 0;
  std::uint32_t run_ = 0;
  std::string failure_;
  std::vector<void (*)(int)> new_threads_;
};

extern Machine machine;

}  // namespace lockswap::explore
