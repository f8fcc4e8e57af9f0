// Words and numbers of the input of lockswap-model.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

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

}  // namespace lockswap::predict
