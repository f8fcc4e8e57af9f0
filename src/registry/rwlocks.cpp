#include "registry/rwlocks.h"

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "locks/concept.h"
#include "locks/rw/ba.h"
#include "locks/rw/bravo.h"
#include "locks/rw/cohort.h"
#include "locks/rw/per-cpu.h"
#include "locks/rw/pf-t.h"
#include "locks/rw/pthread.h"
#include "locks/rw/rlu.h"
#include "locks/rw/unbiased.h"
#include "platform/memory.h"
#include "platform/native.h"
#include "readers/readers_table.h"
#include "readers/row_slots.h"
#include "registry/rw_ops.h"
#include "registry/stats.h"
#include "registry/system_ops.h"
#include "registry/text.h"
#include "wait/park.h"
#include "wait/spin.h"
#include "wait/yield.h"

namespace lockswap {
namespace {

// Each lock, checked where its name is: one without a member fails at its own line.
static_assert(RwCore<PfT<Native, Park<Native>>>);
static_assert(RwCore<Ba<Native, Park<Native>>>);
static_assert(RwCore<CohortRw<Native, Park<Native>>>);
static_assert(RwCore<CohortRwNeutral<Native, Park<Native>>>);
static_assert(RwCore<CohortRwReaders<Native, Park<Native>>>);
static_assert(RwCore<PerCpu<Native, Park<Native>>>);
static_assert(RwCore<Rlu<Native, Park<Native>>>);
static_assert(RwCore<RluAsym<Native, Park<Native>>>);
static_assert(RwCore<Pthread<Native, Park<Native>>>);

// They are the same for each wait policy.
template <template <class, class> class Core>
constexpr Claims claims_of_direct =
    Unbiased<Native, Core<Native, Spin<Native>>, CountNothing>::kClaims;
template <template <class, class> class Core>
constexpr Claims claims_of_bravo =
    Bravo<Native, Spin<Native>, Core<Native, Spin<Native>>, CountNothing>::kClaims;

// Over the same locks; readers publish themselves elsewhere.
template <template <class, class> class Core>
constexpr Claims claims_of_bravo_asym =
    Bravo<Native, Spin<Native>, Core<Native, Spin<Native>>, CountNothing,
          RowSlots<Native, Spin<Native>>>::kClaims;

template <template <class, class> class Core>
constexpr auto bytes_beside = &Core<Native, Spin<Native>>::block_bytes;

constexpr RwLockInfo kRwLocks[] = {
    {"pthread",
     {"glibc", nullptr},
     "glibc's own reader-writer lock, passed through",
     "glibc nptl",
     "readers first; writers can starve",
     "honoured",
     {}},
    {"pthread-wp",
     {nullptr},
     "glibc's own lock, passed through, made to prefer writers",
     "glibc nptl, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP",
     "writers first; readers can starve, and a recursive read waits for a waiting writer",
     "honoured; the default kind becomes the one that prefers writers",
     {}},
    {"auto",
     {nullptr},
     "our choice: pthread on one CPU, bravo-pthread on one memory node, bravo-cohort on several",
     "ours; see README",
     "that lock's",
     "that lock's",
     {}},
    {"pf-t",
     {"PFT", nullptr},
     "phase-fair ticket lock",
     "Brandenburg and Anderson 2010, section 4, PF-T",
     "phase-fair, writers first come first served",
     "no effect: readers and writers alternate",
     claims_of_direct<PfT>},
    {"ba",
     {"PF-Q", "PFQ", nullptr},
     "phase-fair queue lock with local spinning",
     "Brandenburg and Anderson 2010, section 4, PF-Q",
     "phase-fair, writers first come first served; timed writers only when nobody is in",
     "no effect: readers and writers alternate",
     claims_of_direct<Ba>},
    {"cohort",
     {"C-RW-WP", nullptr},
     "NUMA-aware lock: a reader indicator for each node, a cohort mutex for writers",
     "Calciu and others 2013, section 3.3, C-RW-WP",
     "writers first; after 32 of them, or when none waits, the readers that wait",
     "no effect: writers go first",
     claims_of_direct<CohortRw>,
     bytes_beside<CohortRw>},
    {"cohort-n",
     {"C-RW-NP", nullptr},
     "cohort that prefers neither readers nor writers",
     "Calciu and others 2013, section 3.1, C-RW-NP",
     "after each writer the readers that wait; of writers, those of the node",
     "no effect: readers and writers alternate",
     claims_of_direct<CohortRwNeutral>,
     bytes_beside<CohortRwNeutral>},
    {"cohort-rp",
     {"C-RW-RP", nullptr},
     "cohort that prefers readers",
     "Calciu and others 2013, section 3.2, C-RW-RP",
     "readers first, also those that come later; 32 times, then the writer",
     "no effect: readers go first",
     claims_of_direct<CohortRwReaders>,
     bytes_beside<CohortRwReaders>},
    {"per-cpu",
     {"PerCPU", nullptr},
     "a BA lock for each CPU: readers take their CPU's, writers all",
     "Dice and Kogan 2019, sections 2 and 5, Per-CPU; Linux's brlock",
     "phase-fair, writers first come first served; timed writers only when nobody is in",
     "no effect: readers and writers alternate",
     claims_of_direct<PerCpu>,
     bytes_beside<PerCpu>},
    {"rlu",
     {"RLU-backed", nullptr},
     "RLU's reader indicator: readers write to a row of their own thread, writers look at all rows",
     "Matveev and others 2015, sections 3.2 to 3.4; Dice and Kogan 2019, section 5, RLU-backed",
     "writers first come first served; readers that entered before a writer go first, others wait "
     "in "
     "line, phase-fair",
     "no effect: readers and writers alternate",
     claims_of_direct<Rlu>},
    {"rlu-asym",
     {"RLU-backed-asym", nullptr},
     "rlu whose readers make no update; each write has the kernel run a barrier (membarrier)",
     "as rlu; Desnoyers and others 2012, section 5",
     "as rlu",
     "no effect: readers and writers alternate",
     claims_of_direct<RluAsym>,
     nullptr,
     true},
    {"bravo-pthread",
     {nullptr},
     "BRAVO reader bias over glibc's lock",
     "Dice and Kogan 2019, listing 1",
     "glibc's; biased readers go first",
     "honoured by the slow path",
     claims_of_bravo<Pthread>},
    {"bravo-pf-t",
     {"bravo-PFT", nullptr},
     "BRAVO reader bias over PF-T",
     "Dice and Kogan 2019, listing 1",
     "phase-fair while unbiased; biased readers go first",
     "no effect: readers and writers alternate",
     claims_of_bravo<PfT>},
    {"bravo-ba",
     {"bravo-PF-Q", nullptr},
     "BRAVO reader bias over BA",
     "Dice and Kogan 2019, listing 1",
     "phase-fair while unbiased, timed writers only when nobody is in; biased readers go first",
     "no effect: readers and writers alternate",
     claims_of_bravo<Ba>},
    {"bravo-cohort",
     {"bravo-C-RW-WP", nullptr},
     "BRAVO reader bias over cohort",
     "Dice and Kogan 2019, listing 1",
     "cohort's while unbiased; biased readers go first",
     "no effect: writers go first",
     claims_of_bravo<CohortRw>,
     bytes_beside<CohortRw>},
    {"bravo-per-cpu",
     {"bravo-PerCPU", nullptr},
     "BRAVO reader bias over per-cpu",
     "Dice and Kogan 2019, listing 1",
     "phase-fair while unbiased, timed writers only when nobody is in; biased readers go first",
     "no effect: readers and writers alternate",
     claims_of_bravo<PerCpu>,
     bytes_beside<PerCpu>},
    {"bravo-rlu",
     {"bravo-RLU-backed", nullptr},
     "BRAVO reader bias over rlu",
     "Dice and Kogan 2019, listing 1",
     "rlu's while unbiased; biased readers go first",
     "no effect: readers and writers alternate",
     claims_of_bravo<Rlu>},
    {"bravo-rlu-asym",
     {"bravo-RLU-backed-asym", nullptr},
     "BRAVO reader bias over rlu-asym",
     "Dice and Kogan 2019, listing 1",
     "rlu's while unbiased; biased readers go first",
     "no effect: readers and writers alternate",
     claims_of_bravo<RluAsym>,
     nullptr,
     true},
    {"bravo-asym-pthread",
     {nullptr},
     "bravo-pthread whose readers make no update; each revocation has the kernel run a barrier",
     "Dice and Kogan 2019, listing 1; Desnoyers and others 2012, section 5",
     "glibc's; biased readers go first",
     "honoured by the slow path",
     claims_of_bravo_asym<Pthread>,
     nullptr,
     true},
    {"bravo-asym-pf-t",
     {"bravo-asym-PFT", nullptr},
     "bravo-pf-t whose readers make no update; each revocation has the kernel run a barrier",
     "Dice and Kogan 2019, listing 1; Desnoyers and others 2012, section 5",
     "phase-fair while unbiased; biased readers go first",
     "no effect: readers and writers alternate",
     claims_of_bravo_asym<PfT>,
     nullptr,
     true},
    {"bravo-asym-ba",
     {"bravo-asym-PF-Q", nullptr},
     "bravo-ba whose readers make no update; each revocation has the kernel run a barrier",
     "Dice and Kogan 2019, listing 1; Desnoyers and others 2012, section 5",
     "phase-fair while unbiased, timed writers only when nobody is in; biased readers go first",
     "no effect: readers and writers alternate",
     claims_of_bravo_asym<Ba>,
     nullptr,
     true},
    {"bravo-asym-cohort",
     {"bravo-asym-C-RW-WP", nullptr},
     "bravo-cohort whose readers make no update; each revocation has the kernel run a barrier",
     "Dice and Kogan 2019, listing 1; Desnoyers and others 2012, section 5",
     "cohort's while unbiased; biased readers go first",
     "no effect: writers go first",
     claims_of_bravo_asym<CohortRw>,
     bytes_beside<CohortRw>,
     true},
    {"bravo-asym-per-cpu",
     {"bravo-asym-PerCPU", nullptr},
     "bravo-per-cpu whose readers make no update; each revocation has the kernel run a barrier",
     "Dice and Kogan 2019, listing 1; Desnoyers and others 2012, section 5",
     "phase-fair while unbiased, timed writers only when nobody is in; biased readers go first",
     "no effect: readers and writers alternate",
     claims_of_bravo_asym<PerCpu>,
     bytes_beside<PerCpu>,
     true},
    {"bravo-asym-rlu",
     {"bravo-asym-RLU-backed", nullptr},
     "bravo-rlu whose readers make no update; each revocation has the kernel run a barrier",
     "Dice and Kogan 2019, listing 1; Desnoyers and others 2012, section 5",
     "rlu's while unbiased; biased readers go first",
     "no effect: readers and writers alternate",
     claims_of_bravo_asym<Rlu>,
     nullptr,
     true},
};

constexpr WaitInfo kWaits[] = {
    {"spin", "look again at once; needs a processor for each thread"},
    {"yield", "look again, giving the processor away in between"},
    {"park", "spin for LOCKSWAP_SPIN pauses, then sleep in the kernel"},
};

// --- from names to types: lock x wait policy x counting

struct Choice {
  const RwOps* ops;
  bool (*prepare)();
};

template <class Lock, class W, class Count>
constexpr Choice choice() {
  using Contract = RwContract<Native, W, Lock, Count>;
  return {&RwLockOps<Contract, Count>::table, &Contract::prepare};
}

template <template <class, class> class Core, class W, class Count>
constexpr Choice direct() {
  return choice<Unbiased<Native, Core<Native, W>, Count>, W, Count>();
}
template <template <class, class> class Core, class W, class Count>
constexpr Choice bravo() {
  return choice<Bravo<Native, W, Core<Native, W>, Count>, W, Count>();
}
template <template <class, class> class Core, class W, class Count>
constexpr Choice bravo_asym() {
  return choice<Bravo<Native, W, Core<Native, W>, Count, RowSlots<Native, W>>, W, Count>();
}

template <class W, class Count>
Choice choose_lock(const char* name) noexcept {
  if (same_name(name, "pf-t")) return direct<PfT, W, Count>();
  if (same_name(name, "ba")) return direct<Ba, W, Count>();
  if (same_name(name, "cohort")) return direct<CohortRw, W, Count>();
  if (same_name(name, "cohort-n")) return direct<CohortRwNeutral, W, Count>();
  if (same_name(name, "cohort-rp")) return direct<CohortRwReaders, W, Count>();
  if (same_name(name, "per-cpu")) return direct<PerCpu, W, Count>();
  if (same_name(name, "rlu")) return direct<Rlu, W, Count>();
  if (same_name(name, "rlu-asym")) return direct<RluAsym, W, Count>();
  if (same_name(name, "bravo-pthread")) return bravo<Pthread, W, Count>();
  if (same_name(name, "bravo-pf-t")) return bravo<PfT, W, Count>();
  if (same_name(name, "bravo-ba")) return bravo<Ba, W, Count>();
  if (same_name(name, "bravo-cohort")) return bravo<CohortRw, W, Count>();
  if (same_name(name, "bravo-per-cpu")) return bravo<PerCpu, W, Count>();
  if (same_name(name, "bravo-rlu")) return bravo<Rlu, W, Count>();
  if (same_name(name, "bravo-rlu-asym")) return bravo<RluAsym, W, Count>();
  if (same_name(name, "bravo-asym-pthread")) return bravo_asym<Pthread, W, Count>();
  if (same_name(name, "bravo-asym-pf-t")) return bravo_asym<PfT, W, Count>();
  if (same_name(name, "bravo-asym-ba")) return bravo_asym<Ba, W, Count>();
  if (same_name(name, "bravo-asym-cohort")) return bravo_asym<CohortRw, W, Count>();
  if (same_name(name, "bravo-asym-per-cpu")) return bravo_asym<PerCpu, W, Count>();
  if (same_name(name, "bravo-asym-rlu")) return bravo_asym<Rlu, W, Count>();
  return {};
}

template <class Count>
Choice choose(const char* name, const char* wait) noexcept {
  if (same_name(wait, "spin")) return choose_lock<Spin<Native>, Count>(name);
  if (same_name(wait, "yield")) return choose_lock<Yield<Native>, Count>(name);
  return choose_lock<Park<Native>, Count>(name);
}

bool prepare_readers_table(const Config& config) noexcept {
  using Table = ReadersTable<Native>;
  Table& table = Native::global<Table>();
  if (table.slots != nullptr) return true;
  // Whole pages, aligned to the table's size if that is more: as few pages as it can be.
  const std::size_t bytes = config.bravo_slots * sizeof(Table::Slot);
  auto* p = static_cast<std::byte*>(map_pages(2 * bytes));
  if (p == nullptr) return false;
  const std::size_t skip = (bytes - reinterpret_cast<std::uintptr_t>(p) % bytes) % bytes;
  table.slots = reinterpret_cast<Table::Slot*>(p + skip);
  table.mask = config.bravo_slots - 1;
  table.guard = config.bravo_n;
  prepare_scan();
  return true;
}

}  // namespace

static_assert(std::size(kRwLocks) <= kMostRwLocks);
RwLocks rwlocks() noexcept { return {kRwLocks, static_cast<int>(std::size(kRwLocks))}; }
Waits waits() noexcept { return {kWaits, static_cast<int>(std::size(kWaits))}; }

std::size_t footprint_of(const RwLockInfo& lock, const Config& config) noexcept {
  if (same_name(lock.name, "auto")) return footprint_of(*find_rwlock(auto_rwlock(config)), config);
  if (lock.block_bytes == nullptr) return sizeof(pthread_rwlock_t);
  Native::set_pretence(config.topology);
  Native::prepare_topology();
  return sizeof(pthread_rwlock_t) + lock.block_bytes();
}

const RwLockInfo* find_rwlock(const char* name) noexcept {
  for (const RwLockInfo& lock : kRwLocks) {
    if (same_name(lock.name, name)) return &lock;
    for (const char* const* alias = lock.aliases; *alias != nullptr; ++alias) {
      if (same_name(*alias, name)) return &lock;
    }
  }
  return nullptr;
}

namespace {
const RwOps* prepare_own(const char* name, const Config& config, bool count,
                         const char*& why) noexcept {
  if (!prepare_readers_table(config)) {
    why = "no memory for the readers table; see LOCKSWAP_BRAVO_SLOTS";
    return nullptr;
  }
  if (const RwLockInfo* lock = find_rwlock(name);
      lock != nullptr && lock->asymmetric && !Native::prepare_heavy_fence()) {
    why = "the kernel refuses membarrier, which the asymmetric locks need; choose one without asym";
    return nullptr;
  }
  Native::set_spin_budget(config.spin);
  Native::set_pretence(config.topology);
  const Choice c =
      count ? choose<CountInTable>(name, config.wait) : choose<CountNothing>(name, config.wait);
  if (c.ops == nullptr) {
    why = "this lock is in the registry's table, but choose_lock does not know it";
    return nullptr;
  }
  if (!c.prepare()) {
    why = "no address space for queue nodes and for locks; raise the limit (ulimit -v)";
    return nullptr;
  }
  return c.ops;
}
}  // namespace

const RwOps* prepare_further_rwlock(const RwLockInfo& lock, const Config& config,
                                    const char*& why) noexcept {
  if (same_name(lock.name, "pthread")) return &system_rwlock;
  if (same_name(lock.name, "pthread-wp")) return &writer_preferring_ops;
  if (same_name(lock.name, "bravo-pthread") || same_name(lock.name, "bravo-asym-pthread")) {
    why = "BRAVO over pthread cannot be inside of another lock; choose it over ba or pf-t";
    return nullptr;
  }
  if (same_name(lock.name, "auto")) {
    why = "auto chooses for whole programs; name a lock to have inside of another one";
    return nullptr;
  }
  return prepare_own(lock.name, config, false, why);
}

const RwOps* prepare_rwlock(const Config& config, const char*& why) noexcept {
  const bool count = config.stats != nullptr;
  ThreadExit::prepare();
  if (count && !prepare_stats()) {
    why = "no memory for the counts of LOCKSWAP_STATS";
    return nullptr;
  }
  const char* name = config.rwlock == nullptr ? "pthread" : config.rwlock;
  if (same_name(name, "pthread")) return count ? &counting_system_ops : &system_rwlock;
  if (same_name(name, "pthread-wp")) {
    return count ? &counting_writer_preferring_ops : &writer_preferring_ops;
  }
  return prepare_own(name, config, count, why);
}

}  // namespace lockswap
