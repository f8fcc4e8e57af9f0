// pairs: threads that acquire and release one reader-writer lock back to back, each pinned.
//
// Nothing lies between the acquisitions, so what a lock costs among threads shows as it is: BRAVO's
// gain without writes, and its harm with them. Writes come in a fixed pattern, not at random.
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

class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  Worker(Guarded& guarded, double write_share, int number, int threads)
      : guarded_(guarded),
        share_(share_of_32_bits(write_share)),
        // Threads write at different times.
        due_(static_cast<std::uint64_t>(number) * kWhole / static_cast<std::uint64_t>(threads)) {}

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
        guarded_.end_write();
        unlock(guarded_.lock);
        ++writes;
      } else {
        watch.read([&] { lock_read(guarded_.lock); });
        unlock(guarded_.lock);
        ++reads;
      }
    }
  }

 private:
  static constexpr std::uint64_t kWhole = std::uint64_t{1} << 32;  // see share_of_32_bits

  Guarded& guarded_;
  std::uint64_t share_;
  std::uint64_t due_;
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
  bool empty = false;
  Options options("pairs", "Threads acquire and release one reader-writer lock back to back.");
  add_plan_options(options, plan, false);
  options.number("--writes", write_share, 0, 1, "share of write acquisitions");
  options.flag("--empty", empty, "call two empty functions instead: the floor");
  options.parse(argc, argv);

  static Guarded guarded;
  if (empty) {
    std::vector<Floor> workers(static_cast<std::size_t>(plan.threads), Floor(guarded.lock));
    run_and_print(plan, workers);
    return 0;
  }
  std::vector<Worker> workers;
  for (int i = 0; i < plan.threads; ++i)
    workers.emplace_back(guarded, write_share, i, plan.threads);
  run_and_print(plan, workers);
  guarded.check_writes(writes_of(workers));
  return 0;
}
