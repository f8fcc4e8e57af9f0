// rwbench: readers and writers of one lock with a little work inside and some outside (BRAVO paper,
// section 5.4).
//
// Each thread decides at random whether to write, takes the lock, does 10 steps of a random-number
// generator of its own (std::mt19937), releases it, and does 0 to 199 steps outside, 100 on
// average. The paper's six write shares are 0.9, 0.5, 0.1, 0.01, 0.001 and 0.0001. Most of the time
// is spent outside the lock, so on two processors this shows what a lock harms rather than what it
// gains.
//
// It prints the lines of common/report.h. The exit status is 1 if the lock let a writer in together
// with another thread. It uses the plain pthread API; --help shows the options.

#include <random>

#include "common/guarded.h"
#include "common/random.h"

namespace {

using namespace bench;

class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  Worker(Guarded& guarded, double write_share, unsigned number)
      : guarded_(guarded),
        write_share_(share_of_32_bits(write_share)),
        decide_(number),
        steps_(number + 1) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    constexpr int kBatch = 16;
    for (int i = 0; i < kBatch; ++i) {
      if (decide_.with_share(write_share_)) {
        watch.write([&] { lock_write(guarded_.lock); });
        guarded_.begin_write();
        advance(10);
        guarded_.end_write();
        unlock(guarded_.lock);
        ++writes;
      } else {
        watch.read([&] { lock_read(guarded_.lock); });
        guarded_.check();
        advance(10);
        guarded_.check();
        unlock(guarded_.lock);
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

  Guarded& guarded_;
  std::uint64_t write_share_;
  Random decide_;
  std::mt19937 steps_;
};

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  double write_share = 0.01;
  Options options("rwbench", "Readers and writers of one lock, with work inside and outside.");
  add_plan_options(options, plan);
  options.number("--writes", write_share, 0, 1, "share of write acquisitions");
  options.parse(argc, argv);

  static Guarded guarded;
  std::vector<Worker> workers;
  for (int i = 0; i < plan.threads; ++i)
    workers.emplace_back(guarded, write_share, static_cast<unsigned>(i));
  run_and_print(plan, workers);
  guarded.check_writes(writes_of(workers));
  return 0;
}
