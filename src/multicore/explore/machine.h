// The virtual multicore: threads, their schedule, their waits, and one execution after the other.
//
// A thread may be switched before each access to an atom. Switching away from a thread that could
// go on is a preemption; preemptions, stale reads, spurious wake-ups and time-outs are bounded by a
// budget for each execution, which keeps the search finite and short.
#pragma once

#include <array>
#include <cstdarg>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "multicore/explore/fiber.h"
#include "multicore/explore/memory.h"
#include "multicore/explore/mutation.h"
#include "multicore/explore/search.h"
#include "platform/clock.h"
#include "platform/futex.h"

namespace lockswap::explore {

struct Bounds {
  int preemptions = 2;
  int stale = 2;     // reads of a value that has been overwritten
  int spurious = 1;  // wake-ups for no reason: stray wakes, EINTR
  int timeouts = 1;  // deadlines that pass while another thread could go on
};

// What threads do, from the beginning of the world to its end.
struct Scenario {
  int threads = 0;
  std::function<void()> setup;    // alone, before
  std::function<void(int)> body;  // thread i
  std::function<void()> finish;   // alone, after all have ended
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
  // Runs the scenario once along the search's choices. False: failure() says what was found.
  bool run(const Scenario& scenario, const Bounds& bounds);
  Search search;
  const std::string& failure() const { return failure_; }
  std::uint32_t run_number() const { return run_; }
  void on_reset(void (*hook)()) { resets_.push_back(hook); }

  const Mutation* mutation = nullptr;
  std::uint64_t mutated = 0;                  // how often the mutation's place was met
  std::vector<std::string>* trace = nullptr;  // not null: what happens is written there
  std::vector<Mutation>* sites = nullptr;     // not null: places with an order are collected there

  // --- the calling virtual thread
  int current() const { return current_; }
  bool alone() const { return current_ == kMain; }
  View& view() { return me().view.now; }
  void expect_exit_hook(void (*hook)()) { me().exit_hook = hook; }
  [[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 2, 3)));
  void note(const char* format, ...) __attribute__((format(printf, 2, 3)));

  // --- memory
  int enroll(const void* address, std::size_t bytes, std::uint64_t initial);
  void poison(const void* begin, std::size_t bytes) { memory_.poison(begin, bytes); }
  void heal(const void* begin) { memory_.heal(begin); }
  std::uint64_t load(int location, Order order, const Site& site);
  void store(int location, std::uint64_t value, Order order, const Site& site);
  bool compare_exchange(int location, std::uint64_t& expected, std::uint64_t desired, Order order,
                        const Site& site);
  template <class F>
  std::uint64_t update(Op op, int location, F f, Order order, const Site& site) {
    order = begin_access(op, location, order, site);
    const std::uint64_t old = memory_.newest_value(location);
    finish_update(op, location, old, f(old), order, site);
    return old;
  }
  void fence(Op op, Order order, const Site& site);
  // A message from one thread to another outside the modelled memory.
  View handed_on() {
    View v = me().view.now;
    ++me().view.now.clock(current_);
    return v;
  }
  void take_over(const View& v) { me().view.now.join(v); }

  // --- waiting and time
  bool await(const Condition& c, Order declared, const Deadline* deadline, const Site& site);
  Parked park(int location, std::uint32_t low_half, std::uint32_t channels,
              const Deadline* deadline, const Site& site);
  void unpark(const void* address, std::uint32_t channels, const Site& site);
  bool wake_dropped(const Site& site) { return mutates(Mutation::drop, Op::wake, relaxed, site); }
  void step_aside();
  bool passed(const Deadline& deadline);
  // A new deadline for the calling thread; `over`: it has passed already.
  const Deadline* deadline(bool over = false);

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
  // NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as above
  struct Thread {
    Fiber fiber;
    ThreadView view;
    bool finished;
    bool expired;  // its deadline has passed
    void (*exit_hook)();
    Caller caller;

    enum class Wait : std::uint8_t { none, await, parked, aside } wait;
    Condition condition;        // await
    Order order;                // await
    bool timed;                 // await, parked
    const void* address;        // parked
    std::uint32_t channels;     // parked
    bool woken;                 // parked
    std::uint64_t writes_seen;  // aside
  };

  Thread& me() { return threads_[current_]; }
  static void thread_main();
  void end_execution();
  void reset(const Scenario& scenario);
  void run_alone(const std::function<void()>& part);

  bool ready(const Thread& t) const;  // can go on for sure
  bool lucky(const Thread& t) const;  // can go on by a choice that costs budget
  bool wakes_by_chance(const Thread& t) const {
    return left_.spurious > 0 || (t.timed && left_.timeouts > 0);
  }
  void let_others();
  int next_thread();
  bool let_time_pass();
  std::string stuck() const;

  Order begin_access(Op op, int location, Order order, const Site& site);
  bool mutates(Mutation::Kind kind, Op op, Order declared, const Site& site) {
    if (mutation == nullptr || mutation->kind != kind || !mutation->at(op, declared, site)) {
      return false;
    }
    ++mutated;
    return true;
  }
  Order order_of(Op op, Order order, const Site& site);
  const Site& site_of(Op op, const Site& site);
  int choose_write(int location, Order order);
  void finish_update(Op op, int location, std::uint64_t old, std::uint64_t value, Order order,
                     const Site& site);
  void append(int location, std::uint64_t value, Order order, bool is_update);
  void trace_access(Op op, int location, const char* what, Order order, const Site& site);
  bool time_out();

  static constexpr int kMostSteps = 3000;
  static constexpr int kMostIdleRounds = 8;

  std::array<Thread, kMaxThreads> threads_;
  Fiber outside_;
  Memory memory_;
  std::array<int, kMaxLocations> slept_on_{};  // what a futex wake has seen; sleepers see it too
  const Scenario* scenario_ = nullptr;
  const std::function<void()>* part_ = nullptr;
  int count_ = 0;
  int current_ = kMain;
  Bounds left_;
  int steps_ = 0;
  int idle_rounds_ = 0;
  std::uint64_t writes_ = 0;
  std::uint32_t run_ = 0;
  std::string failure_;
  std::vector<void (*)()> resets_;
};

extern Machine machine;

}  // namespace lockswap::explore
