// The events of a lock that can be counted. The default counter counts nothing and costs nothing.
#pragma once

#include <concepts>
#include <cstdint>

namespace lockswap {

enum class Event : std::uint8_t {
  call,                 // any function that was called
  read,                 // read acquisitions: these four exclude each other
  fast_read,            //   through BRAVO's table
  slow_read_bias_off,   //   through the underlying lock: bias was off
  slow_read_collision,  //   through the underlying lock: the slot was taken
  recursive_read,       // a read by a thread that already reads
  patience_read,        // a read past a writer that waited for readers for too long
  write,                // write acquisitions
  revocation,           // writes that had to revoke the bias
  revocation_ns,        // time in revocations
  failed_try,           // try forms that returned EBUSY
  timeout,              // timed forms that returned ETIMEDOUT
  foreign_release,      // read releases by a thread without a record
  to_glibc,             // calls on process-shared locks
  hand_off,             // acquisitions of a lock, or of its lane, that was kept for the thread
  phase,                // releases of a writer to readers that wait, before any other writer
  nap,                  // back-off sleeps of threads that leave the lock to a single running one
  // For mutexes.
  mutex_call,
  mutex_lock,      // acquisitions
  mutex_hand_off,  // acquisitions of one, or of its lane, that was kept for the thread
  mutex_nap,       // as for rwlocks
  mutex_failed_try,
  mutex_timeout,
  mutex_to_glibc,  // calls on robust, priority-aware and process-shared ones
  // For condition variables.
  cond_wait,  // calls of all three forms
  cond_timeout,
  cond_signal,
  cond_broadcast,
  kCount,
};

// A place where events are counted.
template <class Count>
concept EventCounter = requires(const void* object, Event event, std::uint64_t n) {
  // Whether it ever counts events, and whether it does so in this process.
  requires std::same_as<decltype(Count::kCounts), const bool>;
  { Count::is_on() } -> std::same_as<bool>;
  // The counter for slow paths. Counters that share it share the code of these paths, too.
  typename Count::Slow;
  // Records one event, or n of them, on the object. Thread-safe; imposes no ordering.
  Count::on(object, event);
  Count::on(object, event, n);
};

struct CountNothing {
  static constexpr bool kCounts = false;
  using Slow = CountNothing;
  static constexpr bool is_on() noexcept { return false; }
  static void on(const void*, Event, std::uint64_t = 1) noexcept {}
};

}  // namespace lockswap
