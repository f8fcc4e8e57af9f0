#include "registry/mutexes.h"

#include <array>
#include <cstddef>
#include <iterator>

#include "config/auto.h"
#include "config/policy.h"
#include "locks/common/lock_info.h"
#include "ops/cond_ops.h"
#include "ops/counted_mutex.h"
#include "platform/native.h"
#include "platform/text.h"
#include "registry/list_words.h"
#include "registry/mutex_forms.h"
#include "registry/mutex_list_headers.h"  // written by lists.cmake
#include "registry/named_rows.h"
#include "registry/policy_ops.h"
#include "registry/prepare_spins.h"
#include "registry/waits.h"
#include "wait/park.h"

namespace lockswap {

// The code of each mutex, in its own translation unit.
#define MUTEX(name, Class, header, words) extern const MutexCodes mutex_codes_##Class;
#define MUTEX_NAME(name, Class, header, words, info)
#include "registry/mutex_list.def"
#undef MUTEX
#undef MUTEX_NAME

namespace {

constexpr MutexInfo kFirst[] = {
    {.name = "pthread",
     .info = {.summary = "glibc's own mutexes and condition variables, passed through",
              .source = "glibc nptl",
              .fairness = "whichever thread comes first after a release; a waiter may starve",
              .aliases = {"glibc"},
              .instructions = 70}},
    {.name = "auto",
     .info = {.summary = "our choice",
              .source = "ours; see docs/algorithms.md",
              .fairness = "that mutex's"},
     .chosen = auto_mutex,
     .compared_by_default = true},
};

template <template <class, class> class CoreOf>
constexpr MutexInfo row(const char* name, const MutexCodes& code, ListWords words,
                        const LockInfo& info) {
  // The same for each wait policy.
  using Core = CoreOf<Native, Park<Native>>;
  MutexInfo m{
      .name = name, .info = info, .code = &code, .compared_by_default = has(words, COMPARED)};
  if constexpr (requires { &Core::block_bytes; }) m.block_bytes = &Core::block_bytes;
  return m;
}

// NOLINTBEGIN(bugprone-macro-parentheses): a class template cannot stand in parentheses.

// One line each, after those without code of ours.
constexpr MutexInfo kListed[] = {
#define MUTEX(name, Class, header, words) \
  row<Class>(name, mutex_codes_##Class, words, Class<Native, Park<Native>>::kInfo),
#define MUTEX_NAME(name, Class, header, words, info) \
  row<Class>(name, mutex_codes_##Class, words, info),
#include "registry/mutex_list.def"
#undef MUTEX
#undef MUTEX_NAME
};
// NOLINTEND(bugprone-macro-parentheses)

constexpr auto kMutexes = [] {
  std::array<MutexInfo, std::size(kFirst) + std::size(kListed)> all{};
  std::size_t n = 0;
  for (const MutexInfo& m : kFirst)
    all[n++] = m;
  for (const MutexInfo& m : kListed) {
    all[n] = m;
    for (const MutexInfo& before : kListed) {
      if (&before == &m) break;
      if (before.code == m.code && all[n].same_code_as == nullptr)
        all[n].same_code_as = before.name;
    }
    ++n;
  }
  return all;
}();

}  // namespace

Mutexes mutexes() noexcept { return {kMutexes.data(), static_cast<int>(kMutexes.size())}; }

std::size_t footprint_of(const MutexInfo& mutex, const Config& config) noexcept {
  const MutexInfo* used = mutex.chosen == nullptr ? &mutex : find_mutex(mutex.chosen(config));
  if (used == nullptr) used = &mutex;  // in a list of one lock (tests/try) without that one
  return sizeof(pthread_mutex_t) + bytes_beside(*used, config);
}

const MutexInfo* find_mutex(const char* name) noexcept { return row_named(kMutexes, name); }

const MutexInfo* mutex_of(const Config& config) noexcept {
  return config.mutex == nullptr ? nullptr : find_mutex(config.mutex);
}

bool swaps_mutexes(const Config& config) noexcept {
  const MutexInfo* mutex = mutex_of(config);
  if (mutex != nullptr) return !mutex->passes_through();
  return config.policy != nullptr && config.policy->swaps(ObjectKind::mutex);
}

bool counts_mutexes(const Config& config) noexcept {
  return config.mutex != nullptr ||
         (config.policy != nullptr && config.policy->has_rules_of(ObjectKind::mutex));
}

bool counts_conds(const Config& config) noexcept {
  return counts_mutexes(config) || config.cond != Conds::with_mutex;
}

bool swaps_conds(const Config& config) noexcept {
  return config.cond == Conds::own || (config.cond == Conds::with_mutex && swaps_mutexes(config));
}

namespace {

// For a process in which all mutexes are glibc's.
constexpr MutexOfConds kGlibcsMutexes{
    .is_ours = [](pthread_mutex_t*) { return false; },
    .count_waiter = [](pthread_mutex_t*, bool) {},  // never called
};

const char* cannot_wait_with(const char* what, const char* value) noexcept {
  static constinit char line[256];
  Text(line, sizeof line)
      << "LOCKSWAP_COND=pthread can't be combined with " << what << value
      << ": glibc's condition variables release and acquire mutexes by glibc's own code, which "
         "would break ours; unset one of the two";
  return line;
}

}  // namespace

bool prepare_mutex(const Config& config, MutexChoice& choice, const char*& why) noexcept {
  const bool count = config.stats != nullptr;
  const MutexInfo* mutex = mutex_of(config);
  if (mutex != nullptr && mutex->chosen != nullptr) mutex = find_mutex(mutex->chosen(config));
  const bool is_ours = mutex != nullptr && mutex->code != nullptr;
  if (is_ours && config.cond == Conds::pthread) {
    why = cannot_wait_with("LOCKSWAP_MUTEX=", mutex->name);
    return false;
  }
  choice = {&system_mutex, &system_cond, &system_old_cond};
  if (is_ours || swaps_conds(config)) {
    prepare_spins(config);
    Native::set_hand_off_after(std::uint64_t{config.handover_us} * 1000);
    Native::set_pretence(config.topology);
  }
  MutexOfConds of_conds = kGlibcsMutexes;
  if (is_ours) {
    const MutexCode& code = mutex->code->of[choose_wait(config.wait)][count];
    if (!code.prepare()) {
      why = kNoQueueNodes;
      return false;
    }
    choice.mutex = code.ops;
    of_conds = code.of_conds;
  } else if (config.policy != nullptr) {
    const MutexPolicy by_policy = prepare_policy_of_mutexes(config, why);
    if (by_policy.ops == nullptr) return false;
    choice.mutex = by_policy.ops;
    if (by_policy.swaps) of_conds = by_policy.of_conds;
    if (by_policy.swaps && config.cond == Conds::pthread) {
      why = cannot_wait_with("LOCKSWAP_POLICY, which has rules with ", "mutex=");
      return false;
    }
  }
  if (swaps_conds(config)) {
    if (!prepare_conds(*choice.mutex, of_conds)) {
      why = kNoQueueNodes;
      return false;
    }
    choice.cond = &cond_ops();
    choice.old_cond = &old_cond_ops;
  }
  if (count && mutex != nullptr && !is_ours) choice.mutex = &counting_system_mutex;
  if (count && counts_conds(config)) count_conds(choice.cond, choice.old_cond);
  return true;
}

}  // namespace lockswap
