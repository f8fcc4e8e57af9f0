// Adoption: what a signal handler finds that comes while its thread repairs an object.
#include "posix/adoption.h"

#include <csignal>
#include <cstdint>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sys/wait.h>

#include "platform/native.h"

namespace lockswap::adoption_test {
namespace {

Native::atomic<std::uint64_t> repaired;
int handled, amid_repair;

// A handler comes whenever signals are let in from the first step of the repair to its last one.
template <WordHas kHas>
struct Repaired {
  static constexpr std::uint64_t kMark = 1;
  using Adopted = Adoption<Native, kHas, 0, kMark>;
  // A handler that calls a function of the object would wait for its own thread.
  static void handler(int) {
    ++handled;
    if (!Adopted::is_done(repaired)) ++amid_repair;
  }

  static constexpr bool kMayBeSystems = false;
  static bool is_new(std::uint64_t v) { return v == 0; }
  static std::uint64_t first_bits() { return 0; }
  static bool needs_no_repair(std::uint64_t) { return false; }
  static std::uint64_t repair_after_fork(std::uint64_t v) {
    raise(SIGUSR1);
    return v;
  }
  static std::uint64_t begin_anew() {
    raise(SIGUSR1);
    return 0;
  }
  static void forget_strange() {}
  static bool is_at_rest() { return true; }

  static int repair() {
    struct sigaction action {};
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, nullptr);
    handled = amid_repair = 0;
    if (!Adopted::adopt(repaired, Repaired{}) || !Adopted::is_done(repaired)) return 2;
    return handled == 1 && amid_repair == 0 ? 0 : 3;
  }
  // The object is inherited from the parent, or strange.
  static int repair_in_child() {
    repaired.store(Adopted::stamp() | kMark, relaxed);
    const pid_t child = fork();
    if (child == 0) _exit(repair());
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }
  static int repair_strange() {
    const std::uint64_t others = Native::kStampTop | std::uint64_t{1} << 63;
    repaired.store((Adopted::stamp() ^ std::uint64_t{0x80} << 32) | others | kMark, relaxed);
    return repair();
  }
};

TEST(Adoption, NoHandlerComesAmidARepair) {
  EXPECT_EQ(Repaired<WordHas::stamp>::repair_in_child(), 0);
  EXPECT_EQ(Repaired<WordHas::seal>::repair_in_child(), 0);
  EXPECT_EQ(Repaired<WordHas::stamp>::repair_strange(), 0);
  EXPECT_EQ(Repaired<WordHas::seal>::repair_strange(), 0);
}

}  // namespace
}  // namespace lockswap::adoption_test
