#include "variants/locks.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "ops/rw_ops.h"
#include "platform/libc_watch.h"
#include "platform/memory.h"
#include "platform/native.h"
#include "platform/processors.h"
#include "posix/rw_contract.h"
#include "readers/readers_table.h"
#include "variants/cores.h"
#include "variants/forms.h"
#include "wait/park.h"

namespace variants_bench {
namespace {

using namespace lockswap;
using namespace lockswap::variants;

// As the library's defaults.
constexpr std::uint32_t kGuard = 9;
constexpr std::uint32_t kMostPauses = 500;
constexpr std::uint64_t kPatience = 20'000'000;

// What a scan costs in which the lock isn't named: BRAVO counts that as the cost of a revocation
// that met nobody. Measured, since the forms differ in it.
template <class Lock>
std::uint64_t cost_of_a_scan() {
  if constexpr (requires(const typename Lock::Frame& frame) { Lock::has_fast_readers(frame); }) {
    static const typename Lock::Frame nobody{};
    std::uint64_t least = ~std::uint64_t{0};
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t start = Native::now();
      Lock::has_fast_readers(nobody);
      least = std::min(least, Native::now() - start);
    }
    return least;
  }
  return 0;
}

bool prepare_table(std::uint32_t slots) {
  auto* const memory = static_cast<ReadersTable<Native>::Slot*>(
      map_pages(slots * sizeof(ReadersTable<Native>::Slot)));
  if (memory == nullptr) return false;
  Native::global<ReadersTable<Native>>() = {memory, slots - 1, kGuard};
  return true;
}

template <template <class, class> class Core, class Form>
Calls prepare_line(std::uint32_t slots) {
  using W = Park<Native>;
  using Lock = typename Form::template Lock<Native, W, Core<Native, W>, CountNothing>;
  using Contract = RwContract<Native, W, Lock, CountNothing>;
  ThreadExit::prepare(&watched_by_libc);
  prepare_scan();
  Native::set_most_pauses(kMostPauses, processors_at_start(false));
  Native::set_reader_patience(kPatience);
  if (!prepare_table(slots) || !Contract::prepare()) return {};
  Native::global<ScanCost>().ns = cost_of_a_scan<Lock>();
  const RwOps& ops = RwLockOps<Contract, CountNothing>::table;
  return {ops.rdlock, ops.wrlock, ops.unlock};
}

struct Line {
  std::string_view name;
  Calls (*prepare)(std::uint32_t slots);
};
constexpr Line kLines[] = {
    {"pthread",
     [](std::uint32_t) -> Calls {
       return {pthread_rwlock_rdlock, pthread_rwlock_wrlock, pthread_rwlock_unlock};
     }},
// NOLINTNEXTLINE(bugprone-macro-parentheses): a class template can't stand in parentheses.
#define VARIANT(name, Core, Form, extent) {name, prepare_line<Core, Form>},
#include "variants/list.def"
#undef VARIANT
};

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const Line& line : kLines)
    found.emplace_back(line.name);
  return found;
}

Calls prepare(const std::string& name, std::uint32_t slots) {
  return std::ranges::find(kLines, name, &Line::name)->prepare(slots);
}

}  // namespace variants_bench
