// Readers in a ring, one at a time, over any lock: alternator.cpp has the rules.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <sched.h>
#include <vector>

#include "common/guarded_by.h"
#include "common/report.h"

namespace bench {

// `turn` is 0 while it isn't this seat's turn; otherwise it counts the turns, including this one.
struct alignas(128) RingSeat {
  std::atomic<std::uint64_t> turn{0};
};

template <SharedLockable Lock>
class alignas(128) InRing {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  InRing(Lock& lock, RingSeat& mine, RingSeat& right, bool alone_on_processor)
      : lock_(lock),
        seat_(lock),
        mine_(mine),
        right_(right),
        spins_(alone_on_processor ? kSpins : 0) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>& stop) {
    constexpr int kBatch = 16;
    for (int i = 0; i < kBatch; ++i) {
      const std::uint64_t turn = wait(stop);
      if (turn == 0) return;
      mine_.turn.store(0, std::memory_order_relaxed);  // the left neighbour waits for us by now
      watch.read([&] { lock_.lock_shared(*seat_); });
      lock_.unlock_shared(*seat_);
      right_.turn.store(turn + 1, std::memory_order_release);
      ++reads;
    }
  }

 private:
  static constexpr unsigned kSpins = 10'000;  // 10 us or more

  // 0: stopped.
  std::uint64_t wait(const std::atomic<bool>& stop) {
    for (unsigned round = 0;; ++round) {
      const std::uint64_t turn = mine_.turn.load(std::memory_order_acquire);
      if (turn != 0) return turn;
      if (stop.load(std::memory_order_relaxed)) return 0;
      if (round >= spins_) sched_yield();
    }
  }

  Lock& lock_;
  Seated<Lock> seat_;
  RingSeat& mine_;
  RingSeat& right_;
  unsigned spins_;
};

template <SharedLockable Lock>
void run_ring(const Plan& plan) {
  static GuardedBy<Lock> guarded;
  const auto n = static_cast<std::size_t>(plan.threads);
  std::vector<RingSeat> seats(n);
  seats[0].turn.store(1);
  std::vector<InRing<Lock>> workers;
  for (std::size_t i = 0; i < n; ++i)
    workers.emplace_back(guarded.lock, seats[i], seats[(i + 1) % n], plan.threads <= processors());
  run_and_print(plan, workers);

  std::uint64_t last = 0;
  for (const RingSeat& seat : seats)
    last = std::max(last, seat.turn.load());
  if (last != 1 + reads_of(workers)) wrong_result("a notification got lost");
}

}  // namespace bench
