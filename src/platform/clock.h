// Time: a monotonic clock in nanoseconds, and deadlines as POSIX's timed functions give them.
#pragma once

#include <cstdint>
#include <ctime>
#include <limits>

namespace lockswap {

// An absolute point on CLOCK_REALTIME or CLOCK_MONOTONIC. "No deadline" is a null pointer.
struct Deadline {
  clockid_t clock;
  timespec at;  // 0 <= tv_nsec < 1e9; tv_sec may be negative (long past)
  // If not 0, the deadline also passes so many nanoseconds after its thread is through with
  // spinning. Until then nobody has to look at a clock. P::due makes a point of it.
  std::uint64_t patience = 0;
};
// For a deadline that is nothing but patience.
inline constexpr timespec kNoTime{std::numeric_limits<time_t>::max(), 0};
inline bool has_no_time(const Deadline& d) noexcept { return d.at.tv_sec == kNoTime.tv_sec; }

// What POSIX demands of a deadline that a program gives.
inline bool is_valid_clock(clockid_t clock) noexcept {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}
inline bool is_valid_time(const timespec& t) noexcept {
  return t.tv_nsec >= 0 && t.tv_nsec < 1'000'000'000;
}

// Nanoseconds of a clock that the kernel is sure to have.
inline std::uint64_t ns_of(clockid_t clock) noexcept {
  timespec t;
  ::clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}
// Through the vDSO: about 25 to 60 ns.
inline std::uint64_t monotonic_ns() noexcept { return ns_of(CLOCK_MONOTONIC); }
// The same in some 5 ns, a few milliseconds behind.
inline std::uint64_t coarse_monotonic_ns() noexcept { return ns_of(CLOCK_MONOTONIC_COARSE); }
// Processor time of the calling thread: a system call, some 200 ns.
inline std::uint64_t thread_cpu_ns() noexcept { return ns_of(CLOCK_THREAD_CPUTIME_ID); }

// `nanoseconds` after `now`, which is of monotonic_ns().
inline Deadline deadline_in(std::uint64_t now, std::uint64_t nanoseconds) noexcept {
  const std::uint64_t at = now + nanoseconds;
  return {CLOCK_MONOTONIC,
          {static_cast<time_t>(at / 1'000'000'000u), static_cast<long>(at % 1'000'000'000u)}};
}

// The caller's deadline (nullptr: none), or so many nanoseconds of patience (0: for ever),
// whichever is over first.
inline Deadline within(const Deadline* deadline, std::uint64_t nanoseconds) noexcept {
  Deadline d = deadline != nullptr ? *deadline : Deadline{CLOCK_MONOTONIC, kNoTime};
  if (nanoseconds != 0 && (d.patience == 0 || nanoseconds < d.patience)) d.patience = nanoseconds;
  return d;
}

inline bool is_sooner(const timespec& a, const timespec& b) noexcept {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}
// The same deadline without patience, of a thread that is through with spinning now.
inline Deadline due_from_now(const Deadline& d) noexcept {
  if (d.patience == 0) return d;
  timespec t;
  ::clock_gettime(d.clock, &t);
  const std::uint64_t ns = static_cast<std::uint64_t>(t.tv_nsec) + d.patience;
  t.tv_sec += static_cast<time_t>(ns / 1'000'000'000u);
  t.tv_nsec = static_cast<long>(ns % 1'000'000'000u);
  return {d.clock, is_sooner(t, d.at) ? t : d.at};
}

inline bool has_passed(const Deadline& d) noexcept {
  timespec t;
  ::clock_gettime(d.clock, &t);
  return !is_sooner(t, d.at);
}

}  // namespace lockswap
