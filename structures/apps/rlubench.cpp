// rlubench: sets under Read-Log-Update and what else there is, side by side (A. Matveev, N. Shavit,
// P. Felber, P. Marlier, "Read-Log-Update", SOSP 2015, sections 4.1 to 4.5).
//
// --structure list, hash, double, resizable or citrus; --with names the sets that are compared,
// from one to all of them. All are filled with --items keys at first. Then they are used in turns,
// round after round: --threads threads for --seconds take a random key of twice as many, and look
// for it or, --updates of them, insert or remove it. In a resizable table a further thread resizes
// it all the time, with --resized. In a list that is linked both ways half of the searches go
// backwards, but with --ways forward, and in liburcu's, which can't.
//
// Prints for each set, with '_' for '-' in its name, the median of its rounds:
//   NAME_ops_cpu   operations a CPU-second of the process, which has what was put off, too: nodes
//                  that call_rcu frees, commits that were deferred
//   NAME_ops_s     operations a second
//   NAME_ops_thread_cpu   operations a CPU-second of its threads; a resizing thread is not counted
//   NAME_reads_s, NAME_writes_s, NAME_reads_cpu, NAME_writes_cpu   searches, and updates, as above
//   NAME_resizes_s, NAME_resizes_cpu   resizes a second, and a CPU-second of the thread that makes
//                  them; only with --resized
// for each but the first how the first stands to it, of ops_cpu and ops_thread_cpu:
//   FIRST_to_NAME, with _low and _high: median of the rounds' ratios and, from as many rounds as
//                  that needs, the interval that has the median of all rounds in 95 % of cases
//   FIRST_to_NAME_by_thread_cpu   the same median for ops_thread_cpu
//   FIRST_to_NAME_resizes   the same for resizes_cpu, with its interval; only with --resized,
//                  if both were resized in each round
// and for each under Read-Log-Update, of all rounds, per operation that was an update:
//   NAME_commits, NAME_syncs, NAME_synchronizes, NAME_aborts, NAME_helps
//   NAME_sync_ratio (syncs a commit), NAME_sync_request_ratio (failed locks a lock),
//   NAME_wait_loops (looks at a reader, a synchronize), NAME_steals (per lookup)
// Exit status 1: a set is not what the operations made of it. --help shows the options.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>

#include "common/options.h"
#include "common/report.h"
#include "lockswap/rlu.h"
#include "rlu/contest.h"
#include "rlu/rounds.h"

namespace {

using namespace bench;

struct Counts {
  lockswap_rlu_counts now{};
  static Counts read() {
    Counts c;
    must(lockswap_rlu_get_counts(&c.now), "lockswap_rlu_get_counts");
    return c;
  }
};

struct Kept {
  const Entrant* entrant;
  std::unique_ptr<Contestant> contestant;
  Rounds figures;
  double reads = 0;
  double writes = 0;
  std::map<std::string, double> counts;

  void add(const Round& r) {
    figures.add(r);
    for (const Share& share : r.phase) {
      reads += static_cast<double>(share.reads);
      writes += static_cast<double>(share.writes);
    }
  }
  void add(const lockswap_rlu_counts& before, const lockswap_rlu_counts& after) {
    const auto add_one = [&](const char* name, std::uint64_t lockswap_rlu_counts::*count) {
      counts[name] += static_cast<double>(after.*count - before.*count);
    };
    add_one("commits", &lockswap_rlu_counts::commits);
    add_one("aborts", &lockswap_rlu_counts::aborts);
    add_one("syncs", &lockswap_rlu_counts::syncs);
    add_one("helps", &lockswap_rlu_counts::helps);
    add_one("synchronizes", &lockswap_rlu_counts::synchronizes);
    add_one("wait_loops", &lockswap_rlu_counts::wait_loops);
    add_one("locks", &lockswap_rlu_counts::locks);
    add_one("sync_requests", &lockswap_rlu_counts::sync_requests);
    add_one("steals", &lockswap_rlu_counts::steals);
  }
};

void print_counts(const Kept& k) {
  const std::string set = shown(k.entrant->name);
  const auto count = [&](const char* name) { return k.counts.at(name); };
  const auto print = [&](const char* name, double value, double of, const char* end) {
    std::printf("%s_%s %.4f%s", set.c_str(), name, of == 0 ? 0 : value / of, end);
  };
  print("commits", count("commits"), k.writes, " ");
  print("syncs", count("syncs"), k.writes, " ");
  print("synchronizes", count("synchronizes"), k.writes, " ");
  print("aborts", count("aborts"), k.writes, " ");
  print("helps", count("helps"), k.writes, "\n");
  print("sync_ratio", count("syncs"), count("commits"), " ");
  print("sync_request_ratio", count("sync_requests"), count("locks"), " ");
  print("wait_loops", count("wait_loops"), count("synchronizes"), " ");
  print("steals", count("steals"), k.reads, "\n");
}

struct Structure {
  const char* name;
  Contest (*contest)();
};
const Structure kStructures[] = {
    {"list", list_contest},           {"hash", hash_contest},     {"double", double_list_contest},
    {"resizable", resizable_contest}, {"citrus", citrus_contest},
};

const Structure& structure_of(const std::string& name) {
  return *std::find_if(std::begin(kStructures), std::end(kStructures),
                       [&](const Structure& s) { return name == s.name; });
}

std::vector<Kept> chosen(const Contest& contest, const std::string& with, const Options& options) {
  std::vector<Kept> kept;
  for (const Entrant* e : named_by_with(with, contest, options)) {
    Kept k{};
    k.entrant = e;
    kept.push_back(std::move(k));
  }
  return kept;
}

}  // namespace

int main(int argc, char** argv) {
  Setup setup;
  setup.plan.seconds = 0.3;
  std::string structure = "list";
  std::string with = "all";
  std::string ways = "both";
  int rounds = 1;
  int deferral = 10;
  Options options("rlubench", "Sets under Read-Log-Update and others, side by side.");
  std::vector<std::string> structures;
  for (const Structure& s : kStructures)
    structures.push_back(s.name);
  options.choice("--structure", structure, structures, "what is compared");
  options.text("--with", with, "the sets, with commas in between; all: each that there is");
  options.number("--threads", setup.plan.threads, 1, 1024, "threads");
  options.number("--seconds", setup.plan.seconds, 0.01, 600, "how long a round of one set takes");
  options.number("--rounds", rounds, 1, 1000, "rounds");
  options.number("--updates", setup.updates, 0, 1, "share of insertions and removals");
  options.number("--items", setup.items, 1, 1 << 24, "keys that are there at first");
  options.number("--buckets", setup.buckets, 1, 1 << 24, "of a hash table");
  options.number("--resized", setup.resized, 0, 1 << 24,
                 "a thread resizes a resizable table to so many buckets and back; 0: none does");
  options.choice("--ways", ways, {"both", "forward"}, "which way searches go where both are there");
  options.number("--deferral", deferral, 1, 1'000'000, "commits that rlu-deferred collects");
  add_least_option(options, setup.plan);
  options.flag("--pin", setup.plan.pin, "pin the threads to the processors in turn");
  options.parse(argc, argv);
  setup.both_ways = ways == "both";
  const auto is_power = [](int n) { return (n & (n - 1)) == 0; };
  if (structure == "resizable" && !(is_power(setup.buckets) && is_power(setup.resized)))
    options.refuse("--buckets and --resized of a resizable table are powers of two");
  if (structure != "resizable" && setup.resized != 0)
    options.refuse("--resized is for --structure resizable");

  const Contest contest = structure_of(structure).contest();
  std::vector<Kept> sets = chosen(contest, with, options);
  const auto set_deferral = [&](const Kept& k) {
    lockswap_rlu_set_deferral(k.entrant->is_deferred ? static_cast<unsigned>(deferral) : 1);
  };
  for (Kept& k : sets) {
    set_deferral(k);
    k.contestant = k.entrant->make(setup);
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      // There and back: what drifts falls on all of them.
      Kept& k = sets[round % 2 == 0 ? i : sets.size() - 1 - i];
      set_deferral(k);
      const Counts before = Counts::read();
      k.add(k.contestant->run(static_cast<unsigned>(round) + 1));
      k.add(before.now, Counts::read().now);
    }
  }
  for (Kept& k : sets) {
    k.contestant->check();
    print_rounds(k.entrant->name, k.figures, setup.resized != 0);
  }
  for (std::size_t i = 1; i < sets.size(); ++i)
    print_ratio(sets[0].entrant->name, sets[0].figures, sets[i].entrant->name, sets[i].figures,
                setup.resized != 0);
  for (const Kept& k : sets) {
    if (k.counts.at("commits") != 0) print_counts(k);
  }
  return 0;
}
