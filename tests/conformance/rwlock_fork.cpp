// fork, and locks that several processes share.
//
// In a child, holds stay what they were: the forking thread's are its own, other threads' are held
// for ever. Those that waited at the fork have a file of their own: rwlock_fork_waiters.cpp.
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

#include "lifecycle.h"
#include "support.h"

namespace conformance::rwlock_fork {

namespace {

using L = pthread_rwlock_t;

int brief_write(L* lock) {
  const timespec t = after(CLOCK_MONOTONIC, kMillisecond);
  return pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &t);
}
int brief_read(L* lock) {
  const timespec t = after(CLOCK_MONOTONIC, kMillisecond);
  return pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &t);
}

#define EXPECT_GOOD_CHILD(...) EXPECT_EQ(0, in_child(__VA_ARGS__))

}  // namespace

TEST(Fork, FreeAndNewLocks) {
  L used = PTHREAD_RWLOCK_INITIALIZER;
  for (int reads : {0, 3000}) {
    warm_up_readers(&used, reads);
    EXPECT_GOOD_CHILD([&] {
      expect_works(&used);
      warm_up_readers(&used);
      expect_works(&used);
      L fresh = PTHREAD_RWLOCK_INITIALIZER, made;
      expect_works(&fresh);
      EXPECT_RC(0, pthread_rwlock_init(&made, nullptr));
      expect_works(&made);
      EXPECT_RC(0, pthread_rwlock_destroy(&made));
      return 0;
    });
    expect_works(&used);
  }
}

TEST(Fork, ReadHoldOfTheForkingThreadIsItsOwnInTheChild) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int reads : {0, 3000}) {
    warm_up_readers(&lock, reads);
    ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
    ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
    EXPECT_GOOD_CHILD([&] {
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
      EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
      for (int i = 0; i < 3; ++i) {
        Actor other;
        other.run([&] { EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock)); });
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      }
      expect_works(&lock);
      return 0;
    });
    // What the child did to its copy is nothing to the parent.
    Actor other;
    other.run([&] { EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock)); });
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    expect_works(&lock);
  }
}

TEST(Fork, ReadHoldOfAnotherThreadStays) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  Actor holder;
  for (int reads : {0, 3000}) {
    warm_up_readers(&lock, reads);
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock)); });
    EXPECT_GOOD_CHILD([&] {
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
      EXPECT_RC(ETIMEDOUT, brief_write(&lock));
      EXPECT_RC(0, pthread_rwlock_tryrdlock(&lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
      return 0;
    });
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
    expect_works(&lock);
  }
}

// Nothing has run in the child before its first call: no handler of pthread_atfork.
TEST(Fork, TheWriterIsKnownFromTheFirstCall) {
  if (glibc_underneath()) GTEST_SKIP() << "glibc's writer is the parent's thread";
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
  const pid_t child = _Fork();
  if (child == 0) {
    const timespec past{};
    const int again = pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &past);
    _exit(again != EDEADLK ? again : pthread_rwlock_unlock(&lock));
  }
  EXPECT_EQ(0, end_of_child(child));
  ASSERT_RC(0, pthread_rwlock_unlock(&lock));
  expect_works(&lock);
}

TEST(Fork, WriteHoldOfAnotherThreadStays) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  Actor holder;
  holder.run([&] { ASSERT_RC(0, pthread_rwlock_wrlock(&lock)); });
  EXPECT_GOOD_CHILD([&] {
    EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(&lock));
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
    EXPECT_RC(ETIMEDOUT, brief_read(&lock));
    EXPECT_RC(ETIMEDOUT, brief_write(&lock));
    return 0;
  });
  holder.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&lock)); });
  expect_works(&lock);
}

// As atfork handlers do, the child makes every lock anew, also one that was held or waited for.
TEST(Fork, TheChildInitialisesHeldLocksAnew) {
  L read = PTHREAD_RWLOCK_INITIALIZER, written = PTHREAD_RWLOCK_INITIALIZER,
    mine = PTHREAD_RWLOCK_INITIALIZER;
  for (int reads : {0, 3000}) {
    warm_up_readers(&read, reads);
    warm_up_readers(&mine, reads);
    Actor reader, writer, waiting_writer, waiting_reader;
    reader.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&read)); });
    writer.run([&] { ASSERT_RC(0, pthread_rwlock_wrlock(&written)); });
    ASSERT_RC(0, pthread_rwlock_rdlock(&mine));
    waiting_writer.start([&] {
      EXPECT_RC(0, pthread_rwlock_wrlock(&read));
      EXPECT_RC(0, pthread_rwlock_unlock(&read));
    });
    waiting_reader.start([&] {
      EXPECT_RC(0, pthread_rwlock_rdlock(&written));
      EXPECT_RC(0, pthread_rwlock_unlock(&written));
    });
    EXPECT_TRUE(waiting_writer.blocked());
    EXPECT_TRUE(waiting_reader.blocked());
    EXPECT_GOOD_CHILD([&] {
      for (L* lock : {&read, &written, &mine}) {
        EXPECT_RC(0, pthread_rwlock_init(lock, nullptr));
        EXPECT_RC(0, pthread_rwlock_wrlock(lock));
        EXPECT_RC(0, pthread_rwlock_unlock(lock));
        warm_up_readers(lock);
        expect_works(lock);
      }
      return 0;
    });
    reader.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&read)); });
    writer.run([&] { ASSERT_RC(0, pthread_rwlock_unlock(&written)); });
    ASSERT_RC(0, pthread_rwlock_unlock(&mine));
    waiting_writer.finish();
    waiting_reader.finish();
    for (L* lock : {&read, &written, &mine})
      expect_works(lock);
  }
}

TEST(Fork, TheChildKnowsItsOwnWrites) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  ASSERT_RC(
      0, pthread_rwlock_wrlock(&lock));  // so that any remembered thread identity is the parent's
  ASSERT_RC(0, pthread_rwlock_unlock(&lock));
  EXPECT_GOOD_CHILD([&] {
    EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
    EXPECT_RC(EDEADLK, pthread_rwlock_wrlock(&lock));
    EXPECT_RC(EDEADLK, pthread_rwlock_rdlock(&lock));
    Actor other;
    other.run([&] { EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock)); });
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    expect_works(&lock);
    return 0;
  });
}

TEST(Fork, GrandchildAndHolds) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  warm_up_readers(&lock);
  ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
  EXPECT_GOOD_CHILD([&] {
    EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
    EXPECT_GOOD_CHILD([&] {
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      expect_works(&lock);
      return 0;
    });
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    expect_works(&lock);
    return 0;
  });
  EXPECT_RC(0, pthread_rwlock_unlock(&lock));
  expect_works(&lock);
}

TEST(Fork, WhileOtherThreadsAreAtIt) {
  static Guarded guarded, calm;
  std::atomic<bool> over{false};
  std::vector<std::thread> crew;
  for (int i = 0; i < 2; ++i)
    crew.emplace_back([&, i] {
      std::mt19937 random(seed() + static_cast<unsigned>(i));
      while (!over) {
        const bool write = random() % 4 == 0;
        EXPECT_EQ(
            0, write ? pthread_rwlock_wrlock(&guarded.lock) : pthread_rwlock_rdlock(&guarded.lock));
        if (write)
          guarded.write_inside();
        else
          guarded.read_inside();
        EXPECT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
      }
    });
  for (int i = 0; i < scaled(10); ++i) {
    warm_up_readers(&calm.lock, 100);
    EXPECT_GOOD_CHILD([&] {
      expect_works(&calm.lock);
      L fresh = PTHREAD_RWLOCK_INITIALIZER;
      expect_works(&fresh);
      EXPECT_RC(0, pthread_rwlock_init(&guarded.lock, nullptr));
      expect_works(&guarded.lock);
      return 0;
    });
  }
  over = true;
  for (std::thread& t : crew)
    t.join();
  EXPECT_EQ(0u, guarded.violations.load());
  expect_works(&guarded.lock);
}

namespace {
L handled = PTHREAD_RWLOCK_INITIALIZER;
}

TEST(Fork, AtforkHandlersThatLock) {
  ASSERT_EQ(0, pthread_atfork([] { EXPECT_RC(0, pthread_rwlock_wrlock(&handled)); },
                              [] { EXPECT_RC(0, pthread_rwlock_unlock(&handled)); },
                              [] { EXPECT_RC(0, pthread_rwlock_init(&handled, nullptr)); }));
  Actor busy;
  std::atomic<bool> over{false};
  busy.start([&] {
    while (!over) {
      EXPECT_EQ(0, pthread_rwlock_rdlock(&handled));
      EXPECT_EQ(0, pthread_rwlock_unlock(&handled));
    }
  });
  for (int i = 0; i < scaled(10); ++i)
    EXPECT_GOOD_CHILD([&] {
      expect_works(&handled);
      return 0;
    });
  over = true;
  busy.finish();
  expect_works(&handled);
}

// ---- process-shared locks

namespace {

Guarded* shared_guarded(int kind, int* fd_out = nullptr) {
  const int fd = memfd_create("shared", 0);
  EXPECT_EQ(0, ftruncate(fd, sizeof(Guarded)));
  void* memory = mmap(nullptr, sizeof(Guarded), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  EXPECT_NE(MAP_FAILED, memory);
  auto* guarded = static_cast<Guarded*>(memory);
  pthread_rwlockattr_t attribute;
  EXPECT_RC(0, pthread_rwlockattr_init(&attribute));
  EXPECT_RC(0, pthread_rwlockattr_setpshared(&attribute, PTHREAD_PROCESS_SHARED));
  EXPECT_RC(0, pthread_rwlockattr_setkind_np(&attribute, kind));
  EXPECT_RC(0, pthread_rwlock_init(&guarded->lock, &attribute));
  if (fd_out != nullptr)
    *fd_out = fd;
  else
    close(fd);
  return guarded;
}

}  // namespace

TEST(Shared, WorksInOneProcess) {
  Guarded* guarded = shared_guarded(PTHREAD_RWLOCK_PREFER_READER_NP);
  expect_works(&guarded->lock);
  warm_up_readers(&guarded->lock);
  expect_works(&guarded->lock);
  EXPECT_RC(0, pthread_rwlock_destroy(&guarded->lock));
}

TEST(Shared, HoldsAreSeenAcrossProcesses) {
  for (int kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
    Guarded* guarded = shared_guarded(kind);
    L* lock = &guarded->lock;
    warm_up_readers(lock);
    ASSERT_RC(0, pthread_rwlock_rdlock(lock));
    EXPECT_GOOD_CHILD([&] {
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(lock));
      EXPECT_RC(ETIMEDOUT, brief_write(lock));
      EXPECT_RC(0, pthread_rwlock_tryrdlock(lock));
      EXPECT_RC(0, pthread_rwlock_unlock(lock));
      return 0;
    });
    ASSERT_RC(0, pthread_rwlock_unlock(lock));
    ASSERT_RC(0, pthread_rwlock_wrlock(lock));
    EXPECT_GOOD_CHILD([&] {
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(lock));
      EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(lock));
      EXPECT_RC(ETIMEDOUT, brief_read(lock));
      return 0;
    });
    ASSERT_RC(0, pthread_rwlock_unlock(lock));
    EXPECT_GOOD_CHILD([&] {
      expect_works(lock);
      return 0;
    });
  }
}

TEST(Shared, HammeredByProcesses) {
  Guarded* guarded = shared_guarded(PTHREAD_RWLOCK_PREFER_READER_NP);
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i)
    children.push_back(start_child([&] { return hammer_shared(guarded, scaled_time(250)); }));
  EXPECT_EQ(0, hammer_shared(guarded, scaled_time(250)));
  for (pid_t child : children)
    EXPECT_EQ(0, end_of_child(child));
  EXPECT_EQ(0u, guarded->violations.load());
  EXPECT_EQ(guarded->first.load(), guarded->second.load());
  expect_works(&guarded->lock);
}

// A process that does not have the library shares the lock: the bytes must be glibc's.
TEST(Shared, WithAProcessThatHasNotTheLibrary) {
  int fd = -1;
  Guarded* guarded = shared_guarded(PTHREAD_RWLOCK_PREFER_READER_NP, &fd);
  std::thread other([&] { EXPECT_EQ(0, run_self_without_preload("shared", fd)); });
  EXPECT_EQ(0, hammer_shared(guarded, scaled_time(400)));
  other.join();
  EXPECT_EQ(0u, guarded->violations.load());
  expect_works(&guarded->lock);
  close(fd);
}

}  // namespace conformance::rwlock_fork
