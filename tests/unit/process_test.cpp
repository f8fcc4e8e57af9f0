#include "platform/process.h"

#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <signal.h>
#include <string>
#include <thread>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "platform/memory.h"
#include "platform/thread.h"

namespace lockswap::process_test {
namespace {

std::uint32_t real_id() { return static_cast<std::uint32_t>(gettid()); }

// 0 where f returned true.
int in_child(pid_t pid, const std::function<bool()>& f) {
  if (pid == 0) _exit(f() ? 0 : 1);
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

TEST(Process, HasAStampOfTheRightForm) {
  const std::uint64_t mine = Process::stamp();
  EXPECT_EQ(mine & Process::kStampTop, Process::kStampTop);
  EXPECT_EQ(mine & ~Process::kStampMask, 0u);
  EXPECT_NE(Process::number_of(mine), 0u);
  EXPECT_EQ(Process::stamp(), mine);
  EXPECT_TRUE(Process::is(mine));
  EXPECT_FALSE(Process::is(0));
  EXPECT_FALSE(Process::is(mine | 1));
  EXPECT_FALSE(Process::is(mine & ~Process::kStampTop));
  EXPECT_TRUE(Process::is(mine | std::uint64_t{5} << 40));
}

TEST(Process, HasASealThatIsItsStampAndMore) {
  const std::uint64_t seal = Process::seal();
  EXPECT_EQ(seal & Process::kStampMask, Process::stamp());
  EXPECT_EQ(seal & (Process::kStampTop - 1), 0u);
  EXPECT_TRUE(Process::is_seal(seal));
  EXPECT_EQ(Process::seal(), seal);
  for (std::uint64_t other : {std::uint64_t{0}, seal + 1, seal ^ Process::kStampTop,
                              seal ^ std::uint64_t{1} << 40, seal ^ std::uint64_t{1} << 63})
    EXPECT_FALSE(Process::is_seal(other));
}

// Their stamps may be the same. Two of the seals are by chance once in 90,000 runs: 24 bits differ.
TEST(Process, SiblingsHaveSealsOfTheirOwn) {
  const std::uint64_t mine = Process::seal();
  auto* const seals = static_cast<std::uint64_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(seals, MAP_FAILED);
  std::set<std::uint64_t> all{mine};
  constexpr int kChildren = 20;
  for (int i = 0; i < kChildren; ++i) {
    EXPECT_EQ(in_child(fork(),
                       [&] {
                         if (Process::is_seal(mine)) return false;
                         seals[i] = Process::seal();
                         return true;
                       }),
              0);
    all.insert(seals[i]);
  }
  EXPECT_GE(all.size(), 1u * kChildren);
  munmap(seals, 4096);
}

TEST(Process, KnowsTheNumbersOfItsAncestors) {
  const std::uint64_t mine = Process::stamp();
  const auto next = [](std::uint64_t stamp, std::uint32_t n) {
    const std::uint64_t number = (Process::number_of(stamp) - 1 + n) % (Process::kNumbers - 1) + 1;
    return Process::kStampTop | number << 32;
  };
  const std::uint64_t seal = Process::seal();
  EXPECT_FALSE(Process::is_ancestor(0));
  EXPECT_FALSE(Process::is_ancestor_seal(0));
  EXPECT_FALSE(Process::is_ancestor_seal(seal));
  EXPECT_FALSE(Process::is_ancestor(mine));
  EXPECT_FALSE(Process::is_ancestor(next(mine, 1)));
  EXPECT_FALSE(Process::is_ancestor(next(mine, 200)));
  EXPECT_EQ(in_child(fork(),
                     [&] {
                       const std::uint64_t child = Process::stamp();
                       if (!Process::is_ancestor(mine) || Process::is_ancestor(child)) return false;
                       if (!Process::is_ancestor_seal(seal) ||
                           Process::is_ancestor_seal(seal ^ std::uint64_t{1} << 50) ||
                           Process::is_ancestor_seal(Process::seal()))
                         return false;
                       return in_child(fork(), [&] {
                                return Process::is_ancestor(mine) && Process::is_ancestor(child) &&
                                       !Process::is_ancestor(next(child, 1)) &&
                                       !Process::is_ancestor(next(child, 2)) &&
                                       !Process::is_ancestor(0);
                              }) == 0;
                     }),
            0);
}

TEST(Process, AChildHasAnother) {
  const std::uint64_t mine = Process::stamp();
  const auto is_new = [mine] {
    // Nobody has asked yet.
    if (Process::is(mine) || Process::is(0)) return false;
    const std::uint64_t its = Process::stamp();
    if (its == mine || !Process::is(its)) return false;
    return in_child(fork(), [mine, its] {
             return Process::stamp() != mine && Process::stamp() != its;
           }) == 0;
  };
  EXPECT_EQ(in_child(fork(), is_new), 0);
  EXPECT_EQ(in_child(_Fork(), is_new), 0);
  EXPECT_EQ(in_child(static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)), is_new), 0);
  EXPECT_TRUE(Process::is(mine));
}

// NOLINTBEGIN(clang-analyzer-unix.Vfork,clang-analyzer-security.insecureAPI.vfork): it is vfork's
TEST(Process, AChildInTheSameMemoryHasNot) {
  const std::uint64_t mine = Process::stamp();
  const pid_t pid = vfork();
  if (pid == 0) _exit(Process::is(mine) ? 0 : 1);
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(Process::is(mine));
}
// NOLINTEND(clang-analyzer-unix.Vfork,clang-analyzer-security.insecureAPI.vfork)

// One child in another.
TEST(Process, ManyGenerationsDifferFromTheLastOnes) {
  std::uint64_t before[3] = {Process::stamp(), 0, 0};
  for (int i = 1; i < 40; ++i) {
    const pid_t pid = fork();
    if (pid != 0) {
      int status = -1;
      waitpid(pid, &status, 0);
      if (i > 1) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
      EXPECT_EQ(status, 0);
      return;
    }
    const std::uint64_t now = Process::stamp();
    for (std::uint64_t& s : before) {
      if (s == now || (now & ~Process::kStampMask) != 0 || Process::number_of(now) == 0) _exit(1);
    }
    before[i % 3] = now;
  }
  _exit(0);
}

TEST(Survivor, IsKnownByItsIdsInAllAncestors) {
  const std::uint64_t process = Process::stamp();
  const std::uint32_t me = thread_id();
  EXPECT_EQ(me, real_id());
  EXPECT_EQ(in_child(fork(),
                     [=] {
                       const std::uint32_t child = thread_id();
                       const std::uint64_t its_process = Process::stamp();
                       if (child != real_id() || child == me) return false;
                       if (Survivor::id_of(me, process) != child) return false;
                       if (Survivor::id_of(me + 1, process) != me + 1) return false;
                       return in_child(fork(), [=] {
                                const std::uint32_t grandchild = thread_id();
                                return grandchild == real_id() &&
                                       Survivor::id_of(me, process) == grandchild &&
                                       Survivor::id_of(child, its_process) == grandchild &&
                                       Survivor::id_of(child, process) == child;
                              }) == 0;
                     }),
            0);
  EXPECT_EQ(thread_id(), me);
}
// A child forks in a thread of its own, whose child must not take what the first one held for its
// own.
TEST(Survivor, IsNotKnownByTheIdsOfOneThatForkedBefore) {
  const std::uint64_t process = Process::stamp();
  const std::uint32_t me = thread_id();
  const auto forks_in_a_thread = [=] {
    const std::uint32_t first = thread_id();
    const std::uint64_t its_process = Process::stamp();
    int status = -1;
    std::thread([&] {
      const std::uint32_t second = thread_id();
      status = in_child(fork(), [=] {
        const std::uint32_t here = thread_id();
        return Survivor::id_of(second, its_process) == here &&
               Survivor::id_of(first, its_process) == first && Survivor::id_of(me, process) == me;
      });
    }).join();
    return status == 0;
  };
  EXPECT_EQ(in_child(fork(), forks_in_a_thread), 0);
}

TEST(SharedMemory, IsToldFromPrivate) {
  static int data = 1, zeroes;
  data = zeroes = 2;
  int stack = 3;
  const auto heap = std::make_unique<int>(4);
  const auto map = [](int flags, int fd) {
    void* p = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, flags, fd, 0);
    EXPECT_NE(p, MAP_FAILED);
    *static_cast<int*>(p) = 5;
    return p;
  };
  const int fd = memfd_create("test", 0);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  const void* mine = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  const void* mine_of_file = map(MAP_PRIVATE, fd);
  const void* shared = map(MAP_SHARED | MAP_ANONYMOUS, -1);
  const void* shared_file = map(MAP_SHARED, fd);
  const auto right = [&] {
    for (const void* p : {static_cast<const void*>(&data), static_cast<const void*>(&zeroes),
                          static_cast<const void*>(&stack), static_cast<const void*>(heap.get()),
                          mine, mine_of_file}) {
      if (is_shared_memory(p)) return false;
    }
    // A page that this process has not touched yet is not known to it.
    for (const void* p : {shared, shared_file}) {
      if (*static_cast<const volatile int*>(p) != 5 || !is_shared_memory(p)) return false;
    }
    return true;
  };
  EXPECT_TRUE(right());
  EXPECT_EQ(in_child(fork(), right), 0);
  // Once the first thread has ended, without pthread_exit, which would unwind the test.
  const pid_t child = fork();
  if (child == 0) {
    std::thread([&] {
      const std::string file = "/proc/self/task/" + std::to_string(getpid()) + "/stat";
      for (std::string words; words.find(") Z ") == std::string::npos;)
        std::getline(std::ifstream(file), words);
      _exit(right() ? 0 : 1);
    }).detach();
    syscall(SYS_exit, 0);
  }
  EXPECT_EQ(in_child(child, {}), 0);
  close(fd);
}

}  // namespace
}  // namespace lockswap::process_test
