// C++26's names of read-copy-update over Read-Log-Update: when what is retired is deleted.
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "lockswap/rlu_rcu_domain.hpp"

namespace {

namespace rlu = lockswap::rlu;

struct Counted : rlu::rcu_obj_base<Counted> {
  static inline std::atomic<int> living{0};
  explicit Counted(int v) : value(v) { ++living; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() {
    value = -1;
    --living;
  }
  int value;
};

TEST(RcuDomain, HasTheNamesOfTheStandard) {
  static_assert(!std::is_default_constructible_v<rlu::rcu_domain>);
  static_assert(!std::is_copy_constructible_v<rlu::rcu_domain>);
  static_assert(noexcept(rlu::rcu_default_domain().lock()));
  static_assert(noexcept(rlu::rcu_default_domain().unlock()));
  static_assert(noexcept(rlu::rcu_synchronize())&& noexcept(rlu::rcu_barrier()));
  EXPECT_EQ(&rlu::rcu_default_domain(), &rlu::rcu_default_domain());
}

TEST(RcuDomain, ARegionIsASectionAndNests) {
  rlu::rcu_domain& domain = rlu::rcu_default_domain();
  {
    const std::scoped_lock outer(domain);
    EXPECT_EQ(lockswap_rlu_depth(), 1U);
    const std::unique_lock inner(domain);
    EXPECT_EQ(lockswap_rlu_depth(), 2U);
  }
  EXPECT_EQ(lockswap_rlu_depth(), 0U);
}

TEST(RcuDomain, WhatIsRetiredStaysWhileARegionIsOpen) {
  auto* const kept = new Counted(1);
  std::atomic<int> step{0};
  std::thread reader([&] {
    const std::scoped_lock region(rlu::rcu_default_domain());
    step = 1;
    while (step != 2)
      std::this_thread::yield();
    EXPECT_EQ(kept->value, 1);
  });
  while (step != 1)
    std::this_thread::yield();
  kept->retire();
  EXPECT_EQ(Counted::living, 1);
  step = 2;
  rlu::rcu_barrier();
  EXPECT_EQ(Counted::living, 0);
  reader.join();
}

TEST(RcuDomain, DeletersMayHaveAState) {
  int deleted = 0;
  const auto deleter = [&deleted](int* p) {
    deleted += *p;
    delete p;
  };
  rlu::rcu_retire(new int(3), deleter);
  rlu::rcu_retire(new int(4), deleter);
  rlu::rcu_retire(new Counted(1));
  rlu::rcu_barrier();
  EXPECT_EQ(deleted, 7);
  EXPECT_EQ(Counted::living, 0);
}

TEST(RcuDomain, ReadersSeeWholeObjectsWhileWritersReplaceThem) {
  std::atomic<Counted*> current{new Counted(1)};
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const std::scoped_lock region(rlu::rcu_default_domain());
        if (current.load(std::memory_order_acquire)->value < 1) ++wrong;
      }
    });
  }
  for (int i = 2; i < 300; ++i) {
    current.exchange(new Counted(i), std::memory_order_acq_rel)->retire();
    if (i % 100 == 0) rlu::rcu_synchronize();
  }
  stop = true;
  for (auto& t : readers)
    t.join();
  delete current.load();
  rlu::rcu_barrier();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(Counted::living, 0);
}

TEST(RcuDomainDeathTest, AWaitInARegionEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const std::scoped_lock region(rlu::rcu_default_domain());
        rlu::rcu_synchronize();
      },
      "a wait for readers inside of a section");
}

}  // namespace
