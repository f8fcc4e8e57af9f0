// What holds for every test of this program, whichever runs first.
#include <csignal>
#include <gtest/gtest.h>

#include "platform/libc_watch.h"
#include "platform/process.h"
#include "platform/thread.h"

namespace lockswap::every_test {
namespace {

// As at the library's start. Threads that ask before that aren't watched, and a process without a
// stamp takes a zeroed lock for one of its own.
class Preparation final : public testing::Environment {
  void SetUp() override {
    ThreadExit::prepare(&watched_by_libc);
    Process::stamp();
  }
};

bool is_blocked(int signal) {
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

// A test that leaves a signal blocked hands that down to the threads of later tests.
class SignalMask final : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo&) override {
    for (int signal = 1; signal < NSIG; ++signal)
      EXPECT_FALSE(is_blocked(signal)) << "the test leaves signal " << signal << " blocked";
  }
};

[[maybe_unused]] const bool kIsThere = [] {  // GoogleTest deletes both
  testing::AddGlobalTestEnvironment(new Preparation);
  testing::UnitTest::GetInstance()->listeners().Append(new SignalMask);
  return true;
}();

}  // namespace
}  // namespace lockswap::every_test
