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

#include <cinttypes>

#include "common/guarded.h"
#include "common/random.h"

namespace {

using namespace bench;

struct Holds {
  double usual;
  double rare;            // seconds, both
  std::uint64_t rare_in;  // one in this many is rare; 0: none
};

void hold(double seconds) {
  if (seconds >= 1e-3) {
    const auto whole = static_cast<time_t>(seconds);
    const timespec t{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
    nanosleep(&t, nullptr);
    return;
  }
  const double end = seconds_of(CLOCK_MONOTONIC) + seconds;
  while (seconds_of(CLOCK_MONOTONIC) < end) {}
}

class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t long_holds = 0;
  bool writer;

  Worker(Guarded& guarded, bool is_writer, const Holds& holds, unsigned number)
      : writer(is_writer), guarded_(guarded), holds_(holds), random_(number) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    if (writer) {
      watch.write([&] { lock_write(guarded_.lock); });
      guarded_.begin_write();
      hold(next_hold());
      guarded_.end_write();
      ++writes;
    } else {
      watch.read([&] { lock_read(guarded_.lock); });
      guarded_.check();
      hold(next_hold());
      guarded_.check();
      ++reads;
    }
    unlock(guarded_.lock);
  }

 private:
  double next_hold() {
    if (holds_.rare_in == 0 || random_.next() % holds_.rare_in != 0) return holds_.usual;
    ++long_holds;
    return holds_.rare;
  }

  Guarded& guarded_;
  Holds holds_;
  Random random_;
};

double fairness_among(const Phase& phase, const std::vector<Worker>& workers, bool writers) {
  std::vector<std::uint64_t> operations;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (workers[i].writer == writers) operations.push_back(phase[i].operations());
  }
  return fairness_of(operations);
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  int readers = 2;
  int writers = 1;
  int rare_in = 200'000;
  Holds read{.usual = 0.050, .rare = 0.200, .rare_in = 0};
  Holds write{.usual = 0.010, .rare = 1.000, .rare_in = 0};
  Options options("locktorture", "Readers and writers that hold one lock for long.");
  options.number("--readers", readers, 0, 1024, "reader threads");
  options.number("--writers", writers, 0, 1024, "writer threads");
  options.number("--seconds", plan.seconds, 0.01, 600, "how long");
  options.number("--read-hold", read.usual, 0, 10, "seconds that a reader holds the lock");
  options.number("--write-hold", write.usual, 0, 10, "seconds that a writer holds the lock");
  options.number("--long-read-hold", read.rare, 0, 10, "the same of the rare long ones");
  options.number("--long-write-hold", write.rare, 0, 10, "the same of the rare long ones");
  options.number("--long-one-in", rare_in, 0, 1'000'000'000,
                 "long is one hold in so many times the number of readers or writers; 0: none");
  options.flag("--pin", plan.pin, "pin the threads to the processors in turn");
  options.parse(argc, argv);
  if (readers + writers == 0) options.refuse("--readers and --writers: no threads at all");
  plan.threads = readers + writers;
  read.rare_in = static_cast<std::uint64_t>(rare_in) * static_cast<std::uint64_t>(readers);
  write.rare_in = static_cast<std::uint64_t>(rare_in) * static_cast<std::uint64_t>(writers);

  static Guarded guarded;
  std::vector<Worker> workers;
  for (int i = 0; i < plan.threads; ++i)
    workers.emplace_back(guarded, i >= readers, i >= readers ? write : read,
                         static_cast<unsigned>(i));
  const Phase phase = run_phase(plan, workers, true, plan.seconds);
  guarded.check_writes(writes_of(workers));

  print_rates(phase);
  std::uint64_t long_holds = 0;
  for (const Worker& w : workers)
    long_holds += w.long_holds;
  std::printf("read_fairness %.4f write_fairness %.4f long_holds %" PRIu64 "\n",
              fairness_among(phase, workers, false), fairness_among(phase, workers, true),
              long_holds);
  print_tails(phase);
  return 0;
}
