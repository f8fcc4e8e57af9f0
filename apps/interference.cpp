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

#include "common/guarded.h"
#include "common/random.h"
#include "interference_tables.h"

namespace {

using namespace bench;

class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  static constexpr int kWarmUp = 32;

  Worker(const Calls& calls, std::vector<PooledLock>& pool, unsigned number)
      : calls_(calls), pool_(pool), pick_(number), steps_(number + 0x10000) {}

  // The first use of a lock by a thread touches new memory; that is not what is measured. Often
  // enough for BRAVO, which does not bias a lock at its first read, to do so.
  void warm_up() {
    for (PooledLock& l : pool_) {
      for (int i = 0; i < kWarmUp; ++i) {
        must(calls_.rdlock(&l.lock), "rdlock");
        must(calls_.unlock(&l.lock), "unlock");
      }
    }
  }

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    constexpr int kBatch = 32;
    const auto n = static_cast<std::uint32_t>(pool_.size());
    for (int i = 0; i < kBatch; ++i) {
      pthread_rwlock_t* const lock = &pool_[pick_.below(n)].lock;
      watch.read([&] { must(calls_.rdlock(lock), "rdlock"); });
      advance(20);
      must(calls_.unlock(lock), "unlock");
      advance(100);
      ++reads;
    }
  }

 private:
  void advance(unsigned n) noexcept {
    for (; n > 0; --n)
      keep(steps_.next());
  }

  const Calls& calls_;
  std::vector<PooledLock>& pool_;
  Random pick_;
  Random steps_;
};

}  // namespace

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
  Calls calls{pthread_rwlock_rdlock, pthread_rwlock_unlock};
  if (table != "library") {
    calls = compiled_in_bravo(pool, static_cast<std::uint32_t>(slots), table == "private");
    if (calls.rdlock == nullptr) options.refuse("no memory for the tables; take fewer or smaller");
  }
  std::vector<Worker> workers;
  for (int i = 0; i < plan.threads; ++i)
    workers.emplace_back(calls, pool, static_cast<unsigned>(i));
  run_and_print(plan, workers);
  return 0;
}
