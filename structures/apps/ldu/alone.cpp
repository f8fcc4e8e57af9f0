#include "ldu/alone.h"

#include <cstdint>

#include "common/clock.h"
#include "common/random.h"
#include "common/report.h"
#include "ldu/deferred_index.h"
#include "ldu/interval_tree.h"
#include "ldu/locked_index.h"

namespace bench {
namespace {

using FileLock = RwLock<LockClass::file>;
template <Logs kLogs>
using Deferred = DeferredIndex<IntervalTree, FileLock, kLogs>;

template <class F>
double seconds_of_one(F f) {
  const double began = seconds_of(CLOCK_MONOTONIC);
  f();
  return seconds_of(CLOCK_MONOTONIC) - began;
}
template <class Index>
std::vector<typename Index::Mapping*> make(std::size_t objects, std::uint32_t apart) {
  std::vector<typename Index::Mapping*> all;
  for (std::size_t i = 0; i < objects; ++i) {
    const auto page = static_cast<std::uint32_t>(i) * apart;
    all.push_back(new typename Index::Mapping);
    all.back()->pages = {page, page};
  }
  return all;
}

template <Logs kLogs>
LateRead late_read(std::size_t updates) {
  using Index = Deferred<kLogs>;
  typename Index::Shared logs;
  Index index(logs);
  index.set_limit(1U << 30);
  typename Index::Hand hand(logs);
  const auto look = [&] { return 1e6 * seconds_of_one([&] { keep(index.walk(hand, 1)); }); };
  LateRead found;
  const auto there = make<Index>(updates, 0);
  for (auto* m : there)
    index.insert(hand, *m);
  found.inserts = look();
  for (auto* m : there)
    index.retire(hand, *m);
  look();
  for (auto* m : make<Index>(updates, 0)) {
    index.insert(hand, *m);
    index.retire(hand, *m);
  }
  found.absorbed = look();
  return found;
}

template <class Index>
double insert(std::size_t objects) {
  typename Index::Shared shared;
  double seconds = 0;
  {
    Index index(shared);
    typename Index::Hand hand(shared);
    const auto there = make<Index>(objects, 1);
    std::uint64_t found = 0;
    seconds = seconds_of_one([&] {
      for (auto* m : there)
        index.insert(hand, *m);
      found = index.walk(hand, static_cast<std::uint32_t>(objects) - 1);
    });
    if (found != 1) wrong_result("a look does not find what was inserted last");
    for (auto* m : there)
      index.retire(hand, *m);
    if (index.walk(hand, 0) != 0) wrong_result("a mapping is left");
  }
  Index::flush(shared);
  return seconds;
}

}  // namespace

std::vector<LateKind> late_kinds() {
  return {{"pldu", late_read<Logs::of_threads>}, {"gldu", late_read<Logs::own>}};
}
std::vector<BatchKind> batch_kinds() {
  return {{"pldu", insert<Deferred<Logs::of_threads>>},
          {"gldu", insert<Deferred<Logs::own>>},
          {"stamped", insert<Deferred<Logs::stamped>>},
          {"rwlock", insert<LockedIndex<IntervalTree, FileLock>>},
          {"mutex", insert<LockedIndex<IntervalTree, Mutex<LockClass::file>>>}};
}

}  // namespace bench
