// Runs one case through its executions, and says what was found.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>

#include "script.h"

namespace lockswap::explore {

// For the schedules that sample: as many preemptions as there may be.
inline constexpr Bounds kSampledBounds{1000, 3, 2, 2};

// How executions are made: under which memory model, and by which schedule.
struct Method {
  MemoryModel memory = MemoryModel::c11;
  Schedule schedule = Schedule::dfs;
  std::uint64_t seed = 1;
  int depth = 5;        // of pct
  bool reduced = true;  // of dfs: not twice from the same state
};

struct Limits {
  std::uint64_t executions = ~std::uint64_t{0};
  double seconds = 1e9;  // of processor time
  bool keeps_final_states = false;
};

struct Outcome {
  std::uint64_t executions = 0;
  std::uint64_t cut_short = 0;  // of them, where another one went on from the same state
  double seconds = 0;           // of processor time
  bool exhausted = false;       // every execution within the bounds was made; dfs only
  std::string failure;          // empty: none found
  std::unordered_set<std::uint64_t> final_states;  // hashes of what executions end in, if asked for
  std::string replay;
};

// pct and random need a limit.
Outcome explore(const Case& c, const Bounds& bounds, const Limits& limits,
                const Method& method = {});

// Repeats one execution and prints what happens in it. Returns false if the replay string is
// invalid.
bool print_trace(const Case& c, const Bounds& bounds, const std::string& replay,
                 MemoryModel memory = MemoryModel::c11);

std::string text_of(const Bounds& b);
bool parse(const std::string& text, Bounds& b);
const char* name_of(MemoryModel m);
bool parse(const std::string& text, MemoryModel& m);
const char* name_of(Schedule s);
bool parse(const std::string& text, Schedule& s);

}  // namespace lockswap::explore
