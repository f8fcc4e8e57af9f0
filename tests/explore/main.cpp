// lockswap-explore: runs the shipped locks through every interleaving and reordering within bounds.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "cases.h"
#include "mutants.h"
#include "runner.h"

namespace lockswap::explore {
namespace {

constexpr const char* kUsage =
    "lockswap-explore list\n"
    "lockswap-explore run [--quick] [--bounds P,S,W,T] [--seconds N] [NAME...]\n"
    "lockswap-explore replay CASE P,S,W,T CHOICES\n"
    "lockswap-explore mutate [--seeded] [--quick] [--bounds P,S,W,T] [--seconds N] [NAME...]\n"
    "\n"
    "NAME is a part of a case's name. P,S,W,T bound the preemptions, stale reads, spurious "
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
  bool seeded = false;
  bool own_bounds = false;
  Bounds bounds;
  Limits limits;
  std::vector<std::string> names;

  bool takes(const Case& c) const {
    if (names.empty()) return true;
    for (const std::string& n : names) {
      if (c.name.find(n) != std::string::npos) return true;
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
    } else if (a == "--seeded") {
      o.seeded = true;
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

int run_seeded(const std::vector<Case>& cases, const Options& options) {
  int missed = 0, ran = 0;
  for (const SeededFault& f : seeded_faults()) {
    const Case* c = find(cases, f.found_by);
    if (c == nullptr)
      bad_usage("a fault names a case that is not there: " + std::string(f.found_by));
    if (!options.takes(*c)) continue;
    ++ran;
    machine.mutation = &f.mutation;
    machine.mutated = 0;
    const Outcome o = explore(*c, options.bounds_for(*c), options.limits);
    machine.mutation = nullptr;
    missed += o.failure.empty() ? 1 : 0;
    const char* const what = !o.failure.empty()     ? o.failure.c_str()
                             : machine.mutated == 0 ? "no such place: has the source changed?"
                                                    : "";
    std::printf("%-6s %-62s %-36s %8llu executions %6.2f s  %s\n",
                o.failure.empty() ? "MISSED" : "found", f.mutation.name, c->name.c_str(),
                static_cast<unsigned long long>(o.executions), o.seconds, what);
    std::fflush(stdout);
  }
  std::printf("%d of %d seeded faults found\n", ran - missed, ran);
  return missed == 0 && ran != 0 ? 0 : 1;
}

// Each place with an order, and the cases that come there.
struct Place {
  Mutation at;
  std::string file, function;
  std::vector<const Case*> cases;
};

std::vector<Place> find_places(const std::vector<Case>& cases, const Options& options) {
  std::vector<Place> places;
  for (const Case& c : cases) {
    if (!options.takes(c) || c.large) continue;
    std::vector<Mutation> sites;
    machine.sites = &sites;
    explore(c, c.quick_bounds, {.executions = 20'000});
    machine.sites = nullptr;
    for (const Mutation& s : sites) {
      const std::string file = s.file;
      if (file == "script.cpp") continue;  // the test's own
      Place* known = nullptr;
      for (Place& p : places) {
        if (p.file == file && p.at.line == s.line && p.at.column == s.column && p.at.op == s.op &&
            p.at.declared == s.declared) {
          known = &p;
        }
      }
      if (known == nullptr) {
        places.push_back({s, file, s.function, {}});
        known = &places.back();
      }
      known->cases.push_back(&c);
    }
  }
  return places;
}

int weaken_each(const std::vector<Case>& cases, const Options& options) {
  const std::vector<Place> places = find_places(cases, options);
  int found = 0, survived = 0;
  for (const Place& p : places) {
    for (const Order order : weaker(p.at.op, p.at.declared)) {
      Mutation m = p.at;
      m.order = order;
      const Case* by = nullptr;
      double left = options.limits.seconds;
      for (const Case* c : p.cases) {
        machine.mutation = &m;
        const Outcome o = explore(*c, c->quick_bounds, {.seconds = left});
        machine.mutation = nullptr;
        left -= o.seconds;
        if (!o.failure.empty()) by = c;
        if (by != nullptr || left <= 0) break;
      }
      ++(by != nullptr ? found : survived);
      std::printf("%-8s %s:%u %s %s -> %s  %s\n", by != nullptr ? "found" : "SURVIVED",
                  p.file.c_str(), p.at.line, name_of(p.at.op), name_of(p.at.declared),
                  name_of(order),
                  by != nullptr ? by->name.c_str()
                  : left <= 0   ? "(out of time)"
                                : "");
      std::fflush(stdout);
    }
  }
  std::printf("%d weakened orders found, %d survived\n", found, survived);
  return 0;
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
    const Options options = parse_options(argc, argv);
    return options.seeded ? run_seeded(cases, options) : weaken_each(cases, options);
  }
  bad_usage(command.empty() ? "a command is missing" : "unknown command '" + command + "'");
}
