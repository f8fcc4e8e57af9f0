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

#include "common/guarded.h"
#include "common/random.h"

namespace {

using namespace bench;

__attribute__((noinline)) int empty_function(pthread_rwlock_t* l) {
  asm volatile("" : : "r"(l) : "memory");
  return 0;
}

// Steps of work at each acquisition.
struct Steps {
  int inside = 0;
  int outside = 0;  // on average
};

class Labour {
 public:
  Labour(const Steps& steps, int number)
      : inside_(static_cast<unsigned>(steps.inside)),
        outside_(2 * static_cast<unsigned>(steps.outside) + 1),
        random_(static_cast<unsigned>(number)) {}
  void inside() noexcept { advance(inside_); }
  void outside() noexcept {
    if (outside_ > 1) advance(random_.below(outside_));
  }

 private:
  void advance(unsigned n) noexcept {
    for (; n > 0; --n)
      keep(random_.next());
  }
  unsigned inside_;
  unsigned outside_;  // the first that is too many
  Random random_;
};

class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  Worker(Guarded& guarded, double write_share, int number, int threads, const Steps& steps)
      : guarded_(guarded),
        share_(share_of_32_bits(write_share)),
        // Threads write at different times.
        due_(static_cast<std::uint64_t>(number) * kWhole / static_cast<std::uint64_t>(threads)),
        labour_(steps, number) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    constexpr int kBatch = 128;
    for (int i = 0; i < kBatch; ++i) {
      // As many writes as the share says, as evenly as possible.
      due_ += share_;
      if (due_ >= kWhole) {
        due_ -= kWhole;
        watch.write([&] { lock_write(guarded_.lock); });
        guarded_.begin_write();
        labour_.inside();
        guarded_.end_write();
        unlock(guarded_.lock);
        ++writes;
      } else {
        watch.read([&] { lock_read(guarded_.lock); });
        labour_.inside();
        unlock(guarded_.lock);
        ++reads;
      }
      labour_.outside();
    }
  }

 private:
  static constexpr std::uint64_t kWhole = std::uint64_t{1} << 32;  // see share_of_32_bits

  Guarded& guarded_;
  std::uint64_t share_;
  std::uint64_t due_;
  Labour labour_;
};

// The same of a mutex.
struct alignas(128) GuardedByMutex : Witness<std::uint32_t> {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
};
class alignas(128) MutexWorker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  MutexWorker(GuardedByMutex& guarded, int number, const Steps& steps)
      : guarded_(guarded), labour_(steps, number) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    constexpr int kBatch = 128;
    for (int i = 0; i < kBatch; ++i) {
      watch.write([&] { must(pthread_mutex_lock(&guarded_.lock), "pthread_mutex_lock"); });
      guarded_.begin_write();
      labour_.inside();
      guarded_.end_write();
      must(pthread_mutex_unlock(&guarded_.lock), "pthread_mutex_unlock");
      ++writes;
      labour_.outside();
    }
  }

 private:
  GuardedByMutex& guarded_;
  Labour labour_;
};

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

  static Guarded guarded;
  if (empty) {
    std::vector<Floor> workers(static_cast<std::size_t>(plan.threads), Floor(guarded.lock));
    run_and_print(plan, workers);
    return 0;
  }
  if (mutex) {
    static GuardedByMutex by_mutex;
    std::vector<MutexWorker> workers;
    for (int i = 0; i < plan.threads; ++i)
      workers.emplace_back(by_mutex, i, steps);
    run_and_print(plan, workers);
    by_mutex.check_writes(writes_of(workers));
    return 0;
  }
  std::vector<Worker> workers;
  for (int i = 0; i < plan.threads; ++i)
    workers.emplace_back(guarded, write_share, i, plan.threads, steps);
  run_and_print(plan, workers);
  guarded.check_writes(writes_of(workers));
  return 0;
}
