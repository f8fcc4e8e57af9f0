// Each test must give back the signal mask: the threads of later tests inherit it.
#include <csignal>
#include <gtest/gtest.h>

namespace {

bool is_blocked(int signal) {
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

class SignalMask final : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo&) override {
    for (int signal = 1; signal < NSIG; ++signal)
      EXPECT_FALSE(is_blocked(signal)) << "the test leaves signal " << signal << " blocked";
  }
};

[[maybe_unused]] const bool kListens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new SignalMask);  // GoogleTest deletes it
  return true;
}();

}  // namespace
