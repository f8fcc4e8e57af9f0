#include "run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "runner.h"

namespace lockswap::explore {

const char* const kRunUsage =
    "lockswap-explore run [--quick] [--memory c11|tso|sc] [--bounds P,S,W,T] [--seconds N]\n"
    "                     [--schedule dfs|pct|random] [--executions N] [--seed N] [--depth N]\n"
    "                     [--slice K/N] [--stop] [--unreduced] [--compare] [--places]\n"
    "                     [NAME...]\n"
    "lockswap-explore replay [--memory c11|tso|sc] CASE P,S,W,T CHOICES\n"
    "\n"
    "NAME      a part of a case's name; =NAME the whole\n"
    "P,S,W,T   at most so many preemptions, stale reads (tso: delayed stores), stray wake-ups and\n"
    "          time-outs an execution\n"
    "dfs       all executions within the bounds; the default for two and three threads\n"
    "pct       random priorities with --depth - 1 changes; the default for more threads\n"
    "random    a random thread at each step\n"
    "--executions, --seconds  at most so many, so much processor time, for one case\n"
    "--slice   every Nth case, from the Kth on: 0/2 and 1/2 are all\n"
    "--quick   small bounds, few random executions; not those that a larger case contains\n"
    "--stop    ends with the first case that fails\n"
    "--unreduced  of dfs: goes on from a state although another execution did so before\n"
    "--compare  explores each case unreduced, too: executions must end in the same states\n"
    "--places   prints the places in headers that have an order, of those that cases came to\n";

namespace {

constexpr std::uint64_t kSamples = 200'000;
constexpr std::uint64_t kQuickSamples = 5'000;

[[noreturn]] void bad_usage(const std::string& what) {
  std::fprintf(stderr, "lockswap-explore: %s (see lockswap-explore help)\n", what.c_str());
  std::exit(2);
}

struct Options {
  bool quick = false;
  bool stop = false;
  bool compare = false;
  bool places = false;
  std::optional<Bounds> bounds;
  std::optional<Schedule> schedule;
  std::optional<std::uint64_t> executions;
  double seconds = 1e9;
  unsigned slice = 0, slices = 1;
  Method method;
  std::vector<std::string> words;  // names; of replay, what to repeat

  bool takes(const Case& c) const {
    return words.empty() || std::any_of(words.begin(), words.end(), [&](const std::string& n) {
             return n[0] == '=' ? c.name == std::string_view(n).substr(1)
                                : c.name.find(n) != std::string::npos;
           });
  }
};

std::uint64_t number(const std::string& option, const std::string& text, std::uint64_t least) {
  char* end = nullptr;
  const std::uint64_t n = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || text[0] < '0' || text[0] > '9' || *end != '\0' || n < least) {
    bad_usage(option + " takes a whole number of at least " + std::to_string(least));
  }
  return n;
}

Options parse_options(int argc, char** argv) {
  Options o;
  for (int i = 2; i < argc; ++i) {
    const std::string a = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) bad_usage(a + " needs a value");
      return argv[++i];
    };
    if (a == "--stop") {
      o.stop = true;
    } else if (a == "--unreduced") {
      o.method.reduced = false;
    } else if (a == "--places") {
      o.places = true;
    } else if (a == "--compare") {
      o.compare = true;
    } else if (a == "--quick") {
      o.quick = true;
    } else if (a == "--memory") {
      if (!parse(value(), o.method.memory)) bad_usage("--memory is c11, tso or sc");
    } else if (a == "--bounds") {
      if (!parse(value(), o.bounds.emplace())) bad_usage("--bounds takes four numbers: 2,2,1,1");
    } else if (a == "--schedule") {
      if (!parse(value(), o.schedule.emplace())) bad_usage("--schedule is dfs, pct or random");
    } else if (a == "--executions") {
      o.executions = number(a, value(), 1);
    } else if (a == "--seed") {
      o.method.seed = number(a, value(), 0);
    } else if (a == "--depth") {
      o.method.depth = static_cast<int>(std::min<std::uint64_t>(number(a, value(), 1), 1000));
    } else if (a == "--slice") {
      const std::string text = value();
      int used = 0;
      if (std::sscanf(text.c_str(), "%u/%u%n", &o.slice, &o.slices, &used) != 2 ||
          used != static_cast<int>(text.size()) || o.slice >= o.slices) {
        bad_usage("--slice takes two numbers, as 0/2");
      }
    } else if (a == "--seconds") {
      o.seconds = std::atof(value().c_str());
      if (!(o.seconds > 0)) bad_usage("--seconds takes a number above 0");
    } else if (a.starts_with("--")) {
      bad_usage("unknown option '" + a + "'");
    } else {
      o.words.push_back(a);
    }
  }
  return o;
}

// As an option of the command line; empty: the default.
std::string memory_option(MemoryModel m) {
  return m == MemoryModel::c11 ? "" : std::string("--memory ") + name_of(m) + ' ';
}

// Whether the case comes to the same, `reduced`, without the reduction.
bool has_same_states(const Case& c, const Bounds& bounds, const Limits& limits, Method method,
                     const Outcome& reduced) {
  method.reduced = false;
  const Outcome o = explore(c, bounds, limits, method);
  const bool ends = o.exhausted && reduced.exhausted;
  const bool same =
      ends ? o.final_states == reduced.final_states : o.failure.empty() == reduced.failure.empty();
  std::printf("    unreduced: %llu executions %.2f s, %zu final states, reduced %zu: %s\n",
              static_cast<unsigned long long>(o.executions), o.seconds, o.final_states.size(),
              reduced.final_states.size(),
              !same  ? "DIFFERENT"
              : ends ? "the same"
                     : "not finished");
  return same;
}

}  // namespace

int run(const Cases& cases, int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  int failed = 0, unfinished = 0, ran = 0;
  std::uint64_t executions = 0, cut_short = 0;
  double seconds = 0;
  unsigned taken = 0;
  Sites sites;
  if (options.places) machine.sites = &sites;
  for (const Case& c : cases) {
    const bool is_in_other = options.quick && options.words.empty() && c.in_larger;
    if (is_in_other || !options.takes(c) || taken++ % options.slices != options.slice) continue;
    Method method = options.method;
    method.schedule = options.schedule.value_or(c.sampled ? Schedule::pct : Schedule::dfs);
    const bool samples = method.schedule != Schedule::dfs;
    const Bounds bounds = options.bounds.value_or(samples         ? kSampledBounds
                                                  : options.quick ? c.quick_bounds
                                                                  : c.bounds);
    Limits limits{.seconds = options.seconds, .keeps_final_states = options.compare};
    if (options.executions) {
      limits.executions = *options.executions;
    } else if (samples) {
      limits.executions = options.quick ? kQuickSamples : kSamples;
    }
    const Outcome o = explore(c, bounds, limits, method);
    ++ran;
    executions += o.executions;
    cut_short += o.cut_short;
    seconds += o.seconds;
    unfinished += o.failure.empty() && !o.exhausted && !samples ? 1 : 0;
    std::printf("%-44s %-10s %9llu executions %7.2f s  %s\n", c.name.c_str(),
                text_of(bounds).c_str(), static_cast<unsigned long long>(o.executions), o.seconds,
                !o.failure.empty() ? o.failure.c_str()
                : samples          ? name_of(method.schedule)
                : o.exhausted      ? "exhausted"
                                   : "not finished");
    if (options.compare && !samples)
      failed += has_same_states(c, bounds, limits, method, o) ? 0 : 1;
    if (!o.failure.empty()) {
      print_trace(c, bounds, o.replay, method.memory);
      std::printf("    repeat it: lockswap-explore replay %s%s %s %s\n",
                  memory_option(method.memory).c_str(), c.name.c_str(), text_of(bounds).c_str(),
                  o.replay.c_str());
      ++failed;
      if (options.stop) break;
    }
    std::fflush(stdout);
  }
  machine.sites = nullptr;
  for (const Mutation& place : sites.all()) {
    const std::string_view file = place.file;  // a source is the script's own
    if (file.ends_with(".h") || file.ends_with(".hpp"))
      std::printf("place    %s:%u\n", place.file, place.line);
  }
  if (ran == 0) bad_usage("no case has such a name; see lockswap-explore list");
  std::printf(
      "%d cases under %s, %llu executions (%llu of them cut short), %.1f s: %d failed, %d not "
      "finished\n",
      ran, name_of(options.method.memory), static_cast<unsigned long long>(executions),
      static_cast<unsigned long long>(cut_short), seconds, failed, unfinished);
  return failed == 0 ? 0 : 1;
}

int replay(const Cases& cases, int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  if (options.words.size() != 3) bad_usage("replay takes a case, bounds and choices");
  const std::string& name = options.words[0];
  const auto c = std::find_if(cases.begin(), cases.end(),
                              [&](const Case& known) { return known.name == name; });
  if (c == cases.end()) bad_usage("no case has the name '" + name + "'");
  Bounds b;
  if (!parse(options.words[1], b)) bad_usage("bounds are four numbers: 2,2,1,1");
  if (!print_trace(*c, b, options.words[2], options.method.memory)) {
    bad_usage("choices look like 12=1,40=2");
  }
  return machine.failure().empty() ? 0 : 1;
}

}  // namespace lockswap::explore
