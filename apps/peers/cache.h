// A cache of a fixed size under one lock: a hash table, and a list in the order of use. A hit moves
// its entry to the front, so that even a look-up changes the list, as in many caches of programs.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "common/back_to_back.h"
#include "peer.h"

namespace peers {

// Not thread-safe.
class LruCache {
 public:
  explicit LruCache(std::uint32_t entries) : table_(entries) {
    for (std::uint32_t key = 0; key < entries; ++key) {
      order_.push_front(key);
      table_[key] = order_.begin();
    }
  }

  // Returns whether the key was there. Now it is, as the most recently used one; in a full cache
  // the least recently used one has made room for it. Allocates nothing.
  bool touch(std::uint32_t key) {
    const auto found = table_.find(key);
    if (found != table_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return true;
    }
    const auto last = std::prev(order_.end());
    auto entry = table_.extract(*last);
    *last = key;
    entry.key() = key;
    table_.insert(std::move(entry));
    order_.splice(order_.begin(), order_, last);
    return false;
  }

  // Whether table and list have the same keys.
  bool is_sound() const {
    if (table_.size() != order_.size()) return false;
    for (auto at = order_.begin(); at != order_.end(); ++at) {
      const auto found = table_.find(*at);
      if (found == table_.end() || found->second != at) return false;
    }
    return true;
  }

 private:
  using Order = std::list<std::uint32_t>;
  Order order_;
  std::unordered_map<std::uint32_t, Order::iterator> table_;
};

template <bench::Lockable Lock>
class alignas(128) CacheUser {
 public:
  std::uint64_t reads = 0;  // none: each look-up changes the list
  std::uint64_t writes = 0;

  CacheUser(bench::GuardedBy<Lock>& guarded, LruCache& cache, int number, const Task& task)
      : guarded_(guarded),
        cache_(cache),
        seat_(guarded.lock),
        keys_(2 * static_cast<std::uint32_t>(task.entries)),
        random_(static_cast<unsigned>(number) + 1),
        labour_(task.steps, number) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>& stop) {
    constexpr int kBatch = 32;
    for (int i = 0; i < kBatch && !bench::ends_early<Lock>(stop); ++i) {
      // Small keys are asked for more often.
      const std::uint32_t key = random_.below(random_.below(keys_) + 1);
      guarded_.alone(watch, *seat_, [&] { bench::keep(cache_.touch(key)); });
      ++writes;
      labour_.outside();
    }
  }

 private:
  bench::GuardedBy<Lock>& guarded_;
  LruCache& cache_;
  bench::Seated<Lock> seat_;
  std::uint32_t keys_;
  bench::Random random_;
  bench::Labour labour_;
};

template <bench::Lockable Lock>
void cache(const Task& task) {
  static bench::GuardedBy<Lock> guarded;
  LruCache shared(static_cast<std::uint32_t>(task.entries));
  std::vector<CacheUser<Lock>> workers;
  for (int i = 0; i < task.plan.threads; ++i)
    workers.emplace_back(guarded, shared, i, task);
  bench::run_and_print(task.plan, workers);
  guarded.check_writes(bench::writes_of(workers));
  if (!shared.is_sound()) bench::wrong_result("the cache's table and its list differ");
}

}  // namespace peers
