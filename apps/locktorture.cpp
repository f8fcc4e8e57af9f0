// locktorture: readers and writers that hold one lock for long (BRAVO paper, section 6.1; after the
// Linux kernel's module of that name).
//
// Readers take the lock and hold it for --read-hold, writers for --write-hold; then they come back
// at once. Now and then a hold is longer: 200 ms of a reader, 1 s of a writer. As in the kernel
// that happens once in 200,000 holds times the number of readers (or writers), so hardly ever;
// --long-one-in sets it. The paper's runs have one writer (its figure 8), none (9 a), and none with
// --read-hold 0.000005 (9 b).
//
// Holds of a millisecond and more sleep, where the kernel's count cycles: that way many readers can
// be in at once on few processors. Shorter ones are busy.
//
// Every acquisition is timed, since that is nothing beside the holds. Prints, of common/report.h,
// the rates and the tails, and
//   read_fairness, write_fairness   among the readers, among the writers
//   long_holds                      how many there were
// The exit status is 1 if the lock let a writer in together with another thread. It uses the plain
// pthread API; --help shows the options.

#include "common/torture.h"

using namespace bench;

int main(int argc, char** argv) {
  Plan plan;
  Torture torture;
  Options options("locktorture", "Readers and writers that hold one lock for long.");
  options.number("--seconds", plan.seconds, 0.01, 600, "how long");
  add_torture_options(options, torture);
  options.flag("--pin", plan.pin, "pin the threads to the processors in turn");
  options.parse(argc, argv);
  if (torture.readers + torture.writers == 0)
    options.refuse("--readers and --writers: no threads at all");

  run_torture<PthreadRwlock>(plan, torture);
  return 0;
}
