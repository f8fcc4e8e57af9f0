// The kinds of mutexes and their exact errors.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include <sys/mman.h>

#include "mutex_support.h"

namespace conformance::mutex_kinds {

TEST(MutexKinds, LockTryUnlock) {
  for (const MutexKind& k : kMutexKinds) {
    SCOPED_TRACE(k.name);
    Mutex m(k.type);
    for (int i = 0; i < 3; ++i) {
      ASSERT_RC(0, pthread_mutex_lock(m));
      ASSERT_RC(0, pthread_mutex_unlock(m));
      ASSERT_RC(0, pthread_mutex_trylock(m));
      ASSERT_RC(0, pthread_mutex_unlock(m));
      const timespec past{0, 0};
      ASSERT_RC(0, pthread_mutex_timedlock(m, &past));
      ASSERT_RC(0, pthread_mutex_unlock(m));
      ASSERT_RC(0, pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &past));
      ASSERT_RC(0, pthread_mutex_unlock(m));
    }
    expect_mutex_free(m);
    ASSERT_RC(0, pthread_mutex_destroy(m));
  }
}

TEST(MutexKinds, AgainByTheOwner) {
  for (const MutexKind& k : kMutexKinds) {
    SCOPED_TRACE(k.name);
    Mutex m(k.type);
    ASSERT_RC(0, pthread_mutex_lock(m));
    if (k.lock_again >= 0) {
      EXPECT_RC(k.lock_again, pthread_mutex_lock(m));
    }
    EXPECT_RC(k.try_again, pthread_mutex_trylock(m));
    timespec soon = after(CLOCK_REALTIME, kMillisecond);
    EXPECT_RC(k.timed_again, pthread_mutex_timedlock(m, &soon));
    soon = after(CLOCK_MONOTONIC, kMillisecond);
    EXPECT_RC(k.timed_again, pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon));
    const int more = k.type == PTHREAD_MUTEX_RECURSIVE ? 4 : 0;
    for (int i = 0; i < more; ++i) {
      Actor other;
      other.run([&] { EXPECT_RC(EBUSY, pthread_mutex_trylock(m)); });
      EXPECT_RC(0, pthread_mutex_unlock(m));
    }
    EXPECT_RC(0, pthread_mutex_unlock(m));
    expect_mutex_free(m);
    EXPECT_RC(0, pthread_mutex_destroy(m));
  }
}

// The unlock of a thread that is not the owner must not end the hold of a recursive or errorcheck
// mutex; it ends the hold of any other.
TEST(MutexKinds, UnlockByAnotherThread) {
  for (const MutexKind& k : kMutexKinds) {
    SCOPED_TRACE(k.name);
    Mutex m(k.type);
    Actor owner;
    owner.run([&] { ASSERT_RC(0, pthread_mutex_lock(m)); });
    EXPECT_RC(k.unlock_anothers, pthread_mutex_unlock(m));
    if (k.unlock_anothers == EPERM) {
      EXPECT_RC(EBUSY, pthread_mutex_trylock(m));
      owner.run([&] { EXPECT_RC(0, pthread_mutex_unlock(m)); });
    }
    expect_mutex_free(m);
  }
}

// Handed from thread to thread, each released by the next one, with a waiter behind.
TEST(MutexKinds, NormalOnesPassFromHandToHand) {
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ADAPTIVE_NP}) {
    Mutex m(type);
    for (int i = 0; i < 20; ++i) {
      Actor owner, waiter;
      owner.run([&] { ASSERT_RC(0, pthread_mutex_lock(m)); });
      waiter.start([&] { ASSERT_RC(0, pthread_mutex_lock(m)); });
      if (i % 2 == 0) waiter.wait_until_asleep();
      ASSERT_RC(0, pthread_mutex_unlock(m));
      waiter.finish();
      EXPECT_RC(EBUSY, pthread_mutex_trylock(m));
      owner.run([&] { ASSERT_RC(0, pthread_mutex_unlock(m)); });
      expect_mutex_free(m);
    }
  }
}

// Unlocks of a mutex that nobody holds. For a normal one POSIX says nothing; glibc returns 0, and a
// program that does it by mistake goes on.
TEST(MutexKinds, UnlockOfAFreeOne) {
  for (const MutexKind& k : kMutexKinds) {
    SCOPED_TRACE(k.name);
    Mutex m(k.type);
    EXPECT_RC(k.unlock_free, pthread_mutex_unlock(m));
    ASSERT_RC(0, pthread_mutex_lock(m));
    ASSERT_RC(0, pthread_mutex_unlock(m));
    EXPECT_RC(k.unlock_free, pthread_mutex_unlock(m));
    expect_mutex_free(m);
  }
}

TEST(MutexKinds, StaticInitialisers) {
  pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
  auto* zeroed = static_cast<pthread_mutex_t*>(calloc(1, sizeof(pthread_mutex_t)));
  for (pthread_mutex_t* m : {&normal, &recursive, &errorcheck, &adaptive, zeroed}) {
    ASSERT_RC(0, pthread_mutex_lock(m));
    if (m == &recursive) {
      EXPECT_RC(0, pthread_mutex_lock(m));
      EXPECT_RC(0, pthread_mutex_unlock(m));
    }
    if (m == &errorcheck) {
      EXPECT_RC(EDEADLK, pthread_mutex_lock(m));
    }
    EXPECT_RC(m == &recursive ? 0 : EBUSY, pthread_mutex_trylock(m));
    if (m == &recursive) {
      EXPECT_RC(0, pthread_mutex_unlock(m));
    }
    ASSERT_RC(0, pthread_mutex_unlock(m));
    expect_mutex_free(m);
    EXPECT_RC(0, pthread_mutex_destroy(m));
  }
  free(zeroed);
}

TEST(MutexKinds, ManyRecursiveHolds) {
  Mutex m(PTHREAD_MUTEX_RECURSIVE);
  for (int i = 0; i < 100'000; ++i)
    ASSERT_EQ(0, pthread_mutex_lock(m));
  Actor other;
  other.run([&] { EXPECT_RC(EBUSY, pthread_mutex_trylock(m)); });
  for (int i = 0; i < 100'000; ++i)
    ASSERT_EQ(0, pthread_mutex_unlock(m));
  EXPECT_RC(EPERM, pthread_mutex_unlock(m));
  expect_mutex_free(m);
}

// Debuggers read the owner where glibc has it.
TEST(MutexKinds, TheOwnerIsShown) {
  for (const MutexKind& k : kMutexKinds) {
    SCOPED_TRACE(k.name);
    Mutex m(k.type);
    EXPECT_EQ(0, m.get()->__data.__owner);
    ASSERT_RC(0, pthread_mutex_lock(m));
    EXPECT_EQ(gettid(), m.get()->__data.__owner);
    EXPECT_EQ(k.type & 3, m.get()->__data.__kind & 3);
    ASSERT_RC(0, pthread_mutex_unlock(m));
    EXPECT_EQ(0, m.get()->__data.__owner);
  }
}

TEST(MutexObject, DestroyOfAHeldOne) {
  for (const MutexKind& k : kMutexKinds) {
    SCOPED_TRACE(k.name);
    Mutex m(k.type);
    ASSERT_RC(0, pthread_mutex_lock(m));
    EXPECT_RC(EBUSY, pthread_mutex_destroy(m));
    EXPECT_RC(0, pthread_mutex_unlock(m));
    EXPECT_RC(0, pthread_mutex_destroy(m));
  }
}

TEST(MutexObject, UseAfterDestroyIsRefused) {
  Mutex m;
  ASSERT_RC(0, pthread_mutex_destroy(m));
  EXPECT_RC(EINVAL, pthread_mutex_lock(m));
  EXPECT_RC(EINVAL, pthread_mutex_trylock(m));
  EXPECT_RC(EINVAL, pthread_mutex_unlock(m));
  ASSERT_RC(0, pthread_mutex_init(m, nullptr));
  expect_mutex_free(m);
}

// init works over any bytes, and again without destroy, on a mutex that is held or was moved.
TEST(MutexObject, InitMakesANewOne) {
  alignas(16) unsigned char bytes[sizeof(pthread_mutex_t)];
  auto* m = reinterpret_cast<pthread_mutex_t*>(bytes);
  for (int fill : {0x00, 0xff, 0xa5, 0x01, 0x80}) {
    memset(bytes, fill, sizeof bytes);
    ASSERT_RC(0, pthread_mutex_init(m, nullptr));
    expect_mutex_free(m);
    ASSERT_RC(0, pthread_mutex_lock(m));
  }
  ASSERT_RC(0, pthread_mutex_unlock(m));
  pthread_mutex_t moved;
  memcpy(&moved, m, sizeof moved);
  expect_mutex_free(&moved);
  ASSERT_RC(0, pthread_mutex_lock(&moved));
  expect_mutex_free(m);
  ASSERT_RC(0, pthread_mutex_unlock(&moved));
}

// The memory goes as soon as the lock says that nobody is in: the thread that released before may
// still be inside its unlock.
TEST(MutexObject, DestroyRightAfterUnlock) {
  struct Page {
    pthread_mutex_t m;
    std::atomic<int> users;
  };
  for (int round = 0; round < scaled(300); ++round) {
    void* p = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(MAP_FAILED, p);
    auto* page = new (p) Page{PTHREAD_MUTEX_INITIALIZER, {}};
    page->users = 3;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([page] {
        pthread_mutex_lock(&page->m);
        const bool last = --page->users == 0;
        pthread_mutex_unlock(&page->m);
        if (last) {
          EXPECT_EQ(0, pthread_mutex_destroy(&page->m));
          munmap(page, 4096);
        }
      });
    }
    for (std::thread& t : threads)
      t.join();
  }
}

// More than any fixed pool has, released in any order.
TEST(MutexObject, ThousandsHeldAtOnce) {
  constexpr int kMany = 3000;
  std::vector<pthread_mutex_t> locks(kMany);
  for (pthread_mutex_t& m : locks)
    ASSERT_EQ(0, pthread_mutex_init(&m, nullptr));
  std::vector<int> order(kMany);
  for (int i = 0; i < kMany; ++i)
    order[i] = i;
  std::mt19937 random(seed());
  for (int round = 0; round < 3; ++round) {
    for (pthread_mutex_t& m : locks)
      ASSERT_EQ(0, pthread_mutex_lock(&m));
    Actor other;
    other.run([&] {
      for (pthread_mutex_t& m : locks)
        ASSERT_EQ(EBUSY, pthread_mutex_trylock(&m));
    });
    std::shuffle(order.begin(), order.end(), random);
    for (int i : order)
      ASSERT_EQ(0, pthread_mutex_unlock(&locks[i]));
  }
}

TEST(MutexObject, ThousandsOfThreadsOverTime) {
  Mutex m;
  for (int i = 0; i < scaled(3000); ++i) {
    std::thread([&] {
      ASSERT_EQ(0, pthread_mutex_lock(m));
      ASSERT_EQ(0, pthread_mutex_unlock(m));
    }).join();
  }
}

// --- what stays glibc's

namespace {
pthread_mutexattr_t attributes(int protocol, int shared, int robust, int type) {
  pthread_mutexattr_t a;
  EXPECT_RC(0, pthread_mutexattr_init(&a));
  EXPECT_RC(0, pthread_mutexattr_setprotocol(&a, protocol));
  EXPECT_RC(0, pthread_mutexattr_setpshared(&a, shared));
  EXPECT_RC(0, pthread_mutexattr_setrobust(&a, robust));
  EXPECT_RC(0, pthread_mutexattr_settype(&a, type));
  return a;
}
}  // namespace

TEST(MutexGlibcs, RobustOnesTellOfADeadOwner) {
  for (int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
    const auto a =
        attributes(PTHREAD_PRIO_NONE, shared, PTHREAD_MUTEX_ROBUST, PTHREAD_MUTEX_NORMAL);
    pthread_mutex_t m;
    ASSERT_RC(0, pthread_mutex_init(&m, &a));
    std::thread([&] { EXPECT_EQ(0, pthread_mutex_lock(&m)); }).join();
    EXPECT_RC(EOWNERDEAD, pthread_mutex_lock(&m));
    EXPECT_RC(0, pthread_mutex_consistent(&m));
    EXPECT_RC(0, pthread_mutex_unlock(&m));
    EXPECT_RC(0, pthread_mutex_trylock(&m));
    EXPECT_RC(0, pthread_mutex_unlock(&m));
    EXPECT_RC(0, pthread_mutex_destroy(&m));
  }
}

TEST(MutexGlibcs, PriorityOnesWork) {
  for (int protocol : {PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_PROTECT}) {
    const auto a = attributes(protocol, PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_STALLED,
                              PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_t m;
    if (pthread_mutex_init(&m, &a) != 0) continue;
    const int got = pthread_mutex_lock(&m);  // PROTECT: only with the right to real-time priorities
    if (got != 0) continue;
    EXPECT_RC(EDEADLK, pthread_mutex_lock(&m));
    EXPECT_RC(0, pthread_mutex_unlock(&m));
    EXPECT_RC(EPERM, pthread_mutex_unlock(&m));
    EXPECT_RC(0, pthread_mutex_destroy(&m));
  }
}

TEST(MutexGlibcs, SharedOnesExcludeAcrossProcesses) {
  struct Shared {
    pthread_mutex_t m;
    long a, b;
  };
  auto* s = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const auto a = attributes(PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED, PTHREAD_MUTEX_STALLED,
                            PTHREAD_MUTEX_NORMAL);
  ASSERT_RC(0, pthread_mutex_init(&s->m, &a));
  const auto work = [s] {
    for (int i = 0; i < 20'000; ++i) {
      if (pthread_mutex_lock(&s->m) != 0) return 1;
      if (s->a++ != s->b++) return 1;
      if (pthread_mutex_unlock(&s->m) != 0) return 1;
    }
    return 0;
  };
  const pid_t child = start_child(work);
  EXPECT_EQ(0, work());
  EXPECT_EQ(0, end_of_child(child));
  EXPECT_EQ(40'000, s->a);
  EXPECT_EQ(40'000, s->b);
  munmap(s, sizeof(Shared));
}

TEST(MutexGlibcs, WhatIsForThemRefusesOthers) {
  Mutex m;
  int ceiling = 0;
  EXPECT_RC(EINVAL, pthread_mutex_consistent(m));
  EXPECT_RC(EINVAL, pthread_mutex_getprioceiling(m, &ceiling));
  EXPECT_RC(EINVAL, pthread_mutex_setprioceiling(m, 1, &ceiling));
  expect_mutex_free(m);
}

// The attributes contradict each other, for this glibc: what it refuses leaves the object alone.
TEST(MutexKinds, AnInitThatIsRefusedLeavesTheMutexAlone) {
  pthread_mutexattr_t a;
  ASSERT_RC(0, pthread_mutexattr_init(&a));
  ASSERT_RC(0, pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT));
  ASSERT_RC(0, pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
  for (const MutexKind& k : kMutexKinds) {
    SCOPED_TRACE(k.name);
    Mutex m(k.type);
    ASSERT_RC(0, pthread_mutex_lock(m));
    ASSERT_RC(ENOTSUP, pthread_mutex_init(m, &a));
    Actor other;
    other.run([&] { EXPECT_RC(EBUSY, pthread_mutex_trylock(m)); });
    EXPECT_RC(0, pthread_mutex_unlock(m));
    expect_mutex_free(m);
    EXPECT_RC(0, pthread_mutex_destroy(m));
  }
  ASSERT_RC(0, pthread_mutexattr_destroy(&a));
}

// A robust mutex that is held has a pointer to the next one where a mutex of ours has its contract
// word. It may be any address that the program maps, so also one that looks like that word.
TEST(MutexKinds, ARobustMutexIsGlibcsWhateverItsNeighboursAddress) {
  // The words that mutexes of ours have, if these are ours.
  constexpr std::size_t kWord = 24, kNext = offsetof(pthread_mutex_t, __data.__list.__next);
  static_assert(kWord == offsetof(pthread_mutex_t, __data.__list.__prev));
  for (const MutexKind& k : kMutexKinds) {
    SCOPED_TRACE(k.name);
    Mutex normal(k.type);
    ASSERT_RC(0, pthread_mutex_lock(normal));
    ASSERT_RC(0, pthread_mutex_unlock(normal));
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<char*>(normal.get()) + kWord, sizeof word);
    // Pointers have 47 bits and are multiples of 8; a list entry may have bit 0 set.
    const std::uint64_t wanted = (word & ((std::uint64_t{1} << 40) - 1)) & ~std::uint64_t{7};
    if (wanted == 0) continue;  // glibc's
    constexpr std::size_t kPage = 4096;
    const std::uint64_t start = (wanted - kNext) & ~std::uint64_t{kPage - 1};
    void* const pages = mmap(reinterpret_cast<void*>(start), 2 * kPage, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ASSERT_EQ(pages, reinterpret_cast<void*>(start)) << "something lies there";
    auto* const neighbour = reinterpret_cast<pthread_mutex_t*>(wanted - kNext);
    for (const int protocol : {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT}) {
      pthread_mutexattr_t a;
      ASSERT_RC(0, pthread_mutexattr_init(&a));
      ASSERT_RC(0, pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
      ASSERT_RC(0, pthread_mutexattr_setprotocol(&a, protocol));
      pthread_mutex_t robust;
      ASSERT_RC(0, pthread_mutex_init(&robust, &a));
      ASSERT_RC(0, pthread_mutex_init(neighbour, &a));
      // The later one comes first in the list.
      ASSERT_RC(0, pthread_mutex_lock(&robust));
      ASSERT_RC(0, pthread_mutex_lock(neighbour));
      std::uint64_t pointer = 0;
      std::memcpy(&pointer, reinterpret_cast<char*>(&robust) + kWord, sizeof pointer);
      EXPECT_EQ(pointer & ~std::uint64_t{7}, wanted);
      Actor other;
      other.run([&] { EXPECT_RC(EBUSY, pthread_mutex_trylock(&robust)); });
      EXPECT_RC(0, pthread_mutex_unlock(&robust));
      other.run([&] {
        EXPECT_RC(0, pthread_mutex_trylock(&robust));
        EXPECT_RC(0, pthread_mutex_unlock(&robust));
      });
      EXPECT_RC(0, pthread_mutex_unlock(neighbour));
      EXPECT_RC(0, pthread_mutex_destroy(&robust));
      EXPECT_RC(0, pthread_mutex_destroy(neighbour));
      ASSERT_RC(0, pthread_mutexattr_destroy(&a));
    }
    munmap(pages, 2 * kPage);
  }
}

}  // namespace conformance::mutex_kinds
