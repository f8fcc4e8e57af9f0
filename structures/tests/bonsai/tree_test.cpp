// The Bonsai tree by one thread: a map, in balance, with the garbage that it should have.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include "lockswap/bonsai.hpp"

namespace {

using lockswap::copies;
using Domain = lockswap::quiescence<>;

// The machine, whose memory may run out.
struct PoorMachine : lockswap::real_machine {
  static inline long left = -1;  // pieces; -1: as many as there are
  static inline long in_use = 0;
  template <class T>
  static void* take() {
    if (left == 0) throw std::bad_alloc();
    if (left > 0) --left;
    ++in_use;
    return lockswap::real_machine::take<T>();
  }
  template <class T>
  static void give(void* p) noexcept {
    --in_use;
    lockswap::real_machine::give<T>(p);
  }
};

template <copies kCopies>
using MapOf = lockswap::bonsai_map<std::uint32_t, std::uint32_t, Domain, kCopies>;
template <copies kCopies>
using PoorMapOf = lockswap::bonsai_map<std::uint32_t, std::uint32_t, Domain, kCopies,
                                       std::less<std::uint32_t>, PoorMachine>;

template <class M>
concept LooksInOrder = requires(const M& m, Domain::reader& r, std::uint32_t key) {
  m.floor(r, key);
  m.ceiling(r, key);
  m.snapshot_for(r);
};
// In place, floor(10) of {5, 6, 20} could stand on 5 while 5 and 6 go, and answer 5.
static_assert(LooksInOrder<MapOf<copies::path>>);
static_assert(!LooksInOrder<MapOf<copies::rotations>>);

template <class Kind>
class BonsaiTest : public testing::Test {};
using Kinds = testing::Types<std::integral_constant<copies, copies::path>,
                             std::integral_constant<copies, copies::rotations>>;
TYPED_TEST_SUITE(BonsaiTest, Kinds);

template <class Map>
void expect_same(const Map& map, const std::map<std::uint32_t, std::uint32_t>& model) {
  auto at = model.begin();
  for (const auto& e : map.exclusive()) {
    ASSERT_NE(at, model.end());
    ASSERT_EQ(e.key, at->first);
    ASSERT_EQ(e.value, at->second);
    ++at;
  }
  ASSERT_EQ(at, model.end());
}
template <class Map>
int height_of(const Map& map) {
  int height = -1;
  EXPECT_TRUE(map.is_whole(height)) << "out of order, or out of balance";
  // 2.41: log 2 / log (4/3), rounded up.
  EXPECT_LE(height, 2.41 * std::log2(static_cast<double>(map.size() + 1)));
  return height;
}

TYPED_TEST(BonsaiTest, IsAMap) {
  for (const std::uint32_t keys : {8u, 300u, 5000u}) {
    Domain domain;
    Domain::reader me(domain);
    MapOf<TypeParam::value> map(domain);
    map.set_batch(keys == 8 ? 1 : 100);
    std::map<std::uint32_t, std::uint32_t> model;
    std::mt19937 random(keys);
    for (std::uint32_t i = 0; i < 40'000; ++i) {
      const std::uint32_t key = random() % keys;
      const bool grows = i / (2 * keys) % 2 == 0;
      const auto what = random() % 8;
      if (what == 0) {
        ASSERT_EQ(map.insert_or_assign(key, i), !model.contains(key));
        model[key] = i;
      } else if ((what < 6) == grows) {
        ASSERT_EQ(map.insert(key, i), model.emplace(key, i).second);
      } else {
        ASSERT_EQ(map.erase(key), model.erase(key) == 1);
      }
      ASSERT_EQ(map.size(), model.size());
      if (keys == 8 || i % 64 == 0) height_of(map);
      const std::uint32_t at = random() % keys;
      const auto found = map.find(me, at);
      ASSERT_EQ(found.has_value(), model.contains(at));
      if (found) {
        ASSERT_EQ(found->value, model[at]);
      }
      const auto view = map.exclusive();
      const auto above = model.lower_bound(at);
      const auto ceiling = view.ceiling(at);
      ASSERT_EQ(ceiling.has_value(), above != model.end());
      if (ceiling) {
        ASSERT_EQ(ceiling->key, above->first);
      }
      const auto beyond = model.upper_bound(at);
      const auto floor = view.floor(at);
      ASSERT_EQ(floor.has_value(), beyond != model.begin());
      if (floor) {
        ASSERT_EQ(floor->key, std::prev(beyond)->first);
      }
      if (i % 500 == 0) {
        expect_same(map, model);
        auto next = above;
        for (auto it = view.from(at); it != view.end(); ++it, ++next)
          ASSERT_EQ((*it).key, next->first);
        ASSERT_EQ(next, model.end());
      }
    }
  }
}

TYPED_TEST(BonsaiTest, IsLowInWhateverOrderKeysComeAndGo) {
  constexpr std::uint32_t kKeys = 20'000;
  Domain domain;
  MapOf<TypeParam::value> up(domain);
  MapOf<TypeParam::value> down(domain);
  MapOf<TypeParam::value> inwards(domain);
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    up.insert(i, 0);
    down.insert(kKeys - i, 0);
    inwards.insert(i % 2 == 0 ? i : 2 * kKeys - i, 0);
    if (i == 499) {
      EXPECT_LT(height_of(up), 16) << "figure 6 as printed makes it 500";
    }
  }
  for (const auto* map : {&up, &down, &inwards})
    EXPECT_LT(height_of(*map), 26);
  for (std::uint32_t i = 0; i < kKeys - 100; ++i) {  // one side goes
    ASSERT_TRUE(up.erase(i));
    if (i % 500 == 0) height_of(up);
  }
  EXPECT_LT(height_of(up), 13);
}

// All trees of few nodes, and all that an update can make of them.
TYPED_TEST(BonsaiTest, StaysInBalanceAfterEachUpdateOfEachSmallTree) {
  std::vector<std::uint32_t> order{1, 2, 3, 4, 5, 6, 7};
  do {
    Domain domain;
    MapOf<TypeParam::value> map(domain);
    for (const std::uint32_t key : order) {
      ASSERT_TRUE(map.insert(key, key));
      int height = 0;
      ASSERT_TRUE(map.is_whole(height));
    }
    for (const std::uint32_t key : {order[3], order[0], order[6], order[2], order[1]}) {
      ASSERT_TRUE(map.erase(key));
      int height = 0;
      ASSERT_TRUE(map.is_whole(height));
    }
  } while (std::ranges::next_permutation(order).found);
}

// The proof of bonsai/update.hpp for small weights, by counting: whatever made a side too heavy by
// one update, one rotation makes three subtrees that are in balance.
TEST(BonsaiBalance, IsRestoredByOneRotation) {
  constexpr auto kDelta = lockswap::bonsai::kDelta;
  constexpr auto kGamma = lockswap::bonsai::kGamma;
  const auto balanced = [](std::uint64_t a, std::uint64_t b) {
    return a <= kDelta * b && b <= kDelta * a;
  };
  std::uint64_t singles = 0;
  std::uint64_t doubles = 0;
  for (std::uint64_t light = 1; light <= 60; ++light) {
    for (std::uint64_t heavy = kDelta * light + 1; heavy <= kDelta * (light + 1); ++heavy) {
      for (std::uint64_t inner = 1; inner < heavy; ++inner) {
        const std::uint64_t outer = heavy - inner;
        if (!balanced(inner, outer)) continue;
        if (inner < kGamma * outer) {
          ++singles;
          ASSERT_TRUE(balanced(light, inner) && balanced(light + inner, outer));
          continue;
        }
        for (std::uint64_t near = 1; near < inner; ++near) {
          if (!balanced(near, inner - near)) continue;
          ++doubles;
          ASSERT_TRUE(balanced(light, near) && balanced(inner - near, outer));
          ASSERT_TRUE(balanced(light + near, inner - near + outer));
        }
      }
    }
  }
  EXPECT_GT(singles, 1000u);
  EXPECT_GT(doubles, 1000u);
}

TYPED_TEST(BonsaiTest, CountsItsGarbage) {
  Domain domain;
  MapOf<TypeParam::value> map(domain);
  // 1 2 3 in a row; 4 makes the root turn.
  for (const std::uint32_t key : {1, 2, 3})
    map.insert(key, 0);
  const auto before = map.counts();
  map.insert(4, 0);
  const auto after = map.counts();
  EXPECT_EQ(after.updates, before.updates + 1);
  EXPECT_EQ(after.single_rotations, before.single_rotations + 1);
  EXPECT_EQ(after.double_rotations, before.double_rotations);
  // The way to the new node, or the two that turned.
  EXPECT_EQ(after.garbage - before.garbage, TypeParam::value == copies::path ? 3 : 2);
  map.insert(5, 0);  // 2 3 4 are on the way; nothing turns
  EXPECT_EQ(map.counts().garbage - after.garbage, TypeParam::value == copies::path ? 3 : 0);
}

TYPED_TEST(BonsaiTest, GarbageWaitsForAReaderAndNoLonger) {
  Domain domain;
  MapOf<TypeParam::value> map(domain);
  map.set_batch(10);
  for (std::uint32_t i = 0; i < 100; ++i)
    map.insert(i, 0);
  map.synchronize();
  Domain::reader sleeper(domain);
  {
    const Domain::section asleep(sleeper);
    const auto before = map.counts();
    for (std::uint32_t i = 0; i < 1000; ++i)
      map.insert_or_assign(i % 100, i);
    // What was taken out since, but for what was closed when the reader came.
    EXPECT_EQ(map.counts().waiting, map.counts().garbage - before.garbage);
    map.reclaim();
    EXPECT_GE(map.counts().waiting, 1000u);
  }
  map.synchronize();
  EXPECT_EQ(map.counts().waiting, 0u);
  // Without a reader it stays with the batch.
  for (std::uint32_t i = 0; i < 1000; ++i)
    map.insert_or_assign(i % 100, i);
  EXPECT_LT(map.counts().waiting, 100u);
}

// With a limit an update waits for a reader, and no longer than it has to.
TYPED_TEST(BonsaiTest, WithALimitUpdatesWaitForReaders) {
  Domain domain;
  MapOf<TypeParam::value> map(domain);
  map.set_garbage_limit(10);
  std::atomic<bool> is_in{false}, has_left{false};
  std::thread other([&] {
    Domain::reader me(domain);
    const Domain::section inside(me);
    is_in = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    has_left = true;
  });
  while (!is_in)
    std::this_thread::yield();
  for (std::uint32_t i = 0; i < 1000; ++i) {
    map.insert(i, i);
    if (i % 2 == 0) map.erase(i);
    ASSERT_LE(map.counts().waiting, 10u);
  }
  EXPECT_TRUE(has_left) << "more than ten nodes were left behind, so an update must have waited";
  other.join();
}

// A lookup with full path copying stays in the tree of one moment, whatever an updater does
// meanwhile: it compares no more keys than such a tree is high, and one. In place there is no such
// bound: a reader can follow rotations for as long as there are any.
struct Counting {
  static inline thread_local int compared = 0;
  bool operator()(std::uint32_t a, std::uint32_t b) const {
    ++compared;
    return a < b;
  }
};
TEST(BonsaiSteps, OfALookupAreBoundedWithFullPathCopying) {
  constexpr std::uint32_t kKeys = 1000;
  Domain domain;
  lockswap::bonsai_map<std::uint32_t, std::uint32_t, Domain, copies::path, Counting> map(domain);
  std::atomic<bool> stop{false};
  std::atomic<int> updates{0};
  std::thread writer([&] {
    std::mt19937 random(7);
    while (!stop) {
      map.insert(random() % kKeys, 0);
      map.erase(random() % kKeys);
      ++updates;
    }
  });
  Domain::reader me(domain);
  const int most = 2 * (decltype(map)::height_bound(kKeys) + 1);  // both ways, at each node
  int longest = 0;
  std::mt19937 random(8);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  // On a busy machine the updater may come late.
  while (std::chrono::steady_clock::now() < until || updates < 1000 || longest <= 4) {
    Counting::compared = 0;
    (void)map.floor(me, random() % kKeys);
    longest = std::max(longest, Counting::compared);
  }
  stop = true;
  writer.join();
  EXPECT_LE(longest, most);
}

TYPED_TEST(BonsaiTest, MemoryThatRunsOutChangesNothing) {
  {
    Domain domain;
    PoorMapOf<TypeParam::value> map(domain);
    std::map<std::uint32_t, std::uint32_t> model;
    std::mt19937 random(5);
    int refused = 0;
    int erased = 0;
    for (std::uint32_t i = 0; i < 3000; ++i) {
      const std::uint32_t key = random() % 500;
      PoorMachine::left = static_cast<long>(random() % 3);
      try {
        if (random() % 3 != 0) {
          map.insert(key, i);
          model.emplace(key, i);
        } else {
          PoorMachine::left = 0;  // an erasure needs no memory that it may not get
          const bool there = model.erase(key) == 1;
          EXPECT_EQ(map.erase(key), there);
          erased += there ? 1 : 0;
        }
      } catch (const std::bad_alloc&) {
        ++refused;
      }
      PoorMachine::left = -1;
      height_of(map);
      if (i % 50 == 0) expect_same(map, model);
    }
    EXPECT_GT(refused, 10);
    EXPECT_GT(erased, 100);
    EXPECT_GT(model.size(), 100u);
  }
  EXPECT_EQ(PoorMachine::in_use, 0) << "nodes were lost";
}

TYPED_TEST(BonsaiTest, IsEmptiedWithoutMemory) {
  {
    Domain domain;
    PoorMapOf<TypeParam::value> map(domain);
    for (std::uint32_t i = 0; i < 2000; ++i)
      map.insert(i * 7919 % 2000, i);
    PoorMachine::left = 0;
    for (std::uint32_t i = 0; i < 2000; ++i)
      ASSERT_TRUE(map.erase(i)) << i;
    PoorMachine::left = -1;
    EXPECT_TRUE(map.empty());
  }
  EXPECT_EQ(PoorMachine::in_use, 0) << "nodes were lost";
}

TYPED_TEST(BonsaiTest, OrdersByWhatItsComparisonSays) {
  struct Order {
    std::uint32_t flip;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return (a ^ flip) < (b ^ flip); }
  };
  Domain domain;
  Domain::reader me(domain);
  lockswap::bonsai_map<std::uint32_t, std::uint32_t, Domain, TypeParam::value, Order> map(domain,
                                                                                          Order{7});
  for (std::uint32_t i = 0; i < 8; ++i)
    map.insert(i, i);
  std::uint32_t next = 7;
  for (const auto& e : map.exclusive())
    EXPECT_EQ(e.key, next--);
  EXPECT_EQ(map.find(me, 3)->value, 3u);
  EXPECT_TRUE(map.erase(3));
  EXPECT_FALSE(map.find(me, 3).has_value());
}

TYPED_TEST(BonsaiTest, TellsItsSizeToAnyThread) {
  Domain domain;
  MapOf<TypeParam::value> map(domain);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread reads([&] {
    while (!stop)
      wrong += map.size() <= 100 ? 0 : 1;
  });
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    if (i / 100 % 2 == 0) {
      map.insert(i % 100, i);
    } else {
      map.erase(i % 100);
    }
  }
  stop = true;
  reads.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(map.size(), 0u);
}

// A thread that waits for a reader that sleeps uses hardly any of a processor.
TEST(Quiescence, OfReadersThatHaveEndedNothingIsKept) {
  using Counted = lockswap::quiescence<PoorMachine>;
  const long before = PoorMachine::in_use;
  {
    Counted domain;
    Counted::reader stays(domain);
    auto period = domain.close();
    {
      std::vector<std::unique_ptr<Counted::reader>> crowd;
      for (int i = 0; i < 2000; ++i)
        crowd.push_back(std::make_unique<Counted::reader>(domain));
      const std::scoped_lock region(*crowd[1000]);
      period = domain.close();
      EXPECT_FALSE(domain.is_over(period));
      EXPECT_EQ(PoorMachine::in_use, before + 2001);
    }
    // It was at one that is gone.
    EXPECT_TRUE(domain.is_over(period));
    EXPECT_EQ(PoorMachine::in_use, before + 1);
  }
  EXPECT_EQ(PoorMachine::in_use, before);
}

TEST(Quiescence, AReaderIsALockForTheStandardsGuards) {
  Domain domain;
  Domain::reader me(domain);
  auto period = domain.close();
  {
    const std::scoped_lock outer(me);
    period = domain.close();
    {
      const std::unique_lock inner(me);
      EXPECT_FALSE(domain.is_over(period));
    }
    EXPECT_FALSE(domain.is_over(period));
  }
  EXPECT_TRUE(domain.is_over(period));
  lockswap::rcu_synchronize(domain);
}

TEST(Quiescence, ReadersComeAndGoBesidePeriods) {
  Domain domain;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  std::atomic<int*> shared{new int(1)};
  std::atomic<int> wrong{0};
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        Domain::reader me(domain);
        const Domain::section inside(me);
        if (*shared.load(std::memory_order_acquire) != 1) ++wrong;
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    int* const gone = shared.exchange(new int(1), std::memory_order_acq_rel);
    lockswap::rcu_synchronize(domain);
    *gone = 0;
    delete gone;
  }
  stop = true;
  for (auto& t : threads)
    t.join();
  delete shared.load();
  EXPECT_EQ(wrong, 0);
}

TEST(Quiescence, AWaitSleeps) {
  Domain domain;
  std::atomic<bool> in{false};
  std::thread sleeps([&] {
    Domain::reader me(domain);
    const Domain::section inside(me);
    in = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  });
  while (!in)
    std::this_thread::yield();
  const auto seconds = [](clockid_t clock) {
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  auto period = domain.close();
  const double before = seconds(CLOCK_THREAD_CPUTIME_ID), begin = seconds(CLOCK_MONOTONIC);
  domain.wait(period);
  // On a busy machine the reader stays for longer.
  EXPECT_LT(seconds(CLOCK_THREAD_CPUTIME_ID) - before,
            0.03 + 0.1 * (seconds(CLOCK_MONOTONIC) - begin));
  sleeps.join();
}

}  // namespace
