// Every way in which glibc's object may be set up, copied, moved and dropped.
#include <algorithm>
#include <fstream>
#include <memory>
#include <shared_mutex>
#include <stdlib.h>
#include <string.h>
#include <string>

#include <sys/mman.h>

#include "support.h"

namespace conformance::rwlock_init {

namespace {

using L = pthread_rwlock_t;

constexpr int kKinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                          PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};

pthread_rwlock_t global_default = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t global_nonrecursive = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
pthread_rwlock_t global_writer = {{__PTHREAD_RWLOCK_INITIALIZER(PTHREAD_RWLOCK_PREFER_WRITER_NP)}};
pthread_rwlock_t global_zero;

// Of the process's own memory. Not from statm, which is off by some pages for each processor.
std::int64_t own_bytes() {
  std::ifstream lines("/proc/self/smaps_rollup");
  std::int64_t sum = 0;
  int found = 0;
  for (std::string word; lines >> word;) {
    std::int64_t kibibytes = 0;
    if ((word != "Anonymous:" && word != "Swap:") || !(lines >> kibibytes)) continue;
    sum += 1024 * kibibytes;
    ++found;
  }
  EXPECT_EQ(found, 2) << "there is no such file, or it has another form";
  return sum;
}

}  // namespace

TEST(Init, StaticInitialisers) {
  expect_works(&global_default);
  expect_works(&global_nonrecursive);
  expect_works(&global_writer);
}

TEST(Init, StaticInitialiserFirstUsedByEachCall) {
  using Call = int (*)(pthread_rwlock_t*);
  for (Call first : {pthread_rwlock_rdlock, pthread_rwlock_wrlock, pthread_rwlock_tryrdlock,
                     pthread_rwlock_trywrlock}) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    EXPECT_RC(0, first(&lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    expect_works(&lock);
    EXPECT_RC(0, pthread_rwlock_destroy(&lock));
  }
  using Timed = int (*)(pthread_rwlock_t*, const timespec*);
  for (Timed first : {pthread_rwlock_timedrdlock, pthread_rwlock_timedwrlock}) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    const timespec deadline = after(CLOCK_REALTIME, 60'000 * kMillisecond);
    EXPECT_RC(0, first(&lock, &deadline));
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    expect_works(&lock);
  }
}

TEST(Init, DestroyedWithoutEverBeingLocked) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  EXPECT_RC(0, pthread_rwlock_destroy(&lock));
  EXPECT_RC(0, pthread_rwlock_init(&lock, nullptr));
  EXPECT_RC(0, pthread_rwlock_destroy(&lock));
}

TEST(Init, ZeroedMemory) {
  expect_works(&global_zero);
  auto* from_calloc = static_cast<pthread_rwlock_t*>(calloc(1, sizeof(pthread_rwlock_t)));
  expect_works(from_calloc);
  free(from_calloc);
}

TEST(Init, EachKindByAttribute) {
  for (int kind : kKinds) {
    pthread_rwlockattr_t attribute;
    ASSERT_RC(0, pthread_rwlockattr_init(&attribute));
    ASSERT_RC(0, pthread_rwlockattr_setkind_np(&attribute, kind));
    int read_back = -1;
    EXPECT_RC(0, pthread_rwlockattr_getkind_np(&attribute, &read_back));
    EXPECT_EQ(kind, read_back);
    pthread_rwlock_t lock;
    memset(&lock, 0xff, sizeof lock);
    ASSERT_RC(0, pthread_rwlock_init(&lock, &attribute));
    EXPECT_RC(0, pthread_rwlockattr_destroy(&attribute));
    expect_works(&lock);
    warm_up_readers(&lock);
    expect_works(&lock);
    EXPECT_RC(0, pthread_rwlock_destroy(&lock));
  }
}

TEST(Init, DirtyMemory) {
  std::mt19937 random(seed());
  pthread_rwlock_t lock;
  for (int round = 0; round < 200; ++round) {
    const auto bytes = reinterpret_cast<unsigned char*>(&lock);
    constexpr unsigned char kFills[] = {0xff, 0xa5, 0x01, 0x80, 0x7f};
    if (round < 5)
      memset(&lock, kFills[round], sizeof lock);
    else
      std::generate(bytes, bytes + sizeof lock,
                    [&] { return static_cast<unsigned char>(random()); });
    ASSERT_RC(0, pthread_rwlock_init(&lock, nullptr));
    if (round % 2 == 0) {
      ASSERT_RC(0, pthread_rwlock_trywrlock(&lock));
      ASSERT_RC(0, pthread_rwlock_unlock(&lock));
      ASSERT_RC(0, pthread_rwlock_tryrdlock(&lock));
      ASSERT_RC(0, pthread_rwlock_unlock(&lock));
    }
    if (round % 50 == 0) expect_works(&lock);
    ASSERT_RC(0, pthread_rwlock_destroy(&lock));  // node asserts on this at its start
  }
}

TEST(Init, AgainWithoutDestroy) {
  pthread_rwlock_t lock;
  for (int round = 0; round < 50; ++round) {
    ASSERT_RC(0, pthread_rwlock_init(&lock, nullptr));
    if (round % 3 == 0) expect_works(&lock);
    if (round % 3 == 1) warm_up_readers(&lock, 500);
  }
  expect_works(&lock);
}

// A hold that nobody will ever end ends with the initialisation of the lock: glibc keeps holds in
// the object alone. Traces of it elsewhere (a reader's slot, a thread's record) must not survive.
TEST(Init, AgainWhileAReaderThatHasExitedHeldIt) {
  pthread_rwlock_t lock;
  ASSERT_RC(0, pthread_rwlock_init(&lock, nullptr));
  for (int round = 0; round < 20; ++round) {
    warm_up_readers(&lock, 100);
    std::thread([&] { EXPECT_RC(0, pthread_rwlock_rdlock(&lock)); }).join();
    ASSERT_RC(0, pthread_rwlock_init(&lock, nullptr));
    ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
    ASSERT_RC(0, pthread_rwlock_unlock(&lock));
  }
  expect_works(&lock);
}

TEST(Init, AgainWhileALiveReaderHeldIt) {
  pthread_rwlock_t lock;
  ASSERT_RC(0, pthread_rwlock_init(&lock, nullptr));
  Actor reader;
  for (int round = 0; round < 20; ++round) {
    warm_up_readers(&lock, 100);
    reader.run([&] { EXPECT_RC(0, pthread_rwlock_rdlock(&lock)); });
    ASSERT_RC(0, pthread_rwlock_init(&lock, nullptr));
    ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
    reader.run([&] {
      EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(&lock));
    });  // its old hold admits it to nothing
    ASSERT_RC(0, pthread_rwlock_unlock(&lock));
  }
  expect_works(&lock);
}

TEST(Init, AgainWhileAWriterHeldIt) {
  pthread_rwlock_t lock;
  ASSERT_RC(0, pthread_rwlock_init(&lock, nullptr));
  Actor writer;
  for (int round = 0; round < 20; ++round) {
    writer.run([&] { EXPECT_RC(0, pthread_rwlock_wrlock(&lock)); });
    ASSERT_RC(0, pthread_rwlock_init(&lock, nullptr));
    writer.run([&] {
      EXPECT_RC(0, pthread_rwlock_tryrdlock(&lock));  // no EDEADLK from an earlier generation
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    expect_works(&lock);
  }
}

TEST(Init, DestroyedAndInitialisedAgain) {
  pthread_rwlock_t lock;
  for (int round = 0; round < 50; ++round) {
    ASSERT_RC(0, pthread_rwlock_init(&lock, nullptr));
    warm_up_readers(&lock, 200);
    if (round % 10 == 0) expect_works(&lock);
    ASSERT_RC(0, pthread_rwlock_destroy(&lock));
    memset(&lock, round % 2 ? 0xff : 0x00, sizeof lock);
  }
}

// A lock is dropped without destroy; its memory becomes other data, then a lock again by init or by
// zeroing.
TEST(Init, NeverDestroyed) {
  alignas(8) unsigned char memory[sizeof(pthread_rwlock_t)];
  auto* lock = reinterpret_cast<pthread_rwlock_t*>(memory);
  for (int round = 0; round < 40; ++round) {
    memset(memory, 0xa5, sizeof memory);
    if (round % 2 == 0)
      ASSERT_RC(0, pthread_rwlock_init(lock, nullptr));
    else
      memset(memory, 0, sizeof memory);
    warm_up_readers(lock, 300);
    if (round % 4 < 2) {
      ASSERT_RC(0, pthread_rwlock_wrlock(lock));
      ASSERT_RC(0, pthread_rwlock_unlock(lock));
    }
    if (round % 8 == 0) expect_works(lock);
  }
}

// As above, but a reader that has exited never released: zeroed memory is a free lock all the same.
TEST(Init, ZeroedAfterAReaderThatHasExitedHeldIt) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int round = 0; round < 20; ++round) {
    warm_up_readers(&lock, 200);
    std::thread([&] { EXPECT_RC(0, pthread_rwlock_rdlock(&lock)); }).join();
    memset(&lock, 0, sizeof lock);
    warm_up_readers(&lock, 200);
    ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
    ASSERT_RC(0, pthread_rwlock_unlock(&lock));
  }
}

// A thread ends an object while it holds the object's lock for reading (sloppy, and fine with
// glibc); the memory comes back zeroed and serves another thread as a lock.
TEST(Init, FreedByItsReaderAndZeroed) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  Actor reader;
  for (int round = 0; round < 20; ++round) {
    warm_up_readers(&lock, 200);
    reader.run([&] { EXPECT_RC(0, pthread_rwlock_rdlock(&lock)); });
    memset(&lock, 0, sizeof lock);
    ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
    reader.run([&] { EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(&lock)); });
    ASSERT_RC(0, pthread_rwlock_unlock(&lock));
  }
}

TEST(Init, FreshMappingAtAnOldAddress) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* place = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(MAP_FAILED, place);
  for (int round = 0; round < 20; ++round) {
    auto* lock = static_cast<pthread_rwlock_t*>(place);
    warm_up_readers(lock, 500);
    expect_works(lock);
    ASSERT_EQ(place, mmap(place, page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
  }
  munmap(place, page);
}

// memcpy of an unlocked lock gives an independent lock: std::vector growth, realloc, struct
// assignment.
TEST(Copy, IsIndependent) {
  for (int state = 0; state < 4; ++state) {
    pthread_rwlock_t original = PTHREAD_RWLOCK_INITIALIZER;
    if (state & 1) warm_up_readers(&original);
    if (state & 2) expect_works(&original);
    pthread_rwlock_t copy;
    memcpy(static_cast<void*>(&copy), &original, sizeof copy);
    Actor other;
    ASSERT_RC(0, pthread_rwlock_wrlock(&original));
    other.run([&] {
      EXPECT_RC(0, pthread_rwlock_trywrlock(&copy));
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&original));
      EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(&original));
      EXPECT_RC(0, pthread_rwlock_unlock(&copy));
      EXPECT_RC(0, pthread_rwlock_rdlock(&copy));
    });
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&copy));
    EXPECT_RC(0, pthread_rwlock_unlock(&original));
    EXPECT_RC(0, pthread_rwlock_trywrlock(&original));  // the copy's reader is none of its business
    EXPECT_RC(0, pthread_rwlock_unlock(&original));
    other.run([&] { EXPECT_RC(0, pthread_rwlock_unlock(&copy)); });
    expect_works(&copy);
    expect_works(&original);
    EXPECT_RC(0, pthread_rwlock_destroy(&copy));
    expect_works(&original);
  }
}

TEST(Copy, OldImageRestored) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER, image;
  warm_up_readers(&lock);
  memcpy(static_cast<void*>(&image), &lock, sizeof lock);
  expect_works(&lock);
  warm_up_readers(&lock, 100);
  memcpy(static_cast<void*>(&lock), &image, sizeof lock);
  expect_works(&lock);
}

TEST(Copy, ArrayThatMovesAsItGrows) {
  auto locks = std::make_unique<L[]>(1);
  for (size_t count = 1; count < 4096;) {
    auto moved = std::make_unique<L[]>(2 * count);
    memset(static_cast<void*>(moved.get()), 0xee, 2 * count * sizeof(L));
    memcpy(static_cast<void*>(moved.get()), locks.get(), count * sizeof(L));
    memset(static_cast<void*>(moved.get() + count), 0, count * sizeof(L));
    locks = std::move(moved);
    count *= 2;
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(0, pthread_rwlock_rdlock(&locks[i]));
      ASSERT_EQ(0, pthread_rwlock_unlock(&locks[i]));
      ASSERT_EQ(0, pthread_rwlock_trywrlock(&locks[i]));
      ASSERT_EQ(0, pthread_rwlock_unlock(&locks[i]));
    }
  }
}

// The type's alignment is 8: a lock may straddle cache lines and pages.
TEST(Init, AtEveryOffset) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* place = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(MAP_FAILED, place);
  for (size_t offset = page - 64; offset <= page; offset += 8) {
    auto* lock = reinterpret_cast<pthread_rwlock_t*>(static_cast<char*>(place) + offset);
    ASSERT_RC(0, pthread_rwlock_init(lock, nullptr));
    warm_up_readers(lock, 500);
    expect_works(lock);
    ASSERT_RC(0, pthread_rwlock_destroy(lock));
    memset(place, 0, 2 * page);
  }
  munmap(place, 2 * page);
}

// The bytes before and after the object belong to somebody else.
TEST(Init, TouchesOnlyItsOwnBytes) {
  struct {
    unsigned char before[64];
    pthread_rwlock_t lock;
    unsigned char after[64];
  } room;
  memset(static_cast<void*>(&room), 0x5a, sizeof room);
  ASSERT_RC(0, pthread_rwlock_init(&room.lock, nullptr));
  warm_up_readers(&room.lock);
  expect_works(&room.lock);
  Actor other;
  ASSERT_RC(0, pthread_rwlock_rdlock(&room.lock));
  other.start([&] {
    EXPECT_RC(0, pthread_rwlock_wrlock(&room.lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&room.lock));
  });
  other.wait_until_asleep();
  EXPECT_RC(0, pthread_rwlock_unlock(&room.lock));
  other.finish();
  ASSERT_RC(0, pthread_rwlock_destroy(&room.lock));
  for (size_t i = 0; i < sizeof room.before; ++i) {
    ASSERT_EQ(0x5a, room.before[i]);
    ASSERT_EQ(0x5a, room.after[i]);
  }
}

// POSIX leaves it open; glibc's destroy succeeds on a held lock. The hold ends with the lock.
TEST(Init, DestroyOfAHeldLock) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  Actor other;
  for (int reads : {0, 3000})
    for (auto take : {pthread_rwlock_rdlock, pthread_rwlock_wrlock})
      for (bool by_another : {false, true}) {
        warm_up_readers(&lock, reads);
        if (by_another) {
          other.run([&] { ASSERT_RC(0, take(&lock)); });
        } else {
          ASSERT_RC(0, take(&lock));
        }
        EXPECT_RC(0, pthread_rwlock_destroy(&lock));
        ASSERT_RC(0, pthread_rwlock_init(&lock, nullptr));
        expect_works(&lock);
      }
}

TEST(Init, ManyLocksCostNoMemoryOfTheirOwn) {
  // Observers have tables of so many locks at most, which the first ones fill.
  constexpr size_t kFirst = 100'000, kLocks = 200'000;
  auto locks = std::make_unique<pthread_rwlock_t[]>(kFirst + kLocks);
  memset(static_cast<void*>(locks.get()), 0, (kFirst + kLocks) * sizeof(pthread_rwlock_t));
  warm_up_readers(&locks[0]);
  const auto use = [&locks](size_t begin, size_t end) {
    for (int pass = 0; pass < 2; ++pass)
      for (size_t i = begin; i < end; ++i) {
        ASSERT_EQ(0, pthread_rwlock_rdlock(&locks[i]));
        ASSERT_EQ(0, pthread_rwlock_unlock(&locks[i]));
        ASSERT_EQ(0, pthread_rwlock_wrlock(&locks[i]));
        ASSERT_EQ(0, pthread_rwlock_unlock(&locks[i]));
      }
  };
  use(0, kFirst);
  const std::int64_t before = own_bytes();
  use(kFirst, kFirst + kLocks);
  // The large locks have a block beside the object, for as long as they are not destroyed: at
  // most 2 kB on the machines that tests pretend.
  const std::int64_t in_blocks =
      lock_is("has_block") ? 2048 * static_cast<std::int64_t>(kLocks) : 0;
  EXPECT_LT(own_bytes() - before, in_blocks + (4 << 20)) << "bytes more for " << kLocks << " locks";
}

TEST(Init, LifeCyclesCostNoMemory) {
  pthread_rwlock_t lock;
  const auto cycle = [&] {
    ASSERT_EQ(0, pthread_rwlock_init(&lock, nullptr));
    ASSERT_EQ(0, pthread_rwlock_rdlock(&lock));
    ASSERT_EQ(0, pthread_rwlock_unlock(&lock));
    ASSERT_EQ(0, pthread_rwlock_wrlock(&lock));
    ASSERT_EQ(0, pthread_rwlock_unlock(&lock));
    ASSERT_EQ(0, pthread_rwlock_destroy(&lock));
  };
  // Each cycle makes a lock that is new to observers, and the audit keeps 32,767 orders of locks.
  for (int i = 0; i < 40'000; ++i)
    cycle();
  const std::int64_t before = own_bytes();
  for (int i = 0; i < scaled_up(300'000); ++i)
    cycle();
  EXPECT_LT(own_bytes() - before, 2 << 20);
}

TEST(Init, CppSharedMutex) {
  std::shared_mutex plain;
  std::shared_timed_mutex timed;
  Actor other;
  for (int round = 0; round < 100; ++round) {
    {
      std::shared_lock read(plain);
      std::shared_lock read_timed(timed);
      other.run([&] {
        EXPECT_TRUE(plain.try_lock_shared());
        plain.unlock_shared();
        EXPECT_FALSE(plain.try_lock());
        EXPECT_TRUE(timed.try_lock_shared_for(std::chrono::seconds(60)));
        timed.unlock_shared();
        EXPECT_FALSE(timed.try_lock_for(std::chrono::microseconds(100)));
        EXPECT_FALSE(timed.try_lock_until(std::chrono::system_clock::now() +
                                          std::chrono::microseconds(100)));
      });
    }
    std::unique_lock write(plain);
    std::unique_lock write_timed(timed);
    other.run([&] {
      EXPECT_FALSE(plain.try_lock_shared());
      EXPECT_FALSE(timed.try_lock_shared_for(std::chrono::microseconds(100)));
      EXPECT_FALSE(timed.try_lock_shared_until(std::chrono::system_clock::now()));
    });
  }
}

}  // namespace conformance::rwlock_init
