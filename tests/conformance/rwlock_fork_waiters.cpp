// fork while other threads wait for a lock: in the child every hold stays, the forking thread's as
// its own, and nobody waits.
//
// glibc hands a lock off to threads that do not exist in the child, and cannot release there what
// its thread wrote. Only the other locks are asked for what glibc cannot do.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

namespace conformance::rwlock_fork_waiters {

namespace {

using L = pthread_rwlock_t;

#define EXPECT_GOOD_CHILD(...) EXPECT_EQ(0, in_child(__VA_ARGS__))

bool plain_glibc() { return glibc_underneath() && !bravo_over_glibc(); }

timespec soon() { return after(CLOCK_MONOTONIC, kMillisecond); }
timespec far() { return after(CLOCK_MONOTONIC, 3'600'000 * kMillisecond); }
int timed_write(L* lock, const timespec& t = soon()) {
  return pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &t);
}
int timed_read(L* lock, const timespec& t = soon()) {
  return pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &t);
}

// Threads that wait for `lock`, each by another form; in the parent they get it in the end.
class Crowd {
 public:
  // Which waits, in this order: r, w, R (timed), W (timed).
  Crowd(L* lock, const char* forms) : lock_(lock), actors_(strlen(forms)) {
    for (Actor& a : actors_) {
      const char form = *forms++;
      a.start([this, form] {
        EXPECT_RC(0, form == 'r'   ? pthread_rwlock_rdlock(lock_)
                     : form == 'w' ? pthread_rwlock_wrlock(lock_)
                     : form == 'R' ? timed_read(lock_, far())
                                   : timed_write(lock_, far()));
        EXPECT_RC(0, pthread_rwlock_unlock(lock_));
      });
      a.wait_until_asleep();
    }
  }
  ~Crowd() {
    for (Actor& a : actors_)
      a.finish();
  }

 private:
  L* lock_;
  std::vector<Actor> actors_;
};
// Readers that come behind a writer wait as well, in phase-fair locks. Threads that wait busily
// take the processors from each other, so there are fewer of them.
std::vector<const char*> crowds() {
  const char* wait = getenv("LOCKSWAP_WAIT");
  const bool busy = wait != nullptr && strcmp(wait, "park") != 0;
  if (scaled(1) == 1) {
    if (busy) return {"w", "RW"};
    return {"w", "R", "wrrw", "WRr"};
  }
  if (busy) return {"w", "r", "W", "R", "wr", "wRW"};
  return {"w", "r", "W", "R", "ww", "wr", "wrrw", "wRrW", "WRr", "rwRWwr"};
}

void expect_all_forms(L* lock) {
  for (int i = 0; i < 3; ++i) {
    expect_works(lock);
    for (const auto& form : {std::function<int()>([=] { return pthread_rwlock_tryrdlock(lock); }),
                             std::function<int()>([=] { return timed_read(lock, far()); }),
                             std::function<int()>([=] { return pthread_rwlock_trywrlock(lock); }),
                             std::function<int()>([=] { return timed_write(lock, far()); })}) {
      EXPECT_RC(0, form());
      EXPECT_RC(0, pthread_rwlock_unlock(lock));
    }
    warm_up_readers(lock, 200);
  }
}

// Runs `body` in a child of a process in which this thread holds the lock and a crowd waits for it.
// The lock was read `reads` times before.
void in_child_beside(const char* crowd, int (*acquire)(L*), int reads,
                     const std::function<void(L*)>& body) {
  SCOPED_TRACE(crowd);
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  warm_up_readers(&lock, reads);
  ASSERT_RC(0, acquire(&lock));
  Crowd waiting(&lock, crowd);
  EXPECT_GOOD_CHILD([&] {
    body(&lock);
    return 0;
  });
  EXPECT_RC(0, pthread_rwlock_unlock(&lock));
}

}  // namespace

// ---- the forking thread's own holds

TEST(ForkWaiters, OfTheForkingReaderAreGone) {
  if (glibc_underneath()) GTEST_SKIP() << "glibc's counters of readers do not say who waits";
  for (const char* crowd : crowds()) {
    for (int reads : {0, 3000}) {
      in_child_beside(crowd, pthread_rwlock_rdlock, reads, [](L* lock) {
        EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(lock));
        EXPECT_RC(0, pthread_rwlock_rdlock(lock));
        EXPECT_RC(0, pthread_rwlock_unlock(lock));
        Actor other;
        other.run([&] {
          EXPECT_RC(ETIMEDOUT, timed_write(lock));
          EXPECT_RC(0, pthread_rwlock_rdlock(lock));  // no writer waits any more
          EXPECT_RC(0, pthread_rwlock_unlock(lock));
        });
        EXPECT_RC(0, pthread_rwlock_unlock(lock));
        expect_all_forms(lock);
      });
    }
  }
}

// The release is the child's first call.
TEST(ForkWaiters, OfTheForkingReaderAreGoneAfterItsRelease) {
  if (glibc_underneath()) GTEST_SKIP() << "glibc's counters of readers do not say who waits";
  for (const char* crowd : crowds()) {
    in_child_beside(crowd, pthread_rwlock_rdlock, 0, [](L* lock) {
      EXPECT_RC(0, pthread_rwlock_unlock(lock));
      expect_all_forms(lock);
    });
  }
}

TEST(ForkWaiters, OfTheForkingWriterAreGone) {
  if (plain_glibc()) GTEST_SKIP() << "glibc cannot release a write hold in the child";
  for (const char* crowd : crowds()) {
    for (int reads : {0, 3000}) {
      in_child_beside(crowd, pthread_rwlock_wrlock, reads, [](L* lock) {
        EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(lock));
        EXPECT_RC(EDEADLK, pthread_rwlock_rdlock(lock));
        EXPECT_RC(EDEADLK, pthread_rwlock_wrlock(lock));
        Actor other;
        other.run([&] {
          EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(lock));
          EXPECT_RC(ETIMEDOUT, timed_read(lock));
          EXPECT_RC(ETIMEDOUT, timed_write(lock));
        });
        EXPECT_RC(0, pthread_rwlock_unlock(lock));
        expect_all_forms(lock);
      });
    }
  }
}

// The write hold of a lock that only its initialiser has seen.
TEST(ForkWaiters, AWriteHoldIsTheForkingThreadsOwn) {
  if (plain_glibc()) GTEST_SKIP() << "glibc cannot release a write hold in the child";
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
  EXPECT_GOOD_CHILD([&] {
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    expect_all_forms(&lock);
    return 0;
  });
  EXPECT_RC(0, pthread_rwlock_unlock(&lock));
  expect_works(&lock);
}

// ---- other threads' holds

TEST(ForkWaiters, OfAnotherReaderAreGoneAndItsHoldStays) {
  if (glibc_underneath()) GTEST_SKIP() << "glibc's counters of readers do not say who waits";
  for (const char* forms : crowds()) {
    for (int reads : {0, 3000}) {
      for (bool mine : {false, true}) {
        SCOPED_TRACE(forms);
        L lock = PTHREAD_RWLOCK_INITIALIZER;
        warm_up_readers(&lock, reads);
        Actor holder;
        holder.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock)); });
        if (mine) {
          ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
        }
        Crowd crowd(&lock, forms);
        EXPECT_GOOD_CHILD([&] {
          if (mine) {
            EXPECT_RC(0, pthread_rwlock_unlock(&lock));
          }
          for (int i = 0; i < 3; ++i) {
            EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
            EXPECT_RC(ETIMEDOUT, timed_write(&lock));
            EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
            EXPECT_RC(0, pthread_rwlock_tryrdlock(&lock));
            EXPECT_RC(0, pthread_rwlock_unlock(&lock));
            EXPECT_RC(0, pthread_rwlock_unlock(&lock));
            EXPECT_RC(0, timed_read(&lock, far()));
            EXPECT_RC(0, pthread_rwlock_unlock(&lock));
          }
          return 0;
        });
        if (mine) {
          EXPECT_RC(0, pthread_rwlock_unlock(&lock));
        }
        holder.run([&] { EXPECT_RC(0, pthread_rwlock_unlock(&lock)); });
      }
    }
  }
}

TEST(ForkWaiters, OfAnotherWriterAreGoneAndItsHoldStays) {
  for (const char* forms : crowds()) {
    SCOPED_TRACE(forms);
    L lock = PTHREAD_RWLOCK_INITIALIZER;
    warm_up_readers(&lock);
    Actor holder;
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_wrlock(&lock)); });
    Crowd crowd(&lock, forms);
    EXPECT_GOOD_CHILD([&] {
      EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(&lock));
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
      EXPECT_RC(ETIMEDOUT, timed_read(&lock));
      EXPECT_RC(ETIMEDOUT, timed_write(&lock));
      return 0;
    });
    holder.run([&] { EXPECT_RC(0, pthread_rwlock_unlock(&lock)); });
  }
}

// A release by another thread has marked the lock: it works by other rules from then on.
TEST(ForkWaiters, OfAMarkedLockAreGone) {
  if (glibc_underneath()) GTEST_SKIP() << "glibc's counters of readers do not say who waits";
  for (bool write : {false, true}) {
    L lock = PTHREAD_RWLOCK_INITIALIZER;
    Actor other;
    other.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock)); });
    ASSERT_RC(0, pthread_rwlock_unlock(&lock));
    ASSERT_RC(0, write ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
    Crowd crowd(&lock, "wrWR");
    EXPECT_GOOD_CHILD([&] {
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      expect_all_forms(&lock);
      return 0;
    });
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
  }
}

// ---- the child's own threads come to the lock at once, and grandchildren

TEST(ForkWaiters, ThreadsOfTheChildFindTheLockAtOnce) {
  if (glibc_underneath()) GTEST_SKIP() << "glibc's counters of readers do not say who waits";
  for (bool write : {false, true}) {
    for (int round = 0; round < scaled(4); ++round) {
      static Guarded guarded;
      ASSERT_RC(0, pthread_rwlock_init(&guarded.lock, nullptr));
      if (write) {
        ASSERT_RC(0, pthread_rwlock_wrlock(&guarded.lock));
      } else {
        ASSERT_RC(0, pthread_rwlock_rdlock(&guarded.lock));
      }
      Crowd crowd(&guarded.lock, "wrW");
      EXPECT_GOOD_CHILD([&] {
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i) {
          threads.emplace_back([i] {
            for (int n = 0; n < 20; ++n) {
              if ((i + n) % 3 == 0) {
                EXPECT_EQ(0, pthread_rwlock_wrlock(&guarded.lock));
                guarded.write_inside();
              } else {
                EXPECT_EQ(0, pthread_rwlock_rdlock(&guarded.lock));
                guarded.read_inside();
              }
              EXPECT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
            }
          });
        }
        EXPECT_RC(0, pthread_rwlock_unlock(&guarded.lock));
        for (std::thread& t : threads)
          t.join();
        EXPECT_EQ(0u, guarded.violations.load());
        expect_works(&guarded.lock);
        return 0;
      });
      EXPECT_RC(0, pthread_rwlock_unlock(&guarded.lock));
    }
  }
}

TEST(ForkWaiters, GrandchildrenOfAReader) {
  if (glibc_underneath()) GTEST_SKIP() << "glibc's counters of readers do not say who waits";
  for (bool touched : {false, true}) {
    L lock = PTHREAD_RWLOCK_INITIALIZER;
    warm_up_readers(&lock);
    ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
    Crowd crowd(&lock, "wrW");
    EXPECT_GOOD_CHILD([&] {
      if (touched) {
        EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
      }
      EXPECT_GOOD_CHILD([&] {
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
        expect_all_forms(&lock);
        return 0;
      });
      // New ones wait in the child, and are gone in the next grandchild.
      Crowd again(&lock, "wr");
      EXPECT_GOOD_CHILD([&] {
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
        expect_all_forms(&lock);
        return 0;
      });
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      return 0;
    });
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
  }
}

TEST(ForkWaiters, GrandchildrenOfAWriter) {
  if (plain_glibc()) GTEST_SKIP() << "glibc cannot release a write hold in the child";
  for (bool touched : {false, true}) {
    L lock = PTHREAD_RWLOCK_INITIALIZER;
    ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
    Crowd crowd(&lock, "wrW");
    EXPECT_GOOD_CHILD([&] {
      if (touched) {
        EXPECT_RC(EDEADLK, pthread_rwlock_wrlock(&lock));
      }
      EXPECT_GOOD_CHILD([&] {
        EXPECT_GOOD_CHILD([&] {
          EXPECT_RC(EDEADLK, pthread_rwlock_wrlock(&lock));
          EXPECT_RC(0, pthread_rwlock_unlock(&lock));
          expect_all_forms(&lock);
          return 0;
        });
        return 0;
      });
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      expect_all_forms(&lock);
      return 0;
    });
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
  }
}

}  // namespace conformance::rwlock_fork_waiters
