// Each toy lock breaks one property. Exploration must find the fault under each memory model and
// each schedule, report it in the right words, and reach it again by its replay string.
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "lock_under_test.h"
#include "runner.h"
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
void toy(const char* name, std::vector<std::string> threads, const std::string& words) {
  static CoreLock<ToyWith<kFault>::template Core, Wait> lock;
  Case c;
  c.name = name;
  c.lock = &lock;
  c.threads = std::move(threads);
  for (const MemoryModel memory : {MemoryModel::c11, MemoryModel::tso, MemoryModel::sc}) {
    for (const Schedule schedule : {Schedule::dfs, Schedule::pct, Schedule::random})
      check(c, {.memory = memory, .schedule = schedule}, words);
  }
  std::printf("%-10s %s\n", name, words.empty() ? "nothing" : words.c_str());
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
  toy<Fault::stray, Park>("stray", {"W x u", "W x u"}, "data race: |deadlock: ");
  toy<Fault::stays, Spin>("stays", {"W u", "R u"}, "deadlock: |at the end");
  toy<Fault::leaks, Spin>("leaks", {"R u", "R u"}, "at the end the lock is not at rest");
  toy<Fault::barges, Spin>("barges", {"W u", "W u", "R u"}, "not phase-fair: ");
  toy<Fault::disorder, Spin>("disorder", {"W u", "W u", "W u"}, "not first come, first served: ");
  toy<Fault::shy, Spin>("shy", {"W u +1", "?1 tryW u"}, "an acquisition failed, though nothing");
  toy<Fault::hasty, Spin>("hasty", {"W u", "timedR u"}, "ETIMEDOUT before the deadline");
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
  check_file("../src/locks/rw/cohort.h", "cohort.h", true);
  check_file("../src/locks/rw/cohort.h", "rw/cohort.h", true);
  check_file("../src/locks/mutex/cohort.h", "rw/cohort.h", false);
  check_file("locks/mutex/node_cohort.h", "cohort.h", false);
  check_file("cohort.h", "cohort.h", true);
  check_file("cohort.h", "rw/cohort.h", false);
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
