// What a library that is not compiled with a sanitizer tells the sanitizer of its program: which
// threads it orders, and which memory nobody may access.
//
// Idea: in a checked build (LOCKSWAP_CHECKED) each atomic operation with an order is reported to
//   ThreadSanitizer at its own address, as if it were compiled with -fsanitize=thread. So nothing
//   in an algorithm needs annotations, and operations that programs have inlined meet the library's
//   at the same address. The functions are weak, since a program without a sanitizer has none of
//   them. In other builds all of this compiles to nothing.
#pragma once

#include <atomic>
#include <cstddef>

#if defined(LOCKSWAP_CHECKED)
extern "C" {
[[gnu::weak, gnu::visibility("default")]] void __tsan_acquire(void* address);
[[gnu::weak, gnu::visibility("default")]] void __tsan_release(void* address);
[[gnu::weak, gnu::visibility("default")]] void __asan_poison_memory_region(
    const volatile void* address, std::size_t bytes);
[[gnu::weak, gnu::visibility("default")]] void __asan_unpoison_memory_region(
    const volatile void* address, std::size_t bytes);
}
#endif

namespace lockswap {

struct Sanitizers {
#if defined(LOCKSWAP_CHECKED)
  static constexpr bool kAreTold = true;
#else
  static constexpr bool kAreTold = false;
#endif

  // Called before and after an operation of that order.
  [[gnu::always_inline]] static void before([[maybe_unused]] const void* atom,
                                            [[maybe_unused]] std::memory_order order) noexcept {
#if defined(LOCKSWAP_CHECKED)
    const bool releases = order != std::memory_order_relaxed && order != std::memory_order_acquire;
    if (releases && __tsan_release != nullptr) __tsan_release(const_cast<void*>(atom));
#endif
  }
  [[gnu::always_inline]] static void after([[maybe_unused]] const void* atom,
                                           [[maybe_unused]] std::memory_order order) noexcept {
#if defined(LOCKSWAP_CHECKED)
    const bool acquires = order != std::memory_order_relaxed && order != std::memory_order_release;
    if (acquires && __tsan_acquire != nullptr) __tsan_acquire(const_cast<void*>(atom));
#endif
  }

  // For AddressSanitizer: the program may not access these bytes, or may again.
  [[gnu::always_inline]] static void hide([[maybe_unused]] const void* p,
                                          [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(LOCKSWAP_CHECKED)
    if (__asan_poison_memory_region != nullptr) __asan_poison_memory_region(p, bytes);
#endif
  }
  [[gnu::always_inline]] static void show([[maybe_unused]] const void* p,
                                          [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(LOCKSWAP_CHECKED)
    if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(p, bytes);
#endif
  }
};

}  // namespace lockswap
