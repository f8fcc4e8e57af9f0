// What the benchmarks print: lines of `name value` pairs, which recipes pick apart.
//
//   ops_s, reads_s, writes_s   operations a second of all threads, by the clock on the wall
//   ops_cpu, reads_cpu, writes_cpu   the same a CPU-second
//   fairness                   fewest operations of a thread / most operations of a thread
//   ops, reads, writes         how many there were
//   live_ns, kept, all_ns      nanoseconds of a thread for one operation, in the live stretches
//                              (live.h); the share of the time that was live (both 0: nothing was);
//                              and over all time. Missing with more threads than processors: they
//                              never all run
//   read_p50_ns, read_p99_ns, read_p999_ns, read_max_ns, read_timed
//   write_p50_ns, ...          how long acquisitions took, the clock's own 10 to 30 ns included;
//                              how many were timed. A line is missing if none was
#pragma once

#include <string>
#include <vector>

#include "common/crew.h"
#include "common/options.h"

namespace bench {

// --threads, --seconds, --tails, --least, and --pin unless the benchmark always pins.
void add_plan_options(Options& options, Plan& plan, bool choose_pin = true);

// --least, for programs that have the other options by themselves.
void add_least_option(Options& options, Plan& plan);

void print_rates(const Phase& phase);
void print_live(const Phase& phase);
// `reads` and `writes`: how the two kinds are called in the names.
void print_tails(const Phase& phase, const char* reads = "read", const char* writes = "write");

// Fewest / most operations of a thread; 1 if there are none.
double fairness_of(const std::vector<std::uint64_t>& operations);

// Ends the program with status 1 and one line: what the lock protects is wrong.
[[noreturn]] void wrong_result(const std::string& what);

// A lock call that fails is a wrong result: nothing here gives a lock a reason to fail.
[[noreturn, gnu::cold, gnu::noinline]] inline void call_failed(const char* call, int error) {
  wrong_result(std::string(call) + " returned " + std::to_string(error));
}
inline void must(int error, const char* call) {
  if (error != 0) [[unlikely]]
    call_failed(call, error);
}

// Both phases, and the lines of both.
template <class Worker>
void run_and_print(const Plan& plan, std::vector<Worker>& workers, const char* reads = "read",
                   const char* writes = "write") {
  const Phase rates = run_phase(plan, workers, false, plan.seconds);
  print_rates(rates);
  print_live(rates);
  if (plan.tail_seconds > 0) {
    print_tails(run_phase(plan, workers, true, plan.tail_seconds), reads, writes);
  }
}

}  // namespace bench
