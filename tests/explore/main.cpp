// lockswap-explore: runs the shipped locks through every interleaving and reordering within bounds.
#include <cstdio>
#include <string>

#include "cases.h"
#include "mutate.h"
#include "run.h"

int main(int argc, char** argv) {
  using namespace lockswap::explore;
  const Cases cases = all_cases();
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "list") {
    const bool quick = argc > 2 && std::string(argv[2]) == "--quick";
    for (const Case& c : cases)
      if (!quick || !c.in_larger) std::puts(c.name.c_str());
    return 0;
  }
  if (command == "run") return run(cases, argc, argv);
  if (command == "replay") return replay(cases, argc, argv);
  if (command == "mutate") return mutate(cases, argc, argv);
  if (command == "help" || command == "-h" || command == "--help") {
    std::printf("lockswap-explore list [--quick]\n%s%s", kRunUsage, kMutateUsage);
    return 0;
  }
  std::fprintf(
      stderr, "lockswap-explore: %s (see lockswap-explore help)\n",
      command.empty() ? "a command is missing" : ("unknown command '" + command + "'").c_str());
  return 2;
}
