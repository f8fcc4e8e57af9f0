// alternator: readers in a ring, one at a time (BRAVO paper, section 5.2).
//
// Each thread waits for its left neighbour, acquires and releases one lock for reading, and
// notifies its right neighbour. There are no writers, and no two readers at once: what is measured
// is how far a lock's reader count has to travel from processor to processor. Under BRAVO each
// reader stays at a slot of its own.
//
// A thread waits busily, as in the paper. But a thread that has waited for much longer than a
// hand-off takes gives its processor away, and with more threads than processors it does so at
// once: otherwise each hand-off to a thread that is not running would take a time slice.
//
// It prints the lines of common/report.h; an operation is a notification. The exit status is 1 if a
// notification got lost. It uses the plain pthread API; --help shows the options.

#include <sched.h>

#include "common/guarded.h"

namespace {

using namespace bench;

// Whose turn it is: 0, or how many notifications there have been so far.
struct alignas(128) Seat {
  std::atomic<std::uint64_t> turn{0};
};

class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  Worker(pthread_rwlock_t& lock, Seat& mine, Seat& right, bool alone_on_processor)
      : lock_(lock), mine_(mine), right_(right), spins_(alone_on_processor ? kSpins : 0) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>& stop) {
    constexpr int kBatch = 16;
    for (int i = 0; i < kBatch; ++i) {
      const std::uint64_t turn = wait(stop);
      if (turn == 0) return;
      mine_.turn.store(0, std::memory_order_relaxed);  // the left neighbour waits for us by now
      watch.read([&] { lock_read(lock_); });
      unlock(lock_);
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

  pthread_rwlock_t& lock_;
  Seat& mine_;
  Seat& right_;
  unsigned spins_;
};

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  Options options("alternator", "Threads in a ring take turns at reading one lock.");
  add_plan_options(options, plan);
  options.parse(argc, argv);

  static Guarded guarded;
  const auto n = static_cast<std::size_t>(plan.threads);
  std::vector<Seat> seats(n);
  seats[0].turn.store(1);
  std::vector<Worker> workers;
  for (std::size_t i = 0; i < n; ++i)
    workers.emplace_back(guarded.lock, seats[i], seats[(i + 1) % n], plan.threads <= processors());
  run_and_print(plan, workers);

  std::uint64_t last = 0;
  for (const Seat& seat : seats)
    last = std::max(last, seat.turn.load());
  if (last != 1 + reads_of(workers)) wrong_result("a notification got lost");
  return 0;
}
