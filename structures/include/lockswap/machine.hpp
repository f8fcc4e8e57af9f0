// What the structures in these headers need from the machine. The explorer provides another one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <new>
#include <sched.h>
#include <unistd.h>

#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "lockswap/sanitizers.h"

/// @cond private
namespace lockswap {

struct real_machine {
  template <class T>
  class atomic {
   public:
    T load(std::memory_order o) const noexcept { return a_.load(o); }
    void store(T v, std::memory_order o) noexcept { a_.store(v, o); }
    T exchange(T v, std::memory_order o) noexcept { return a_.exchange(v, o); }
    T fetch_add(T v, std::memory_order o) noexcept { return a_.fetch_add(v, o); }
    T fetch_or(T v, std::memory_order o) noexcept { return a_.fetch_or(v, o); }
    bool compare_exchange(T& expected, T v, std::memory_order o) noexcept {
      return a_.compare_exchange_strong(expected, v, o, std::memory_order_relaxed);
    }

   private:
    std::atomic<T> a_{};
  };
  // Written by one thread while no other can see it.
  template <class T>
  class plain {
   public:
    const T& get() const noexcept { return v_; }
    void set(const T& v) noexcept { v_ = v; }

   private:
    T v_{};
  };

  static bool prepare_heavy_fence() noexcept {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  }
  // A seq_cst fence in every thread of the process. Returns false if the kernel rejects it.
  static bool heavy_fence() noexcept {
    full_fence();
    const bool done = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
    full_fence();
    return done;
  }
  static void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void full_fence() noexcept {
#ifdef LOCKSWAP_TSAN
    // ThreadSanitizer knows no fences. An update of one word that all threads share is at least as
    // strong.
    static std::atomic<unsigned> word{0};
    word.fetch_add(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }
  // Called between two polls of a waiting thread. It first yields the processor, and then sleeps
  // for longer and longer, up to a millisecond.
  static void step_aside(unsigned round = 0) noexcept {
    constexpr unsigned kYields = 16;
    constexpr unsigned kDoublings = 5;
    if (round < kYields) {
      sched_yield();
      return;
    }
    const unsigned doublings = round - kYields < kDoublings ? round - kYields : kDoublings;
    const timespec t{0, 31'250L << doublings};
    nanosleep(&t, nullptr);
  }

  template <class T>
  static void* take() {
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
      return ::operator new (sizeof(T), std::align_val_t{alignof(T)});
    } else {
      return ::operator new(sizeof(T));
    }
  }
  template <class T>
  static void give(void* p) noexcept {
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
      ::operator delete (p, std::align_val_t{alignof(T)});
    } else {
      ::operator delete(p);
    }
  }
  // Between these two, no thread accesses the parts that readers see. For the explorer, and for
  // AddressSanitizer.
  template <class T>
  static void forbid([[maybe_unused]] T* p) noexcept {
#ifdef LOCKSWAP_ASAN
    __asan_poison_memory_region(p, T::bytes_for_readers());
#endif
  }
  template <class T>
  static void permit([[maybe_unused]] T* p) noexcept {
#ifdef LOCKSWAP_ASAN
    __asan_unpoison_memory_region(p, T::bytes_for_readers());
#endif
  }
};

}  // namespace lockswap
/// @endcond
