// Threads that take one lock back to back, or with a little work between, over any lock.
#pragma once

#include <cstdint>
#include <vector>

#include "common/guarded_by.h"
#include "common/random.h"

namespace bench {

// Steps of work at each acquisition, each one of a random-number generator.
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

inline constexpr int kPairsOfBatch = 128;

template <SharedLockable Lock>
class alignas(128) BackToBack {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  BackToBack(GuardedBy<Lock>& guarded, double write_share, int number, int threads,
             const Steps& steps)
      : guarded_(guarded),
        seat_(guarded.lock),
        share_(share_of_32_bits(write_share)),
        // Threads write at different times.
        due_(static_cast<std::uint64_t>(number) * kWhole / static_cast<std::uint64_t>(threads)),
        labour_(steps, number) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>& stop) {
    Lock& lock = guarded_.lock;
    typename Lock::Seat& seat = *seat_;
    for (int i = 0; i < kPairsOfBatch && !ends_early<Lock>(stop); ++i) {
      // As many writes as the share says, as evenly as possible.
      due_ += share_;
      if (due_ >= kWhole) {
        due_ -= kWhole;
        guarded_.alone(watch, seat, [&] { labour_.inside(); });
        ++writes;
      } else {
        watch.read([&] { lock.lock_shared(seat); });
        labour_.inside();
        lock.unlock_shared(seat);
        ++reads;
      }
      labour_.outside();
    }
  }

 private:
  static constexpr std::uint64_t kWhole = std::uint64_t{1} << 32;  // see share_of_32_bits

  GuardedBy<Lock>& guarded_;
  Seated<Lock> seat_;
  std::uint64_t share_;
  std::uint64_t due_;
  Labour labour_;
};

template <SharedLockable Lock>
void run_back_to_back(const Plan& plan, double write_share, const Steps& steps) {
  static GuardedBy<Lock> guarded;
  std::vector<BackToBack<Lock>> workers;
  for (int i = 0; i < plan.threads; ++i)
    workers.emplace_back(guarded, write_share, i, plan.threads, steps);
  run_and_print(plan, workers);
  guarded.check_writes(writes_of(workers));
}

// The same of a mutex, of which each acquisition counts as a write.
template <Lockable Lock>
class alignas(128) BackToBackAlone {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  BackToBackAlone(GuardedBy<Lock>& guarded, int number, const Steps& steps)
      : guarded_(guarded), seat_(guarded.lock), labour_(steps, number) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>& stop) {
    for (int i = 0; i < kPairsOfBatch && !ends_early<Lock>(stop); ++i) {
      guarded_.alone(watch, *seat_, [&] { labour_.inside(); });
      ++writes;
      labour_.outside();
    }
  }

 private:
  GuardedBy<Lock>& guarded_;
  Seated<Lock> seat_;
  Labour labour_;
};

template <Lockable Lock>
void run_back_to_back_alone(const Plan& plan, const Steps& steps) {
  static GuardedBy<Lock> guarded;
  std::vector<BackToBackAlone<Lock>> workers;
  for (int i = 0; i < plan.threads; ++i)
    workers.emplace_back(guarded, i, steps);
  run_and_print(plan, workers);
  guarded.check_writes(writes_of(workers));
}

}  // namespace bench
