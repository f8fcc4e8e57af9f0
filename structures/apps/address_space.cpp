// address_space: threads that map, unmap and fault in one address space of the engine
// (src/address_space), with a design of synchronisation of one's choice.
//
// --workload is what each thread does, in pages of its own:
//   page_fault1, page_fault2   will-it-scale: maps --mb, writes each page, unmaps; the second maps
//                              a file of its own, private
//   mmap1, mmap2               the same without the writing
//   isolated                   Bonsai's microbenchmark (A. Clements, F. Kaashoek, N. Zeldovich,
//                              ASPLOS 2012, section 7.3): one thread maps and unmaps for the share
//                              --mapping of its time, the others write their pages over and over
//   wc, wr, wrmem              mixes like those of Metis: threads read their input, allocate, and
//                              look at each other's tables. --memory arenas: as glibc's malloc,
//                              which grows heaps by mprotect and brk; segments: 8 MB at a time
//   malloc                     those allocations alone
//   psearchy, dedup            like those programs in Bonsai's section 7.2
//   stack                      deep recursion: a stack that faults make grow by a page at a time
// The proportions of the mixes are ours: the papers do not print them. docs/address-spaces.md.
//
// --trace FILE replays a recorded program instead, a thread for each of its own, again and again,
// each time in a new space; --threads and the options of workloads mean nothing then.
// docs/address-spaces.md.
//
// --pages 2m: a fault in memory fills a page of 2 MB where its region has all of it. Programs touch
// one small page of it, because accesses to the others would be no faults; a trace is replayed as
// it is.
//
// --design rwlock takes pthread_rwlock_t, which lockswap swaps; rwlock:LOCK is the same with that
// lock of `lockswap list`, by the preload library beside this program. With --lock it takes a lock
// of src/variants/list.def, such as an rwsem, which is compiled in.
// --first-faults locked: the first fault in a region of memory makes it known to reverse maps, as
// Linux's does with an anon_vma, so it goes under the lock in all designs (Bonsai, section 6).
// --mmap-cache has designs that search a tree under a lock remember the region found last, as Linux
// did.
//
// Prints the lines of common/report.h, in which reads are faults and writes are operations, and
//   faults_cpu, changes_cpu    faults, and operations, a CPU-second of all threads
//   fault_ns, fault_cpu_ns     the time, and CPU time, of a fault, of threads that do nothing else;
//                              missing if there are none
//   user, system, idle         of a workload: shares of the processors' time (common/used.h)
//   rounds, replay_threads, replay_steps, synthesised
//                              of a trace: how many times it was replayed; its threads and steps;
//                              1: its faults are not the program's own
//   ordered, ordered_share     steps a round that waited for another thread's, as the program did;
//                              the share of all threads' time that went so
//   mapping                    isolated: the share of time that the mapping thread spent in it
//   KINDs, KINDs_speculated, KINDs_structural, KINDs_spread, KINDs_restarts, KINDs_share
//                              for designs that try without the whole lock, and each kind of
//                              operation (map, unmap, protect, discard, brk) that they try: how
//                              many; of these, done so; not, since they change the number of
//                              regions; not, since their range is not in one region; tries that
//                              found something changed; and the share that was done so
//   protects_structural_PART   of these, which add up to protects_structural: loaded: in a file, or
//                              mapped by execve; top, bottom: that end of a mapping that no access
//                              was allowed to, as a thread's stack over its guard, and a heap of
//                              malloc; joined: all of a region, which becomes one with its
//                              neighbour; several: not in one region; other
//   wait_CLASS_ns, wait_CLASS_max_ns, wait_CLASS_share, waits_CLASS
//                              with --waits, of each class of locks: the mean and the longest
//                              acquisition, the clock's own 10 to 30 ns included; the share of the
//                              threads' time that went by in them; how many. CLASS is space_read or
//                              space_write: the lock for all, a reader-writer lock; range_read,
//                              range_write: a range lock in its place; change: fault-lock's mutex;
//                              index_read, index_write: hybrid-rcu's lock of the tree; table: those
//                              of page tables and files; tree: the spin lock inside the range
//                              lock of tree-full and tree-refined
// Exit status 2: a bad option, or a trace that cannot be read.
// Exit status 1: regions or pages are not what the steps of a thread, or of a trace, make in order,
// a thread has read in another's page what was never written there, an entry is left where no
// region is, or other operations were structural than in a sequential replay.

#include <cstdio>

#include "address_space/compiled_in.h"
#include "address_space/contest.h"
#include "address_space/designs.h"
#include "address_space/on_lock.h"
#include "address_space/replay.h"
#include "address_space/run_waits.h"
#include "address_space/trace.h"
#include "variants/locks.h"

namespace {

using namespace bench;

struct Entry {
  const char* name;
  void (*run)(const Plan&, const Work&, const SpaceOptions&);
  void (*run_trace)(const Plan&, const Trace&, const SpaceOptions&);
  bool can_cache;
};

template <template <class> class Design>
constexpr bool kCanCache =
    requires(typename Design<lockswap::address_space::NativeMachine>::Index& index) {
  index.keep_last();
};

using namespace lockswap::address_space;
const Entry kDesigns[] = {
#define DESIGN(name, Class) {name, run<Class>, run_trace<Class>, kCanCache<Class>},
#include "address_space/designs.def"
#undef DESIGN
};

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  Work work;
  work.workload = "page_fault1";
  work.memory = "arenas";
  std::string design = "rwlock";
  std::string lock = "pthread";
  int megabytes = 128;
  double mapping = 0.1;
  SpaceOptions space;
  std::string pages = "4k";
  std::string first_faults = "free";
  double wait_seconds = 0;
  std::string file;
  Options options("address_space", "Threads map, unmap and fault in one address space.");
  add_plan_options(options, plan);
  std::vector<std::string> names;
  for (const Entry& e : kDesigns)
    names.emplace_back(e.name);
  options.choice("--design", design, names,
                 "how operations and faults are synchronised; rwlock:LOCK: rwlock on that lock");
  options.choice("--lock", lock, variants_bench::names(),
                 "the lock of design rwlock; all but pthread are compiled in");
  options.choice("--workload", work.workload, workloads(), "what the threads do");
  options.choice("--memory", work.memory, {"arenas", "segments"},
                 "where wc, wr and wrmem allocate");
  options.number("--mb", megabytes, 1, 8192, "what a thread maps at once");
  options.number("--mapping", mapping, 0, 1, "isolated: share of time in map and unmap");
  options.choice("--pages", pages, {"4k", "2m"},
                 "2m: a fault fills 2 MB where its region has all of them");
  options.choice("--first-faults", first_faults, {"free", "locked"},
                 "locked: the first fault in a region of memory goes under the lock");
  options.flag("--mmap-cache", space.mmap_cache, "remember the region that was found last");
  options.number("--waits", wait_seconds, 0, 600,
                 "how long, after that, the acquisitions of each class of locks are timed");
  options.text("--trace", file, "replay a recorded program instead; lockswap trace-vm makes them");
  begin_anew_on_lock(argc, argv, options);
  options.parse(argc, argv);
  Trace trace;
  if (!file.empty()) {
    try {
      trace = read_trace(file);
    } catch (const TraceError& error) {
      std::fprintf(stderr, "address_space: %s\n", error.what.c_str());
      return 2;
    }
  }
  if (file.empty() && work.workload == "isolated" && plan.threads < 2)
    options.refuse("--workload isolated takes at least 2 threads: one maps, the others fault");

  work.threads = plan.threads;
  work.pages = static_cast<std::uint64_t>(megabytes) * 256;
  work.mapping = mapping;
  work.large_pages = space.large_pages = pages == "2m";
  space.stacks = file.empty() && work.workload == "stack";
  if (space.stacks && pages == "2m")
    options.refuse("--workload stack grows by small pages: say --pages 4k");
  space.prepares = first_faults == "locked";
  const bool is_compiled_in = lock != "pthread";
  if (is_compiled_in && design != "rwlock")
    options.refuse("--lock " + lock + " is for --design rwlock alone");
  if (is_compiled_in && !prepare_compiled_in(lock))
    options.refuse("no memory for the table of readers");
  const Trace* const played = file.empty() ? nullptr : &trace;
  for (const Entry& e : kDesigns) {
    if (design != e.name) continue;
    if (space.mmap_cache && !e.can_cache)
      options.refuse("--mmap-cache: design '" + design + "' has none: its faults take no lock");
    if (is_compiled_in) {
      run_compiled_in(plan, work, played, space);
    } else if (file.empty()) {
      e.run(plan, work, space);
    } else {
      e.run_trace(plan, trace, space);
    }
  }
  if (wait_seconds > 0) {
    plan.seconds = wait_seconds;
    if (is_compiled_in) {
      run_waits_compiled_in(plan, work, played, space);
    } else {
      run_waits(design, plan, work, played, space);
    }
  }
  return 0;
}
