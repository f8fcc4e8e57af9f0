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

#include "common/readers_and_writers.h"

using namespace bench;

int main(int argc, char** argv) {
  Plan plan;
  double write_share = 0.01;
  Options options("rwbench", "Readers and writers of one lock, with work inside and outside.");
  add_plan_options(options, plan);
  options.number("--writes", write_share, 0, 1, "share of write acquisitions");
  options.parse(argc, argv);

  run_readers_and_writers<PthreadRwlock>(plan, write_share);
  return 0;
}
