// Errors of use, in a program that is compiled to be checked: each ends the process with a line
// that names this file and the line of the call.
#define LOCKSWAP_RLU_CHECKS
#include <atomic>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

#include "lockswap/rlu.hpp"
#include "lockswap/rlu_list.hpp"

namespace {

struct Node {
  int value = 0;
};
Node* node() {
  static Node* const n = lockswap::rlu::make<Node>();
  return n;
}
std::string at(int line, const char* why) {
  return "checks_test.cpp:" + std::to_string(line) + ": rlu: " + why;
}
// Another thread locks the node, defers its commit, and sleeps.
void lock_in_another_thread() {
  std::thread([] {
    lockswap_rlu_set_deferral(100);
    lockswap_rlu_reader_lock();
    static_cast<Node*>(lockswap_rlu_try_lock(node()))->value = 1;
    lockswap_rlu_reader_unlock();
    pause();
  }).detach();
  while (__atomic_load_n(&LOCKSWAP_RLU_HEADER(node())->copy, __ATOMIC_ACQUIRE) == 0) {}
}

#define ENDS(statement, why) EXPECT_DEATH(statement, at(__LINE__, why))

TEST(RluChecksDeathTest, OutsideOfASection) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  ENDS((void)lockswap_rlu_dereference(node()), "dereference outside of a section");
  ENDS(lockswap_rlu_reader_unlock(), "unlock outside of a section");
  ENDS(lockswap_rlu_abort(), "abort outside of a section");
  ENDS((void)lockswap_rlu_try_lock(node()), "lock of an object outside of a section");
  ENDS((void)lockswap_rlu_try_lock_const(node()), "lock of an object outside of a section");
  ENDS((void)lockswap::rlu::dereference(node()), "dereference outside of a section");
}

TEST(RluChecksDeathTest, WhatMustBeOutermost) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const lockswap::rlu::section here;
  lockswap::rlu::list<int> other;
  ENDS(other.insert(1), "a change that needs a section of its own is made inside of a section");
  ENDS(other.remove(1), "a change that needs a section of its own is made inside of a section");
  ENDS(other.clear(), "a change that needs a section of its own is made inside of a section");
  lockswap::rlu::section nested;
  ENDS(lockswap_rlu_abort(), "abort of a section inside of another one");
  ENDS(nested.abort(), "abort of a section inside of another one");
  nested.end();
  EXPECT_EQ(lockswap_rlu_abort(), 0);
}

TEST(RluChecksDeathTest, WaitsInASection) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  static lockswap_rlu_writer_lock lock = LOCKSWAP_RLU_WRITER_LOCK_INITIALIZER;
  const lockswap::rlu::section here;
  ENDS(lockswap_rlu_flush(), "a wait for readers inside of a section");
  ENDS(lockswap_rlu_flush_all(), "a wait for readers inside of a section");
  ENDS(lockswap_rlu_synchronize(), "a wait for readers inside of a section");
  ENDS(lockswap_rlu_barrier(), "a wait for readers inside of a section");
  ENDS(lockswap_rlu_writer_acquire(&lock), "a writer lock is acquired inside of a section");
  ENDS(lockswap_rlu_writer_release(&lock), "a writer lock is released inside of a section");
}

TEST(RluChecksDeathTest, WriterLocks) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  static lockswap_rlu_writer_lock lock = LOCKSWAP_RLU_WRITER_LOCK_INITIALIZER;
  ENDS(lockswap_rlu_writer_release(&lock),
       "release of a writer lock that the thread does not have");
  ASSERT_EQ(lockswap_rlu_writer_acquire(&lock), 0);
  ENDS(lockswap_rlu_writer_acquire(&lock), "a writer lock is acquired twice");
  lockswap_rlu_reader_lock();
  ENDS(lockswap_rlu_abort(), "abort while the thread has a writer lock");
  lockswap_rlu_reader_unlock();
  EXPECT_EQ(lockswap_rlu_writer_release(&lock), 0);
}

TEST(RluChecksDeathTest, ObjectsOfOthers) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  static lockswap_rlu_writer_lock lock = LOCKSWAP_RLU_WRITER_LOCK_INITIALIZER;
  const auto in_a_coarse_section = [] {
    lock_in_another_thread();
    lockswap_rlu_writer_acquire(&lock);
    lockswap_rlu_reader_lock();
  };
  ENDS((lock_in_another_thread(), lockswap_rlu_free(node())),
       "free of an object that another thread has locked");
  ENDS((lock_in_another_thread(), lockswap_rlu_discard(node())),
       "discard of an object that is locked");
  ENDS((in_a_coarse_section(), (void)lockswap_rlu_try_lock(node())),
       "a thread with a writer lock meets an object that another thread has locked");
}

TEST(RluChecksDeathTest, FreedTwice) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  lockswap_rlu_reader_lock();
  ASSERT_NE(lockswap_rlu_try_lock_const(node()), nullptr);
  EXPECT_EQ(lockswap_rlu_free(node()), 0);
  ENDS(lockswap_rlu_free(node()), "free of an object that is freed already");
  EXPECT_EQ(lockswap_rlu_abort(), 0);
}

TEST(RluChecksDeathTest, FreedTwiceByItsCopy) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  lockswap_rlu_reader_lock();
  void* const copy = lockswap_rlu_try_lock(node());
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(lockswap_rlu_free(copy), 0);
  ENDS(lockswap_rlu_free(copy), "free of an object that is freed already");
  EXPECT_EQ(lockswap_rlu_abort(), 0);
}

TEST(RluChecksDeathTest, FreedInTwoSections) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  Node* const gone = lockswap::rlu::make<Node>();
  ASSERT_EQ(lockswap_rlu_free(gone), 0);
  ENDS(lockswap_rlu_free(gone), "free of an object that is freed already");
  ENDS(lockswap_rlu_discard(gone), "free of an object that is freed already");
  const lockswap::rlu::section here;
  ENDS((void)lockswap_rlu_dereference(gone), "dereference of an object that is freed");
  ENDS((void)lockswap_rlu_try_lock(gone), "lock of an object that is freed");
}

TEST(RluChecksDeathTest, FreedWithoutALock) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  lockswap_rlu_reader_lock();
  ENDS(lockswap_rlu_free(node()), "free of an object that the section has not locked");
  EXPECT_NE(lockswap_rlu_try_lock_const(node()), nullptr);
  EXPECT_EQ(lockswap_rlu_free(node()), 0);
  EXPECT_EQ(lockswap_rlu_abort(), 0);
}

struct Pair {
  void* to = nullptr;
  long value = 0;
};

TEST(RluChecksDeathTest, ACopysAddressIsStored) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto* const a = lockswap::rlu::make<Pair>();
  auto* const b = lockswap::rlu::make<Pair>();
  lockswap_rlu_reader_lock();
  auto* const copy = static_cast<Pair*>(lockswap_rlu_try_lock(a));
  void* const other = lockswap_rlu_try_lock(b);
  copy->to = other;
  ENDS(lockswap_rlu_reader_unlock(), "the address of a copy is stored in an object");
  copy->to = lockswap_rlu_actual(other);
  EXPECT_EQ(lockswap_rlu_reader_unlock(), 0);
  EXPECT_EQ(a->to, b);
}

TEST(RluChecksDeathTest, AnotherThreadsCopyIsStored) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        auto* const a = lockswap::rlu::make<Pair>();
        auto* const b = lockswap::rlu::make<Pair>();
        // A commit of b that is seen by sections that begin now, and not over for one of before.
        std::atomic<int> step{0};
        std::thread reads([&] {
          lockswap_rlu_reader_lock();
          step = 1;
          pause();
        });
        while (step != 1) {}
        std::thread commits([&] {
          lockswap_rlu_reader_lock();
          static_cast<Pair*>(lockswap_rlu_try_lock(b))->value = 1;
          lockswap_rlu_reader_unlock();
        });
        for (;;) {
          lockswap_rlu_reader_lock();
          auto* const seen = static_cast<Pair*>(lockswap_rlu_dereference(b));
          auto* const copy = static_cast<Pair*>(lockswap_rlu_try_lock(a));
          if (seen != b) {
            copy->to = seen;
            lockswap_rlu_reader_unlock();
          }
          lockswap_rlu_abort();
        }
      },
      "the address of a copy is stored in an object");
}

TEST(RluChecksDeathTest, AnObjectIsWrittenWithoutALock) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto* const a = lockswap::rlu::make<Pair>();
  lockswap_rlu_reader_lock();
  static_cast<Pair*>(lockswap_rlu_dereference(a))->value = 1;
  ENDS(lockswap_rlu_reader_unlock(), "an object was written without a lock");
  a->value = 0;
  // Also one that the section has a copy of.
  ASSERT_NE(lockswap_rlu_try_lock(a), nullptr);
  a->value = 1;
  ENDS(lockswap_rlu_reader_unlock(), "an object was written without a lock");
  a->value = 0;
  EXPECT_EQ(lockswap_rlu_abort(), 0);
  // And one that it has not even read.
  lockswap_rlu_reader_lock();
  a->value = 2;
  ENDS(lockswap_rlu_reader_unlock(), "an object was written without a lock");
  a->value = 0;
  EXPECT_EQ(lockswap_rlu_reader_unlock(), 0);
}

// A write of another thread is found by whoever reads the object meanwhile.
TEST(RluChecksDeathTest, AnotherThreadWritesWithoutALock) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto* const a = lockswap::rlu::make<Pair>();
  const lockswap::rlu::section here;
  (void)here.read(a);
  std::thread([a] { a->value = 1; }).join();
  ENDS(lockswap_rlu_reader_unlock(), "an object was written without a lock");
  a->value = 0;
}

// What looks like an error, and is none.
TEST(RluChecksTest, AnObjectThatNobodyKnowsMayBeFilledInASection) {
  auto* const a = lockswap::rlu::make<Pair>();
  auto* const fresh = lockswap::rlu::make<Pair>();
  lockswap_rlu_reader_lock();
  fresh->value = static_cast<Pair*>(lockswap_rlu_dereference(a))->value + 1;
  EXPECT_EQ(lockswap_rlu_reader_unlock(), 0);
  fresh->value = 3;
  lockswap_rlu_reader_lock();
  auto* const copy = static_cast<Pair*>(lockswap_rlu_try_lock(a));
  fresh->value = 4;
  copy->to = fresh;
  EXPECT_EQ(lockswap_rlu_reader_unlock(), 0);
  EXPECT_EQ(a->to, fresh);
}

TEST(RluChecksTest, CommitsOfOthersAreNoWritesWithoutALock) {
  auto* const a = lockswap::rlu::make<Pair>();
  std::atomic<bool> stop{false};
  std::thread writes([&] {
    for (int i = 0; i < 2000; ++i) {
      lockswap::rlu::update([&](lockswap::rlu::section& here) -> std::optional<bool> {
        Pair* mine = a;
        if (!here.lock(mine)) return std::nullopt;
        ++mine->value;
        return true;
      });
    }
    stop = true;
  });
  while (!stop) {
    const lockswap::rlu::section here;
    EXPECT_EQ(here.read(a)->value, here.read(a)->value);
  }
  writes.join();
  EXPECT_EQ(a->value, 2000);
}

TEST(RluChecksTest, WhatIsRightPasses) {
  const lockswap::rlu::section here;
  Node* n = here.read(node());
  EXPECT_TRUE(here.lock(n));
  EXPECT_TRUE(here.lock_const(n));
  lockswap_rlu_counts c;
  EXPECT_EQ(lockswap_rlu_get_counts(&c), 0);
  EXPECT_GE(c.reads, 1u);  // they are counted in such a program
}

}  // namespace
