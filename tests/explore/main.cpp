// lockswap-explore: runs the shipped locks through every interleaving and reordering within bounds.
#include <cstdio>
#include <string>
#include <vector>

#include "cases.h"
#include "mutate.h"
#include "run.h"

int main(int argc, char** argv) {
  using namespace lockswap::explore;
  const std::vector<Case> cases = all_cases();
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "list") {
    for (const Case& c : cases)
      std::puts(c.name.c_str());
    return 0;
  }
  if (command == "run") return run(cases, argc, argv);
  if (command == "replay") return replay(cases, argc, argv);
  if (command == "mutate") return mutate(cases, argc, argv);
  std::fprintf(
      stderr, "lockswap-explore: %s\nlockswap-explore list\n%s%s",
      command.empty() ? "a command is missing" : ("unknown command '" + command + "'").c_str(),
      kRunUsage, kMutateUsage);
  return 2;
}
