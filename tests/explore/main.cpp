// lockswap-explore: runs the shipped locks through every interleaving and reordering within bounds.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "cases.h"
#include "mutate.h"
#include "runner.h"

namespace lockswap::explore {
namespace {

constexpr const char* kUsage =
    "lockswap-explore list\n"
    "lockswap-explore run [--quick] [--bounds P,S,W,T] [--seconds N] [NAME...]\n"
    "lockswap-explore replay CASE P,S,W,T CHOICES\n"
    "lockswap-explore mutate ...\n"
    "\n"
    "NAME is a part of a case's name, =NAME the whole. P,S,W,T bound the preemptions, stale reads, "
    "spurious "
    "wake-ups\n"
    "and time-outs of one execution. --quick: smaller bounds, and not the largest cases. "
    "--seconds:\n"
    "at most so long for one case (run) or for one mutant (mutate).\n"
    "mutate weakens each memory order in turn and lists those that no case misses; --seeded: the\n"
    "faults that must be found.\n";

[[noreturn]] void bad_usage(const std::string& what) {
  std::fprintf(stderr, "lockswap-explore: %s\n%s", what.c_str(), kUsage);
  std::exit(2);
}

struct Options {
  bool quick = false;
  bool own_bounds = false;
  Bounds bounds;
  Limits limits;
  std::vector<std::string> names;

  bool takes(const Case& c) const {
    if (names.empty()) return true;
    for (const std::string& n : names) {
      if (n[0] == '=' ? c.name == n.substr(1) : c.name.find(n) != std::string::npos) return true;
    }
    return false;
  }
  Bounds bounds_for(const Case& c) const {
    return own_bounds ? bounds : quick ? c.quick_bounds : c.bounds;
  }
};

Options parse_options(int argc, char** argv) {
  Options o;
  for (int i = 2; i < argc; ++i) {
    const std::string a = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) bad_usage(a + " needs a value");
      return argv[++i];
    };
    if (a == "--quick") {
      o.quick = true;
    } else if (a == "--bounds") {
      if (!parse(value(), o.bounds)) bad_usage("--bounds takes four numbers, as 2,2,1,1");
      o.own_bounds = true;
    } else if (a == "--seconds") {
      o.limits.seconds = std::atof(value().c_str());
      if (o.limits.seconds <= 0) bad_usage("--seconds takes a number above 0");
    } else if (a.starts_with("-")) {
      bad_usage("unknown option '" + a + "'");
    } else {
      o.names.push_back(a);
    }
  }
  return o;
}

int run(const std::vector<Case>& cases, const Options& options) {
  int failed = 0, unfinished = 0, ran = 0;
  std::uint64_t executions = 0;
  double seconds = 0;
  for (const Case& c : cases) {
    if (!options.takes(c) || (options.quick && c.large)) continue;
    const Bounds b = options.bounds_for(c);
    const Outcome o = explore(c, b, options.limits);
    ++ran;
    executions += o.executions;
    seconds += o.seconds;
    unfinished += o.failure.empty() && !o.exhausted ? 1 : 0;
    std::printf("%-44s %s %10llu executions %7.2f s  %s\n", c.name.c_str(), text_of(b).c_str(),
                static_cast<unsigned long long>(o.executions), o.seconds,
                !o.failure.empty() ? o.failure.c_str()
                : o.exhausted      ? "exhausted"
                                   : "not finished");
    if (!o.failure.empty()) {
      print_trace(c, b, o.replay);
      std::printf("    repeat it: lockswap-explore replay %s %s %s\n", c.name.c_str(),
                  text_of(b).c_str(), o.replay.c_str());
      ++failed;
    }
    std::fflush(stdout);
  }
  if (ran == 0) bad_usage("no case has such a name; see lockswap-explore list");
  std::printf("%d cases, %llu executions, %.1f s: %d failed, %d not finished\n", ran,
              static_cast<unsigned long long>(executions), seconds, failed, unfinished);
  return failed == 0 ? 0 : 1;
}

const Case* find(const std::vector<Case>& cases, const std::string& name) {
  for (const Case& c : cases) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

int replay(const std::vector<Case>& cases, int argc, char** argv) {
  if (argc != 5) bad_usage("replay takes a case, bounds and choices");
  const Case* c = find(cases, argv[2]);
  if (c == nullptr) bad_usage("no case has the name '" + std::string(argv[2]) + "'");
  Bounds b;
  if (!parse(argv[3], b)) bad_usage("bounds are four numbers, as 2,2,1,1");
  if (!print_trace(*c, b, argv[4])) bad_usage("choices look like 12=1,40=2");
  return machine.failure().empty() ? 0 : 1;
}

}  // namespace
}  // namespace lockswap::explore

int main(int argc, char** argv) {
  using namespace lockswap::explore;
  const std::vector<Case> cases = all_cases();
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "list") {
    for (const Case& c : cases)
      std::puts(c.name.c_str());
    return 0;
  }
  if (command == "run") return run(cases, parse_options(argc, argv));
  if (command == "replay") return replay(cases, argc, argv);
  if (command == "mutate") {
    return mutate(cases, argc, argv);
  }
  bad_usage(command.empty() ? "a command is missing" : "unknown command '" + command + "'");
}
