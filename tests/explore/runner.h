// Runs one case through all its executions, and says what was found.
#pragma once

#include <cstdint>
#include <string>

#include "script.h"

namespace lockswap::explore {

struct Outcome {
  std::uint64_t executions = 0;
  double seconds = 0;
  bool exhausted = false;
  std::string failure;  // empty: none found
  std::string replay;
};

struct Limits {
  std::uint64_t executions = ~std::uint64_t{0};
  double seconds = 1e9;
};

Outcome explore(const Case& c, const Bounds& bounds, const Limits& limits);

// Repeats one execution and prints what happens in it. False: the replay string is not one.
bool print_trace(const Case& c, const Bounds& bounds, const std::string& replay);

std::string text_of(const Bounds& b);
bool parse(const std::string& text, Bounds& b);

}  // namespace lockswap::explore
