#include "instructions.h"

#include <cerrno>
#include <csignal>
#include <unistd.h>

#include <sys/ptrace.h>
#include <sys/wait.h>

namespace bench {
namespace {

constexpr long kPairs = 20;  // a step takes some microseconds

// The child stops before and after each of two loops, whose difference is kPairs.
[[noreturn]] void be_stepped(Loop& loop, const std::function<void()>& prepare) {
  prepare();
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(errno);
  std::raise(SIGSTOP);
  loop(1);
  std::raise(SIGSTOP);
  loop(1 + kPairs);
  std::raise(SIGSTOP);
  _exit(0);
}

// The child as its parent has it, which owns it until it has ended.
class Stepped {
 public:
  explicit Stepped(pid_t child) : child_(child) { wait(); }
  ~Stepped() {
    if (!WIFSTOPPED(status_)) return;
    kill(child_, SIGKILL);
    wait();
  }
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;

  // Returns how many instructions it takes until it stops by itself, which it must do.
  std::optional<long> instructions() {
    if (!stopped_by(SIGSTOP)) return {};
    long n = 0;
    do {
      ptrace(PTRACE_SINGLESTEP, child_, nullptr, nullptr);  // without the signal that it stopped by
      wait();
      ++n;
    } while (stopped_by(SIGTRAP));
    if (!stopped_by(SIGSTOP)) return {};
    return n;
  }
  int error() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : ECHILD; }

 private:
  bool stopped_by(int signal) const { return WIFSTOPPED(status_) && WSTOPSIG(status_) == signal; }
  void wait() {
    while (waitpid(child_, &status_, 0) < 0 && errno == EINTR) {}
  }

  pid_t child_;
  int status_ = 0;
};

}  // namespace

std::optional<double> instructions_of_pair(Loop& loop, const std::function<void()>& prepare) {
  const pid_t child = fork();
  if (child < 0) return {};
  if (child == 0) be_stepped(loop, prepare);
  Stepped stepped(child);
  const std::optional<long> one = stepped.instructions();
  const std::optional<long> more = stepped.instructions();
  if (!one || !more) {
    errno = stepped.error();
    return {};
  }
  return static_cast<double>(*more - *one) / static_cast<double>(kPairs);
}

}  // namespace bench
