#include "runner.h"

#include <chrono>
#include <cstdio>
#include <vector>

namespace lockswap::explore {

Outcome explore(const Case& c, const Bounds& bounds, const Limits& limits) {
  using Clock = std::chrono::steady_clock;
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
    if (o.executions >= limits.executions) break;
    if (o.executions % 1024 == 0 && elapsed() > limits.seconds) break;
  }
  o.seconds = elapsed();
  return o;
}

bool print_trace(const Case& c, const Bounds& bounds, const std::string& replay) {
  if (!machine.search.load(replay)) return false;
  for (std::size_t i = 0; i < c.threads.size(); ++i) {
    std::printf("    T%zu: %s\n", i, c.threads[i].c_str());
  }
  std::vector<std::string> trace;
  const Scenario scenario = c.scenario();
  machine.trace = &trace;
  const bool good = machine.run(scenario, bounds);
  machine.trace = nullptr;
  for (const std::string& line : trace)
    std::printf("    %s\n", line.c_str());
  std::printf("    %s\n", good ? "nothing wrong" : machine.failure().c_str());
  return true;
}

std::string text_of(const Bounds& b) {
  return std::to_string(b.preemptions) + ',' + std::to_string(b.stale) + ',' +
         std::to_string(b.spurious) + ',' + std::to_string(b.timeouts);
}

bool parse(const std::string& text, Bounds& b) {
  int used = 0;
  const int n = std::sscanf(text.c_str(), "%d,%d,%d,%d%n", &b.preemptions, &b.stale, &b.spurious,
                            &b.timeouts, &used);
  return n == 4 && used == static_cast<int>(text.size()) && b.preemptions >= 0 && b.stale >= 0 &&
         b.spurious >= 0 && b.timeouts >= 0;
}

}  // namespace lockswap::explore
