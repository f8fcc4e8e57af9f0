/// @file
/// Range locks for C++17. range_lock.h explains what they are.
///
///     lockswap::range_lock lock;
///     {
///       const auto mine = lock.exclusive(0, 4096);   // waits
///       ...
///     }                                              // released
///     if (auto some = lock.try_shared(0, 10)) ...
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

/// A held range, or none. The destructor releases it, and must run in the thread that acquired it.
class held_range {
 public:
  /// Makes an object without a range.
  held_range() noexcept = default;
  /// Takes over the range of the other object, which then has none.
  held_range(held_range&& other) noexcept
      : range_(other.range_), held_(std::exchange(other.held_, false)) {}
  /// The same, after releasing the range that this object had.
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

  /// Returns whether there is a range.
  explicit operator bool() const noexcept { return held_; }
  /// Releases the range now, if there is one.
  void release() noexcept {
    if (std::exchange(held_, false)) lockswap_range_release(&range_);
  }
  /// Makes a shared range exclusive. Returns false if others are in the way, and then it stays
  /// shared. Throws std::system_error for other errors, also if the implementation can't do this.
  bool try_upgrade() {
    const int error = lockswap_range_try_upgrade(&range_);
    if (error != 0 && error != EBUSY) {
      throw std::system_error(error, std::generic_category(), "lockswap range upgrade");
    }
    return error == 0;
  }
  /// Makes an exclusive range shared. Throws std::system_error on errors.
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

/// A range lock, which can be neither copied nor moved.
class range_lock {
 public:
  /// Makes a lock with the default attributes.
  range_lock() noexcept = default;
  /// Makes a lock with these attributes. `segment` is in units, and 0 means the default. What is
  /// left at its default is as the implementation's name says. Throws std::system_error if there is
  /// no implementation of that name.
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
  /// No range may be held. If one is, for example by a thread that runs on while the process exits,
  /// the lock's memory stays mapped. Waits briefly for a thread that is still in a release.
  ~range_lock() {
    for (int i = 0; i < 1000 && lockswap_range_lock_destroy(&lock_) == EBUSY; ++i)
      std::this_thread::yield();
  }

  /// @name Acquisitions that wait
  /// They throw std::system_error where the C function returns an error. The forms without numbers
  /// acquire all units.
  /// @{

  /// Acquires [start, end) for this thread alone.
  held_range exclusive(std::uint64_t start, std::uint64_t end) {
    return acquire(start, end, LOCKSWAP_RANGE_EXCLUSIVE);
  }
  /// Acquires [start, end) beside others that share it.
  held_range shared(std::uint64_t start, std::uint64_t end) {
    return acquire(start, end, LOCKSWAP_RANGE_SHARED);
  }
  /// Acquires all units for this thread alone.
  held_range exclusive() { return exclusive(0, UINT64_MAX); }
  /// Acquires all units beside others that share them.
  held_range shared() { return shared(0, UINT64_MAX); }
  /// @}

  /// @name Tries
  /// They return an object without a range if they would have to wait, or wait for longer. If this
  /// thread's own range is in the way, the forms with a time throw, as those that wait do.
  /// @{

  /// Tries to acquire [start, end) for this thread alone.
  held_range try_exclusive(std::uint64_t start, std::uint64_t end) {
    return try_acquire(start, end, LOCKSWAP_RANGE_EXCLUSIVE);
  }
  /// Tries to acquire [start, end) beside others that share it.
  held_range try_shared(std::uint64_t start, std::uint64_t end) {
    return try_acquire(start, end, LOCKSWAP_RANGE_SHARED);
  }
  /// Tries to acquire all units for this thread alone.
  held_range try_exclusive() { return try_exclusive(0, UINT64_MAX); }
  /// Tries to acquire all units beside others that share them.
  held_range try_shared() { return try_shared(0, UINT64_MAX); }
  /// Like try_exclusive, but waits for at most `time`.
  template <class Rep, class Period>
  held_range try_exclusive_for(std::uint64_t start, std::uint64_t end,
                               std::chrono::duration<Rep, Period> time) {
    return timed_acquire(start, end, LOCKSWAP_RANGE_EXCLUSIVE, time);
  }
  /// Like try_shared, but waits for at most `time`.
  template <class Rep, class Period>
  held_range try_shared_for(std::uint64_t start, std::uint64_t end,
                            std::chrono::duration<Rep, Period> time) {
    return timed_acquire(start, end, LOCKSWAP_RANGE_SHARED, time);
  }

  /// @}

  /// Returns the underlying C lock.
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
  // Limited to a century, because three of them overflow.
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
    // Reads the monotonic clock itself, because std::chrono does not say which clock it reads.
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
