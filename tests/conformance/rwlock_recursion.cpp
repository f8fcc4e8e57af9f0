// Recursive reads. POSIX lets a second read by the same thread deadlock behind a waiting writer;
// glibc's default lock admits it and programs rely on it, so every lock must.
#include <algorithm>
#include <memory>
#include <numeric>

#include "support.h"

namespace conformance::rwlock_recursion {

namespace {

using L = pthread_rwlock_t;

// One of the six ways to ask for a read.
int read_by_form(L* lock, int form) {
  switch (form % 6) {
    case 0:
      return pthread_rwlock_rdlock(lock);
    case 1:
      return pthread_rwlock_tryrdlock(lock);
    case 2: {
      const timespec t = after(CLOCK_REALTIME, 600'000 * kMillisecond);
      return pthread_rwlock_timedrdlock(lock, &t);
    }
    case 3: {
      const timespec t = after(CLOCK_MONOTONIC, 600'000 * kMillisecond);
      return pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &t);
    }
    case 4: {
      const timespec t =
          after(CLOCK_REALTIME, -kMillisecond);  // long past: it must not need to wait
      return pthread_rwlock_timedrdlock(lock, &t);
    }
    default: {
      const timespec t = after(CLOCK_REALTIME, 600'000 * kMillisecond);
      return pthread_rwlock_clockrdlock(lock, CLOCK_REALTIME, &t);
    }
  }
}
constexpr int kForms = 6;

void write_once(L* lock) {
  EXPECT_RC(0, pthread_rwlock_wrlock(lock));
  EXPECT_RC(0, pthread_rwlock_unlock(lock));
}

// Takes the lock `depth` times more while a writer waits, by the given forms, and gives it back;
// the writer gets in when the last hold ends, and not before.
void recurse_beside_a_writer(L* lock, int depth, const std::function<int(int)>& form_of) {
  Actor writer;
  ASSERT_RC(0, read_by_form(lock, form_of(0)));
  writer.start([&] { write_once(lock); });
  EXPECT_TRUE(writer.blocked());
  for (int i = 1; i < depth; ++i)
    ASSERT_RC(0, read_by_form(lock, form_of(i))) << "at depth " << i;
  for (int i = 1; i < depth; ++i) {
    ASSERT_RC(0, pthread_rwlock_unlock(lock));
    ASSERT_FALSE(writer.done()) << "a writer was admitted beside " << depth - i << " holds";
  }
  EXPECT_TRUE(writer.blocked());
  ASSERT_RC(0, pthread_rwlock_unlock(lock));
  writer.finish();
  expect_works(lock);
}

}  // namespace

TEST(Recursion, WithoutAWriter) {
  for (unsigned kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                        PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
    L lock = {{__PTHREAD_RWLOCK_INITIALIZER(kind)}};
    for (int depth : {1, 2, 3, 1000}) {
      for (int i = 0; i < depth; ++i)
        ASSERT_RC(0, read_by_form(&lock, i));
      Actor other;
      for (int i = 0; i < depth; ++i) {
        if (i % 100 < 2) {
          other.run([&] { ASSERT_RC(EBUSY, pthread_rwlock_trywrlock(&lock)); });
        }
        ASSERT_RC(0, pthread_rwlock_unlock(&lock));
      }
      expect_works(&lock);
    }
  }
}

TEST(Recursion, BesideAWaitingWriterByEachForm) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int outer = 0; outer < kForms; ++outer)
    recurse_beside_a_writer(&lock, 8, [&](int i) { return outer + i; });
}

TEST(Recursion, BesideAWaitingWriterToDepth1000) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  recurse_beside_a_writer(&lock, 1000, [](int i) { return i; });
  std::mt19937 random(seed());
  recurse_beside_a_writer(&lock, 1000, [&](int) { return static_cast<int>(random() % kForms); });
}

TEST(Recursion, BesideAWaitingWriterAfterManyReads) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int round = 0; round < 5; ++round) {
    warm_up_readers(&lock);
    recurse_beside_a_writer(&lock, 20, [&](int i) { return i + round; });
  }
}

TEST(Recursion, OfTheWriterPreferringKindThatGlibcTreatsAsReaderPreferring) {
  L lock = {{__PTHREAD_RWLOCK_INITIALIZER(PTHREAD_RWLOCK_PREFER_WRITER_NP)}};
  recurse_beside_a_writer(&lock, 20, [](int i) { return i; });
}

TEST(Recursion, OfTwoReadersBesideAWaitingWriter) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int round = 0; round < (spinning() ? 1 : 3); ++round) {
    Actor a, b, writer;
    a.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock)); });
    b.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock)); });
    writer.start([&] { write_once(&lock); });
    EXPECT_TRUE(writer.blocked());
    for (int i = 0; i < 50; ++i) {
      a.run([&] { ASSERT_RC(0, read_by_form(&lock, i)); });
      b.run([&] { ASSERT_RC(0, read_by_form(&lock, i + 1)); });
    }
    for (int i = 0; i < 51; ++i)
      a.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
    EXPECT_TRUE(writer.blocked());
    a.run([&] { EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock)); });
    for (int i = 0; i < 50; ++i)
      b.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
    EXPECT_TRUE(writer.blocked());
    b.run([&] { ASSERT_RC(0, read_by_form(&lock, 0)); });  // still the last holder: still admitted
    b.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
    b.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
    writer.finish();
    expect_works(&lock);
  }
}

TEST(Recursion, BesideTimedWritersThatGiveUp) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  Actor writer;
  ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
  for (int i = 0; i < scaled(20); ++i) {
    writer.start([&] {
      const timespec deadline = after(CLOCK_MONOTONIC, 3 * kMillisecond);
      EXPECT_RC(ETIMEDOUT, pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &deadline));
    });
    for (int form = 0; !writer.done(); ++form) {
      ASSERT_RC(0, read_by_form(&lock, form));
      ASSERT_RC(0, pthread_rwlock_unlock(&lock));
    }
  }
  ASSERT_RC(0, pthread_rwlock_unlock(&lock));
  expect_works(&lock);
}

// A thread holds very many locks, more than a table of visible readers has slots, and releases them
// in any order.
TEST(Recursion, ManyLocksHeldAtOnceReleasedInAnyOrder) {
  constexpr int kLocks = 6000;
  auto locks = std::make_unique<L[]>(kLocks);
  for (int i = 0; i < kLocks; ++i)
    ASSERT_RC(0, pthread_rwlock_init(&locks[i], nullptr));
  for (int i = 0; i < kLocks; ++i)
    for (int n = 0; n < 30; ++n) {  // some reads first, for locks that learn that they are read
      ASSERT_EQ(0, pthread_rwlock_rdlock(&locks[i]));
      ASSERT_EQ(0, pthread_rwlock_unlock(&locks[i]));
    }
  std::vector<int> order(kLocks);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(seed());
  Actor other;
  for (int round = 0; round < 2; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (int i : order)
      ASSERT_RC(0, pthread_rwlock_rdlock(&locks[i]));
    other.run([&] {
      for (int i = 0; i < kLocks; ++i)
        ASSERT_RC(EBUSY, pthread_rwlock_trywrlock(&locks[i])) << "lock " << i;
    });
    std::shuffle(order.begin(), order.end(), random);
    for (int n = 0; n < kLocks; ++n) {
      ASSERT_RC(0, pthread_rwlock_unlock(&locks[order[n]]));
      if (n % 100 == 0) {
        other.run([&] {
          ASSERT_RC(0, pthread_rwlock_trywrlock(&locks[order[n]]));
          ASSERT_RC(0, pthread_rwlock_unlock(&locks[order[n]]));
          if (n + 1 < kLocks) {
            ASSERT_RC(EBUSY, pthread_rwlock_trywrlock(&locks[order[n + 1]]));
          }
        });
      }
    }
    other.run([&] {
      for (int i = 0; i < kLocks; ++i) {
        ASSERT_RC(0, pthread_rwlock_trywrlock(&locks[i]))
            << "lock " << i << " is held after its release";
        ASSERT_RC(0, pthread_rwlock_unlock(&locks[i]));
      }
    });
  }
}

// The two together: recursion on many of 2000 held locks, a writer waiting on some of them.
TEST(Recursion, OnManyHeldLocksWithWritersWaiting) {
  constexpr int kLocks = 2000, kWriters = 8;
  auto locks = std::make_unique<L[]>(kLocks);
  for (int i = 0; i < kLocks; ++i)
    ASSERT_RC(0, pthread_rwlock_init(&locks[i], nullptr));
  for (int i = 0; i < kLocks; ++i)
    ASSERT_RC(0, read_by_form(&locks[i], i));
  std::vector<std::unique_ptr<Actor>> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.push_back(std::make_unique<Actor>());
    writers.back()->start([&locks, w] { write_once(&locks[w * (kLocks / kWriters) + 7]); });
  }
  for (auto& writer : writers)
    writer->wait_until_asleep();
  std::vector<int> holds;
  for (int i = 0; i < kLocks; ++i)
    holds.push_back(i);
  for (int i = 0; i < kLocks; i += 3) {
    ASSERT_RC(0, pthread_rwlock_rdlock(&locks[i]));
    holds.push_back(i);
  }
  for (int w = 0; w < kWriters; ++w)
    for (int n = 0; n < 10; ++n) {
      const int i = w * (kLocks / kWriters) + 7;
      ASSERT_RC(0, read_by_form(&locks[i], n));
      holds.push_back(i);
    }
  for (auto& writer : writers)
    EXPECT_FALSE(writer->done());
  std::mt19937 random(seed());
  std::shuffle(holds.begin(), holds.end(), random);
  for (int i : holds)
    ASSERT_RC(0, pthread_rwlock_unlock(&locks[i]));
  for (auto& writer : writers)
    writer->finish();
  Actor other;
  other.run([&] {
    for (int i = 0; i < kLocks; ++i) {
      ASSERT_RC(0, pthread_rwlock_trywrlock(&locks[i]));
      ASSERT_RC(0, pthread_rwlock_unlock(&locks[i]));
    }
  });
}

// Many threads recurse at random while writers come and go: nobody gets stuck, nobody breaks in.
TEST(Recursion, Hammered) {
  static Guarded guarded[3];
  hammer(spinning() ? 3 : 6, scaled_time(400), [&](int index, std::mt19937& random) {
    Guarded& g = guarded[random() % 3];
    if (index % 3 == 0) {
      ASSERT_EQ(0, pthread_rwlock_wrlock(&g.lock));
      g.write_inside();
      ASSERT_EQ(0, pthread_rwlock_unlock(&g.lock));
      return;
    }
    int depth = 0;
    for (int step = 0; step < 30; ++step) {
      if (depth == 0 || random() % 2 == 0) {
        const int rc = read_by_form(&g.lock, static_cast<int>(random()));
        if (depth == 0 && (rc == EBUSY || rc == ETIMEDOUT))
          continue;  // a first read may be refused by a try
        ASSERT_EQ(0, rc);
        ++depth;
      } else {
        ASSERT_EQ(0, pthread_rwlock_unlock(&g.lock));
        --depth;
      }
      if (depth > 0) g.read_inside();
      if (random() % 16 == 0) sched_yield();
    }
    for (; depth > 0; --depth)
      ASSERT_EQ(0, pthread_rwlock_unlock(&g.lock));
  });
  for (Guarded& g : guarded) {
    EXPECT_EQ(0u, g.violations.load());
    expect_works(&g.lock);
  }
}

}  // namespace conformance::rwlock_recursion
