// What each set must do: by one thread, as std::set does; by several, in recorded histories.
#pragma once

#include <atomic>
#include <barrier>
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

template <SharedSet S>
void expect_set(std::size_t buckets, unsigned seed) {
  S set(buckets);
  std::thread([&] {
    S::attach();
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
          if constexpr (TwoWaySet<S>) {
            ASSERT_EQ(set.contains_from_end(key), model.contains(key)) << key;
          }
      }
      if constexpr (ResizableSet<S>) {
        if (i % 512 == 0) set.resize(std::size_t{1} << random() % 7);
      }
    }
    std::vector<Key> keys = keys_of(set);
    if (buckets > 1) std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys, std::vector<Key>(model.begin(), model.end()));
    if constexpr (TwoWaySet<S>) {
      std::vector<Key> back;
      set.for_each_from_end([&](Key key) { back.push_back(key); });
      EXPECT_EQ(back, std::vector<Key>(model.rbegin(), model.rend()));
    }
  }).join();
  S::flush();
}

// `by_time`: each operation takes effect between its begin and its end. Else only each thread's own
// order is kept, until a round ends, when all is flushed.
template <SharedSet S>
void expect_history(std::size_t buckets, int rounds, bool by_time) {
  constexpr int kThreads = 4;
  constexpr Key kKeys = 4;
  constexpr int kOperations = 6;  // a thread, a round
  static_assert(kThreads * kOperations + 1 <= 32, "what KeyHistory takes");
  S set(buckets);
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
      S::attach();
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
        wait_in<S>([&] { flushed.arrive_and_wait(); });
        if (t == 0) {
          if (!by_time) S::flush();
          for (Key key = 0; key < kKeys; ++key)
            now[key] = set.contains(key);
        }
        wait_in<S>([&] { turn.arrive_and_wait(); });
      }
    });
  }
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace bench
