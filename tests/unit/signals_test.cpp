#include "platform/signals.h"

#include <csignal>
#include <gtest/gtest.h>

namespace lockswap {
namespace {

volatile std::sig_atomic_t seen = 0;

TEST(Signals, WaitUntilTheStretchIsOver) {
  struct sigaction action {};
  action.sa_handler = [](int) { seen = seen + 1; };
  for (const int signal : {SIGUSR1, SIGALRM, SIGRTMIN})
    ASSERT_EQ(sigaction(signal, &action, nullptr), 0);
  sigset_t usr2, before, after;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  sigprocmask(SIG_SETMASK, &usr2, nullptr);
  sigprocmask(SIG_SETMASK, nullptr, &before);
  {
    const NoSignals none;
    for (const int signal : {SIGUSR1, SIGALRM, SIGRTMIN})
      raise(signal);
    EXPECT_EQ(seen, 0);
  }
  EXPECT_EQ(seen, 3);
  sigprocmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGUSR2), 1) << "the program's own mask is back";
  EXPECT_EQ(sigismember(&after, SIGUSR1), 0);
}

// The kernel ends a process whose fault finds its signal blocked.
TEST(Signals, OfAFaultAreStillHandled) {
  struct sigaction action {};
  action.sa_handler = [](int) { seen = 100; };
  ASSERT_EQ(sigaction(SIGTRAP, &action, nullptr), 0);
  {
    const NoSignals none;
#if defined(__x86_64__)
    asm volatile("int3" ::: "memory");
#else
    raise(SIGTRAP);
#endif
    EXPECT_EQ(seen, 100);
  }
}

}  // namespace
}  // namespace lockswap
