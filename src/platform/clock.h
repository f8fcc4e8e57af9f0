// Time: a monotonic clock in nanoseconds, and deadlines as POSIX's timed functions take them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>

namespace lockswap {

// An absolute time on CLOCK_REALTIME or CLOCK_MONOTONIC, which the caller of a timed function
// passed, and the library's own times. Those are on CLOCK_MONOTONIC whatever the caller's clock is,
// since CLOCK_REALTIME may be set at any moment. A null pointer means no deadline.
struct Deadline {
  clockid_t clock;
  timespec at;  // 0 <= tv_nsec < 1e9; tv_sec may be negative (long past)
  // If not 0, the deadline also passes that many nanoseconds after its thread has finished
  // spinning. Until then nobody has to read a clock. P::due turns it into an absolute time.
  std::uint64_t patience = 0;
  // If not 0, it replaces the patience until what the thread waits for has changed; then P::due's
  // caller continues with as_at_first.
  std::uint64_t longer = 0;
  // If not 0, the deadline also passes at that time, in nanoseconds of CLOCK_MONOTONIC.
  std::uint64_t soon = 0;
};
// The time of a deadline that consists of patience only.
inline constexpr timespec kNoTime{std::numeric_limits<time_t>::max(), 0};
inline bool has_no_time(const Deadline& d) noexcept { return d.at.tv_sec == kNoTime.tv_sec; }

// What POSIX requires of a deadline that a program passes.
inline bool is_valid_clock(clockid_t clock) noexcept {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}
inline bool is_valid_time(const timespec& t) noexcept {
  return t.tv_nsec >= 0 && t.tv_nsec < 1'000'000'000;
}

// Returns the nanoseconds of a clock that every kernel has.
inline std::uint64_t ns_of(clockid_t clock) noexcept {
  timespec t;
  ::clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}
// Uses the vDSO, which takes about 25 to 60 ns.
inline std::uint64_t monotonic_ns() noexcept { return ns_of(CLOCK_MONOTONIC); }
// The same in some 5 ns, but up to a few milliseconds behind.
inline std::uint64_t coarse_monotonic_ns() noexcept { return ns_of(CLOCK_MONOTONIC_COARSE); }
// The processor time of the calling thread. Makes a system call, which takes some 200 ns.
inline std::uint64_t thread_cpu_ns() noexcept { return ns_of(CLOCK_THREAD_CPUTIME_ID); }

// Returns the deadline `nanoseconds` after `now`, which is a time of monotonic_ns().
inline Deadline deadline_in(std::uint64_t now, std::uint64_t nanoseconds) noexcept {
  const std::uint64_t at = now + nanoseconds;
  return {CLOCK_MONOTONIC,
          {static_cast<time_t>(at / 1'000'000'000u), static_cast<long>(at % 1'000'000'000u)}};
}

// Returns the sooner of the caller's deadline (nullptr for none) and that many nanoseconds of
// patience (0: for ever).
inline Deadline within(const Deadline* deadline, std::uint64_t nanoseconds) noexcept {
  Deadline d = deadline != nullptr ? *deadline : Deadline{CLOCK_MONOTONIC, kNoTime};
  if (nanoseconds == 0) return d;
  if (d.patience == 0 || nanoseconds < d.patience) d.patience = nanoseconds;
  if (nanoseconds < d.longer) d.longer = nanoseconds;
  return d;
}
// Called by a thread that woke up because what it waits for had changed, and that has to wait
// again. Its patience is the usual one from now on. Returns whether that changes anything; if so,
// the deadline now points to `room`.
inline bool as_at_first(const Deadline*& deadline, Deadline& room) noexcept {
  if (deadline == nullptr || deadline->longer == 0) return false;
  room = *deadline;
  room.longer = 0;
  deadline = &room;
  return true;
}

inline bool is_sooner(const timespec& a, const timespec& b) noexcept {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}
// Returns the same deadline with its patience turned into a time. Called right after spinning.
inline Deadline due_from_now(Deadline d) noexcept {
  if (d.patience == 0) return d;
  const std::uint64_t at = monotonic_ns() + (d.longer != 0 ? d.longer : d.patience);
  if (d.soon == 0 || at < d.soon) d.soon = at;
  d.patience = d.longer = 0;
  return d;
}

inline bool has_passed(const Deadline& d) noexcept {
  if (d.soon != 0 && monotonic_ns() >= d.soon) return true;
  if (has_no_time(d)) return false;
  timespec t;
  ::clock_gettime(d.clock, &t);
  return !is_sooner(t, d.at);
}

// Returns how many nanoseconds remain until that time of the clock, but at most `most`.
inline std::uint64_t ns_until(clockid_t clock, const timespec& at, std::uint64_t most) noexcept {
  timespec t;
  ::clock_gettime(clock, &t);
  if (!is_sooner(t, at)) return 0;
  constexpr std::int64_t kSecond = 1'000'000'000, kMostSeconds = 1'000'000;
  const std::int64_t seconds = std::min<std::int64_t>(at.tv_sec - t.tv_sec, kMostSeconds);
  return std::min(static_cast<std::uint64_t>(seconds * kSecond + at.tv_nsec - t.tv_nsec), most);
}

// Returns the same deadline for a sleep, which can use one clock only: the sooner of the two times.
// If they are on two clocks, the sleep may also end before either, after a second at most, so that
// a change of the caller's clock is noticed. Then the deadline has not passed, and the thread
// sleeps again.
inline Deadline one_sleep(const Deadline& d) noexcept {
  if (d.soon == 0) return d;
  const Deadline own = deadline_in(d.soon, 0);
  Deadline callers{CLOCK_MONOTONIC, d.at};
  if (d.clock != CLOCK_MONOTONIC && !has_no_time(d)) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    callers = deadline_in(monotonic_ns(), ns_until(d.clock, d.at, kSecond));
  }
  return is_sooner(callers.at, own.at) ? callers : own;
}

}  // namespace lockswap
