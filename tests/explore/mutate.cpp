#include "mutate.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "mutants.h"
#include "places.h"
#include "processes.h"
#include "runner.h"

namespace lockswap::explore {

const char* const kMutateUsage =
    "lockswap-explore mutate --seeded [--quick] [NAME...]\n"
    "lockswap-explore mutate [--list] [--known FILE] [--quick] [--bounds P,S,W,T]\n"
    "                        [--executions N] [--seconds N] [--slice K/N] [--jobs N]\n"
    "                        [--header TEXT]... [--order TEXT]... [NAME...]\n"
    "\n"
    "NAME is a part of a case's name, TEXT one of an order's, in which a file's name is whole:\n"
    "cohort.h is not node_cohort.h. --slice takes one of N parts of all orders;\n"
    "--jobs shares the work among N processes. --header leaves out the orders of files whose "
    "name,\n"
    "as an #include has it, begins otherwise.\n"
    "--known: status 1 if others survive than FILE lists. It has one a line, as --list prints it,\n"
    "then \" -> \" and the weaker order; its file may lack folders, if it stays the only one of\n"
    "that name. With --quick those listed are not tried.\n"
    "--executions, --seconds: at most so many executions, or CPU seconds, for one weakened order,\n"
    "a sixth of that for one that FILE lists; without a verdict by then it survives. A number\n"
    "of executions gives the same verdicts on every machine.\n";

namespace {

[[noreturn]] void bad_usage(const std::string& what) {
  std::fprintf(stderr, "lockswap-explore: %s\n%s", what.c_str(), kMutateUsage);
  std::exit(2);
}

// What may be spent on one weakened order.
struct Budget {
  std::uint64_t executions = ~std::uint64_t{0};
  double seconds = 1e9;

  Budget sixth() const { return {executions / 6, seconds / 6}; }
  bool is_spent() const { return executions == 0 || seconds <= 0; }
  void spend(const Outcome& o) {
    executions -= std::min(executions, o.executions);
    seconds -= o.seconds;
  }
};

struct Options {
  bool seeded = false;
  bool list = false;
  bool quick = false;
  bool own_bounds = false;
  Bounds bounds;
  std::string known;  // a file that lists survivors
  Budget budget;
  unsigned slice = 0, slices = 1;    // of all places, by their names
  unsigned jobs = 1;                 // processes
  std::vector<std::string> headers;  // beginnings of the names of files; none: all
  std::vector<std::string> orders;   // parts of places' names; beside the slice
  std::vector<std::string> names;    // parts of cases' names

  bool has(std::string_view file) const {
    return headers.empty() || std::any_of(headers.begin(), headers.end(),
                                          [&](const auto& h) { return file.starts_with(h); });
  }
  bool takes(const Case& c) const {
    return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& n) {
             return n[0] == '=' ? c.name == n.substr(1) : c.name.find(n) != std::string::npos;
           });
  }
};

Options parse_options(int argc, char** argv) {
  Options o;
  bool sliced = false;
  for (int i = 2; i < argc; ++i) {
    const std::string a = argv[i];
    const auto value = [&]() -> const char* {
      if (i + 1 == argc) bad_usage(a + " needs a value");
      return argv[++i];
    };
    if (a == "--seeded") {
      o.seeded = true;
    } else if (a == "--list") {
      o.list = true;
    } else if (a == "--quick") {
      o.quick = true;
    } else if (a == "--known") {
      o.known = value();
    } else if (a == "--bounds") {
      if (!parse(value(), o.bounds)) bad_usage("--bounds takes four numbers, as 2,2,1,1");
      o.own_bounds = true;
    } else if (a == "--seconds") {
      o.budget.seconds = std::atof(value());
      if (!(o.budget.seconds > 0)) bad_usage("--seconds takes a number above 0");
    } else if (a == "--executions") {
      o.budget.executions = std::strtoull(value(), nullptr, 10);
      if (o.budget.executions == 0) bad_usage("--executions takes a number above 0");
    } else if (a == "--slice") {
      int used = 0;
      const std::string text = value();
      if (std::sscanf(text.c_str(), "%u/%u%n", &o.slice, &o.slices, &used) != 2 ||
          used != static_cast<int>(text.size()) || o.slice >= o.slices) {
        bad_usage("--slice takes two numbers, as 0/8");
      }
      sliced = true;
    } else if (a == "--jobs") {
      o.jobs = static_cast<unsigned>(std::atoi(value()));
      if (o.jobs < 1 || o.jobs > 1024) bad_usage("--jobs takes a number from 1 to 1024");
    } else if (a == "--header") {
      o.headers.emplace_back(value());
    } else if (a == "--order") {
      o.orders.emplace_back(value());
    } else if (a.starts_with("-")) {
      bad_usage("unknown option '" + a + "'");
    } else {
      o.names.push_back(a);
    }
  }
  if (!o.orders.empty() && !sliced) o.slices = 0;  // only what was named
  return o;
}

const Case* find(const Cases& cases, const std::string& name) {
  for (const Case& c : cases) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

// --- seeded faults

int run_seeded(const Cases& cases, const Options& options) {
  int missed = 0, ran = 0;
  for (const SeededFault& f : seeded_faults()) {
    const Case* c = find(cases, f.found_by);
    if (c == nullptr)
      bad_usage("a fault names a case that is not there: " + std::string(f.found_by));
    if (!options.takes(*c)) continue;
    ++ran;
    machine.mutation = &f.mutation;
    machine.mutated = 0;
    const Outcome o = explore(*c, options.quick ? c->quick_bounds : c->bounds, {});
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

// --- orders

// The text is a part of the name; a file's name in it is the whole name of a file or folder.
bool mentions(const std::string& name, const std::string& text) {
  const bool of_file = text.find(".h") != std::string::npos;
  for (std::size_t at = 0; (at = name.find(text, at)) != std::string::npos; ++at) {
    if (!of_file || at == 0 || name[at - 1] == '/') return true;
  }
  return false;
}

bool chosen(const Options& o, const Place& p) {
  for (const std::string& text : o.orders) {
    if (mentions(p.name, text)) return true;
  }
  std::uint32_t hash = 2166136261u;
  for (const char c : p.name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return o.slices != 0 && (hash >> 8) % o.slices == o.slice;
}

enum class Verdict { found, survived, open };
struct Trial {
  Verdict verdict = Verdict::survived;
  const Case* by = nullptr;
};

// Most faults show within few executions of some case, so every case runs shortly before any runs
// long, once also beyond the small bounds. A number bounds each run, not time, so that the same
// orders survive on every machine.
//
// before: called with each case before it is explored.
template <class Before>
Trial explore_mutant(const std::vector<const Case*>& cases, const Options& options, Budget left,
                     const Before& before) {
  struct Round {
    bool small;
    std::uint64_t executions;  // of each case
  };
  constexpr Round kRounds[] = {{true, 1'000}, {true, 10'000}, {false, 10'000}, {true, 300'000}};
  std::set<std::pair<const Case*, bool>> exhausted;
  Trial t;
  for (const Round& round : kRounds) {
    if (options.own_bounds && !round.small) break;
    for (const Case* c : cases) {
      if (left.is_spent()) t.verdict = Verdict::open;
      if (left.is_spent() || exhausted.contains({c, round.small})) continue;
      const Bounds& bounds = options.own_bounds ? options.bounds
                             : round.small      ? c->quick_bounds
                                                : c->bounds;
      before(c);
      const Outcome o =
          explore(*c, bounds, {std::min(round.executions, left.executions), left.seconds});
      left.spend(o);
      if (!o.failure.empty()) return {Verdict::found, c};
      if (o.exhausted) exhausted.insert({c, round.small});
    }
  }
  return t;
}

// A weaker order may let a lock follow a wild address, so a process of its own tries it: one that
// crashes has found it, too.
Trial try_mutant(const Mutation& m, const std::vector<const Case*>& cases, const Options& options,
                 const Budget& budget) {
  const Ended ended = in_own_process([&](std::FILE* out) {
    const auto write = [out](const Trial& t) {
      std::rewind(out);
      std::fwrite(&t, sizeof t, 1, out);
      std::fflush(out);
    };
    machine.mutation = &m;
    write(explore_mutant(cases, options, budget, [&](const Case* c) {
      write({Verdict::found, c});  // unless this process goes on
    }));
  });
  Trial t;
  std::memcpy(&t, ended.written.data(), std::min(sizeof t, ended.written.size()));
  return t;
}

// Returns whether a case fails within 10,000 executions although no order is weaker. Then its
// failure says nothing about a weaker order.
bool fails_by_itself(const Case& c, const Options& options) {
  static std::map<const Case*, bool> known;
  const auto [it, is_new] = known.try_emplace(&c, false);
  if (!is_new) return it->second;
  const std::vector<Bounds> each =
      options.own_bounds ? std::vector{options.bounds} : std::vector{c.quick_bounds, c.bounds};
  it->second = std::any_of(each.begin(), each.end(), [&c](const Bounds& bounds) {
    return !explore(c, bounds, {.executions = 10'000}).failure.empty();
  });
  return it->second;
}

// A survivor that a file lists: "rw/ba.h has_writer: load acquire -> relaxed".
struct Known {
  std::string line;
  std::string file;
  std::string rest;  // " has_writer: load acquire -> relaxed"
  std::string met;   // the order's whole name, once there is one
};

// A list in which some lines may stand for no order, or for several.
class KnownSurvivors {
 public:
  explicit KnownSurvivors(const std::string& file) {
    if (file.empty()) return;
    given_ = true;
    std::ifstream in(file);
    if (!in) bad_usage("cannot read " + file);
    for (std::string line; std::getline(in, line);) {
      const std::size_t space = line.find(' ');
      if (space == std::string::npos) bad_usage("this is no order: " + line);
      all_.push_back({line, line.substr(0, space), line.substr(space), ""});
    }
  }

  bool given() const { return given_; }

  // A line stands for this order, one of `file`.
  bool lists(const char* file, const std::string& name) {
    bool listed = false;
    for (Known& k : all_) {
      if (!name.ends_with(k.rest) || !is_file(file, k.file.c_str())) continue;
      if (name.size() != std::strlen(file) + k.rest.size()) continue;
      if (!k.met.empty() && k.met != name) {
        ambiguous_.push_back(k.line);
        ambiguous_.back().append(": ").append(k.met).append(", ").append(name);
      }
      k.met = name;
      listed = true;
    }
    return listed;
  }

  // Says which lines stand for several orders, or for none; how many those are.
  int print_wrong(bool all_cases) const {
    int wrong = 0;
    for (const std::string& line : ambiguous_) {
      std::printf("LISTED   with too few folders, %s\n", line.c_str());
      ++wrong;
    }
    for (const Known& k : all_) {
      if (!all_cases || !k.met.empty()) continue;
      std::printf("LISTED   %s, but there is no such order\n", k.line.c_str());
      ++wrong;
    }
    return wrong;
  }

 private:
  bool given_ = false;
  std::vector<Known> all_;
  std::vector<std::string> ambiguous_;
};

// What became of the orders that were tried.
struct Count {
  int tried = 0, found = 0, wrong = 0;  // wrong: not as FILE lists it
};

// Tries the weaker orders of one place. One that survives several orders is one survivor, named by
// the weakest.
Count weaken(const Place& p, KnownSurvivors& known, const Options& options, std::FILE* out) {
  Count count;
  std::vector<Order> survivors;
  for (const Order order : weaker(p.at.op, p.at.declared)) {
    const std::string name = p.name + " -> " + name_of(order);
    const bool is_known = known.lists(p.at.file, name);
    if (std::any_of(survivors.begin(), survivors.end(),
                    [&](Order s) { return implies(order, s); })) {
      continue;
    }
    if (is_known && options.quick) {
      survivors.push_back(order);
      continue;
    }
    Mutation m = p.at;
    m.order = order;
    const Trial t =
        try_mutant(m, p.cases, options, is_known ? options.budget.sixth() : options.budget);
    const bool is_found = t.verdict == Verdict::found;
    if (!is_found) survivors.push_back(order);
    const bool is_sound = !is_found || !fails_by_itself(*t.by, options);
    const bool as_listed = is_sound && (!known.given() || is_found != is_known);
    ++count.tried;
    count.found += is_found ? 1 : 0;
    count.wrong += as_listed ? 0 : 1;
    std::fprintf(out, "%-8s %s  %s:%u  %s%s\n",
                 is_found                         ? "found"
                 : t.verdict == Verdict::survived ? "SURVIVED"
                                                  : "OPEN",
                 name.c_str(), p.at.file, p.at.line, t.by == nullptr ? "" : t.by->name.c_str(),
                 as_listed   ? ""
                 : !is_sound ? " (which fails with the order as it is, too)"
                 : is_found  ? " (listed as a survivor)"
                             : " (not listed)");
    std::fflush(out);
  }
  return count;
}

int weaken_each(const Cases& cases, const Options& options) {
  std::vector<const Case*> taken;
  for (const Case& c : cases) {
    if (options.takes(c) && !c.sampled) taken.push_back(&c);
  }
  std::vector<Place> places =
      find_places(taken, options.own_bounds ? &options.bounds : nullptr, options.jobs);
  std::erase_if(places, [&](const Place& p) { return !options.has(p.at.file); });
  KnownSurvivors known(options.known);
  std::vector<const Place*> tried;
  for (const Place& p : places) {
    for (const Order order : weaker(p.at.op, p.at.declared))
      known.lists(p.at.file, p.name + " -> " + name_of(order));
    if (chosen(options, p) && !options.list) tried.push_back(&p);
    if (options.list || known.given())
      std::printf("place    %s  %s:%u\n", p.name.c_str(), p.at.file, p.at.line);
  }
  // One process says what it finds at once; several, when all have ended.
  Count sum;
  const auto parts = in_processes(options.jobs, [&](unsigned part, std::FILE* out) {
    Count count;
    for (std::size_t i = part; i < tried.size(); i += options.jobs) {
      const Count c = weaken(*tried[i], known, options, options.jobs == 1 ? stdout : out);
      count = {count.tried + c.tried, count.found + c.found, count.wrong + c.wrong};
    }
    std::fwrite(&count, sizeof count, 1, out);
  });
  for (const std::string& written : parts) {
    Count c;
    const std::size_t text = written.size() - sizeof c;
    std::fwrite(written.data(), 1, text, stdout);
    std::memcpy(&c, written.data() + text, sizeof c);
    sum = {sum.tried + c.tried, sum.found + c.found, sum.wrong + c.wrong};
  }
  const int wrong = sum.wrong + known.print_wrong(options.names.empty());
  if (!options.list) {
    std::printf("%zu places; %d weakened orders tried, %d found, %d survived\n", places.size(),
                sum.tried, sum.found, sum.tried - sum.found);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int mutate(const Cases& cases, int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  return options.seeded ? run_seeded(cases, options) : weaken_each(cases, options);
}

}  // namespace lockswap::explore
