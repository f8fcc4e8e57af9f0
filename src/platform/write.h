// Writes that have no effect on the program. For a pipe without readers the kernel sends SIGPIPE,
// and for a file at its limit (RLIMIT_FSIZE) SIGXFSZ. Either kills a program that isn't prepared
// for it, and the program has not asked for what the library writes. For a terminal that stops
// background jobs (`stty tostop`) it sends SIGTTOU, unless that is blocked.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "platform/syscall.h"

namespace lockswap {

// While one exists, no such signal is delivered for this thread's system calls that write, or make
// a file grow. The result of each must be passed to done(). Async-signal-safe. Costs two system
// calls, and makes others only if a call fails or the program itself blocks these signals, because
// a seccomp filter may kill a program for a call that is rarely made.
class NoWriteSignals {
 public:
  NoWriteSignals() noexcept {
    constexpr std::uint64_t kAll = kSent | kBit << (SIGTTOU - 1);
    std::uint64_t before = 0;
    if (call(SYS_rt_sigprocmask, SIG_BLOCK, &kAll, &before, sizeof kAll) != 0) return;  // a filter
    added_ = kAll & ~before;
    if ((before & kSent) != 0) call(SYS_rt_sigpending, &pending_, sizeof pending_);
  }
  ~NoWriteSignals() {
    if (added_ != 0) call(SYS_rt_sigprocmask, SIG_UNBLOCK, &added_, nullptr, sizeof added_);
  }
  NoWriteSignals(const NoWriteSignals&) = delete;
  NoWriteSignals& operator=(const NoWriteSignals&) = delete;

  // Consumes the signal that a call with that result has left pending. Returns the result.
  long done(long result) const noexcept {
    const int signal = result == -EPIPE ? SIGPIPE : result == -EFBIG ? SIGXFSZ : 0;
    if (signal == 0) return result;
    // What was pending before is the program's.
    const std::uint64_t ours = kBit << (signal - 1) & ~pending_;
    const timespec at_once{};
    if (ours != 0) call(SYS_rt_sigtimedwait, &ours, nullptr, &at_once, sizeof ours);
    return result;
  }

 private:
  static constexpr std::uint64_t kBit = 1;
  static constexpr std::uint64_t kSent = kBit << (SIGPIPE - 1) | kBit << (SIGXFSZ - 1);

  static long argument(const void* p) noexcept { return reinterpret_cast<long>(p); }
  static long argument(std::size_t n) noexcept { return static_cast<long>(n); }
  static long argument(int n) noexcept { return n; }
  template <class... Arguments>
  static long call(long number, Arguments... arguments) noexcept {
    return raw_syscall(number, argument(arguments)...);
  }

  std::uint64_t added_ = 0;  // signals that are blocked only meanwhile
  std::uint64_t pending_ = 0;
};

// Returns how many bytes were written, or -errno.
inline long write_bytes(long fd, const char* bytes, std::size_t size) noexcept {
  const NoWriteSignals none;
  return none.done(
      raw_syscall(SYS_write, fd, reinterpret_cast<long>(bytes), static_cast<long>(size)));
}

}  // namespace lockswap
