// What each set must do: by one thread, as std::set does; by several, in recorded histories.
#pragma once

#include <atomic>
#include <barrier>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "histories.h"
#include "orders.h"
#include "rlu/set.h"

namespace bench {

template <SharedSet S>
std::vector<Key> keys_of(S& set) {
  std::vector<Key> keys;
  set.for_each([&](Key key) { keys.push_back(key); });
  return keys;
}

// A set of any type, so that the checks are compiled once for all of them. The functions are those
// of set.h; those that a set lacks do nothing.
class AnySet {
 public:
  virtual ~AnySet() = default;
  virtual bool contains(Key key) = 0;
  virtual bool insert(Key key) = 0;
  virtual bool remove(Key key) = 0;
  virtual std::vector<Key> keys() = 0;
  virtual bool has_two_ways() const = 0;
  virtual bool contains_from_end(Key key) = 0;
  virtual std::vector<Key> keys_from_end() = 0;
  virtual void resize(std::size_t buckets) = 0;
  virtual void attach() = 0;
  virtual void flush() = 0;
  virtual void wait(const std::function<void()>& wait) = 0;  // of an attached thread
};

template <SharedSet S>
class SetOf final : public AnySet {
 public:
  explicit SetOf(std::size_t buckets) : set_(buckets) {}
  bool contains(Key key) override { return set_.contains(key); }
  bool insert(Key key) override { return set_.insert(key); }
  bool remove(Key key) override { return set_.remove(key); }
  std::vector<Key> keys() override { return keys_of(set_); }
  bool has_two_ways() const override { return TwoWaySet<S>; }
  bool contains_from_end(Key key) override {
    if constexpr (TwoWaySet<S>) return set_.contains_from_end(key);
    return false;
  }
  std::vector<Key> keys_from_end() override {
    std::vector<Key> keys;
    if constexpr (TwoWaySet<S>) set_.for_each_from_end([&](Key key) { keys.push_back(key); });
    return keys;
  }
  void resize(std::size_t buckets) override {
    if constexpr (ResizableSet<S>) set_.resize(buckets);
  }
  void attach() override { S::attach(); }
  void flush() override { S::flush(); }
  void wait(const std::function<void()>& wait) override { wait_in<S>(wait); }

 private:
  S set_;
};

inline void expect_set(AnySet& set, std::size_t buckets, unsigned seed) {
  std::thread([&] {
    set.attach();
    std::set<Key> model;
    std::mt19937 random(seed);
    for (int i = 0; i < 10'000; ++i) {
      const Key key = random() % 200;
      switch (random() % 3) {
        case 0:
          ASSERT_EQ(set.insert(key), model.insert(key).second) << key;
          break;
        case 1:
          ASSERT_EQ(set.remove(key), model.erase(key) == 1) << key;
          break;
        default:
          ASSERT_EQ(set.contains(key), model.contains(key)) << key;
          if (set.has_two_ways()) {
            ASSERT_EQ(set.contains_from_end(key), model.contains(key)) << key;
          }
      }
      if (i % 512 == 0) set.resize(std::size_t{1} << random() % 7);
    }
    std::vector<Key> keys = set.keys();
    if (buckets > 1) std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys, std::vector<Key>(model.begin(), model.end()));
    if (set.has_two_ways()) {
      EXPECT_EQ(set.keys_from_end(), std::vector<Key>(model.rbegin(), model.rend()));
    }
  }).join();
  set.flush();
}
template <SharedSet S>
void expect_set(std::size_t buckets, unsigned seed) {
  SetOf<S> set(buckets);
  expect_set(set, buckets, seed);
}

// `by_time`: each operation takes effect between its begin and its end. Else only each thread's own
// order is kept, until a round ends, when all is flushed.
inline void expect_history(AnySet& set, int rounds, bool by_time) {
  constexpr int kThreads = 4;
  constexpr Key kKeys = 4;
  constexpr int kOperations = 6;  // a thread, a round
  static_assert(kThreads * kOperations + 1 <= 32, "what KeyHistory takes");
  std::atomic<std::uint64_t> clock{0};
  struct Done {
    Key key;
    SetOperation operation;
  };
  std::vector<std::vector<Done>> done(kThreads);
  std::vector<bool> there(kKeys);
  std::vector<bool> now(kKeys);
  int wrong = 0;
  const auto judge = [&]() noexcept {
    for (Key key = 0; key < kKeys; ++key) {
      std::vector<SetOperation> all;
      std::vector<OfThread> threads;
      for (const auto& thread : done) {
        threads.emplace_back();
        for (const Done& d : thread) {
          if (d.key != key) continue;
          all.push_back(d.operation);
          threads.back().push_back(d.operation);
        }
      }
      const std::uint64_t end = clock.fetch_add(2);
      all.push_back({SetCall::contains, now[key], end, end + 1});
      const bool right = by_time ? KeyHistory(all).is_linearizable(there[key])
                                 : OrderedHistory(threads).is_explained(there[key], now[key]);
      if (!right) ++wrong;
      there[key] = now[key];
    }
    for (auto& thread : done)
      thread.clear();
  };
  std::barrier flushed(kThreads);
  std::barrier turn(kThreads, judge);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      set.attach();
      std::mt19937 random(static_cast<unsigned>(t) + 7);
      auto& mine = done[static_cast<std::size_t>(t)];
      for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < kOperations; ++i) {
          const Key key = random() % kKeys;
          const auto call = static_cast<SetCall>(random() % 3);
          const std::uint64_t began = clock.fetch_add(1);
          const bool result = call == SetCall::contains ? set.contains(key)
                              : call == SetCall::insert ? set.insert(key)
                                                        : set.remove(key);
          mine.push_back({key, {call, result, began, clock.fetch_add(1)}});
          if (random() % 4 == 0) std::this_thread::yield();
        }
        set.wait([&] { flushed.arrive_and_wait(); });
        if (t == 0) {
          if (!by_time) set.flush();
          for (Key key = 0; key < kKeys; ++key)
            now[key] = set.contains(key);
        }
        set.wait([&] { turn.arrive_and_wait(); });
      }
    });
  }
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(wrong, 0);
}
template <SharedSet S>
void expect_history(std::size_t buckets, int rounds, bool by_time) {
  SetOf<S> set(buckets);
  expect_history(set, rounds, by_time);
}

}  // namespace bench
