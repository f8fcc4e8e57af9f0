// The tests of address spaces with one thread and with several, a mode of the program for each.
//
//   address_space_checks MODE HOW-MUCH [SEED]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "address_space/trace.h"
#include "modes.h"
#include "platform/libc_watch.h"
#include "platform/thread.h"

int address_space_test::Mode::run_program(int argc, char** argv) {
  if (argc < 3) return 2;
  const unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 1;
  for (const Mode* mode = first_; mode != nullptr; mode = mode->next_) {
    if (std::strcmp(argv[1], mode->name_) == 0) return mode->run_(std::atof(argv[2]), seed) ? 0 : 1;
  }
  return 2;
}

int main(int argc, char** argv) try {
  // For the range locks that are built here.
  lockswap::ThreadExit::prepare(&lockswap::watched_by_libc);
  return address_space_test::Mode::run_program(argc, argv);
} catch (const bench::TraceError& error) {
  std::fprintf(stderr, "%s\n", error.what.c_str());
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
