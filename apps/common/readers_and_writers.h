// Readers and writers of one lock, which decide at random, with a little work inside and some
// outside (BRAVO paper, section 5.4), over any lock.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "common/guarded_by.h"
#include "common/random.h"

namespace bench {

template <SharedLockable Lock>
class alignas(128) ReadersAndWriters {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  ReadersAndWriters(GuardedBy<Lock>& guarded, double write_share, unsigned number)
      : guarded_(guarded),
        seat_(guarded.lock),
        write_share_(share_of_32_bits(write_share)),
        decide_(number),
        steps_(number + 1) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>& stop) {
    constexpr int kBatch = 16;
    for (int i = 0; i < kBatch && !ends_early<Lock>(stop); ++i) {
      if (decide_.with_share(write_share_)) {
        guarded_.alone(watch, *seat_, [&] { advance(10); });
        ++writes;
      } else {
        guarded_.together(watch, *seat_, [&] { advance(10); });
        ++reads;
      }
      advance(decide_.below(200));
    }
  }

 private:
  void advance(unsigned n) noexcept {
    for (; n > 0; --n)
      keep(steps_());
  }

  GuardedBy<Lock>& guarded_;
  Seated<Lock> seat_;
  std::uint64_t write_share_;
  Random decide_;
  std::mt19937 steps_;
};

template <SharedLockable Lock>
void run_readers_and_writers(const Plan& plan, double write_share) {
  static GuardedBy<Lock> guarded;
  std::vector<ReadersAndWriters<Lock>> workers;
  for (int i = 0; i < plan.threads; ++i)
    workers.emplace_back(guarded, write_share, static_cast<unsigned>(i));
  run_and_print(plan, workers);
  guarded.check_writes(writes_of(workers));
}

}  // namespace bench
