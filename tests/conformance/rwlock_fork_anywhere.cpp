// fork while other threads are anywhere in their calls, and ways to make a process that glibc's
// handlers do not see.
#include <atomic>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "support.h"

namespace conformance::rwlock_fork_anywhere {

namespace {

using L = pthread_rwlock_t;

// Two threads that read and write at random.
class Hammer {
 public:
  explicit Hammer(Guarded* guarded) {
    for (int i = 0; i < 2; ++i) {
      crew_.emplace_back([this, guarded, i] {
        std::mt19937 random(seed() + static_cast<unsigned>(i));
        while (!over_) {
          const bool write = random() % 3 == 0;
          const timespec t = after(CLOCK_MONOTONIC, kMillisecond / 20);
          const unsigned form = random() % 3;
          const int rc =
              write ? (form == 0   ? pthread_rwlock_trywrlock(&guarded->lock)
                       : form == 1 ? pthread_rwlock_clockwrlock(&guarded->lock, CLOCK_MONOTONIC, &t)
                                   : pthread_rwlock_wrlock(&guarded->lock))
                    : (form == 0   ? pthread_rwlock_tryrdlock(&guarded->lock)
                       : form == 1 ? pthread_rwlock_clockrdlock(&guarded->lock, CLOCK_MONOTONIC, &t)
                                   : pthread_rwlock_rdlock(&guarded->lock));
          if (rc != 0) continue;
          write ? guarded->write_inside() : guarded->read_inside();
          EXPECT_EQ(0, pthread_rwlock_unlock(&guarded->lock));
        }
      });
    }
  }
  ~Hammer() {
    over_ = true;
    for (std::thread& t : crew_)
      t.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> crew_;
};

// In the child, where nobody else is: a thread that is in for writing excludes the writers of the
// parent, wherever they were.
bool in_order(Guarded& g) { return g.first.load() == g.second.load(); }

// For a child that held nothing: in whatever state the lock is, no call hangs, and none lets a
// thread in that must stay out.
int use(Guarded& g) {
  const timespec past = after(CLOCK_MONOTONIC, kMillisecond);
  for (int i = 0; i < 3; ++i) {
    for (int form = 0; form < 4; ++form) {
      const int rc = form == 0   ? pthread_rwlock_trywrlock(&g.lock)
                     : form == 1 ? pthread_rwlock_tryrdlock(&g.lock)
                     : form == 2 ? pthread_rwlock_clockwrlock(&g.lock, CLOCK_MONOTONIC, &past)
                                 : pthread_rwlock_clockrdlock(&g.lock, CLOCK_MONOTONIC, &past);
      if (rc != 0 && rc != (form < 2 ? EBUSY : ETIMEDOUT)) return 2;
      if (rc != 0) continue;
      if (!in_order(g)) return 3;
      if (pthread_rwlock_unlock(&g.lock) != 0) return 4;
    }
  }
  return 0;
}

int release_and_use(Guarded& g, bool all_free) {
  if (!in_order(g)) return 5;
  if (pthread_rwlock_unlock(&g.lock) != 0) return 6;
  if (all_free) {
    // Nobody can have held it beside a writer, so it is free, and all calls work.
    for (int i = 0; i < 3; ++i) {
      if (pthread_rwlock_wrlock(&g.lock) != 0 || pthread_rwlock_unlock(&g.lock) != 0) return 7;
      if (pthread_rwlock_rdlock(&g.lock) != 0 || pthread_rwlock_unlock(&g.lock) != 0) return 8;
      if (pthread_rwlock_trywrlock(&g.lock) != 0 || pthread_rwlock_unlock(&g.lock) != 0) return 9;
    }
    return 0;
  }
  // No writer can have held it beside a reader.
  for (int i = 0; i < 3; ++i) {
    if (pthread_rwlock_rdlock(&g.lock) != 0 || pthread_rwlock_unlock(&g.lock) != 0) return 10;
    if (pthread_rwlock_tryrdlock(&g.lock) != 0 || pthread_rwlock_unlock(&g.lock) != 0) return 11;
  }
  return use(g);
}

// Nothing that needs malloc or a thread: the other threads may have been anywhere.
int bare_child(pid_t pid, const std::function<int()>& f) {
  if (pid == 0) _exit(f());
  return end_of_child(pid);
}

void fork_again_and_again(int times, const std::function<pid_t()>& fork_by) {
  static Guarded guarded;
  ASSERT_RC(0, pthread_rwlock_init(&guarded.lock, nullptr));
  Hammer hammer(&guarded);
  for (int i = 0; i < times; ++i) {
    EXPECT_EQ(0, bare_child(fork_by(), [] { return use(guarded); })) << "after " << i;
    EXPECT_EQ(0, pthread_rwlock_wrlock(&guarded.lock));
    EXPECT_EQ(0, bare_child(fork_by(), [] { return release_and_use(guarded, true); }))
        << "of a writer, after " << i;
    EXPECT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
    EXPECT_EQ(0, pthread_rwlock_rdlock(&guarded.lock));
    EXPECT_EQ(0, bare_child(fork_by(), [] { return release_and_use(guarded, false); }))
        << "of a reader, after " << i;
    EXPECT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
  }
  EXPECT_EQ(0u, guarded.violations.load());
}

}  // namespace

TEST(ForkAnywhere, ByFork) {
  if (glibc_underneath()) GTEST_SKIP() << "glibc's child may find its own lock half changed";
  fork_again_and_again(scaled(spinning() ? 20 : 100), [] { return fork(); });
}

TEST(ForkAnywhere, ByUnderscoreFork) {
  if (glibc_underneath()) GTEST_SKIP() << "glibc's child may find its own lock half changed";
  fork_again_and_again(scaled(30), [] { return _Fork(); });
}

TEST(ForkAnywhere, ByClone) {
  if (glibc_underneath()) GTEST_SKIP() << "glibc's child may find its own lock half changed";
  fork_again_and_again(scaled(30), [] {
    return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0));
  });
}

TEST(ForkAnywhere, GrandchildByFork) {
  if (glibc_underneath()) GTEST_SKIP() << "glibc's child may find its own lock half changed";
  fork_again_and_again(scaled(30), [] {
    const pid_t child = fork();
    if (child != 0) return child;
    const pid_t grandchild = fork();
    if (grandchild != 0) {
      const int status = end_of_child(grandchild);
      _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
    }
    return grandchild;
  });
}

// Another thread meets new locks all the time: some are half adopted at the fork.
TEST(ForkAnywhere, WhileALockIsBeingAdopted) {
  static L locks[64];
  static std::atomic<unsigned> at{0};
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (unsigned i = 0; !over; ++i) {
      L& lock = locks[i % 64];
      pthread_rwlock_destroy(&lock);
      lock = L{};
      at = i;
      EXPECT_EQ(0, pthread_rwlock_rdlock(&lock));
      EXPECT_EQ(0, pthread_rwlock_unlock(&lock));
    }
  });
  for (int i = 0; i < scaled(300); ++i) {
    EXPECT_EQ(0, bare_child(fork(), [] {
                const unsigned newest = at;
                for (unsigned n : {newest, newest + 1, newest + 63}) {
                  L& lock = locks[n % 64];
                  if (pthread_rwlock_tryrdlock(&lock) != 0) return 2;
                  if (pthread_rwlock_unlock(&lock) != 0) return 3;
                }
                return 0;
              }));
  }
  over = true;
  other.join();
}

// ---- what is no fork

// NOLINTBEGIN(clang-analyzer-unix.Vfork,clang-analyzer-security.insecureAPI.vfork): it is vfork's
TEST(ForkAnywhere, VforkIsNone) {
  L lock = PTHREAD_RWLOCK_INITIALIZER, mine = PTHREAD_RWLOCK_INITIALIZER;
  warm_up_readers(&lock);
  ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
  ASSERT_RC(0, pthread_rwlock_wrlock(&mine));
  Actor writer, reader;
  writer.start([&] {
    EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
  });
  reader.start([&] {
    EXPECT_RC(0, pthread_rwlock_rdlock(&mine));
    EXPECT_RC(0, pthread_rwlock_unlock(&mine));
  });
  writer.wait_until_asleep();
  reader.wait_until_asleep();
  const pid_t pid = vfork();
  if (pid == 0) {
    // The parent's memory, the parent's thread: its holds are this one's.
    const bool good = pthread_rwlock_rdlock(&lock) == 0 && pthread_rwlock_unlock(&lock) == 0 &&
                      pthread_rwlock_wrlock(&mine) == EDEADLK;
    _exit(good ? 0 : 1);
  }
  EXPECT_EQ(0, end_of_child(pid));
  EXPECT_RC(EDEADLK, pthread_rwlock_wrlock(&mine));
  EXPECT_RC(0, pthread_rwlock_unlock(&mine));
  EXPECT_RC(0, pthread_rwlock_unlock(&lock));
  writer.finish();
  reader.finish();
  expect_works(&lock);
  expect_works(&mine);
}
// NOLINTEND(clang-analyzer-unix.Vfork,clang-analyzer-security.insecureAPI.vfork)

TEST(ForkAnywhere, SpawnAndExecLeaveTheLocksAlone) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  warm_up_readers(&lock);
  ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
  Actor writer;
  writer.start([&] {
    EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
  });
  writer.wait_until_asleep();
  char name[] = "true";
  char* const arguments[] = {name, nullptr};
  pid_t pid = -1;
  ASSERT_EQ(0, posix_spawnp(&pid, "true", nullptr, nullptr, arguments, environ));
  EXPECT_EQ(0, end_of_child(pid));
  pid = fork();
  if (pid == 0) {
    execvp("true", arguments);
    _exit(127);
  }
  EXPECT_EQ(0, end_of_child(pid));
  EXPECT_RC(0, pthread_rwlock_unlock(&lock));
  writer.finish();
  expect_works(&lock);
}

// POSIX leaves open what a private lock does in shared memory. The child's calls must not take from
// the parent's threads what they wait for.
TEST(ForkAnywhere, ALockInSharedMemoryGoesOnInTheParent) {
  auto* g = static_cast<Guarded*>(
      mmap(nullptr, sizeof(Guarded), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(MAP_FAILED, static_cast<void*>(g));
  for (bool write : {false, true}) {
    ASSERT_RC(0, write ? pthread_rwlock_wrlock(&g->lock) : pthread_rwlock_rdlock(&g->lock));
    Actor writer, reader;
    writer.start([&] {
      EXPECT_RC(0, pthread_rwlock_wrlock(&g->lock));
      g->write_inside();
      EXPECT_RC(0, pthread_rwlock_unlock(&g->lock));
    });
    writer.wait_until_asleep();
    reader.start([&] {
      EXPECT_RC(0, pthread_rwlock_rdlock(&g->lock));
      g->read_inside();
      EXPECT_RC(0, pthread_rwlock_unlock(&g->lock));
    });
    reader.wait_until_asleep();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(0, bare_child(fork(), [g, write] {
                  const timespec t = after(CLOCK_MONOTONIC, kMillisecond);
                  const bool refused =
                      pthread_rwlock_trywrlock(&g->lock) == EBUSY &&
                      pthread_rwlock_clockwrlock(&g->lock, CLOCK_MONOTONIC, &t) != 0 &&
                      (!write || (pthread_rwlock_tryrdlock(&g->lock) == EBUSY &&
                                  pthread_rwlock_clockrdlock(&g->lock, CLOCK_MONOTONIC, &t) != 0));
                  return refused ? 0 : 1;
                }));
    }
    EXPECT_RC(0, pthread_rwlock_unlock(&g->lock));
    writer.finish();
    reader.finish();
    EXPECT_EQ(0u, g->violations.load());
    expect_works(&g->lock);
  }
  munmap(g, sizeof(Guarded));
}

}  // namespace conformance::rwlock_fork_anywhere
