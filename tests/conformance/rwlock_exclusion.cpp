// Readers share and a writer excludes: each form against each other, and many threads at once.
#include "support.h"

namespace conformance::rwlock_exclusion {

namespace {
using L = pthread_rwlock_t;
}

TEST(Exclusion, Basics) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int i = 0; i < 20; ++i) {
    expect_works(&lock);
    warm_up_readers(&lock, 100 * i);
  }
}

// Readers that took any short cut are visible to every kind of writer.
TEST(Exclusion, WritersSeeReadersThatCameByAnyShortCut) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  Actor reader, writer;
  for (int reads : {0, 1, 10, 100, 1000, 10'000}) {
    reader.run([&] {
      warm_up_readers(&lock, reads);
      ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));  // its own hold too
    });
    writer.run([&] {
      for (int i = 0; i < 3; ++i)
        EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
      const timespec soon = after(CLOCK_MONOTONIC, kMillisecond);
      EXPECT_RC(ETIMEDOUT, pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &soon));
    });
    writer.start([&] {
      EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    EXPECT_TRUE(writer.blocked());
    reader.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
    writer.finish();
    writer.run([&] {
      EXPECT_RC(0, pthread_rwlock_trywrlock(&lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
  }
}

TEST(Exclusion, ReadersShareByEveryForm) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  constexpr int kReaders = 12;
  for (int reads : {0, 3000}) {
    warm_up_readers(&lock, reads);
    Actor readers[kReaders];
    for (int i = 0; i < kReaders; ++i)
      readers[i].run([&, i] {
        const timespec real = after(CLOCK_REALTIME, 600'000 * kMillisecond),
                       mono = after(CLOCK_MONOTONIC, 600'000 * kMillisecond);
        switch (i % 4) {
          case 0:
            EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
            break;
          case 1:
            EXPECT_RC(0, pthread_rwlock_tryrdlock(&lock));
            break;
          case 2:
            EXPECT_RC(0, pthread_rwlock_timedrdlock(&lock, &real));
            break;
          case 3:
            EXPECT_RC(0, pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &mono));
            break;
        }
      });
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
    for (int i = 0; i < kReaders; ++i) {
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
      readers[(i * 5) % kReaders].run([&] { EXPECT_RC(0, pthread_rwlock_unlock(&lock)); });
    }
    EXPECT_RC(0, pthread_rwlock_trywrlock(&lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
  }
}

// All that wait while a writer holds are let in: the readers together, the writers one by one.
TEST(Exclusion, EverybodyWhoWaitsIsAdmitted) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int round = 0; round < 5; ++round) {
    ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
    const int waiters = spinning() ? 4 : 10;
    std::atomic<int> admitted{0}, writers_inside{0};
    std::vector<std::unique_ptr<Actor>> crew;
    for (int i = 0; i < waiters; ++i) {
      crew.push_back(std::make_unique<Actor>());
      crew.back()->start([&, i] {
        if (i % 3 == 0) {
          EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
          EXPECT_EQ(0, writers_inside.fetch_add(1));
          writers_inside.fetch_sub(1);
        } else {
          EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
          EXPECT_EQ(0, writers_inside.load());
        }
        ++admitted;
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      });
    }
    crew.back()->wait_until_asleep();
    EXPECT_EQ(0, admitted.load());
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    crew.clear();
    EXPECT_EQ(waiters, admitted.load());
    expect_works(&lock);
  }
}

// A reader keeps out the writers of its own lock and no others, whether it reads by a short cut,
// recursively, more locks than a thread has places for, or still waits. A writer of another lock
// that waits for it waits for ever here.
TEST(Exclusion, AReaderOfOneLockDelaysNoWriterOfAnother) {
  constexpr int kRead = 24;
  static L read[kRead], written, other;
  for (const int reads : {0, 3000}) {
    for (L* lock : {&read[0], &read[kRead - 1], &other})
      warm_up_readers(lock, reads);
    Actor reader, holder, waiter, writer;
    reader.run([&] {
      for (L& lock : read)
        ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
      ASSERT_RC(0, pthread_rwlock_rdlock(&read[0]));
    });
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_wrlock(&written)); });
    waiter.start([&] {
      ASSERT_RC(0, pthread_rwlock_rdlock(&written));
      EXPECT_RC(0, pthread_rwlock_unlock(&written));
    });
    EXPECT_TRUE(waiter.blocked());
    writer.run([&] {
      const timespec late = after(CLOCK_MONOTONIC, 600'000 * kMillisecond);
      for (int i = 0; i < 100; ++i) {
        EXPECT_RC(0, i % 3 == 0   ? pthread_rwlock_wrlock(&other)
                     : i % 3 == 1 ? pthread_rwlock_trywrlock(&other)
                                  : pthread_rwlock_clockwrlock(&other, CLOCK_MONOTONIC, &late));
        EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&read[i % kRead]));
        EXPECT_RC(0, pthread_rwlock_unlock(&other));
        EXPECT_RC(0, pthread_rwlock_rdlock(&other));
        EXPECT_RC(0, pthread_rwlock_unlock(&other));
      }
    });
    holder.run([&] { EXPECT_RC(0, pthread_rwlock_unlock(&written)); });
    waiter.finish();
    reader.run([&] {
      EXPECT_RC(0, pthread_rwlock_unlock(&read[0]));
      for (L& lock : read)
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    for (L* lock : {&read[0], &read[kRead - 1], &written, &other})
      expect_works(lock);
  }
}

// Reads that are all inside at once, each waiting for the others: readers really share.
TEST(Exclusion, ReadersMeetInside) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  constexpr int kReaders = 6;
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> inside{0};
    std::vector<std::thread> crew;
    for (int i = 0; i < kReaders; ++i)
      crew.emplace_back([&] {
        EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
        ++inside;
        while (inside < kReaders)
          sched_yield();
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      });
    for (std::thread& t : crew)
      t.join();
    if (round % 3 == 0) expect_works(&lock);
  }
}

TEST(Exclusion, HammeredAtSeveralWriteShares) {
  for (unsigned percent : {0u, 1u, 10u, 50u, 100u}) {
    static Guarded shared;
    Guarded* guarded = &shared;
    std::atomic<std::uint64_t> writes{0};
    const std::uint64_t before = guarded->first;
    hammer(spinning() ? processors() : 6, scaled_time(120), [&](int, std::mt19937& random) {
      for (int i = 0; i < 100; ++i) {
        const bool write = random() % 100 < percent;
        ASSERT_EQ(0, write ? pthread_rwlock_wrlock(&guarded->lock)
                           : pthread_rwlock_rdlock(&guarded->lock));
        if (write) {
          guarded->write_inside();
          writes.fetch_add(1, std::memory_order_relaxed);
        } else {
          guarded->read_inside();
        }
        ASSERT_EQ(0, pthread_rwlock_unlock(&guarded->lock));
      }
    });
    EXPECT_EQ(0u, guarded->violations.load()) << "at " << percent << " % writes";
    EXPECT_EQ(before + writes, guarded->first.load());
    expect_works(&guarded->lock);
  }
}

TEST(Exclusion, HammeredByTryFormsAlone) {
  static Guarded guarded;
  std::atomic<std::uint64_t> writes{0};
  hammer(6, scaled(250), [&](int, std::mt19937& random) {
    for (int i = 0; i < 100; ++i) {
      const bool write = random() % 4 == 0;
      const int rc =
          write ? pthread_rwlock_trywrlock(&guarded.lock) : pthread_rwlock_tryrdlock(&guarded.lock);
      if (rc == EBUSY) continue;
      ASSERT_EQ(0, rc);
      if (write) {
        guarded.write_inside();
        ++writes;
      } else {
        guarded.read_inside();
      }
      ASSERT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
    }
  });
  EXPECT_EQ(0u, guarded.violations.load());
  EXPECT_EQ(writes.load(), guarded.first.load());
  expect_works(&guarded.lock);
}

// Tries among waiters: a failed try leaves no trace that a waiter could trip over.
TEST(Exclusion, HammeredByTryAndWaitingForms) {
  static Guarded guarded;
  hammer(spinning() ? 4 : 6, scaled(250), [&](int index, std::mt19937& random) {
    for (int i = 0; i < 50; ++i) {
      const bool write = random() % 4 == 0;
      int rc;
      if (index % 2 == 0)
        rc = write ? pthread_rwlock_trywrlock(&guarded.lock)
                   : pthread_rwlock_tryrdlock(&guarded.lock);
      else
        rc = write ? pthread_rwlock_wrlock(&guarded.lock) : pthread_rwlock_rdlock(&guarded.lock);
      if (rc == EBUSY && index % 2 == 0) continue;
      ASSERT_EQ(0, rc);
      if (write)
        guarded.write_inside();
      else
        guarded.read_inside();
      ASSERT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
    }
  });
  EXPECT_EQ(0u, guarded.violations.load());
  expect_works(&guarded.lock);
}

// What a writer wrote is seen by the next holder, without any other synchronisation (message
// passing).
TEST(Exclusion, PublishesWhatWasWritten) {
  static L lock = PTHREAD_RWLOCK_INITIALIZER;
  static std::atomic<long> words[64];  // relaxed accesses only
  hammer(spinning() ? processors() : 4, scaled_time(200), [&](int index, std::mt19937&) {
    if (index == 0) {
      ASSERT_EQ(0, pthread_rwlock_wrlock(&lock));
      const long next = words[0].load(std::memory_order_relaxed) + 1;
      for (auto& word : words)
        word.store(next, std::memory_order_relaxed);
      ASSERT_EQ(0, pthread_rwlock_unlock(&lock));
    }
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(0, pthread_rwlock_rdlock(&lock));
      const long value = words[63].load(std::memory_order_relaxed);
      for (auto& word : words)
        ASSERT_EQ(value, word.load(std::memory_order_relaxed));
      ASSERT_EQ(0, pthread_rwlock_unlock(&lock));
    }
  });
}

// A kind is a request: whatever a lock makes of it, it excludes.
TEST(Exclusion, HammeredForEachKind) {
  for (unsigned kind :
       {PTHREAD_RWLOCK_PREFER_WRITER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
    static Guarded shared;
    Guarded* guarded = &shared;
    guarded->lock = {{__PTHREAD_RWLOCK_INITIALIZER(kind)}};
    hammer(spinning() ? processors() : 4, scaled_time(150), [&](int, std::mt19937& random) {
      for (int i = 0; i < 50; ++i) {
        const bool write = random() % 5 == 0;
        ASSERT_EQ(0, write ? pthread_rwlock_wrlock(&guarded->lock)
                           : pthread_rwlock_rdlock(&guarded->lock));
        if (write)
          guarded->write_inside();
        else
          guarded->read_inside();
        ASSERT_EQ(0, pthread_rwlock_unlock(&guarded->lock));
      }
    });
    EXPECT_EQ(0u, guarded->violations.load());
    expect_works(&guarded->lock);
  }
}

}  // namespace conformance::rwlock_exclusion
