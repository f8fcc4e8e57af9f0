// pairs: threads that acquire and release one lock back to back, each pinned: a reader-writer lock,
// or, with --mutex, a mutex, of which each acquisition counts as a write.
//
// Nothing lies between the acquisitions, so what a lock costs among threads shows as it is: BRAVO's
// gain without writes, and its harm with them. Writes come in a fixed pattern, not at random.
// --inside and --outside are for a little work: steps of a random-number generator, of a nanosecond
// or two each, which are the same in every turn inside, and twice as many at most outside.
// --empty calls two empty functions instead: the floor of the loop.
//
// It prints the lines of common/report.h; `live_ns` is what to compare on a shared machine. The
// exit status is 1 if writers were in together.
// It uses the plain pthread API: run it with and without the preload, interleaved. --help shows the
// options.

#include "common/back_to_back.h"

namespace {

using namespace bench;

__attribute__((noinline)) int empty_function(pthread_rwlock_t* l) {
  asm volatile("" : : "r"(l) : "memory");
  return 0;
}

class alignas(128) Floor {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  explicit Floor(pthread_rwlock_t& lock) : lock_(lock) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    constexpr int kBatch = 128;
    for (int i = 0; i < kBatch; ++i) {
      watch.read([&] { must(empty_function(&lock_), "nothing"); });
      must(empty_function(&lock_), "nothing");
      ++reads;
    }
  }

 private:
  pthread_rwlock_t& lock_;
};

}  // namespace

int main(int argc, char** argv) {
  Plan plan{.pin = true};
  double write_share = 0;
  bool empty = false, mutex = false;
  Steps steps;
  Options options("pairs", "Threads acquire and release one lock back to back.");
  add_plan_options(options, plan, false);
  options.number("--writes", write_share, 0, 1, "share of write acquisitions");
  options.number("--inside", steps.inside, 0, 1'000'000, "steps of work under the lock");
  options.number("--outside", steps.outside, 0, 1'000'000, "steps of work after it, on average");
  options.flag("--mutex", mutex, "a mutex instead of a reader-writer lock");
  options.flag("--empty", empty, "call two empty functions instead: the floor");
  options.parse(argc, argv);

  if (empty) {
    static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    std::vector<Floor> workers(static_cast<std::size_t>(plan.threads), Floor(lock));
    run_and_print(plan, workers);
  } else if (mutex) {
    run_back_to_back_alone<PthreadMutex>(plan, steps);
  } else {
    run_back_to_back<PthreadRwlock>(plan, write_share, steps);
  }
  return 0;
}
