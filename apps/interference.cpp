// interference: readers of many locks, which share one readers table (BRAVO paper, section 5.1).
//
// Each thread picks a lock at random from a pool, takes it for reading, does 20 steps of a
// random-number generator of its own, releases it, and does 100 steps more. There are no writers.
// Under BRAVO readers of different locks may meet in one slot of the table (a collision) or in
// neighbouring ones (false sharing); a table for each lock would rule that out.
//
// --table says what is measured:
//   library  pthread_rwlock_*: whatever lock the preload puts there. The size of its table is
//            LOCKSWAP_BRAVO_SLOTS: a sweep of it at a fixed load is this with different values.
//   shared   bravo-ba as the library has it, compiled in, all locks with one table of --slots slots
//   private  the same code, but each lock has a table of its own, of --slots slots
// The last two differ in nothing but where the pointer in each lock points to. So their ratio is
// the penalty for sharing; `lockswap compare --versus` takes it with its interval. With many locks
// the private tables need more cache and more address space, which is no merit of a shared one.
//
// Prints the lines of common/report.h. Plain pthread API; --help shows the options.

#include "common/many_locks.h"
#include "interference_tables.h"

using namespace bench;

int main(int argc, char** argv) {
  Plan plan{.threads = processors()};
  int locks = 64;
  int slots = 4096;
  std::string table = "library";
  Options options("interference", "Readers of many locks that share one readers table.");
  add_plan_options(options, plan);
  options.number("--locks", locks, 1, 65536, "locks in the pool");
  options.choice("--table", table, {"library", "shared", "private"}, "whose readers table");
  options.number("--slots", slots, 16, 65536, "slots of a shared or private table; a power of two");
  options.parse(argc, argv);
  if ((slots & (slots - 1)) != 0) options.refuse("--slots: must be a power of two");

  std::vector<PooledLock> pool(static_cast<std::size_t>(locks));
  if (table != "library") {
    PooledLock::calls =
        compiled_in_bravo(pool, static_cast<std::uint32_t>(slots), table == "private");
    if (PooledLock::calls.rdlock == nullptr)
      options.refuse("no memory for the tables; take fewer or smaller");
  }
  run_many_locks(plan, pool);
  return 0;
}
