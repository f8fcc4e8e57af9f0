#include "platform/signals.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <gtest/gtest.h>
#include <unistd.h>

#include "platform/write.h"

namespace lockswap::signals_test {
namespace {

volatile std::sig_atomic_t seen = 0;

TEST(Signals, WaitUntilTheStretchIsOver) {
  seen = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { seen = seen + 1; };
  for (const int signal : {SIGUSR1, SIGALRM, SIGRTMIN})
    ASSERT_EQ(sigaction(signal, &action, nullptr), 0);
  sigset_t usr2, before, after;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  sigprocmask(SIG_SETMASK, &usr2, &before);
  {
    const NoSignals none;
    for (const int signal : {SIGUSR1, SIGALRM, SIGRTMIN})
      raise(signal);
    EXPECT_EQ(seen, 0);
  }
  EXPECT_EQ(seen, 3);
  sigprocmask(SIG_SETMASK, &before, &after);  // or the threads of other tests would inherit it
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

// A pipe that nobody reads.
class BrokenPipe {
 public:
  BrokenPipe() {
    EXPECT_EQ(pipe(ends_.data()), 0);
    close(ends_[0]);
  }
  ~BrokenPipe() { close(ends_[1]); }
  BrokenPipe(const BrokenPipe&) = delete;
  BrokenPipe& operator=(const BrokenPipe&) = delete;
  int end() const { return ends_[1]; }

 private:
  std::array<int, 2> ends_{};
};

TEST(WriteSignals, DoNotComeToTheProgram) {
  struct sigaction action {};
  action.sa_handler = [](int) { seen = 200; };
  ASSERT_EQ(sigaction(SIGPIPE, &action, nullptr), 0);
  const BrokenPipe broken;
  EXPECT_EQ(write_bytes(broken.end(), "?", 1), -EPIPE);
  EXPECT_NE(seen, 200);
  sigset_t after;
  sigprocmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGPIPE), 0) << "the program's own mask is back";
  EXPECT_EQ(write(broken.end(), "?", 1), -1);
  EXPECT_EQ(seen, 200) << "a write of the program's own";
}

TEST(WriteSignals, ThatTheProgramHasPendingStay) {
  sigset_t broken_pipe, pending;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  sigprocmask(SIG_BLOCK, &broken_pipe, nullptr);
  const BrokenPipe broken;
  EXPECT_EQ(write_bytes(broken.end(), "?", 1), -EPIPE);
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  EXPECT_EQ(write(broken.end(), "?", 1), -1);
  EXPECT_EQ(write_bytes(broken.end(), "?", 1), -EPIPE);
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 1);
  signal(SIGPIPE, SIG_IGN);  // which drops it
  sigprocmask(SIG_UNBLOCK, &broken_pipe, nullptr);
}

}  // namespace
}  // namespace lockswap::signals_test
