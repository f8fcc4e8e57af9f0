// ldubench: reverse maps, which know for a page of a file or of a process which mappings have it,
// kept by deferred updates (LDU) and by what else there is, side by side. The case study of "A
// Lightweight Log-based Deferred Concurrent Updates for Linux Kernel Scalability" (4 and 6).
//
// --with names the maps that are compared: pldu, gldu, stamped (lockswap/ldu.hpp, ldu_stamped.hpp),
// paper (pldu for files, an unordered Harris list for anonymous memory), rwlock and mutex (a tree
// for files and a chain, under pthread locks), rcu (a list on liburcu), harris, harris-unordered.
// They are used in turns, round after round: --threads threads for --seconds fork processes, run
// programs and end them, as --mix says, and --reads of the operations look for the mappings of a
// page. One operation is one mapping that is inserted or removed, or one such look.
// --memory: each process also has an address space, of the model that address_space runs; it maps,
// forks, writes and unmaps there as well, so the maps are a part of what a fork costs. What a look
// finds loses the page, or all from that page on: NAME_taken_s, such pages in a second.
//   aim7      each thread has up to --users processes, which fork, run programs and end in any
//             order
//   exim      a connection's process forks one that runs a program; both end. --spool N: a message
//             comes before and goes after that, in one of N directories with a lock each
//   lmbench   100 processes in all fork; each child ends at once
//   lmbench-exec    each child runs a program and ends
//   lmbench-sh      each child runs a shell, whose child runs the program
//   trace     each thread follows a recorded program, --trace FILE, again and again
//   pair      each thread inserts and removes one mapping of a file again and again
// --work N: aim7 and exim also do N units of other work at each step, which share nothing:
// arithmetic, bytes through a pipe and through a file in memory, a few microseconds each.
// --crossover N: as AIM7's: all is measured with 1, 2, 4, ... up to N users, and printed of that
// number with which a map did most operations in a second, NAME_users.
//   batch     each thread inserts --objects mappings of a file, looks, removes them, and looks
//
// Prints for each, with '_' for '-' in its name, the median of its rounds:
//   NAME_ops_cpu, NAME_ops_s, NAME_ops_thread_cpu, and how the first stands to each other one:
//   FIRST_to_NAME, with _low and _high, as rlubench does
//   NAME_user NAME_system NAME_idle   shares of the processors' time
//   NAME_absorbed  share of the updates of files' maps that took another one back
//   with --waits, from one more round: NAME_wait_file, NAME_wait_anonymous, NAME_wait_spool, the
//   share of the threads' time in which they waited for locks of that class
// --beside-threads N: each also runs with N threads in each round: NAME_to_fewer, its operations by
// the clock with --threads to those with N, and NAME_to_fewer_cpu, by CPU-seconds.
// Instead of all that, for one thread and one map, with _low and _high:
// --late: how long the first look takes, in us, that finds so many updates pending. The log's limit
// is raised to 2^30 for that. NAME_late_N_us, all inserts; NAME_late_N_absorbed_us, all taken back.
// --inserts: NAME_inserts_N_to_mutex, the time of N inserts of distinct objects, made before, and
// of the look that sees them, to direct inserts under a mutex.
// Exit status 1: a map is not what the operations made of it. --help shows the options.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "common/options.h"
#include "common/report.h"
#include "ldu/alone.h"
#include "ldu/contest.h"
#include "rlu/rounds.h"

namespace {

using namespace bench;

struct MixName {
  const char* name;
  Mix mix;
};
const MixName kMixes[] = {
    {"aim7", Mix::aim7},         {"exim", Mix::exim},        {"lmbench", Mix::lmbench},
    {"lmbench-exec", Mix::exec}, {"lmbench-sh", Mix::shell}, {"trace", Mix::trace},
    {"pair", Mix::pair},         {"batch", Mix::batch},
};

struct KeptMaps {
  const MapEntrant* entrant = nullptr;
  std::unique_ptr<MapContestant> contestant;
  std::unique_ptr<MapContestant> with_fewer;  // threads
  Rounds figures;
  Rounds figures_with_fewer;
  int users = 0;
  std::vector<double> user, system, idle, taken;

  static Round round_of(const MapRound& r) { return {r.phase, r.spent.cpu(), r.spent.seconds, 0}; }
  void run(unsigned number) {
    add(contestant->run(number, false));
    if (with_fewer) figures_with_fewer.add(round_of(with_fewer->run(number, false)));
  }
  void add(const MapRound& r) {
    figures.add(round_of(r));
    taken.push_back(static_cast<double>(r.taken) / r.spent.seconds);
    const Shares of_all = r.spent.shares(processors());
    user.push_back(of_all.user);
    system.push_back(of_all.system);
    idle.push_back(of_all.idle);
  }
};

void print_times(const KeptMaps& k) {
  const std::string name = shown(k.entrant->name);
  std::printf("%s_user %.3f %s_system %.3f %s_idle %.3f\n", name.c_str(), median(k.user),
              name.c_str(), median(k.system), name.c_str(), median(k.idle));
  if (const double absorbed = k.contestant->absorbed(); absorbed >= 0)
    std::printf("%s_absorbed %.4f\n", name.c_str(), absorbed);
}

void print_waits(KeptMaps& k, int round, int threads) {
  const MapRound r = k.contestant->run(static_cast<unsigned>(round), true);
  const std::string name = shown(k.entrant->name);
  for (std::size_t i = 0; i < kClassesOfLocks; ++i) {
    std::printf("%s%s_wait_%s %.4f", i == 0 ? "" : " ", name.c_str(), kLockClasses[i],
                r.wait_seconds[i] / r.spent.seconds / threads);
  }
  std::printf("\n");
}

void print_fewer(const KeptMaps& k) {
  const std::string name = shown(k.entrant->name) + "_to_fewer";
  print_interval(name, ratios(k.figures.ops_s, k.figures_with_fewer.ops_s));
  std::printf(" ");
  print_interval(name + "_cpu", ratios(k.figures.ops_cpu, k.figures_with_fewer.ops_cpu));
  std::printf("\n");
}

struct Run {
  std::vector<const MapEntrant*> entrants;
  int rounds = 1;
  int fewer_threads = 0;
  int crossover = 0;
};

std::vector<KeptMaps> measured(const Run& run, const MapSetup& setup) {
  std::vector<KeptMaps> maps(run.entrants.size());
  MapSetup fewer = setup;
  fewer.plan.threads = run.fewer_threads;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    maps[i].entrant = run.entrants[i];
    maps[i].contestant = run.entrants[i]->make(setup);
    maps[i].users = setup.users;
    if (run.fewer_threads != 0) maps[i].with_fewer = run.entrants[i]->make(fewer);
  }
  for (int round = 0; round < run.rounds; ++round) {
    for (std::size_t i = 0; i < maps.size(); ++i) {
      // There and back: what drifts falls on all of them.
      KeptMaps& k = maps[round % 2 == 0 ? i : maps.size() - 1 - i];
      k.run(static_cast<unsigned>(round) + 1);
    }
  }
  return maps;
}
void check(std::vector<KeptMaps>& maps) {
  for (KeptMaps& k : maps) {
    k.contestant->check();
    if (k.with_fewer) k.with_fewer->check();
  }
}
// Each map with as many users as it does most with.
std::vector<KeptMaps> measured_at_peaks(const Run& run, MapSetup setup) {
  std::vector<KeptMaps> best;
  for (setup.users = 1; setup.users <= run.crossover; setup.users *= 2) {
    std::vector<KeptMaps> now = measured(run, setup);
    if (best.empty()) best.swap(now);
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (median(now[i].figures.ops_s) > median(best[i].figures.ops_s)) std::swap(now[i], best[i]);
    }
    check(now);
  }
  return best;
}

void print_late(int rounds) {
  const std::vector<LateKind> kinds = late_kinds();
  for (const std::size_t updates : {1'000, 10'000, 100'000}) {
    std::vector<std::vector<double>> inserts(kinds.size()), absorbed(kinds.size());
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        const LateRead r = kinds[i].read(updates);
        inserts[i].push_back(r.inserts);
        absorbed[i].push_back(r.absorbed);
      }
    }
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const std::string name = kinds[i].name + "_late_" + std::to_string(updates);
      std::sort(inserts[i].begin(), inserts[i].end());
      std::sort(absorbed[i].begin(), absorbed[i].end());
      print_interval(name + "_us", inserts[i]);
      std::printf(" ");
      print_interval(name + "_absorbed_us", absorbed[i]);
      std::printf("\n");
    }
  }
}

// Against the last kind.
void print_inserts(int rounds) {
  const std::vector<BatchKind> kinds = batch_kinds();
  for (const std::size_t objects : {100, 1'000, 10'000, 100'000}) {
    std::vector<std::vector<double>> times(kinds.size());
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t n = 0; n < kinds.size(); ++n) {
        const std::size_t i = round % 2 == 0 ? n : kinds.size() - 1 - n;
        double sum = 0;
        for (std::size_t inserted = 0; inserted < 10'000; inserted += objects)
          sum += kinds[i].insert(objects);
        times[i].push_back(sum);
      }
    }
    for (std::size_t i = 0; i + 1 < kinds.size(); ++i) {
      print_interval(kinds[i].name + "_inserts_" + std::to_string(objects) + "_to_mutex",
                     ratios(times[i], times.back()));
      std::printf("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MapSetup setup;
  setup.plan.seconds = 0.3;
  std::string with = "all";
  std::string mix = "aim7";
  Run run;
  bool waits = false;
  bool late = false;
  bool inserts = false;
  std::string file;
  Options options("ldubench", "Reverse maps by deferred updates and others, side by side.");
  std::vector<std::string> mixes;
  for (const MixName& m : kMixes)
    mixes.push_back(m.name);
  options.text("--with", with, "the maps, with commas in between; all: each that there is");
  options.choice("--mix", mix, mixes, "what threads do");
  options.number("--threads", setup.plan.threads, 1, 1024, "threads");
  options.number("--seconds", setup.plan.seconds, 0.01, 600, "how long a round of one map takes");
  options.number("--rounds", run.rounds, 1, 1000, "rounds");
  options.number("--reads", setup.reads, 0, 0.99, "share of operations that look for mappings");
  options.number("--users", setup.users, 1, 1024, "processes of a thread, at most");
  options.number("--work", setup.work, 0, 1'000'000, "units of other work at each step");
  options.number("--spool", setup.spool, 0, 4096, "directories of a mail server's spool");
  options.number("--crossover", run.crossover, 0, 1024,
                 "the best of 1, 2, 4, ... up to so many users; 0: no");
  options.number("--objects", setup.objects, 1, 1 << 20, "of a batch");
  options.text("--trace", file, "a recorded program: lockswap trace-vm --processes");
  options.flag("--memory", setup.memory, "each process has an address space, too");
  options.number("--beside-threads", run.fewer_threads, 0, 1024,
                 "also so many threads, in the same rounds; 0: no");
  options.flag("--late", late, "time the first look at many pending updates, and nothing else");
  options.flag("--inserts", inserts, "time inserts and the look that sees them, and nothing else");
  options.flag("--waits", waits, "one more round, which notes how long threads wait for locks");
  add_least_option(options, setup.plan);
  options.flag("--pin", setup.plan.pin, "pin the threads to the processors in turn");
  options.parse(argc, argv);
  if (late) print_late(std::max(run.rounds, 7));
  if (inserts) print_inserts(std::max(run.rounds, 7));
  if (late || inserts) {
    check_all_gone();
    return 0;
  }
  setup.mix = std::find_if(std::begin(kMixes), std::end(kMixes), [&](const MixName& m) {
                return mix == m.name;
              })->mix;
  if (setup.mix == Mix::batch) setup.reads = 0;  // it has its own
  if ((setup.mix == Mix::trace) == file.empty())
    options.refuse("--mix trace needs --trace FILE, and the other mixes have none");
  const bool has_work = setup.mix == Mix::aim7 || setup.mix == Mix::exim;
  if (setup.work != 0 && !has_work) options.refuse("--work is for --mix aim7 and exim");
  if (setup.spool != 0 && setup.mix != Mix::exim) options.refuse("--spool is for --mix exim");
  if (run.crossover != 0 && setup.mix != Mix::aim7)
    options.refuse("--crossover is for --mix aim7, which has users");
  ProcessTrace trace;
  if (!file.empty()) {
    try {
      trace = read_process_trace(file);
    } catch (const ProcessTraceError& error) {
      options.refuse("--trace: " + error.why);
    }
    setup.trace = &trace;
  }

  const std::vector<MapEntrant> contest = map_contest();
  run.entrants = named_by_with(with, contest, options);
  std::vector<KeptMaps> maps =
      run.crossover == 0 ? measured(run, setup) : measured_at_peaks(run, setup);
  for (KeptMaps& k : maps) {
    print_rounds(k.entrant->name, k.figures);
    print_times(k);
    if (run.crossover != 0) std::printf("%s_users %d\n", shown(k.entrant->name).c_str(), k.users);
    if (waits) print_waits(k, run.rounds + 1, setup.plan.threads);
    if (setup.memory)
      std::printf("%s_taken_s %.0f\n", shown(k.entrant->name).c_str(), median(k.taken));
    if (k.with_fewer) print_fewer(k);
  }
  for (std::size_t i = 1; i < maps.size(); ++i)
    print_ratio(maps[0].entrant->name, maps[0].figures, maps[i].entrant->name, maps[i].figures);
  check(maps);
  check_all_gone();
  return 0;
}
