#include "registry/rwlocks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <sys/prctl.h>

#include "config/auto.h"
#include "ops/system_ops.h"
#include "platform/memory.h"
#include "platform/native.h"
#include "platform/syscall.h"
#include "platform/text.h"
#include "readers/readers_table.h"
#include "registry/list_words.h"
#include "registry/named_rows.h"
#include "registry/policy_ops.h"
#include "registry/prepare_spins.h"
#include "registry/rw_forms.h"
#include "registry/rw_list_headers.h"  // written by lists.cmake
#include "registry/rw_rows.h"
#include "registry/waits.h"
#include "stats/stats.h"
#include "wait/park.h"

namespace lockswap {

// The code of each lock, in its own translation unit.
#define RW_LOCK(name, Class, header, words) extern const RwForms rw_forms_##Class;
#include "registry/rw_list.def"
#undef RW_LOCK

namespace {

// The locks that are not in the list because there is no code of ours for them, followed by the
// rows of each line.
constexpr RwRows kListed[] = {
    {.direct = {.name = "pthread",
                .info = {.summary = "glibc's own reader-writer lock, passed through",
                         .source = "glibc nptl",
                         .fairness = "readers first; writers can starve",
                         .kinds = "honoured",
                         .aliases = {"glibc"},
                         .instructions = 75},
                .claims = {},
                .passed_to = {&system_rwlock, &counting_system_ops}}},
    {.direct = {.name = "pthread-wp",
                .info = {.summary = "glibc's own lock, passed through, made to prefer writers",
                         .source = "glibc nptl, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP",
                         .fairness =
                             "writers first; readers can starve, and a recursive read waits "
                             "for a waiting writer",
                         .kinds = "honoured; the default kind becomes the one that prefers writers",
                         .instructions = 88},
                .claims = {},
                .passed_to = {&writer_preferring_ops, &counting_writer_preferring_ops},
                .reads_recursively = false}},
    {.direct = {.name = "auto",
                .info = {.summary = "our choice",
                         .source = "ours; see docs/locks.md",
                         .fairness = "that lock's",
                         .kinds = "that lock's"},
                .claims = {},
                .chosen = auto_rwlock,
                .compared_by_default = true}},
// NOLINTNEXTLINE(bugprone-macro-parentheses): a class template cannot stand in parentheses.
#define RW_LOCK(name, Class, header, words) \
  rw_rows<Class, (words)>({name, "bravo-" name, "bravo-asym-" name}, rw_forms_##Class),
#include "registry/rw_list.def"
#undef RW_LOCK
};
// The row if no lock is chosen.
constexpr std::size_t kNothingChosen = 0;

constexpr RwLockInfo RwRows::*kForms[] = {&RwRows::direct, &RwRows::bravo, &RwRows::bravo_asym};
constexpr std::size_t kRows = [] {
  std::size_t n = 0;
  for (const auto form : kForms) {
    for (const RwRows& rows : kListed)
      n += (rows.*form).name != nullptr;
  }
  return n;
}();
// In this order: all locks alone, then all under BRAVO.
constexpr auto kRwLocks = [] {
  std::array<RwLockInfo, kRows> all{};
  std::size_t n = 0;
  for (const auto form : kForms) {
    for (const RwRows& rows : kListed) {
      if ((rows.*form).name != nullptr) all[n++] = rows.*form;
    }
  }
  return all;
}();

// Returns ns, which are an estimate if the program that started this one has forbidden the clock.
std::uint64_t cost_of_a_scan(const ReadersTable<Native>& table) noexcept {
  int allowed = PR_TSC_ENABLE;
  raw_syscall(SYS_prctl, PR_GET_TSC, reinterpret_cast<long>(&allowed));
  if (allowed != PR_TSC_ENABLE) return table.mask / 4;
  std::uint64_t least = ~std::uint64_t{0};
  constexpr std::uint64_t kNobody = 2;  // no lock is at this address
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t start = Native::now();
    Native::scan(table.slots, table.mask + 1, kNobody, [](std::size_t) { return true; });
    least = std::min(least, Native::now() - start);
  }
  return least;
}

bool prepare_readers_table(const Config& config) noexcept {
  using Table = ReadersTable<Native>;
  Table& table = Native::global<Table>();
  if (table.slots != nullptr) return true;
  // Whole pages, aligned to the table's size if that is more, so that it uses as few pages as
  // possible.
  const std::size_t bytes = config.bravo_slots * sizeof(Table::Slot);
  auto* p = static_cast<std::byte*>(map_pages(2 * bytes));
  if (p == nullptr) return false;
  const std::size_t skip = (bytes - reinterpret_cast<std::uintptr_t>(p) % bytes) % bytes;
  table.slots = reinterpret_cast<Table::Slot*>(p + skip);
  table.mask = config.bravo_slots - 1;
  table.guard = config.bravo_n;
  prepare_scan();
  Native::global<ScanCost>().ns = cost_of_a_scan(table);
  return true;
}

}  // namespace

static_assert(kRwLocks.size() <= kMostRwLocks);
RwLocks rwlocks() noexcept { return {kRwLocks.data(), static_cast<int>(kRwLocks.size())}; }
Waits waits() noexcept { return {kWaits.data(), static_cast<int>(kWaits.size())}; }

std::size_t footprint_of(const RwLockInfo& lock, const Config& config) noexcept {
  const RwLockInfo* used = lock.chosen == nullptr ? &lock : find_rwlock(lock.chosen(config));
  if (used == nullptr) used = &lock;  // in a list of one lock (tests/try) without that one
  return sizeof(pthread_rwlock_t) + bytes_beside(*used, config);
}

const RwLockInfo* find_rwlock(const char* name) noexcept { return row_named(kRwLocks, name); }

const RwLockInfo& rwlock_of(const Config& config) noexcept {
  const RwLockInfo* lock = config.rwlock == nullptr ? nullptr : find_rwlock(config.rwlock);
  return lock == nullptr ? kRwLocks[kNothingChosen] : *lock;
}

namespace {
const RwOps* prepare_own(const RwLockInfo& lock, const Config& config, bool count,
                         const char*& why) noexcept {
  if (!prepare_readers_table(config)) {
    why =
        "no memory for the readers table; lower LOCKSWAP_BRAVO_SLOTS, or raise the limit (ulimit "
        "-v)";
    return nullptr;
  }
  if (lock.asymmetric && !Native::prepare_heavy_fence()) {
    why = "the kernel refuses membarrier, which the asymmetric locks need; choose one without asym";
    return nullptr;
  }
  prepare_spins(config);
  Native::set_hand_off_after(std::uint64_t{config.handover_us} * 1000);
  Native::set_reader_patience(std::uint64_t{config.reader_patience_us} * 1000);
  Native::set_pretence(config.topology);
  const RwCode& code = lock.code->of[choose_wait(config.wait)][count];
  if (!code.prepare()) {
    why = "no memory for queue nodes and for locks; raise the limit (ulimit -v)";
    return nullptr;
  }
  return code.ops;
}
}  // namespace

const RwOps* prepare_further_rwlock(const RwLockInfo& lock, const Config& config,
                                    const char*& why) noexcept {
  if (lock.passes_through()) return lock.passed_to[0];
  if (lock.over_glibc) {
    why =
        "BRAVO over glibc's lock can't be used inside another lock; choose BRAVO over one of ours";
    return nullptr;
  }
  if (lock.chosen != nullptr) {
    why = "auto can't be used inside another lock; name the lock";
    return nullptr;
  }
  return prepare_own(lock, config, false, why);
}

const RwOps* prepare_rwlock_of(const RwLockInfo& named, const Config& config, bool count,
                               const char*& why) noexcept {
  const RwLockInfo* lock = &named;
  if (named.chosen != nullptr) lock = find_rwlock(named.chosen(config));
  if (lock == nullptr) __builtin_unreachable();  // every name that a choice has is in the list
  return lock->passes_through() ? lock->passed_to[count] : prepare_own(*lock, config, count, why);
}

const RwOps* prepare_rwlock(const Config& config, const char*& why) noexcept {
  const bool count = config.stats != nullptr;
  if (count && !prepare_stats()) {
    why = "no memory for the counts of LOCKSWAP_STATS; raise the limit (ulimit -v)";
    return nullptr;
  }
  return config.policy != nullptr ? prepare_policy_of_rwlocks(config, why)
                                  : prepare_rwlock_of(rwlock_of(config), config, count, why);
}

}  // namespace lockswap
