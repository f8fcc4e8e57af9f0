// Kyoto Cabinet's map under one reader-writer lock: look-ups hold it together, and changes alone.
#pragma once

#include <cstdint>
#include <kcmap.h>
#include <vector>

#include "common/back_to_back.h"
#include "peer.h"

namespace peers {

// Keys from 0 to twice the number of entries, of which about half are there. Not thread-safe, but
// several threads may look up keys together: Kyoto Cabinet changes nothing then.
class KyotoMap {
 public:
  explicit KyotoMap(std::uint32_t entries) : keys_(2 * entries), map_(keys_) {
    for (std::uint32_t key = 0; key < keys_; key += 2)
      put(key);
  }

  std::uint32_t keys() const noexcept { return keys_; }

  // Returns false if a value is found that doesn't belong to the key.
  bool look_up(std::uint32_t key) {
    const std::uint32_t* const value = map_.get(key, Map::MCURRENT);
    return value == nullptr || *value == value_of(key);
  }
  // Removes the key if it is there, and inserts it if not.
  void change(std::uint32_t key) {
    if (!map_.remove(key)) put(key);
  }

  // Whether each entry of its list is found by its key.
  bool is_sound() {
    std::size_t entries = 0;
    for (auto at = map_.begin(); at != map_.end(); ++at, ++entries)
      if (at.key() >= keys_ || at.value() != value_of(at.key()) ||
          map_.get(at.key(), Map::MCURRENT) != &at.value())
        return false;
    return entries == map_.count();
  }

 private:
  using Map = kyotocabinet::LinkedHashMap<std::uint32_t, std::uint32_t>;

  static std::uint32_t value_of(std::uint32_t key) noexcept { return ~key; }
  void put(std::uint32_t key) { map_.set(key, value_of(key), Map::MLAST); }

  std::uint32_t keys_;
  Map map_;
};

template <bench::SharedLockable Lock>
class alignas(128) MapUser {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  MapUser(bench::GuardedBy<Lock>& guarded, KyotoMap& map, int number, const Task& task)
      : guarded_(guarded),
        map_(map),
        seat_(guarded.lock),
        write_share_(bench::share_of_32_bits(task.writes)),
        random_(static_cast<unsigned>(number) + 1),
        labour_(task.steps, number) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>& stop) {
    constexpr int kBatch = 32;
    for (int i = 0; i < kBatch && !bench::ends_early<Lock>(stop); ++i) {
      const std::uint32_t key = random_.below(map_.keys());
      if (random_.with_share(write_share_)) {
        guarded_.alone(watch, *seat_, [&] { map_.change(key); });
        ++writes;
      } else {
        guarded_.together(watch, *seat_, [&] {
          if (!map_.look_up(key)) bench::wrong_result("a key of the map has another one's value");
        });
        ++reads;
      }
      labour_.outside();
    }
  }

 private:
  bench::GuardedBy<Lock>& guarded_;
  KyotoMap& map_;
  bench::Seated<Lock> seat_;
  std::uint64_t write_share_;
  bench::Random random_;
  bench::Labour labour_;
};

template <bench::SharedLockable Lock>
void map(const Task& task) {
  static bench::GuardedBy<Lock> guarded;
  KyotoMap shared(static_cast<std::uint32_t>(task.entries));
  std::vector<MapUser<Lock>> workers;
  for (int i = 0; i < task.plan.threads; ++i)
    workers.emplace_back(guarded, shared, i, task);
  bench::run_and_print(task.plan, workers);
  guarded.check_writes(bench::writes_of(workers));
  if (!shared.is_sound()) bench::wrong_result("the map's table and its list differ");
}

}  // namespace peers
