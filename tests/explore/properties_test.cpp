// Each toy lock breaks one property. Exploration must find the fault under each memory model and
// each schedule, report it in the right words, and reach it again by its replay string.
#include <csignal>
#include <cstdio>
#include <functional>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "lock_under_test.h"
#include "runner.h"
#include "switched.h"
#include "toy.h"
#include "wait/park.h"
#include "wait/spin.h"

namespace lockswap::explore {
namespace {

template <Fault kFault>
struct ToyWith {
  template <class P, class W>
  using Core = Toy<P, W, kFault>;
};

int failures = 0;

void complain(const Case& c, const Method& m, const std::string& what) {
  ++failures;
  std::printf("FAILED %s, %s, %s: %s\n", c.name.c_str(), name_of(m.memory), name_of(m.schedule),
              what.c_str());
}

// `words`: what the report must begin with, "this|or that"; empty: nothing may be found.
bool begins_with_one_of(const std::string& text, const std::string& words) {
  std::istringstream all(words);
  for (std::string one; std::getline(all, one, '|');) {
    if (text.starts_with(one)) return true;
  }
  return words.empty() && text.empty();
}

void check(const Case& c, const Method& m, const std::string& words) {
  const bool samples = m.schedule != Schedule::dfs;
  const Bounds bounds = samples ? kSampledBounds : c.bounds;
  const Outcome o = explore(c, bounds, {.executions = samples ? 20'000u : 2'000'000u}, m);
  if (!begins_with_one_of(o.failure, words)) {
    complain(c, m, "'" + words + "' expected, found: '" + o.failure + "'");
    return;
  }
  if (words.empty()) {
    if (!samples && !o.exhausted) complain(c, m, "not exhausted");
    return;
  }
  machine.model = m.memory;
  if (!machine.search.load(o.replay)) return complain(c, m, "no replay string: " + o.replay);
  machine.run(c.scenario(), bounds);
  if (machine.failure() != o.failure) {
    complain(c, m, "the replay leads to '" + machine.failure() + "', not to '" + o.failure + "'");
  }
}

template <Fault kFault, template <class> class Wait>
void toy(
    const char* name, std::vector<std::string> threads, const std::string& words,
    void (*set_up)(Case&) = [](Case&) {}) {
  static CoreLock<ToyWith<kFault>::template Core, Wait> lock;
  Case c;
  c.name = name;
  c.lock = &lock;
  c.threads = std::move(threads);
  set_up(c);
  for (const MemoryModel memory : {MemoryModel::c11, MemoryModel::tso, MemoryModel::sc}) {
    for (const Schedule schedule : {Schedule::dfs, Schedule::pct, Schedule::random})
      check(c, {.memory = memory, .schedule = schedule}, words);
  }
  std::printf("%-10s %s\n", name, words.empty() ? "nothing" : words.c_str());
}

// What a program prints that runs into the fault, and how it ends.
struct Ended {
  std::string printed;
  int status;
};
Ended run_and_end(const std::function<void()>& what) {
  int pipe_ends[2];
  std::fflush(stdout);
  if (pipe(pipe_ends) != 0) return {"no pipe", 0};
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDOUT_FILENO);
    what();
    std::fflush(stdout);
    _exit(0);
  }
  close(pipe_ends[1]);
  Ended e;
  char part[512];
  for (ssize_t n; (n = read(pipe_ends[0], part, sizeof part)) > 0;)
    e.printed.append(part, static_cast<std::size_t>(n));
  close(pipe_ends[0]);
  waitpid(child, &e.status, 0);
  return e;
}

// A lock that takes the explorer down leaves the script and choices that lead there again, and then
// the steps.
template <Fault kFault>
void check_crash(const char* name, int signal, const std::string& words) {
  static CoreLock<ToyWith<kFault>::template Core, Park> lock;
  Case c;
  c.name = name;
  c.lock = &lock;
  c.threads = {"W u", "W u"};
  const auto expect = [&](const Ended& e, const std::string& text) {
    if (e.printed.find(text) == std::string::npos) {
      complain(c, {}, "a crash does not print '" + text + "', but: " + e.printed);
    }
    if (!WIFSIGNALED(e.status) || WTERMSIG(e.status) != signal) {
      complain(c, {}, "it does not end by its signal, but with " + std::to_string(e.status));
    }
  };
  const Ended first = run_and_end([&] { explore(c, c.bounds, {}); });
  expect(first, words + " in " + name + "\n    T0: W u\n    T1: W u\n");
  const std::string before =
      std::string("repeat it: lockswap-explore replay ") + name + " 2,2,1,1 ";
  expect(first, before);
  const std::size_t at = first.printed.find(before);
  if (at == std::string::npos) return;
  const std::string line = first.printed.substr(at + before.size());
  const std::string choices = line.substr(0, line.find('\n'));
  const Ended again = run_and_end([&] { print_trace(c, c.bounds, choices); });
  expect(again, "write ...");
  expect(again, before + choices);
  std::printf("%-10s %s\n", name, words.c_str());
}

// Each thread's line, whatever it waits by: an event of the script, a lock, a sleep.
void check_deadlock() {
  static CoreLock<ToyWith<Fault::none>::Core, Park> lock;
  Case c;
  c.name = "deadlock";
  c.lock = &lock;
  c.threads = {"W ?1 u", "R u", "?2"};
  const Outcome o = explore(c, {0, 0, 0, 0}, {});
  for (const char* part :
       {"deadlock: T0 waits at script.cpp:", " for event 1", "T1 sleeps at toy.h:", " for lock",
        "T2 waits at script.cpp:", " for event 2"}) {
    if (o.failure.find(part) == std::string::npos) {
      complain(c, {}, std::string("no '") + part + "' in '" + o.failure + "'");
    }
  }
  std::printf("deadlock   %s\n", o.failure.c_str());
}

// What exploration of a case finds does not depend on the cases before.
void check_alone() {
  static CoreLock<ToyWith<Fault::barges>::Core, Spin> lock;
  Case c;
  c.name = "alone";
  c.lock = &lock;
  c.threads = {"W u", "W u", "R u"};
  Case longer = c;
  longer.threads = {"R u R u R u R u R u R u R u R u R u R u R u R u"};
  const auto found = [&] {
    return explore(c, kSampledBounds, {.executions = 20'000}, {.schedule = Schedule::pct}).replay;
  };
  const std::string first = found();
  explore(longer, kSampledBounds, {.executions = 1}, {.schedule = Schedule::pct});
  const std::string after = found();
  if (first.empty() || after != first) {
    complain(c, {.schedule = Schedule::pct},
             "found by " + first + ", but after a longer case by " + after);
  }
}

// Without a read that the lock admits no bias can be switched on: which one was it?
void check_first_read() {
  static CoreLock<ToyWith<Fault::none>::Core, Park> lock;
  Case c;
  c.name = "first read";
  c.lock = &lock;
  c.threads = {"R u"};
  c.biased = true;  // but it has none
  const Outcome o = explore(c, {0, 0, 0, 0}, {});
  const char* const words = "before the threads begin: the second read is not a fast one";
  if (o.failure != words) complain(c, {}, "'" + o.failure + "' is not '" + words + "'");
}

void check_bounds(const char* text, bool right, const Bounds& wanted) {
  Bounds b;
  const bool is_right = parse(text, b);
  const bool same = b.preemptions == wanted.preemptions && b.stale == wanted.stale &&
                    b.spurious == wanted.spurious && b.timeouts == wanted.timeouts &&
                    b.moves == wanted.moves;
  if (is_right == right && (!right || (same && text_of(b) == text))) return;
  ++failures;
  std::printf("FAILED: bounds '%s' are read as %s\n", text, is_right ? text_of(b).c_str() : "none");
}

// A release that reads the lock after its last store: the lock may be gone.
template <class P, class W>
class Lingers : public Toy<P, W, Fault::none> {
 public:
  void write_unlock() noexcept {
    Toy<P, W, Fault::none>::write_unlock();
    this->has_writer();
  }
};

// A place's file is the one that was named, not one whose name only ends so.
void check_file(const char* path, const char* name, bool wanted) {
  if (is_file(path, name) == wanted) return;
  ++failures;
  std::printf("FAILED: %s is %s%s\n", path, wanted ? "" : "not ", name);
}

}  // namespace
}  // namespace lockswap::explore

int main() {
  using namespace lockswap::explore;
  using lockswap::Park;
  using lockswap::Spin;
  toy<Fault::none, Spin>("none", {"W u", "R u", "timedW u"}, "");
  toy<Fault::none, Park>("none/park", {"W u", "R u"}, "");
  toy<Fault::overlap, Spin>("overlap", {"W u", "R x u"}, "data race: ");
  toy<Fault::order, Spin>("order", {"W u", "R u"}, "data race: ");
  toy<Fault::no_wake, Park>("no_wake", {"W u", "R u"}, "lost wake-up: ");
  toy<Fault::stray, Park>("stray", {"W x u", "W x u"}, "data race: |deadlock: |lost wake-up: ");
  toy<Fault::stays, Spin>("stays", {"W u", "R u"}, "deadlock: |lost wake-up: |at the end");
  toy<Fault::leaks, Spin>("leaks", {"R u", "R u"}, "at the end the lock is not at rest");
  toy<Fault::barges, Spin>("barges", {"W u", "W u", "R u"}, "not phase-fair: ");
  toy<Fault::disorder, Spin>("disorder", {"W u", "W u", "W u"}, "not first come, first served: ");
  toy<Fault::passes, Spin>("passes", {"W u", "W u", "W u"}, "not first come, first served: ");
  toy<Fault::younger, Park>("younger", {"W u", "W u", "W u"},
                            "not in order: ", [](Case& c) { c.wakes_in_order = true; });
  toy<Fault::jumps, Park>("jumps", {"W +1 u W u", "R u"},
                          "not next: ", [](Case& c) { c.at_once = true; });
  toy<Fault::calls_two, Park>("calls_two", {"W u", "W u", "W u"}, "two wake-ups are under way",
                              [](Case& c) { c.wakes_one_at_a_time = true; });
  toy<Fault::generous, Spin>("generous", {"W u W u", "W u"}, "a second hand-off, though");
  toy<Fault::shy, Spin>("shy", {"W u +1", "?1 tryW u"}, "an acquisition failed, though nothing");
  toy<Fault::hasty, Spin>("hasty", {"W u", "timedR u"}, "ETIMEDOUT before the deadline");
  toy<Fault::outwaits, Spin>("outwaits", {"W +1 ?2 u", "?1 timedW! +2"}, "late: T1");
  toy<Fault::unheard, Park>("unheard", {"W u", "R u"}, "a futex call without a channel");
  toy<Fault::never_late, Spin>("never_late", {"W u +1", "?1 lateW u"},
                               "an acquisition failed, though nothing");
  {
    static CoreLock<Lingers, Spin> lock;
    Case c;
    c.name = "lingers";
    c.lock = &lock;
    c.threads = {"W +1 u", "?1 W u destroy"};
    c.destroys = true;
    check(c, {}, "load of an object that is gone");
    check(c, {.schedule = Schedule::pct}, "load of an object that is gone");
  }
  {
    // Why the kill switch leaves locks alone that have begun.
    static SwitchedMutex<Existing::is_handed_on> lock;
    Case c;
    c.name = "handed on";
    c.lock = &lock;
    c.threads = {"W u W u", "W u"};
    c.may_switch_off = true;
    for (const MemoryModel memory : {MemoryModel::c11, MemoryModel::tso, MemoryModel::sc})
      check(c, {.memory = memory}, "data race: ");
  }
  check_file("../src/locks/rw/cohort.h", "cohort.h", true);
  check_file("../src/locks/rw/cohort.h", "rw/cohort.h", true);
  check_file("../src/locks/mutex/cohort.h", "rw/cohort.h", false);
  check_file("locks/mutex/node_cohort.h", "cohort.h", false);
  check_file("cohort.h", "cohort.h", true);
  check_file("cohort.h", "rw/cohort.h", false);
  check_crash<Fault::wild>("wild", SIGSEGV, "a wild address or an endless call");
  check_crash<Fault::endless>("endless", SIGABRT, "a loop without an end, and without a step,");
  check_deadlock();
  check_first_read();
  check_alone();
  check_bounds("2,1,0,3", true, {2, 1, 0, 3});
  check_bounds("2,1,0,3,0", true, {2, 1, 0, 3, 0});
  for (const char* text : {"", "2,1,0", "2,1,0,3,", "2,1,0,3,0,0", "2,1,-1,3", "2,1,0,x"})
    check_bounds(text, false, {});
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
