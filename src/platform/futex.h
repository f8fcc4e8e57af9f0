// Sleeping on a word (futex). Waiters name a channel, so that one word can serve several kinds of
// waiters and a waker reaches only those it means.
#pragma once

#include <cerrno>
#include <climits>
#include <cstdint>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/mman.h>

#include "platform/clock.h"
#include "platform/pause.h"
#include "platform/syscall.h"

namespace lockswap {

inline Parked how_it_ended(long result) noexcept {
  return result == -ETIMEDOUT ? Parked::timed_out
         : result == -EAGAIN  ? Parked::changed
         : result == -EINTR   ? Parked::interrupted
                              : Parked::woken;
}

// Sleeps while *word == expected, until a wake on one of `channels` (a bit set, not 0), the
// deadline, or a spurious wake-up.
inline Parked futex_wait(const void* word, std::uint32_t expected, std::uint32_t channels,
                         const Deadline* deadline) noexcept {
  int op = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
  const timespec* until = nullptr;
  Deadline one{};
  if (deadline != nullptr) {
    one = one_sleep(*deadline);
    if (one.at.tv_sec < 0) return Parked::timed_out;  // the kernel would return EINVAL
    if (one.clock == CLOCK_REALTIME) op |= FUTEX_CLOCK_REALTIME;
    until = &one.at;
  }
  const long r = raw_syscall(SYS_futex, reinterpret_cast<long>(word), op, expected,
                             reinterpret_cast<long>(until), 0, static_cast<long>(channels));
  const Parked how = how_it_ended(r);
  const bool may_be_early = until != nullptr && one.clock != deadline->clock;
  if (how == Parked::timed_out && may_be_early && !has_passed(*deadline))
    return Parked::interrupted;
  return how;
}

// The same on all channels, for at most that many nanoseconds. It reads no clock.
inline Parked futex_wait_for(const void* word, std::uint32_t expected, std::uint64_t ns) noexcept {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const timespec time{static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
  const long r =
      raw_syscall(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAIT | FUTEX_PRIVATE_FLAG,
                  expected, reinterpret_cast<long>(&time));
  return how_it_ended(r);
}

// Wakes all threads that sleep on `word` on one of `channels`. Does not read the word: its memory
// may be gone, which costs at most a spurious wake-up elsewhere (or EFAULT, which is ignored).
// Returns how many were asleep.
inline std::uint32_t futex_wake(const void* word, std::uint32_t channels) noexcept {
  const long n =
      raw_syscall(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG,
                  INT_MAX, 0, 0, static_cast<long>(channels));
  return n > 0 ? static_cast<std::uint32_t>(n) : 0;
}

// Wakes one of them: the kernel chooses the highest real-time priority, and among those threads
// the one that has slept longest.
inline std::uint32_t futex_wake_one(const void* word, std::uint32_t channels) noexcept {
  const long n =
      raw_syscall(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG,
                  1, 0, 0, static_cast<long>(channels));
  return n > 0 ? 1 : 0;
}

// Returns whether that address is mapped, with any protection. Also returns true if the kernel
// doesn't say. MS_ASYNC has no other effect.
inline bool is_mapped(std::uint64_t address) noexcept {
  const std::uint64_t page = address & ~(static_cast<std::uint64_t>(getpagesize()) - 1);
  return raw_syscall(SYS_msync, static_cast<long>(page), 1, MS_ASYNC) != -ENOMEM;
}

// Returns whether the word at that address is `value`. The address may be anything, even unmapped,
// since the kernel reads it. The system call has no other effect: it moves no waiter. Also returns
// true if the kernel doesn't say, because seccomp blocks the call, or if the memory is mapped but
// unreadable now: garbage collectors protect pages for a while.
inline bool futex_word_is(std::uint64_t address, std::uint32_t value) noexcept {
  std::uint32_t nobody = 0;
  const long r =
      raw_syscall(SYS_futex, static_cast<long>(address), FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0,
                  0, reinterpret_cast<long>(&nobody), static_cast<long>(value));
  return r == -EFAULT ? is_mapped(address) : r != -EAGAIN;
}

}  // namespace lockswap
