// Words and numbers of the input of lockswap-model, and what must be right with both kinds of runs.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "multicore/cost/machine.h"

namespace lockswap::predict {

[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "lockswap-model: %s\n", why.c_str());
  std::exit(2);
}

inline double number() {
  double n = 0;
  if (!(std::cin >> n)) fail("a number is missing at the end of the input");
  return n;
}
inline std::string word() {
  std::string w;
  if (!(std::cin >> w)) fail("a word is missing at the end of the input");
  return w;
}

// Ends the program if the machine isn't whole, or has no room for so many threads.
inline void check_machine(const cost::Costs& costs, std::size_t threads) {
  if (threads < 1 || threads > cost::kMostThreads || costs.place.empty())
    fail("the machine can't run " + std::to_string(threads) + " threads");
  const auto cores = static_cast<std::size_t>(costs.cores());
  if (costs.transfer.size() != cores * cores) fail("'transfer' needs a number for each two cores");
}

}  // namespace lockswap::predict
