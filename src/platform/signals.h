// Keeps signal handlers from running during a section of code.
#pragma once

#include <csignal>
#include <cstdint>
#include <initializer_list>

#include "platform/syscall.h"

namespace lockswap {

// While one exists, the calling thread runs no handlers except for its own faults (for which the
// kernel would kill the process if they were blocked). Makes two system calls. libc's
// pthread_sigmask skips the signals that libc itself uses; here they are blocked too.
class NoSignals {
 public:
  NoSignals() noexcept {
    const std::uint64_t mask = blocked();
    set(&mask, &before_);
  }
  ~NoSignals() { set(&before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  static std::uint64_t blocked() noexcept {
    std::uint64_t mask = ~std::uint64_t{0};
    for (const int fault : {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS})
      mask &= ~(std::uint64_t{1} << (fault - 1));
    return mask;
  }
  static void set(const std::uint64_t* to, std::uint64_t* from) noexcept {
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(to),
                reinterpret_cast<long>(from), sizeof *to);
  }
  std::uint64_t before_ = 0;
};

}  // namespace lockswap
