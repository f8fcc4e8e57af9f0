// Timed forms: deadlines are kept, and a waiter that gives up at any stage leaves a lock that
// works.
#include <limits.h>
#include <sched.h>

#include "support.h"

namespace conformance::rwlock_timed {

namespace {

using L = pthread_rwlock_t;

int timed(L* lock, bool write, clockid_t clock, std::int64_t delta) {
  const timespec deadline = after(clock, delta);
  return write ? pthread_rwlock_clockwrlock(lock, clock, &deadline)
               : pthread_rwlock_clockrdlock(lock, clock, &deadline);
}

// `lock` is held so that a request of this kind must time out.
void expect_timeout(L* lock, bool write, clockid_t clock, std::int64_t delta) {
  const timespec deadline = after(clock, delta);
  EXPECT_RC(ETIMEDOUT, write ? pthread_rwlock_clockwrlock(lock, clock, &deadline)
                             : pthread_rwlock_clockrdlock(lock, clock, &deadline));
  EXPECT_TRUE(reached(clock, deadline)) << "gave up before the deadline";
}

constexpr clockid_t kClocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};

}  // namespace

TEST(Timed, NeverGivesUpEarly) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  Actor holder;
  for (bool holder_writes : {true, false}) {
    holder.run([&] {
      ASSERT_RC(0, holder_writes ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
    });
    for (clockid_t clock : kClocks)
      for (std::int64_t delta :
           {0L, kMicrosecond, 50 * kMicrosecond, kMillisecond, 20 * kMillisecond}) {
        expect_timeout(&lock, true, clock, delta);
        if (holder_writes) expect_timeout(&lock, false, clock, delta);
      }
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
    expect_works(&lock);
  }
}

TEST(Timed, PlainTimedFormsMeanTheRealtimeClock) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  Actor holder;
  holder.run([&] { ASSERT_RC(0, pthread_rwlock_wrlock(&lock)); });
  timespec deadline = after(CLOCK_REALTIME, 20 * kMillisecond);
  EXPECT_RC(ETIMEDOUT, pthread_rwlock_timedrdlock(&lock, &deadline));
  EXPECT_TRUE(reached(CLOCK_REALTIME, deadline));
  deadline = after(CLOCK_REALTIME, 20 * kMillisecond);
  EXPECT_RC(ETIMEDOUT, pthread_rwlock_timedwrlock(&lock, &deadline));
  EXPECT_TRUE(reached(CLOCK_REALTIME, deadline));
  holder.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
  expect_works(&lock);
}

// Deadlines so far away that their nanoseconds overflow 64 bits mean: wait.
TEST(Timed, FarDeadlinesWait) {
  for (time_t seconds :
       {static_cast<time_t>(LONG_MAX), static_cast<time_t>(LONG_MAX / 1'000'000'000),
        static_cast<time_t>(1) << 40})
    for (clockid_t clock : kClocks)
      for (bool write : {false, true}) {
        L lock = PTHREAD_RWLOCK_INITIALIZER;
        ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
        const timespec deadline{seconds, 999'999'999};
        Actor waiter;
        waiter.start([&] {
          EXPECT_RC(0, write ? pthread_rwlock_clockwrlock(&lock, clock, &deadline)
                             : pthread_rwlock_clockrdlock(&lock, clock, &deadline));
          EXPECT_RC(0, pthread_rwlock_unlock(&lock));
        });
        EXPECT_TRUE(waiter.blocked());
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      }
}

TEST(Timed, AdmittedBeforeTheDeadline) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  for (clockid_t clock : kClocks)
    for (bool holder_writes : {true, false})
      for (bool write : {true, false}) {
        if (!holder_writes && !write) continue;
        ASSERT_RC(0, holder_writes ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
        Actor waiter;
        waiter.start([&] {
          EXPECT_RC(0, timed(&lock, write, clock, 600'000 * kMillisecond));
          EXPECT_RC(0, pthread_rwlock_unlock(&lock));
        });
        EXPECT_TRUE(waiter.blocked());
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
        waiter.finish();
        expect_works(&lock);
      }
}

// Readers that overlap and come again at once do not keep a timed writer out. How long it waits is
// counted in their sections, which take as long as anything on a busy machine.
TEST(Timed, WriterBesideReadersThatNeverRest) {
  if (readers_may_starve_writers()) GTEST_SKIP() << "the lock lets readers starve writers";
  static L lock;
  lock = PTHREAD_RWLOCK_INITIALIZER;
  constexpr long kPerWrite = 5'000'000;  // some seconds' worth
  std::atomic<long> sections{0}, allowed{kPerWrite};
  std::atomic<bool> stop{false};
  std::atomic<int> inside{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < (spinning() ? 2 : 3); ++i) {
    readers.emplace_back([&] {
      while (!stop && sections < allowed) {
        ASSERT_EQ(0, pthread_rwlock_rdlock(&lock));
        ++sections;
        ++inside;
        // Until another reader is in, too, or a writer is likely to be in its way.
        const timespec end = after(CLOCK_MONOTONIC, 2 * kMillisecond);
        while (inside < 2 && !stop && !reached(CLOCK_MONOTONIC, end)) {}
        --inside;
        ASSERT_EQ(0, pthread_rwlock_unlock(&lock));
      }
    });
  }
  while (inside == 0)
    sched_yield();
  for (int i = 0; i < 5; ++i) {
    allowed = sections + (spinning() ? 10 : 1) * kPerWrite;
    ASSERT_RC(0, timed(&lock, true, CLOCK_MONOTONIC, 3'600'000 * kMillisecond));
    EXPECT_LT(sections, allowed) << "the readers kept it out";
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
  }
  stop = true;
  for (std::thread& r : readers)
    r.join();
  expect_works(&lock);
}

// A thread that tries to write what is only read cannot succeed, and must not make a try to read
// fail, whichever processors they run on.
TEST(Timed, APollingWriterDisturbsNoReader) {
  static L lock;
  lock = PTHREAD_RWLOCK_INITIALIZER;
  const std::vector<int> cpus = [] {
    cpu_set_t set;
    std::vector<int> found;
    sched_getaffinity(0, sizeof set, &set);
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) found.push_back(i);
    }
    return found;
  }();
  const auto move_to = [](int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
  };
  Actor holder, poller, reader;
  holder.run([&] {
    move_to(cpus.back());
    ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
  });
  std::atomic<bool> stop{false};
  poller.start([&] {
    while (!stop)
      ASSERT_EQ(EBUSY, pthread_rwlock_trywrlock(&lock));
  });
  reader.run([&] {
    move_to(cpus.front());
    const std::int64_t end = milliseconds() + scaled_time(100);
    int failed = 0;
    while (milliseconds() < end) {
      if (pthread_rwlock_tryrdlock(&lock) != 0) {
        ++failed;
      } else {
        ASSERT_EQ(0, pthread_rwlock_unlock(&lock));
      }
    }
    EXPECT_EQ(0, failed);
  });
  stop = true;
  poller.finish();
  holder.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
  expect_works(&lock);
}

// ---- giving up, stage by stage. `Stage` arranges holders and waiters, one waiter gives up, then
// everybody leaves in turn; the rest must be admitted, and the lock must work.

// A writer gives up while a reader holds: readers are as welcome as before.
TEST(GiveUp, WriterWhileAReaderHolds) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int warm : {0, 3000}) {
    warm_up_readers(&lock, warm);
    Actor reader, writer;
    reader.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock)); });
    for (int i = 0; i < 10; ++i) {
      writer.run(
          [&] { expect_timeout(&lock, true, CLOCK_MONOTONIC, i % 2 ? 2 * kMillisecond : 0); });
      ASSERT_RC(0, pthread_rwlock_rdlock(&lock));  // no ghost of the writer keeps readers out
      ASSERT_RC(0, pthread_rwlock_unlock(&lock));
      ASSERT_RC(0, pthread_rwlock_tryrdlock(&lock));
      ASSERT_RC(0, pthread_rwlock_unlock(&lock));
    }
    reader.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
    expect_works(&lock);
  }
}

TEST(GiveUp, ReaderAndWriterWhileAWriterHolds) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  Actor holder;
  for (int i = 0; i < 10; ++i) {
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_wrlock(&lock)); });
    expect_timeout(&lock, false, CLOCK_REALTIME, 0);
    expect_timeout(&lock, true, CLOCK_REALTIME, 0);
    expect_timeout(&lock, false, CLOCK_MONOTONIC, kMillisecond);
    expect_timeout(&lock, true, CLOCK_MONOTONIC, kMillisecond);
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
    ASSERT_RC(0, pthread_rwlock_tryrdlock(&lock));
    ASSERT_RC(0, pthread_rwlock_unlock(&lock));
    expect_works(&lock);
  }
}

// A reader holds, a writer waits (drains), a second reader gives up behind it (if it must wait at
// all).
TEST(GiveUp, ReaderBehindAWaitingWriter) {
  for (int round = 0; round < 5; ++round) {
    L lock = PTHREAD_RWLOCK_INITIALIZER;
    Actor holder, writer, reader;
    if (round % 2) warm_up_readers(&lock);
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock)); });
    writer.start([&] {
      EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    EXPECT_TRUE(writer.blocked());
    reader.run([&] {
      for (int i = 0; i < 5; ++i) {
        const Rc rc = call([&] { return timed(&lock, false, CLOCK_MONOTONIC, kMillisecond); });
        EXPECT_TRUE(rc == Rc{0} || rc == Rc{ETIMEDOUT}) << rc;
        if (rc.value == 0) {
          EXPECT_RC(0, pthread_rwlock_unlock(&lock));
        }
      }
    });
    EXPECT_FALSE(writer.done());  // a reader that gave up must not have counted itself out
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
    writer.finish();
    expect_works(&lock);
  }
}

// The draining writer itself gives up: readers that it held back, and the writer behind it, go on.
TEST(GiveUp, DrainingWriterWithOthersBehindIt) {
  for (int round = 0; round < 5; ++round) {
    L lock = PTHREAD_RWLOCK_INITIALIZER;
    Actor holder, draining, reader, second;
    if (round % 2) warm_up_readers(&lock);
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock)); });
    std::atomic<bool> give_up{false};
    draining.start([&] {
      EXPECT_RC(ETIMEDOUT, timed(&lock, true, CLOCK_MONOTONIC, 60 * kMillisecond));
      give_up = true;
    });
    draining.wait_until_asleep();
    reader.start([&] {
      EXPECT_RC(0, pthread_rwlock_rdlock(&lock));  // at the latest once the writer has given up
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    draining.finish();
    reader.finish();
    EXPECT_TRUE(give_up);
    second.start([&] {
      EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    EXPECT_TRUE(second.blocked());
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
    second.finish();
    expect_works(&lock);
  }
}

// A writer waits behind a draining writer and gives up; the first is not disturbed.
TEST(GiveUp, WriterBehindADrainingWriter) {
  for (int round = 0; round < 5; ++round) {
    L lock = PTHREAD_RWLOCK_INITIALIZER;
    Actor holder, first, second, third;
    if (round % 2) warm_up_readers(&lock);
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock)); });
    first.start([&] {
      EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    EXPECT_TRUE(first.blocked());
    second.start([&] { expect_timeout(&lock, true, CLOCK_MONOTONIC, 30 * kMillisecond); });
    second.wait_until_asleep();
    third.start([&] {
      EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    second.finish();
    EXPECT_FALSE(first.done());
    EXPECT_FALSE(third.done());
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
    first.finish();
    third.finish();
    expect_works(&lock);
  }
}

// Queued behind a writer: reader, writer, reader, writer; each in turn is the one that gives up.
TEST(GiveUp, EachPlaceInAQueueBehindAWriter) {
  constexpr int kPlaces = 5;
  for (int leaving = 0; leaving < kPlaces; ++leaving)
    for (bool starts_with_reader : {true, false}) {
      L lock = PTHREAD_RWLOCK_INITIALIZER;
      Actor queue[kPlaces];
      ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
      for (int i = 0; i < kPlaces; ++i) {
        const bool write = (i % 2 == 1) == starts_with_reader;
        queue[i].start([&lock, write, gives_up = i == leaving] {
          if (gives_up) {
            expect_timeout(&lock, write, CLOCK_MONOTONIC, (spinning() ? 8 : 40) * kMillisecond);
            return;
          }
          EXPECT_RC(0, write ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
          EXPECT_RC(0, pthread_rwlock_unlock(&lock));
        });
        if (!spinning()) queue[i].wait_until_asleep();
      }
      queue[leaving].finish();
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      for (Actor& waiter : queue)
        waiter.finish();
      expect_works(&lock);
    }
}

// All waiters give up, then the holder releases.
TEST(GiveUp, AllOfThem) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  for (bool holder_writes : {true, false})
    for (int round = 0; round < 3; ++round) {
      ASSERT_RC(0, holder_writes ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
      {
        Actor waiters[6];
        for (int i = 0; i < 6; ++i)
          waiters[i].start([&, i] {
            expect_timeout(&lock, !holder_writes || i % 2 == 0, CLOCK_MONOTONIC,
                           (5 + i % 3) * kMillisecond);
          });
      }
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      expect_works(&lock);
    }
}

// Deadlines race with hand-offs: a thread whose call returns 0 has the lock, any other has not.
TEST(GiveUp, Hammered) {
  static Guarded guarded;
  std::atomic<long> got{0}, gave_up{0};
  hammer(spinning() ? 4 : 8, scaled(400), [&](int, std::mt19937& random) {
    for (int i = 0; i < 20; ++i) {
      const bool write = random() % 3 == 0;
      const clockid_t clock = kClocks[random() % 2];
      const int rc = timed(&guarded.lock, write, clock,
                           static_cast<std::int64_t>(random() % 100'000) - 10'000);
      if (rc == ETIMEDOUT) {
        ++gave_up;
        continue;
      }
      ASSERT_EQ(0, rc);
      ++got;
      if (write)
        guarded.write_inside();
      else
        guarded.read_inside();
      if (random() % 16 == 0) sched_yield();
      ASSERT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
    }
  });
  EXPECT_EQ(0u, guarded.violations.load());
  EXPECT_GT(got.load(), 0);
  expect_works(&guarded.lock);
  RecordProperty("gave_up", static_cast<int>(gave_up.load()));
}

// The same among patient threads, which a lost wake-up would leave asleep.
TEST(GiveUp, AmongPatientThreads) {
  static Guarded guarded;
  hammer(spinning() ? 4 : 8, scaled(400), [&](int index, std::mt19937& random) {
    for (int i = 0; i < 20; ++i) {
      const bool write = random() % 4 == 0;
      const bool patient = index % 2 == 0;
      int rc;
      if (patient)
        rc = write ? pthread_rwlock_wrlock(&guarded.lock) : pthread_rwlock_rdlock(&guarded.lock);
      else
        rc = timed(&guarded.lock, write, CLOCK_MONOTONIC,
                   static_cast<std::int64_t>(random() % 60'000));
      if (rc == ETIMEDOUT && !patient) continue;
      ASSERT_EQ(0, rc);
      if (write)
        guarded.write_inside();
      else
        guarded.read_inside();
      if (random() % 16 == 0) sched_yield();
      ASSERT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
    }
  });
  EXPECT_EQ(0u, guarded.violations.load());
  expect_works(&guarded.lock);
}

}  // namespace conformance::rwlock_timed
