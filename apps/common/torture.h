// Readers and writers that hold one lock for long, over any lock: locktorture.cpp has the rules.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <ctime>
#include <vector>

#include "common/clock.h"
#include "common/guarded_by.h"
#include "common/random.h"

namespace bench {

// What the command line asks for.
struct Torture {
  struct Holds {
    double usual;
    double rare;                // seconds, both
    std::uint64_t rare_in = 0;  // one in this many is rare; 0: none
  };
  int readers = 2;
  int writers = 1;
  int rare_in = 200'000;  // times the number of readers or writers
  Holds read{.usual = 0.050, .rare = 0.200};
  Holds write{.usual = 0.010, .rare = 1.000};
};

inline void add_torture_options(Options& options, Torture& torture) {
  options.number("--readers", torture.readers, 0, 1024, "reader threads");
  options.number("--writers", torture.writers, 0, 1024, "writer threads");
  options.number("--read-hold", torture.read.usual, 0, 10, "seconds that a reader holds the lock");
  options.number("--write-hold", torture.write.usual, 0, 10,
                 "seconds that a writer holds the lock");
  options.number("--long-read-hold", torture.read.rare, 0, 10, "the same of the rare long ones");
  options.number("--long-write-hold", torture.write.rare, 0, 10, "the same of the rare long ones");
  options.number("--long-one-in", torture.rare_in, 0, 1'000'000'000,
                 "long is one hold in so many times the number of readers or writers; 0: none");
}

inline void hold_for(double seconds) {
  if (seconds >= 1e-3) {
    const auto whole = static_cast<time_t>(seconds);
    const timespec t{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
    nanosleep(&t, nullptr);
    return;
  }
  const double end = seconds_of(CLOCK_MONOTONIC) + seconds;
  while (seconds_of(CLOCK_MONOTONIC) < end) {}
}

template <SharedLockable Lock>
class alignas(128) Torturer {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t long_holds = 0;
  bool writer;

  Torturer(GuardedBy<Lock>& guarded, bool is_writer, const Torture::Holds& holds, unsigned number)
      : writer(is_writer), guarded_(guarded), seat_(guarded.lock), holds_(holds), random_(number) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    if (writer) {
      guarded_.alone(watch, *seat_, [&] { hold_for(next_hold()); });
      ++writes;
    } else {
      guarded_.together(watch, *seat_, [&] { hold_for(next_hold()); });
      ++reads;
    }
  }

 private:
  double next_hold() {
    if (holds_.rare_in == 0 || random_.next() % holds_.rare_in != 0) return holds_.usual;
    ++long_holds;
    return holds_.rare;
  }

  GuardedBy<Lock>& guarded_;
  Seated<Lock> seat_;
  Torture::Holds holds_;
  Random random_;
};

template <class Worker>
double fairness_among(const Phase& phase, const std::vector<Worker>& workers, bool writers) {
  std::vector<std::uint64_t> operations;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (workers[i].writer == writers) operations.push_back(phase[i].operations());
  }
  return fairness_of(operations);
}

// plan.threads is set here.
template <SharedLockable Lock>
void run_torture(Plan plan, Torture torture) {
  plan.threads = torture.readers + torture.writers;
  const auto rare_in = static_cast<std::uint64_t>(torture.rare_in);
  torture.read.rare_in = rare_in * static_cast<std::uint64_t>(torture.readers);
  torture.write.rare_in = rare_in * static_cast<std::uint64_t>(torture.writers);

  static GuardedBy<Lock> guarded;
  std::vector<Torturer<Lock>> workers;
  for (int i = 0; i < plan.threads; ++i) {
    const bool writer = i >= torture.readers;
    workers.emplace_back(guarded, writer, writer ? torture.write : torture.read,
                         static_cast<unsigned>(i));
  }
  const Phase phase = run_phase(plan, workers, true, plan.seconds);
  guarded.check_writes(writes_of(workers));

  print_rates(phase);
  std::uint64_t long_holds = 0;
  for (const auto& w : workers)
    long_holds += w.long_holds;
  std::printf("read_fairness %.4f write_fairness %.4f long_holds %" PRIu64 "\n",
              fairness_among(phase, workers, false), fairness_among(phase, workers, true),
              long_holds);
  print_tails(phase);
}

}  // namespace bench
