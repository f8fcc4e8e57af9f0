// lockswap-explore: runs the shipped locks through every interleaving and reordering within bounds.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cases.h"

namespace lockswap::explore {
namespace {

using Clock = std::chrono::steady_clock;

struct Outcome {
  std::uint64_t executions = 0;
  double seconds = 0;
  bool exhausted = false;
  std::string failure;  // empty: none found
  std::string replay;
};

Outcome explore(const Case& c, const Bounds& bounds, double most_seconds) {
  Outcome o;
  const Scenario scenario = c.scenario();
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  machine.search.restart();
  for (;;) {
    const bool good = machine.run(scenario, bounds);
    ++o.executions;
    if (!good) {
      o.failure = machine.failure();
      o.replay = machine.search.replay_string();
      break;
    }
    if (!machine.search.advance()) {
      o.exhausted = true;
      break;
    }
    if (o.executions % 1024 == 0 && elapsed() > most_seconds) break;
  }
  o.seconds = elapsed();
  return o;
}

std::string bounds_text(const Bounds& b) {
  return std::to_string(b.preemptions) + ',' + std::to_string(b.stale) + ',' +
         std::to_string(b.spurious) + ',' + std::to_string(b.timeouts);
}

void print_trace(const Case& c, const Bounds& bounds, const std::string& replay) {
  for (std::size_t i = 0; i < c.threads.size(); ++i) {
    std::printf("  T%zu: %s\n", i, c.threads[i].c_str());
  }
  std::vector<std::string> trace;
  const Scenario scenario = c.scenario();
  machine.search.load(replay);
  machine.trace = &trace;
  machine.run(scenario, bounds);
  machine.trace = nullptr;
  for (const std::string& line : trace)
    std::printf("    %s\n", line.c_str());
  std::printf("  replay: lockswap-explore replay %s %s %s\n", c.name.c_str(),
              bounds_text(bounds).c_str(), replay.c_str());
}

int run(const std::vector<Case>& cases, const char* filter, const Bounds* bounds, double most) {
  int failed = 0;
  std::uint64_t executions = 0;
  double seconds = 0;
  for (const Case& c : cases) {
    if (filter != nullptr && c.name.find(filter) == std::string::npos) continue;
    const Bounds& b = bounds != nullptr ? *bounds : c.bounds;
    const Outcome o = explore(c, b, most);
    executions += o.executions;
    seconds += o.seconds;
    std::printf("%-44s %-8s %10llu executions %7.2f s  %s\n", c.name.c_str(),
                bounds_text(b).c_str(), static_cast<unsigned long long>(o.executions), o.seconds,
                !o.failure.empty() ? o.failure.c_str()
                : o.exhausted      ? "exhausted"
                                   : "out of time");
    std::fflush(stdout);
    if (!o.failure.empty()) {
      print_trace(c, b, o.replay);
      ++failed;
    }
  }
  std::printf("%llu executions, %.1f s, %d failed\n", static_cast<unsigned long long>(executions),
              seconds, failed);
  return failed == 0 ? 0 : 1;
}

bool parse_bounds(const char* text, Bounds& b) {
  return std::sscanf(text, "%d,%d,%d,%d", &b.preemptions, &b.stale, &b.spurious, &b.timeouts) == 4;
}

}  // namespace
}  // namespace lockswap::explore

int main(int argc, char** argv) {
  using namespace lockswap::explore;
  const auto cases = all_cases();
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "list") {
    for (const Case& c : cases)
      std::puts(c.name.c_str());
    return 0;
  }
  if (command == "run") {
    Bounds b;
    const bool own = argc > 3 && parse_bounds(argv[3], b);
    return run(cases, argc > 2 ? argv[2] : nullptr, own ? &b : nullptr,
               argc > 4 ? std::atof(argv[4]) : 60);
  }
  return 2;
}
