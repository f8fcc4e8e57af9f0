// What apps/common/report.cpp has for the benchmarks: the end of a run whose result is wrong.
#include <cstdio>
#include <cstdlib>
#include <string>

namespace bench {

[[noreturn]] void wrong_result(const std::string& what);

void wrong_result(const std::string& what) {
  std::fprintf(stderr, "lockswap-model: wrong result: %s\n", what.c_str());
  std::abort();
}

}  // namespace bench
