// Cases around the start and the end of a process; what they run is in lifecycle.cpp and early.cpp.
#include "lifecycle.h"

namespace conformance::rwlock_lifecycle {

TEST(Startup, LocksInThePreinitArray) {
  EXPECT_GT(preinit_call_count(), 1000);
  EXPECT_EQ(0, preinit_failure_count());
}

// A hold taken before any constructor ran is a hold like any other in main.
TEST(Startup, HoldsFromThePreinitArrayReachMain) {
  pthread_rwlock_t* read = preinit_read_held();
  pthread_rwlock_t* written = preinit_write_held();
  Actor other;
  other.run([&] {
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(read));
    EXPECT_RC(0, pthread_rwlock_tryrdlock(read));
    EXPECT_RC(0, pthread_rwlock_unlock(read));
    EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(written));
  });
  EXPECT_RC(EDEADLK, pthread_rwlock_wrlock(written));
  other.start([&] {
    EXPECT_RC(0, pthread_rwlock_wrlock(read));
    EXPECT_RC(0, pthread_rwlock_unlock(read));
  });
  EXPECT_TRUE(other.blocked());
  EXPECT_RC(0, pthread_rwlock_rdlock(read));  // recursion on the early hold
  EXPECT_RC(0, pthread_rwlock_unlock(read));
  EXPECT_TRUE(other.blocked());
  EXPECT_RC(0, pthread_rwlock_unlock(read));
  other.finish();
  EXPECT_RC(0, pthread_rwlock_unlock(written));
  expect_works(read);
  expect_works(written);
}

TEST(Startup, LocksInAConstructorOfTheProgram) {
  EXPECT_EQ(0, constructor_failure_count());
  pthread_rwlock_t* read = constructor_read_held();
  Actor other;
  other.run([&] { EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(read)); });
  EXPECT_RC(0, pthread_rwlock_unlock(read));
  expect_works(read);
}

TEST(Startup, LocksInAConstructorThatRunsBeforeThePreloads) {
  EXPECT_GT(early_report.constructor_calls, 1000);
  EXPECT_EQ(0, early_report.constructor_failures);
  Actor other;
  other.run([&] {
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&early_report.read_held));
    EXPECT_RC(0, pthread_rwlock_tryrdlock(&early_report.read_held));
    EXPECT_RC(0, pthread_rwlock_unlock(&early_report.read_held));
    EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(&early_report.write_held));
  });
  EXPECT_RC(EDEADLK, pthread_rwlock_wrlock(&early_report.write_held));
  EXPECT_RC(0, pthread_rwlock_unlock(&early_report.write_held));
  EXPECT_RC(0, pthread_rwlock_unlock(&early_report.read_held));
  expect_works(&early_report.write_held);
  expect_works(&early_report.read_held);
}

TEST(Startup, AThreadThatLockedWhileEveryConstructorRan) {
  EXPECT_GT(early_report.hammer_rounds, 0);
  EXPECT_EQ(0, early_report.hammer_failures);
}

TEST(Exit, HandlersAndDestructorsThatLock) {
  EXPECT_EQ(0, run_self("exit"));
  EXPECT_EQ(0, run_self("return"));
}

TEST(Exit, WhileThreadsAreAtIt) {
  for (int i = 0; i < scaled(8); ++i)
    ASSERT_EQ(0, run_self("exit-amid-threads"));
}

TEST(Exit, WithLocksHeldAndThreadsWaiting) { EXPECT_EQ(0, run_self("exit-holding")); }

TEST(Exit, OfTheMainThreadAlone) { EXPECT_EQ(0, run_self("main-thread-leaves")); }

TEST(Loader, FirstLocksWhileAnotherThreadIsInDlopen) { EXPECT_EQ(0, run_self("dlopen")); }

TEST(Loader, LibraryWithLocksComesAndGoes) { EXPECT_EQ(0, run_self("dlclose")); }

}  // namespace conformance::rwlock_lifecycle
