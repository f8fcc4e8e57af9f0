// Read holds that another thread releases. A thread whose hold another thread ended holds nothing,
// whatever its record says.
//
// A write hold released by another thread is not here: glibc cannot do it (its unlock knows a write
// hold by the calling thread's id, and takes any other for a read), so no program does it.
#include <array>
#include <deque>
#include <memory>
#include <string.h>

#include "support.h"

namespace conformance::rwlock_foreign {

namespace {

using L = pthread_rwlock_t;

void read(Actor& actor, L* lock) {
  actor.run([=] { EXPECT_RC(0, pthread_rwlock_rdlock(lock)); });
}
void unlock(Actor& actor, L* lock) {
  actor.run([=] { EXPECT_RC(0, pthread_rwlock_unlock(lock)); });
}
void expect_write_busy(Actor& actor, L* lock) {
  actor.run([=] { EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(lock)); });
}

// While `writer` holds the lock, `reader` gets in by no form, and by rdlock only after the writer
// has left.
void expect_waits_for_writer(Actor& reader, Actor& writer, L* lock) {
  std::atomic<bool> writing{true};
  reader.run([=] {
    EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(lock)) << "let in beside a writer";
    const timespec past = after(CLOCK_REALTIME, -kMillisecond),
                   soon = after(CLOCK_MONOTONIC, kMillisecond);
    EXPECT_RC(ETIMEDOUT, pthread_rwlock_timedrdlock(lock, &past)) << "let in beside a writer";
    EXPECT_RC(ETIMEDOUT, pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &soon))
        << "let in beside a writer";
  });
  if (testing::Test::HasFailure()) {  // blocking calls could only hang from here on
    unlock(writer, lock);
    return;
  }
  reader.start([&writing, lock] {
    EXPECT_RC(0, pthread_rwlock_rdlock(lock));
    EXPECT_FALSE(writing.load()) << "let in beside a writer";
    EXPECT_RC(0, pthread_rwlock_unlock(lock));
  });
  EXPECT_TRUE(reader.blocked());
  writer.run([&writing, lock] {
    writing = false;
    EXPECT_RC(0, pthread_rwlock_unlock(lock));
  });
  reader.finish();
}

void write_then_expect_waits(Actor& reader, Actor& writer, L* lock) {
  writer.run([=] { EXPECT_RC(0, pthread_rwlock_wrlock(lock)); });
  expect_waits_for_writer(reader, writer, lock);
}

// Each case on a new lock, on one that has been read a lot, and on one that was just written.
struct Foreign : testing::Test {
  L locks[3] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};
  Actor a, b, c, d;
  void SetUp() override {
    warm_up_readers(&locks[1]);
    ASSERT_RC(0, pthread_rwlock_wrlock(&locks[2]));
    ASSERT_RC(0, pthread_rwlock_unlock(&locks[2]));
  }
  void TearDown() override {
    if (HasFailure()) return;
    for (L& lock : locks)
      expect_works(&lock);
  }
};

}  // namespace

TEST_F(Foreign, ReleaseMakesRoomForAWriter) {
  for (L& lock : locks)
    for (int round = 0; round < 10; ++round) {
      read(a, &lock);
      expect_write_busy(c, &lock);
      unlock(b, &lock);
      c.run([&] {
        EXPECT_RC(0, pthread_rwlock_trywrlock(&lock));
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      });
    }
}

TEST_F(Foreign, ReleaseWakesAWaitingWriter) {
  for (L& lock : locks) {
    read(a, &lock);
    c.start([&] {
      EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    EXPECT_TRUE(c.blocked());
    unlock(b, &lock);
    c.finish();
  }
}

TEST_F(Foreign, ReleaseOfAHoldWhoseThreadHasExited) {
  for (L& lock : locks)
    for (int round = 0; round < 10; ++round) {
      std::thread([&] { EXPECT_RC(0, pthread_rwlock_rdlock(&lock)); }).join();
      expect_write_busy(c, &lock);
      unlock(b, &lock);
      std::thread([&] {  // a new thread, perhaps in the old one's place
        Actor writer;
        writer.run([&] { EXPECT_RC(0, pthread_rwlock_wrlock(&lock)); });
        EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(&lock));
        unlock(writer, &lock);
      })
          .join();
    }
}

// The test.
TEST_F(Foreign, AReadsBUnlocksCWritesThenAWaits) {
  for (L& lock : locks)
    for (int round = 0; round < 3; ++round) {
      read(a, &lock);
      unlock(b, &lock);
      write_then_expect_waits(a, c, &lock);
    }
}

TEST_F(Foreign, AReadsTwiceBUnlocksOnceThenAWriterStillWaits) {
  for (L& lock : locks)
    for (int round = 0; round < 3; ++round) {
      read(a, &lock);
      read(a, &lock);
      unlock(b, &lock);
      expect_write_busy(c, &lock);
      c.start([&] {
        EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      });
      EXPECT_TRUE(c.blocked()) << "a writer was admitted beside a reader";
      unlock(a, &lock);
      c.finish();
      write_then_expect_waits(a, c, &lock);
    }
}

TEST_F(Foreign, AReadsTwiceBUnlocksTwiceThenAWaits) {
  for (L& lock : locks) {
    read(a, &lock);
    read(a, &lock);
    unlock(b, &lock);
    expect_write_busy(c, &lock);
    unlock(d, &lock);
    write_then_expect_waits(a, c, &lock);
  }
}

TEST_F(Foreign, DeepRecursionReleasedByOthersInTurns) {
  for (L& lock : locks) {
    constexpr int kDepth = 60;
    for (int i = 0; i < kDepth; ++i)
      read(a, &lock);
    Actor* releasers[] = {&a, &b, &c, &d, &b};
    for (int i = 0; i < kDepth; ++i) {
      expect_write_busy(d, &lock);
      unlock(*releasers[i % 5], &lock);
    }
    write_then_expect_waits(a, c, &lock);
    write_then_expect_waits(b, c, &lock);
  }
}

// B holds too: its first unlock may be seen as its own, the second ends A's hold.
TEST_F(Foreign, AHolderReleasesItsOwnAndAnothers) {
  for (L& lock : locks)
    for (int round = 0; round < 3; ++round) {
      read(a, &lock);
      read(b, &lock);
      unlock(b, &lock);
      expect_write_busy(c, &lock);
      unlock(b, &lock);
      write_then_expect_waits(a, c, &lock);
      write_then_expect_waits(b, c, &lock);
    }
}

// A's record is stale and true again: it read, lost that hold, and read once more.
TEST_F(Foreign, AReadsAgainAfterLosingItsHold) {
  for (L& lock : locks)
    for (int round = 0; round < 3; ++round) {
      read(a, &lock);
      unlock(b, &lock);
      read(a, &lock);
      expect_write_busy(c, &lock);
      unlock(a, &lock);
      c.run([&] {
        EXPECT_RC(0, pthread_rwlock_trywrlock(&lock)) << "A holds nothing any more";
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      });
      write_then_expect_waits(a, c, &lock);
    }
}

// A forgets a stale hold by an unlock that in truth ends B's: then B's record is the stale one.
TEST_F(Foreign, AChainOfStaleRecords) {
  for (L& lock : locks) {
    read(a, &lock);
    unlock(d, &lock);
    read(b, &lock);
    unlock(a, &lock);
    write_then_expect_waits(b, c, &lock);
    write_then_expect_waits(a, c, &lock);
    read(d, &lock);
    unlock(b, &lock);
    write_then_expect_waits(d, c, &lock);
  }
}

// However much the lock is used in between, A's old record is not to be trusted.
TEST_F(Foreign, AStaleRecordStaysStaleThroughMuchUse) {
  for (L& lock : locks) {
    read(a, &lock);
    unlock(b, &lock);
    for (int i = 0; i < 200; ++i) {
      c.run([&] {
        EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
        for (int n = 0; n < 20; ++n) {
          EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
          EXPECT_RC(0, pthread_rwlock_unlock(&lock));
        }
      });
      if (i % 50 == 0) write_then_expect_waits(a, c, &lock);
    }
    write_then_expect_waits(a, c, &lock);
  }
}

// After a foreign release recursion still must not deadlock behind a waiting writer.
TEST_F(Foreign, RecursionOnALockThatSawAForeignRelease) {
  for (L& lock : locks) {
    read(a, &lock);
    unlock(b, &lock);
    for (int round = 0; round < 2; ++round) {
      read(a, &lock);
      c.start([&] {
        EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      });
      EXPECT_TRUE(c.blocked());
      for (int i = 0; i < 10; ++i)
        read(a, &lock);  // a hang here is the deadlock
      for (int i = 0; i < 10; ++i)
        unlock(a, &lock);
      EXPECT_TRUE(c.blocked());
      unlock(a, &lock);
      c.finish();
    }
  }
}

// The foreign release happens while a writer waits, and the reader has one more hold: it reads
// again.
TEST_F(Foreign, ReleaseWhileAWriterWaitsThenRecursion) {
  for (L& lock : locks) {
    read(a, &lock);
    read(a, &lock);
    c.start([&] {
      EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    EXPECT_TRUE(c.blocked());
    unlock(b, &lock);
    EXPECT_TRUE(c.blocked()) << "a writer was admitted beside a reader";
    read(a, &lock);
    unlock(a, &lock);
    EXPECT_TRUE(c.blocked());
    unlock(a, &lock);
    c.finish();
    write_then_expect_waits(a, d, &lock);
  }
}

// A stale record on memory that becomes a new lock says nothing about the new lock.
TEST_F(Foreign, StaleRecordAndTheLockIsMadeAnew) {
  for (int way = 0; way < 4; ++way) {
    L& lock = locks[way % 3];
    for (int round = 0; round < 4; ++round) {
      warm_up_readers(&lock, 200);
      read(a, &lock);
      unlock(b, &lock);
      if (way % 2 == 0) {
        EXPECT_RC(0, pthread_rwlock_destroy(&lock));
      }
      if (way < 2) {
        EXPECT_RC(0, pthread_rwlock_init(&lock, nullptr));
      } else {
        memset(static_cast<void*>(&lock), 0xa5, sizeof lock);
        memset(static_cast<void*>(&lock), 0, sizeof lock);
      }
      write_then_expect_waits(a, c, &lock);
      read(a, &lock);
      expect_write_busy(c, &lock);
      unlock(a, &lock);
      expect_works(&lock);
    }
  }
}

TEST_F(Foreign, StaleRecordsOfManyLocksAtOnce) {
  constexpr int kLocks = 300;
  auto many = std::make_unique<L[]>(kLocks);
  for (int i = 0; i < kLocks; ++i)
    ASSERT_RC(0, pthread_rwlock_init(&many[i], nullptr));
  for (int i = 0; i < kLocks; ++i)
    warm_up_readers(&many[i], 50);
  a.run([&] {
    for (int i = 0; i < kLocks; ++i)
      EXPECT_RC(0, pthread_rwlock_rdlock(&many[i]));
  });
  b.run([&] {
    for (int i = kLocks - 1; i >= 0; --i)
      EXPECT_RC(0, pthread_rwlock_unlock(&many[i]));
  });
  c.run([&] {
    for (int i = 0; i < kLocks; ++i)
      ASSERT_RC(0, pthread_rwlock_trywrlock(&many[i])) << i;
  });
  a.run([&] {
    for (int i = 0; i < kLocks; ++i)
      ASSERT_RC(EBUSY, pthread_rwlock_tryrdlock(&many[i])) << i;
  });
  c.run([&] {
    for (int i = 0; i < kLocks; ++i)
      EXPECT_RC(0, pthread_rwlock_unlock(&many[i]));
  });
  a.run([&] {
    for (int i = 0; i < kLocks; ++i) {
      ASSERT_RC(0, pthread_rwlock_tryrdlock(&many[i])) << i;
      EXPECT_RC(0, pthread_rwlock_unlock(&many[i]));
    }
  });
  c.run([&] {
    for (int i = 0; i < kLocks; ++i)
      ASSERT_RC(0, pthread_rwlock_trywrlock(&many[i])) << i;
    for (int i = 0; i < kLocks; ++i)
      EXPECT_RC(0, pthread_rwlock_unlock(&many[i]));
  });
}

// A program may acquire holds in one thread and release them in another, much later.
TEST_F(Foreign, HoldsByTheHundredThousand) {
  constexpr int kHolds = 300'000;
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  a.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock)); });
  b.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });  // from now on no record is trusted
  a.run([&] {
    int failed = 0;
    for (int i = 0; i < kHolds; ++i)
      failed += pthread_rwlock_rdlock(&lock) != 0 ? 1 : 0;
    EXPECT_EQ(0, failed);
  });
  expect_write_busy(c, &lock);
  b.run([&] {
    int failed = 0;
    for (int i = 0; i < kHolds; ++i)
      failed += pthread_rwlock_unlock(&lock) != 0 ? 1 : 0;
    EXPECT_EQ(0, failed);
  });
  expect_works(&lock);
}

// Foreign releases of a lock that its releaser also uses, raced with recursion and writers. A
// holder's hold is ended by an undertaker that never waits for a lock; what the threads see inside
// is checked.
TEST_F(Foreign, RacingRecursion) {
  static Guarded guarded;
  std::atomic<int> owed{0};
  std::atomic<bool> over{false};
  Actor undertaker;
  undertaker.start([&] {
    std::mt19937 random(seed());
    while (!over || owed > 0) {
      if (owed.load() == 0) {
        sched_yield();
        continue;
      }
      const bool also_reads = random() % 2 == 0 && pthread_rwlock_tryrdlock(&guarded.lock) ==
                                                       0;  // sometimes a holder itself
      owed.fetch_sub(1);
      EXPECT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
      if (also_reads) {
        guarded.read_inside();
        EXPECT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
      }
    }
  });
  hammer(spinning() ? 3 : 5, scaled_time(500), [&](int index, std::mt19937& random) {
    if (index == 0) {
      EXPECT_EQ(0, pthread_rwlock_wrlock(&guarded.lock));
      guarded.write_inside();
      EXPECT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
      return;
    }
    for (int i = 0; i < 10; ++i) {
      // A lock has room for so many holds, and the undertaker may not run for a while.
      while (owed > 1000)
        sched_yield();
      const int depth = 1 + static_cast<int>(random() % 3);
      for (int n = 0; n < depth; ++n) {
        EXPECT_EQ(0, pthread_rwlock_rdlock(&guarded.lock));
        guarded.read_inside();
      }
      const int given_away = static_cast<int>(random() % (depth + 1));
      owed.fetch_add(given_away);
      // What is left of the holds covers what is done here.
      for (int n = given_away; n < depth; ++n) {
        guarded.read_inside();
        EXPECT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
      }
    }
  });
  over = true;
  undertaker.finish();
  EXPECT_EQ(0u, guarded.violations.load());
  expect_works(&guarded.lock);
}

}  // namespace conformance::rwlock_foreign
