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

#include "common/ring.h"

using namespace bench;

int main(int argc, char** argv) {
  Plan plan;
  Options options("alternator", "Threads in a ring take turns at reading one lock.");
  add_plan_options(options, plan);
  options.parse(argc, argv);

  run_ring<PthreadRwlock>(plan);
  return 0;
}
