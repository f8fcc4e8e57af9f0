/// @file
/// Range locks for C++: see range_lock.h for what they are. C++17.
///
///   lockswap::range_lock lock;
///   {
///     const auto mine = lock.exclusive(0, 4096);   // waits
///     ...
///   }                                              // released
///   if (auto some = lock.try_shared(0, 10)) ...
#pragma once

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <system_error>
#include <thread>
#include <utility>

#include "lockswap/range_lock.h"

namespace lockswap {

/// A held range, or none. Released by its destructor, which must run in the thread that acquired
/// it.
class held_range {
 public:
  /// No range.
  held_range() noexcept = default;
  /// Takes the range of the other one, which then has none.
  held_range(held_range&& other) noexcept
      : range_(other.range_), held_(std::exchange(other.held_, false)) {}
  /// The same; a range that it had is released.
  held_range& operator=(held_range&& other) noexcept {
    if (this != &other) {
      release();
      range_ = other.range_;
      held_ = std::exchange(other.held_, false);
    }
    return *this;
  }
  held_range(const held_range&) = delete;
  held_range& operator=(const held_range&) = delete;
  ~held_range() { release(); }

  /// Whether there is a range.
  explicit operator bool() const noexcept { return held_; }
  /// Releases it now, if there is one.
  void release() noexcept {
    if (std::exchange(held_, false)) lockswap_range_release(&range_);
  }
  /// Shared becomes exclusive. Returns false if others are in the way, and it stays shared. Throws
  /// std::system_error, also where the implementation cannot.
  bool try_upgrade() {
    const int error = lockswap_range_try_upgrade(&range_);
    if (error != 0 && error != EBUSY) {
      throw std::system_error(error, std::generic_category(), "lockswap range upgrade");
    }
    return error == 0;
  }
  /// Exclusive becomes shared. Throws std::system_error.
  void downgrade() {
    if (const int error = lockswap_range_downgrade(&range_); error != 0) {
      throw std::system_error(error, std::generic_category(), "lockswap range downgrade");
    }
  }

 private:
  friend class range_lock;
  lockswap_range range_{};
  bool held_ = false;
};

/// A range lock. It stays where it is: it can be neither copied nor moved.
class range_lock {
 public:
  /// With the default attributes.
  range_lock() noexcept = default;
  /// With attributes of its own. `segment`: units; 0: the default. What is left at its default is
  /// as the implementation's name says. Throws std::system_error if there is none of that name.
  explicit range_lock(const char* implementation, bool fair = true,
                      int preference = LOCKSWAP_RANGE_PREFER_READERS, std::uint64_t segment = 0) {
    lockswap_range_lock_attr attr;
    check(lockswap_range_lock_attr_init(&attr));
    check(lockswap_range_lock_attr_set_implementation(&attr, implementation));
    if (!fair) check(lockswap_range_lock_attr_set_fair(&attr, 0));
    if (preference != LOCKSWAP_RANGE_PREFER_READERS)
      check(lockswap_range_lock_attr_set_preference(&attr, preference));
    if (segment != 0) check(lockswap_range_lock_attr_set_segment(&attr, segment));
    check(lockswap_range_lock_init(&lock_, &attr));
  }
  range_lock(const range_lock&) = delete;
  range_lock& operator=(const range_lock&) = delete;
  /// No range may be held; if one is, as by a thread that runs on while the process exits, what the
  /// lock has mapped stays. Waits a little for a thread that has not come back from a release.
  ~range_lock() {
    for (int i = 0; i < 1000 && lockswap_range_lock_destroy(&lock_) == EBUSY; ++i)
      std::this_thread::yield();
  }

  /// @name Acquisitions that wait
  /// They throw std::system_error where the function of C returns an
  /// error. Without numbers: all units.
  /// @{

  /// [start, end) for this thread alone.
  held_range exclusive(std::uint64_t start, std::uint64_t end) {
    return acquire(start, end, LOCKSWAP_RANGE_EXCLUSIVE);
  }
  /// [start, end) beside others that share it.
  held_range shared(std::uint64_t start, std::uint64_t end) {
    return acquire(start, end, LOCKSWAP_RANGE_SHARED);
  }
  /// All units for this thread alone.
  held_range exclusive() { return exclusive(0, UINT64_MAX); }
  /// All units beside others that share them.
  held_range shared() { return shared(0, UINT64_MAX); }
  /// @}

  /// @name Tries
  /// Each is no range if it would have to wait (longer). What is in the way of a try
  /// may be this thread's own range; the forms with a time throw then, as those that wait do.
  /// @{

  /// [start, end) for this thread alone, at once or not.
  held_range try_exclusive(std::uint64_t start, std::uint64_t end) {
    return try_acquire(start, end, LOCKSWAP_RANGE_EXCLUSIVE);
  }
  /// [start, end) beside others, at once or not.
  held_range try_shared(std::uint64_t start, std::uint64_t end) {
    return try_acquire(start, end, LOCKSWAP_RANGE_SHARED);
  }
  /// All units for this thread alone, at once or not.
  held_range try_exclusive() { return try_exclusive(0, UINT64_MAX); }
  /// All units beside others, at once or not.
  held_range try_shared() { return try_shared(0, UINT64_MAX); }
  /// Like try_exclusive, but waits for at most that long.
  template <class Rep, class Period>
  held_range try_exclusive_for(std::uint64_t start, std::uint64_t end,
                               std::chrono::duration<Rep, Period> time) {
    return timed_acquire(start, end, LOCKSWAP_RANGE_EXCLUSIVE, time);
  }
  /// Like try_shared, but waits for at most that long.
  template <class Rep, class Period>
  held_range try_shared_for(std::uint64_t start, std::uint64_t end,
                            std::chrono::duration<Rep, Period> time) {
    return timed_acquire(start, end, LOCKSWAP_RANGE_SHARED, time);
  }

  /// @}

  /// The lock of C.
  lockswap_range_lock* native_handle() noexcept { return &lock_; }

 private:
  static void check(int error) {
    if (error != 0) throw std::system_error(error, std::generic_category(), "lockswap range lock");
  }
  held_range acquire(std::uint64_t start, std::uint64_t end, int mode) {
    held_range r;
    check(lockswap_range_acquire(&lock_, &r.range_, start, end, mode));
    r.held_ = true;
    return r;
  }
  held_range try_acquire(std::uint64_t start, std::uint64_t end, int mode) {
    held_range r;
    const int error = lockswap_range_try_acquire(&lock_, &r.range_, start, end, mode);
    if (error != EBUSY) check(error);
    r.held_ = error == 0;
    return r;
  }
  // Not more than a century: three do not fit.
  template <class Rep, class Period>
  static std::int64_t nanoseconds_of(std::chrono::duration<Rep, Period> time) {
    constexpr std::chrono::hours kCentury(24 * 365 * 100);
    const std::chrono::duration<double> seconds = time;
    const auto cast = [](auto t) {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(t).count();
    };
    return seconds > kCentury ? cast(kCentury) : seconds < -kCentury ? cast(-kCentury) : cast(time);
  }
  template <class Rep, class Period>
  held_range timed_acquire(std::uint64_t start, std::uint64_t end, int mode,
                           std::chrono::duration<Rep, Period> time) {
    // The monotonic clock's own now: std::chrono does not say which clock it reads.
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    const std::int64_t ns = nanoseconds_of(time);
    until.tv_sec += ns / 1'000'000'000;
    until.tv_nsec += ns % 1'000'000'000;
    if (until.tv_nsec >= 1'000'000'000) {
      until.tv_nsec -= 1'000'000'000;
      ++until.tv_sec;
    } else if (until.tv_nsec < 0) {
      until.tv_nsec += 1'000'000'000;
      --until.tv_sec;
    }
    held_range r;
    const int error =
        lockswap_range_clock_acquire(&lock_, &r.range_, start, end, mode, CLOCK_MONOTONIC, &until);
    if (error != ETIMEDOUT) check(error);
    r.held_ = error == 0;
    return r;
  }

  lockswap_range_lock lock_ = LOCKSWAP_RANGE_LOCK_INITIALIZER;
};

}  // namespace lockswap
