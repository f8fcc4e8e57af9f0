// Deferred updates by few threads: what readers see, what is absorbed, threads that come and
// go, structures that end, forks.
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <shared_mutex>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "lockswap/ldu.hpp"
#include "lockswap/ldu_stamped.hpp"

namespace {

struct Narrow : lockswap::ldu_machine {
  static constexpr std::size_t kThreads = 3;
  static constexpr std::size_t kSlots = 2;
};

template <class P>
struct Objects {
  struct object {
    int number = 0;
    lockswap::basic_ldu_hook<P> hook{};
  };
  static lockswap::basic_ldu_hook<P>& hook(object& o) { return o.hook; }
  void insert(object& o) {
    ++changes;
    if (!there.insert(o.number).second) ++wrong;
  }
  void remove(object& o) {
    ++changes;
    if (there.erase(o.number) == 0) ++wrong;
  }
  void free(object& o) {
    if (there.contains(o.number)) ++wrong;
    freed.push_back(o.number);
    if (on_free != nullptr) on_free(o);
  }
  std::set<int> there;
  std::vector<int> freed;
  int changes = 0;
  int wrong = 0;
  void (*on_free)(object&) = nullptr;
};

template <class P, class Lock = std::shared_mutex>
struct Fixture {
  using Structure = Objects<P>;
  using Logs = lockswap::basic_ldu_logs<P>;
  using Set = lockswap::ldu<Structure, Lock, P>;
  using Object = typename Structure::object;

  static std::set<int> all(auto& set) {
    return set.read([](const Structure& s) {
      EXPECT_EQ(s.wrong, 0);
      return s.there;
    });
  }
  static int changes(auto& set) {
    return set.read([](const Structure& s) { return s.changes; });
  }
};

using Wide = Fixture<lockswap::ldu_machine>;
using Tight = Fixture<Narrow>;

TEST(Ldu, AReaderSeesWhatWasFinished) {
  Wide::Logs logs;
  Wide::Set set(logs);
  Wide::Logs::thread me(logs);
  std::vector<Wide::Object> o(5);
  for (int i = 0; i < 5; ++i)
    o[i].number = i;
  EXPECT_EQ(Wide::all(set), std::set<int>{});
  set.insert(me, o[1]);
  set.insert(me, o[2]);
  set.insert(o[3]);  // the structure's own log
  EXPECT_EQ(Wide::all(set), (std::set{1, 2, 3}));
  set.remove(me, o[2]);
  set.remove(o[1]);
  EXPECT_EQ(Wide::all(set), (std::set{3}));
  set.remove(me, o[3]);
  set.exclusive([](auto& s) { EXPECT_TRUE(s.there.empty()); });
}

TEST(Ldu, OppositesTakeEachOtherBack) {
  Wide::Logs logs;
  Wide::Set set(logs);
  Wide::Logs::thread me(logs);
  Wide::Object a{1}, b{2};
  for (int i = 0; i < 100; ++i) {
    set.insert(me, a);
    set.remove(me, a);
  }
  EXPECT_EQ(Wide::changes(set), 0);
  set.insert(me, b);
  Wide::all(set);
  for (int i = 0; i < 99; ++i) {  // removed at last
    set.remove(me, b);
    if (i != 98) set.insert(me, b);
  }
  EXPECT_EQ(Wide::changes(set), 2);
  EXPECT_EQ(me.counts().updates, 200U + 1 + 197);
  EXPECT_EQ(me.counts().absorbed, 100U + 98);
  EXPECT_EQ(me.counts().logged, 3U);
}

// An insert in one thread, the remove in another one.
TEST(Ldu, AnObjectMayChangeItsThread) {
  Wide::Logs logs;
  Wide::Set set(logs);
  Wide::Logs::thread me(logs);
  Wide::Object a{1};
  for (int round = 0; round < 20; ++round) {
    set.insert(me, a);
    if (round % 3 == 0) Wide::all(set);
    std::thread([&] {
      Wide::Logs::thread other(logs);
      set.remove(other, a);
    }).join();
    if (round % 2 == 0) {
      EXPECT_EQ(Wide::all(set), std::set<int>{});
    }
  }
}

TEST(Ldu, WhatIsRetiredIsFreedOnce) {
  Wide::Logs logs;
  Wide::Set set(logs);
  Wide::Logs::thread me(logs);
  std::vector<Wide::Object> o(4);
  for (int i = 0; i < 4; ++i)
    o[i].number = i;
  set.insert(me, o[0]);
  set.retire(me, o[0]);  // never was in it
  set.insert(me, o[1]);
  Wide::all(set);
  set.retire(me, o[1]);  // was in it
  set.insert(me, o[2]);
  set.remove(me, o[2]);
  set.free(me, o[2]);  // is in a log
  set.free(me, o[3]);  // is nowhere
  const auto freed = set.read([](const auto& s) { return s.freed; });
  EXPECT_EQ(std::multiset<int>(freed.begin(), freed.end()), (std::multiset{0, 1, 2, 3}));
}

// A lock that can be kept from elsewhere, and says how often a thread had to wait for it.
struct KeptLock {
  static inline bool is_kept = false;
  static inline int waits = 0;
  void lock() { waits += is_kept ? 1 : 0; }
  bool try_lock() { return !is_kept; }  // NOLINT: as the standard's locks
  void unlock() {}
};

TEST(Ldu, AFullLogIsAppliedAtOnceOrAtTwiceItsLimit) {
  using F = Fixture<lockswap::ldu_machine, KeptLock>;
  F::Logs logs;
  F::Set set(logs);
  set.set_limit(10);
  F::Logs::thread me(logs);
  std::vector<F::Object> o(200);
  for (int i = 0; i < 200; ++i)
    o[i].number = i;
  int changes = 0;
  const auto look = [&] {  // without an application
    set.exclusive([&](auto& s) { changes = s.changes; });
  };
  KeptLock::is_kept = true;
  KeptLock::waits = 0;
  for (int i = 0; i < 19; ++i)
    set.insert(me, o[i]);
  EXPECT_EQ(KeptLock::waits, 0);
  set.insert(me, o[19]);
  EXPECT_EQ(KeptLock::waits, 1);
  for (int i = 20; i < 39; ++i)
    set.insert(me, o[i]);
  EXPECT_EQ(KeptLock::waits, 1);
  KeptLock::waits = 0;
  for (int i = 100; i < 119; ++i)
    set.insert(o[i]);
  EXPECT_EQ(KeptLock::waits, 0);
  set.insert(o[119]);
  EXPECT_EQ(KeptLock::waits, 1);
  KeptLock::is_kept = false;
  look();
  EXPECT_EQ(changes, 59);
}

// Two slots and three structures: one slot is shared.
TEST(Ldu, StructuresShareASlot) {
  Tight::Logs logs;
  std::optional<Tight::Set> a, b, c;
  a.emplace(logs);
  b.emplace(logs);
  c.emplace(logs);
  Tight::Logs::thread me(logs);
  std::vector<Tight::Object> o(30);
  for (int i = 0; i < 30; ++i) {
    o[i].number = i;
    auto& set = i % 3 == 0 ? *a : i % 3 == 1 ? *b : *c;
    set.insert(me, o[i]);
  }
  EXPECT_EQ(Tight::all(*c).size(), 10U);
  EXPECT_EQ(Tight::all(*b).size(), 10U);
  c->remove(me, o[2]);
  a.reset();  // its log stands in a slot that has had c's
  EXPECT_EQ(Tight::all(*c).size(), 9U);
  c->remove(me, o[5]);
  c.reset();
  a.emplace(logs);
  a->insert(me, o[0]);
  EXPECT_EQ(Tight::all(*a).size(), 1U);
}

// The slot's structure is being read when its thread needs the slot: that update goes elsewhere.
TEST(Ldu, ASlotWhoseStructureIsReadIsLeftAlone) {
  Tight::Logs logs;
  Tight::Set a(logs), b(logs), c(logs);  // a and c share
  Tight::Logs::thread me(logs);
  Tight::Object x{1}, y{2};
  a.insert(me, x);
  a.exclusive([&](auto&) {
    std::thread([&] {
      Tight::Logs::thread other(logs);
      Tight::Object z{3};
      c.insert(other, z);
      c.remove(other, z);
      c.apply();
    }).join();
  });
  a.remove(me, x);
  a.read([&](const auto&) { c.insert(me, y); });
  EXPECT_EQ(Tight::all(c), (std::set{2}));
  EXPECT_EQ(Tight::all(a), std::set<int>{});
}

TEST(Ldu, MoreThreadsThanPlaces) {
  Tight::Logs logs;
  Tight::Set set(logs);
  std::vector<std::unique_ptr<Tight::Logs::thread>> places;
  std::vector<Tight::Object> o(5);
  for (int i = 0; i < 5; ++i) {
    o[i].number = i;
    places.push_back(std::make_unique<Tight::Logs::thread>(logs));
    EXPECT_EQ(places.back()->has_logs(), i < 3);
    set.insert(*places.back(), o[i]);
  }
  EXPECT_EQ(Tight::all(set).size(), 5U);
}

// A thread that ends while its structure is read leaves its log to the next one.
TEST(Ldu, AThreadEndsWithPendingUpdates) {
  Wide::Logs logs;
  Wide::Set set(logs);
  Wide::Object a{1}, b{2}, c{3};
  std::thread([&] {
    Wide::Logs::thread me(logs);
    set.insert(me, a);
  }).join();
  EXPECT_EQ(Wide::all(set), (std::set{1}));
  set.read([&](const auto&) {
    std::thread([&] {
      Wide::Logs::thread me(logs);
      set.insert(me, b);
    }).join();
  });
  EXPECT_EQ(Wide::all(set), (std::set{1, 2}));
  set.read([&](const auto&) {
    for (Wide::Object* o : {&c, &a}) {
      std::thread([&, o] {
        Wide::Logs::thread me(logs);
        o == &c ? set.insert(me, *o) : set.remove(me, *o);
      }).join();
    }
  });
  EXPECT_EQ(Wide::all(set), (std::set{2, 3}));
}

TEST(Ldu, AStructureEndsWithPendingUpdates) {
  static int freed;
  freed = 0;
  Wide::Logs logs;
  Wide::Logs::thread me(logs);
  for (int round = 0; round < 3; ++round) {
    Wide::Set set(logs);
    set.exclusive([](auto& s) { s.on_free = [](Wide::Object& o) { delete &o, ++freed; }; });
    for (int i = 0; i < 5; ++i) {
      auto* o = new Wide::Object{i};
      set.insert(me, *o);
      set.retire(me, *o);
    }
  }
  EXPECT_EQ(freed, 15);
}

TEST(Ldu, BothProcessesOfAForkHaveWhatPends) {
  Wide::Logs logs;
  Wide::Set set(logs);
  Wide::Logs::thread me(logs);
  Wide::Object a{1}, b{2};
  set.insert(me, a);
  const pid_t child = fork();
  if (child == 0) {
    logs.forked(me);
    set.insert(me, b);
    const bool saw = set.read([](const auto& s) { return s.there == std::set{1, 2}; });
    _exit(saw ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Wide::all(set), (std::set{1}));
}

// The rows of threads that a child does not have can be had again there.
TEST(Ldu, AChildHasRowsForItsThreads) {
  Tight::Logs logs;
  Tight::Set set(logs);
  Tight::Logs::thread me(logs), second(logs), third(logs);
  Tight::Object a{1};
  set.insert(third, a);
  const pid_t child = fork();
  if (child == 0) {
    logs.forked(me);
    alignas(Tight::Logs::thread) std::byte bytes[sizeof(Tight::Logs::thread)];
    const auto* mine = new (bytes) Tight::Logs::thread(logs);
    _exit(mine->has_logs() && set.read([](const auto& s) { return s.there == std::set{1}; }) ? 0
                                                                                             : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// By chance, with a model; both forms, a lock that shares and one that does not.
template <class Set, class Logs>
void by_chance(unsigned seed) {
  using Object = typename Set::object;
  std::mt19937 random(seed);
  Logs logs;
  Set set(logs);
  auto me = std::make_unique<typename Logs::thread>(logs);
  auto other = std::make_unique<typename Logs::thread>(logs);
  std::vector<Object> o(12);
  for (int i = 0; i < 12; ++i)
    o[i].number = i;
  std::set<int> model;
  for (int step = 0; step < 3000; ++step) {
    const int i = static_cast<int>(random() % 12);
    auto& thread = random() % 2 == 0 ? *me : *other;
    if (model.erase(i) == 0) {
      set.insert(thread, o[i]);
      model.insert(i);
    } else {
      set.remove(thread, o[i]);
    }
    if (random() % 40 == 0) {
      const auto now = set.read([](const auto& s) { return s.there; });
      ASSERT_EQ(now, model) << "step " << step;
    }
    if (random() % 100 == 0) {
      other.reset();
      other = std::make_unique<typename Logs::thread>(logs);
    }
  }
  const int wrong = set.read([](const auto& s) { return s.wrong; });
  EXPECT_EQ(wrong, 0);
}

// A thread without a place makes the same updates, by the lock.
TEST(LduStamped, HasTheCallsForThreadsWithoutAPlace) {
  using P = lockswap::ldu_machine;
  Wide::Logs logs;
  lockswap::ldu_stamped<Objects<P>> set(logs);
  std::vector<Wide::Object> o(4);
  for (int i = 0; i < 4; ++i) {
    o[i].number = i;
    set.insert(o[i]);
  }
  set.remove(o[1]);
  set.free(o[1]);
  set.retire(o[2]);
  EXPECT_EQ(Wide::all(set), (std::set<int>{0, 3}));
  EXPECT_EQ(set.read([](const auto& s) { return s.freed; }), (std::vector<int>{1, 2}));
  // In one order with those that have one.
  Wide::Logs::thread me(logs);
  set.remove(me, o[0]);
  set.insert(o[0]);
  EXPECT_EQ(Wide::all(set), (std::set<int>{0, 3}));
}

TEST(Ldu, ByChance) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    by_chance<Wide::Set, Wide::Logs>(seed);
    by_chance<Tight::Set, Tight::Logs>(seed);
    by_chance<Fixture<Narrow, std::mutex>::Set, Tight::Logs>(seed);
    by_chance<lockswap::ldu_stamped<Objects<Narrow>, std::shared_mutex, Narrow>, Tight::Logs>(seed);
    by_chance<lockswap::ldu_stamped<Objects<Narrow>, std::mutex, Narrow, 4>, Tight::Logs>(seed);
  }
}

static_assert(sizeof(lockswap::ldu_hook) == 16);
static_assert(!std::is_copy_constructible_v<Wide::Set>);

}  // namespace
