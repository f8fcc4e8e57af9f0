// Errors of use, in a program that is compiled to be checked: each ends the process with a line
// that names this file and the line of the call.
#define LOCKSWAP_RLU_CHECKS
#include <gtest/gtest.h>
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
