#include "registry/mutexes.h"

#include <iterator>

#include "locks/concept.h"
#include "locks/mutex/clh.h"
#include "locks/mutex/cohort.h"
#include "locks/mutex/mcs.h"
#include "locks/mutex/per-cpu.h"
#include "locks/mutex/ticket.h"
#include "platform/native.h"
#include "posix/mutex_contract.h"
#include "registry/cond_ops.h"
#include "registry/counted_mutex.h"
#include "registry/mutex_ops.h"
#include "registry/stats.h"
#include "registry/text.h"
#include "wait/park.h"
#include "wait/spin.h"
#include "wait/yield.h"

namespace lockswap {
namespace {

// Each lock, checked where its name is: one without a member fails at its own line.
static_assert(MutexCore<Ticket<Native, Park<Native>>>);
static_assert(MutexCore<Mcs<Native, Park<Native>>>);
static_assert(MutexCore<Clh<Native, Park<Native>>>);
static_assert(MutexCore<CohortMutex<Native, Park<Native>>>);
static_assert(MutexCore<PerCpuMutex<Native, Park<Native>>>);

constexpr MutexInfo kMutexes[] = {
    {"pthread",
     {"glibc", nullptr},
     "glibc's own mutexes and condition variables, passed through",
     "glibc nptl",
     "whoever comes first after a release; who waits may starve"},
    {"auto",
     {nullptr},
     "our choice: pthread on one memory node, cohort on several",
     "ours; see docs/algorithms.md",
     "that mutex's"},
    {"ticket",
     {nullptr},
     "ticket lock: who draws a number waits until it is shown",
     "Mellor-Crummey and Scott 1991, section 2.2",
     "first come first served; timed locks only when nobody waits"},
    {"mcs",
     {nullptr},
     "queue lock, everybody waits on a word of its own",
     "Mellor-Crummey and Scott 1991, section 2.4",
     "first come first served"},
    {"clh",
     {nullptr},
     "queue lock, everybody waits on the word of the one before",
     "Craig 1993; Landin and Hagersten 1994; Scott and Scherer 2001, section 3.1",
     "first come first served"},
    // What is left of the reader-writer locks when everybody writes.
    {"ba",
     {"PF-Q", "PFQ", nullptr},
     "the queue of BA's writers, an MCS lock",
     "Brandenburg and Anderson 2010, section 4, PF-Q",
     "first come first served"},
    {"bravo-ba",
     {"bravo-PF-Q", nullptr},
     "the same: BRAVO changes nothing where nobody reads",
     "Dice and Kogan 2019, listing 1",
     "first come first served"},
    {"cohort",
     {"C-TKT-TKT", nullptr},
     "NUMA-aware mutex: a ticket lock for each node, and one between them; the mutex of C-RW-WP",
     "Dice, Marathe and Shavit 2012, section 3; Calciu and others 2013, section 3.3",
     "first come first served in a node, which may keep it for some turns; timed locks only when "
     "nobody waits",
     &CohortMutex<Native, Spin<Native>>::block_bytes},
    {"per-cpu",
     {"PerCPU", nullptr},
     "an MCS lock for each CPU, of which each owner takes all, as writers of a per-CPU lock do",
     "Dice and Kogan 2019, sections 2 and 5, Per-CPU",
     "first come first served",
     &PerCpuMutex<Native, Spin<Native>>::block_bytes},
    {"rlu",
     {"RLU-backed", nullptr},
     "the lock of RLU's writers, a ticket lock",
     "Matveev and others 2015, section 3.5",
     "first come first served; timed locks only when nobody waits"},
};

// --- from names to types: lock x wait policy x counting

struct Row {
  const MutexOps* ops;
  bool (*prepare)();
  bool (*is_ours)(pthread_mutex_t*);
};

template <template <class, class> class Core, class W, class Count>
constexpr Row row() {
  using Contract = MutexContract<Native, Core<Native, W>, Count>;
  using Ops = MutexLockOps<Contract, Count>;
  return {&Ops::table, &Contract::prepare, &Ops::is_ours};
}

template <class W, class Count>
Row choose(const char* name) noexcept {
  if (same_name(name, "ticket") || same_name(name, "rlu")) return row<Ticket, W, Count>();
  if (same_name(name, "mcs") || same_name(name, "ba") || same_name(name, "bravo-ba")) {
    return row<Mcs, W, Count>();
  }
  if (same_name(name, "clh")) return row<Clh, W, Count>();
  if (same_name(name, "cohort")) return row<CohortMutex, W, Count>();
  if (same_name(name, "per-cpu")) return row<PerCpuMutex, W, Count>();
  return {};
}

template <class Count>
Row choose(const char* name, const char* wait) noexcept {
  if (same_name(wait, "spin")) return choose<Spin<Native>, Count>(name);
  if (same_name(wait, "yield")) return choose<Yield<Native>, Count>(name);
  return choose<Park<Native>, Count>(name);
}

}  // namespace

Mutexes mutexes() noexcept { return {kMutexes, static_cast<int>(std::size(kMutexes))}; }

std::size_t footprint_of(const MutexInfo& mutex, const Config& config) noexcept {
  if (same_name(mutex.name, "auto")) return footprint_of(*find_mutex(auto_mutex(config)), config);
  if (mutex.block_bytes == nullptr) return sizeof(pthread_mutex_t);
  Native::set_pretence(config.topology);
  Native::prepare_topology();
  return sizeof(pthread_mutex_t) + mutex.block_bytes();
}

const MutexInfo* find_mutex(const char* name) noexcept {
  for (const MutexInfo& m : kMutexes) {
    if (same_name(m.name, name)) return &m;
    for (const char* const* alias = m.aliases; *alias != nullptr; ++alias) {
      if (same_name(*alias, name)) return &m;
    }
  }
  return nullptr;
}

bool prepare_mutex(const Config& config, MutexChoice& choice, const char*& why) noexcept {
  const bool count = config.stats != nullptr;
  if (config.mutex == nullptr) {
    choice = {&system_mutex, &system_cond, &system_old_cond};
    return true;
  }
  if (same_name(config.mutex, "pthread")) {
    choice = {count ? &counting_system_mutex : &system_mutex, &system_cond, &system_old_cond};
    if (count) count_conds(choice.cond, choice.old_cond);
    return true;
  }
  Native::set_spin_budget(config.spin);
  Native::set_pretence(config.topology);
  const Row row = count ? choose<CountInTable>(config.mutex, config.wait)
                        : choose<CountNothing>(config.mutex, config.wait);
  if (row.ops == nullptr) {
    why = "this mutex is in the registry's table, but choose does not know it";
    return false;
  }
  if (!row.prepare() || !prepare_conds(*row.ops, row.is_ours)) {
    why = "no address space for queue nodes; raise the limit (ulimit -v)";
    return false;
  }
  choice = {row.ops, &cond_ops, &old_cond_ops};
  if (count) count_conds(choice.cond, choice.old_cond);
  return true;
}

}  // namespace lockswap
