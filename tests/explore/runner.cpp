#include "runner.h"

#include <cstdio>
#include <ctime>
#include <sstream>
#include <vector>

#include "crash.h"

namespace lockswap::explore {

Outcome explore(const Case& c, const Bounds& bounds, const Limits& limits, const Method& method) {
  Outcome o;
  const CrashReport report(c, bounds, method.memory);
  const Scenario scenario = c.scenario();
  // The processor's time: how busy the machine is must not decide what is found.
  const std::clock_t start = std::clock();
  const auto elapsed = [&] { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; };
  machine.model = method.memory;
  machine.search.restart(method.schedule, method.seed, method.depth);
  machine.search.repeats_states = !method.reduced;
  machine.final_states = limits.keeps_final_states ? &o.final_states : nullptr;
  for (;;) {
    const bool good = machine.run(scenario, bounds);
    ++o.executions;
    o.cut_short += machine.was_cut_short() ? 1 : 0;
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
  machine.final_states = nullptr;
  return o;
}

bool print_trace(const Case& c, const Bounds& bounds, const std::string& replay,
                 MemoryModel memory) {
  const Scenario scenario = c.scenario();  // which may run the machine
  if (!machine.search.load(replay)) return false;
  machine.model = memory;
  for (std::size_t i = 0; i < c.threads.size(); ++i) {
    std::printf("    T%zu: %s\n", i, c.threads[i].c_str());
  }
  const CrashReport report(c, bounds, memory);
  std::vector<std::string> trace;
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
         std::to_string(b.spurious) + ',' + std::to_string(b.timeouts) +
         (b.moves == Bounds{}.moves ? "" : ',' + std::to_string(b.moves));
}

namespace {
constexpr const char* kMemoryModels[] = {"c11", "tso", "sc"};  // in the order of their enums
constexpr const char* kSchedules[] = {"dfs", "pct", "random"};

template <class Enum, std::size_t n>
bool find(const char* const (&names)[n], const std::string& text, Enum& e) {
  for (std::size_t i = 0; i < n; ++i) {
    if (text != names[i]) continue;
    e = static_cast<Enum>(i);
    return true;
  }
  return false;
}
}  // namespace

const char* name_of(MemoryModel m) { return kMemoryModels[static_cast<int>(m)]; }
bool parse(const std::string& text, MemoryModel& m) { return find(kMemoryModels, text, m); }
const char* name_of(Schedule s) { return kSchedules[static_cast<int>(s)]; }
bool parse(const std::string& text, Schedule& s) { return find(kSchedules, text, s); }

bool parse(const std::string& text, Bounds& b) {
  b.moves = Bounds{}.moves;
  std::istringstream in(text + ',');
  for (int* const part : {&b.preemptions, &b.stale, &b.spurious, &b.timeouts, &b.moves}) {
    char comma = 0;
    if (in.peek() == std::istringstream::traits_type::eof()) return part == &b.moves;
    if (!(in >> *part >> comma) || comma != ',' || *part < 0) return false;
  }
  return in.peek() == std::istringstream::traits_type::eof();
}

}  // namespace lockswap::explore
