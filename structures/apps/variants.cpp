// variants: the benchmarks of reader-writer locks over locks that are built for comparison only:
// BRAVO's variants, an rwsem, and a fair queue lock (src/variants/list.def).
//
// --work is what the threads do, as the programs of these names: `pairs`, `rwbench`, `alternator`,
// `locktorture`, and `interference` with --locks locks. --lock is the lock, compiled in behind the
// contract of POSIX as the library's are. With `pthread` it is the process's own, so that a preload
// can be compared, too. --slots is the size of BRAVO's table, or the most that it grows to.
//
// It prints the lines of common/report.h. The exit status is 1 if a lock let in whom it must keep
// out. --help shows the options.

#include "common/back_to_back.h"
#include "common/many_locks.h"
#include "common/readers_and_writers.h"
#include "common/ring.h"
#include "common/torture.h"
#include "variants/locks.h"

namespace {

using namespace bench;
using variants_bench::Variant;

struct Task {
  Plan plan;
  double writes = 0.01;
  Steps steps;
  int locks = 64;
  Torture torture;
};

struct alignas(128) Pooled : Variant {};

void run(const std::string& work, Task& task) {
  if (work == "pairs") {
    task.plan.pin = true;
    run_back_to_back<Variant>(task.plan, task.writes, task.steps);
  } else if (work == "rwbench") {
    run_readers_and_writers<Variant>(task.plan, task.writes);
  } else if (work == "alternator") {
    run_ring<Variant>(task.plan);
  } else if (work == "locktorture") {
    run_torture<Variant>(task.plan, task.torture);
  } else {
    std::vector<Pooled> pool(static_cast<std::size_t>(task.locks));
    run_many_locks(task.plan, pool);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Task task;
  std::string lock = "bravo-ba";
  std::string work = "pairs";
  int slots = 4096;
  Options options("variants", "Benchmarks over reader-writer locks that are built for comparison.");
  options.choice("--lock", lock, variants_bench::names(), "the lock");
  options.choice("--work", work, {"pairs", "rwbench", "alternator", "locktorture", "interference"},
                 "what the threads do");
  add_plan_options(options, task.plan);
  options.number("--writes", task.writes, 0, 1, "share of write acquisitions: pairs, rwbench");
  options.number("--inside", task.steps.inside, 0, 1'000'000,
                 "steps of work under the lock: pairs");
  options.number("--outside", task.steps.outside, 0, 1'000'000,
                 "steps of work after it, on average: pairs");
  options.number("--locks", task.locks, 1, 65536, "locks in the pool: interference");
  options.number("--slots", slots, 16, 65536, "slots of BRAVO's table; a power of two");
  add_torture_options(options, task.torture);
  options.parse(argc, argv);
  if ((slots & (slots - 1)) != 0) options.refuse("--slots: must be a power of two");
  if (task.torture.readers + task.torture.writers == 0)
    options.refuse("--readers and --writers: no threads at all");

  Variant::calls = variants_bench::prepare(lock, static_cast<std::uint32_t>(slots));
  if (Variant::calls.rdlock == nullptr) options.refuse("no memory for the table; take fewer slots");
  run(work, task);
  return 0;
}
