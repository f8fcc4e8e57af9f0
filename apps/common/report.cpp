#include "common/report.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace bench {

void add_least_option(Options& options, Plan& plan) {
  options.number("--least", plan.least, 1, 1'000'000,
                 "pieces of work that each thread does, even if that takes longer");
}

void add_plan_options(Options& options, Plan& plan, bool choose_pin) {
  options.number("--threads", plan.threads, 1, 1024, "threads");
  options.number("--seconds", plan.seconds, 0.01, 600, "how long the rates are measured");
  options.number("--tails", plan.tail_seconds, 0, 600,
                 "how long, after that, each acquisition is timed; 0: not at all");
  add_least_option(options, plan);
  if (choose_pin) options.flag("--pin", plan.pin, "pin the threads to the processors in turn");
}

double fairness_of(const std::vector<std::uint64_t>& operations) {
  if (operations.empty()) return 1;
  const auto [least, most] = std::minmax_element(operations.begin(), operations.end());
  return *most == 0 ? 1 : static_cast<double>(*least) / static_cast<double>(*most);
}

void print_rates(const Phase& phase) {
  double reads_s = 0;
  double writes_s = 0;
  double cpu = 0;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::vector<std::uint64_t> operations;
  for (const Share& s : phase) {
    reads_s += static_cast<double>(s.reads) / s.seconds;
    writes_s += static_cast<double>(s.writes) / s.seconds;
    cpu += s.cpu_seconds;
    reads += s.reads;
    writes += s.writes;
    operations.push_back(s.operations());
  }
  std::printf(
      "ops_s %.0f reads_s %.3f writes_s %.3f ops_cpu %.0f reads_cpu %.0f writes_cpu %.0f "
      "fairness %.4f\n",
      reads_s + writes_s, reads_s, writes_s, static_cast<double>(reads + writes) / cpu,
      static_cast<double>(reads) / cpu, static_cast<double>(writes) / cpu, fairness_of(operations));
  std::printf("ops %" PRIu64 " reads %" PRIu64 " writes %" PRIu64 "\n", reads + writes, reads,
              writes);
}

void print_live(const Phase& phase) {
  if (phase.size() > static_cast<std::size_t>(processors())) return;
  std::vector<const Stamps*> stamps;
  double seconds = 0;
  std::uint64_t all = 0;
  for (const Share& s : phase) {
    stamps.push_back(&s.stamps);
    seconds += s.seconds;
    all += s.operations();
  }
  const Live live = live_windows(stamps);
  std::printf("live_ns %.3f kept %.3f all_ns %.3f\n", live.ticks_per_operation * ns_per_tick(),
              live.kept, all == 0 ? 0 : seconds * 1e9 / static_cast<double>(all));
}

namespace {

void print_tail(const char* name, const Tail& tail) {
  if (tail.count() == 0) return;
  const double ns = ns_per_tick();
  const auto at = [&](unsigned per_mille) {
    return static_cast<double>(tail.at_per_mille(per_mille)) * ns;
  };
  std::printf("%s_p50_ns %.0f %s_p99_ns %.0f %s_p999_ns %.0f %s_max_ns %.0f %s_timed %" PRIu64 "\n",
              name, at(500), name, at(990), name, at(999), name,
              static_cast<double>(tail.longest()) * ns, name, tail.count());
}

}  // namespace

void print_tails(const Phase& phase, const char* reads, const char* writes) {
  Tail read_tail;
  Tail write_tail;
  for (const Share& s : phase) {
    read_tail.merge(s.read_tail);
    write_tail.merge(s.write_tail);
  }
  print_tail(reads, read_tail);
  print_tail(writes, write_tail);
}

void wrong_result(const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "wrong result: %s\n", what.c_str());
  std::_Exit(1);  // other threads may still run
}

}  // namespace bench
