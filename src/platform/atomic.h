// Atomics as the locks see them: a thin name for std::atomic, so that the same lock source can run
// on a platform whose atomics are explored instead of executed.
//
// Every operation names its order. compare_exchange is the strong form and, like std::atomic's,
// leaves the value it saw in `expected`; a failed one is a relaxed load.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/sanitizers.h"

namespace lockswap {

using Order = std::memory_order;
inline constexpr Order relaxed = std::memory_order_relaxed;
inline constexpr Order acquire = std::memory_order_acquire;
inline constexpr Order release = std::memory_order_release;
inline constexpr Order acq_rel = std::memory_order_acq_rel;
inline constexpr Order seq_cst = std::memory_order_seq_cst;

// For state that a signal handler of the same thread may access: the compiler moves no access
// across this.
inline void signal_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

template <class T>
class NativeAtomic {
 public:
  using value_type = T;

  constexpr NativeAtomic() noexcept = default;
  constexpr explicit NativeAtomic(T v) noexcept : a_(v) {}
  NativeAtomic(const NativeAtomic&) = delete;
  NativeAtomic& operator=(const NativeAtomic&) = delete;

  T load(Order o) const noexcept { return after(a_.load(o), o); }
  void store(T v, Order o) noexcept {
    Sanitizers::before(this, o);
    a_.store(v, o);
  }
  T exchange(T v, Order o) noexcept {
    Sanitizers::before(this, o);
    return after(a_.exchange(v, o), o);
  }
  bool compare_exchange(T& expected, T desired, Order success) noexcept {
    Sanitizers::before(this, success);
    return after(a_.compare_exchange_strong(expected, desired, success, std::memory_order_relaxed),
                 success);
  }
  T fetch_add(T v, Order o) noexcept {
    Sanitizers::before(this, o);
    return after(a_.fetch_add(v, o), o);
  }
  T fetch_sub(T v, Order o) noexcept {
    Sanitizers::before(this, o);
    return after(a_.fetch_sub(v, o), o);
  }
  T fetch_or(T v, Order o) noexcept {
    Sanitizers::before(this, o);
    return after(a_.fetch_or(v, o), o);
  }
  T fetch_and(T v, Order o) noexcept {
    Sanitizers::before(this, o);
    return after(a_.fetch_and(v, o), o);
  }

  // A relaxed load and a comparison in one instruction, where compilers would emit two.
  [[gnu::always_inline]] bool is(T v) const noexcept {
#if defined(__x86_64__)
    bool same;
    asm("cmp %2, %1" : "=@ccz"(same) : "m"(a_), "r"(v));
    return same;
#else
    return load(std::memory_order_relaxed) == v;
#endif
  }

  // While the process has one thread (alone.h): one instruction, so that a signal handler sees all
  // of the RMW or nothing. No order is needed, but the compiler moves no access across it.
  T fetch_add_alone(T v) noexcept {
#if defined(__x86_64__)
    asm volatile("xadd %0, %1" : "+r"(v), "+m"(a_) : : "memory", "cc");
    return v;
#else
    return a_.fetch_add(v, std::memory_order_seq_cst);
#endif
  }
  bool compare_exchange_alone(T& expected, T desired) noexcept {
#if defined(__x86_64__)
    bool done;
    asm volatile("cmpxchg %3, %1"
                 : "+a"(expected), "+m"(a_), "=@ccz"(done)
                 : "r"(desired)
                 : "memory");
    return done;
#else
    return a_.compare_exchange_strong(expected, desired);
#endif
  }

 private:
  template <class R>
  [[gnu::always_inline]] R after(R result, Order o) const noexcept {
    Sanitizers::after(this, o);
    return result;
  }

  std::atomic<T> a_{};
  static_assert(std::atomic<T>::is_always_lock_free);
};

// A counter that one thread writes and others may read.
class NativeTally {
 public:
  // All relaxed: a counter publishes nothing else.
  std::uint64_t get() const noexcept { return n_.load(relaxed); }
  void set(std::uint64_t n) noexcept { n_.store(n, relaxed); }
  void add(std::uint64_t n) noexcept { set(get() + n); }

 private:
  NativeAtomic<std::uint64_t> n_{};
};

// Data that one thread writes and others read, ordered by something else.
template <class T>
class NativePlain {
 public:
  T get() const noexcept { return value_; }
  void set(T v) noexcept { value_ = v; }

 private:
  T value_{};
};

}  // namespace lockswap
