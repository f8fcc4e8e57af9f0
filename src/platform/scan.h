// Searches for a key in a table of slots that other threads write: BRAVO's revocation scan.
//
// P::scan consists of a seq_cst fence, then 8-byte-atomic loads in any order, then an acquire
// fence. It finds each slot that contained the key before the first fence in the seq_cst order, and
// still does. A hit is only a hint: the caller loads the slot again, seq_cst. If a slot is read as
// free, the last fence synchronises with its reader's release: without it the revoker could write
// data that this reader, in the language's model, still reads. The low bit of a slot is not
// compared.
//
// The vector form reads 8-byte-aligned slots by 32-byte loads; on every x86-64 with AVX2 each
// aligned 8-byte lane is loaded atomically. C++ has no such loads, so this is the one place that
// steps outside the language's memory model. ThreadSanitizer sees neither such loads nor fences, so
// its builds load one slot at a time, seq_cst.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "platform/atomic.h"
#include "platform/sanitizer.h"

namespace lockswap {

using Slot = NativeAtomic<std::uint64_t>;

#if defined(LOCKSWAP_TSAN)
inline constexpr Order kScanOrder = seq_cst;
inline void fence(Order) noexcept {}
#else
inline constexpr Order kScanOrder = relaxed;  // the fences order it, and hits are loaded again
inline void fence(Order order) noexcept { std::atomic_thread_fence(order); }
#endif

// Returns the index of the first slot at or after `from` that contains `key` (bit 0 aside), or `n`.
inline std::size_t find_slot_scalar(const Slot* table, std::size_t from, std::size_t n,
                                    std::uint64_t key) noexcept {
  for (; from < n; ++from) {
    if ((table[from].load(kScanOrder) | 1) == (key | 1)) break;
  }
  return from;
}

#if defined(__x86_64__) && !defined(LOCKSWAP_TSAN)
#define LOCKSWAP_HAS_VECTOR_SCAN 1
// `n` is a multiple of 16 and the table is 64-byte aligned.
__attribute__((target("avx2"))) inline std::size_t find_slot_avx2(const Slot* table,
                                                                  std::size_t from, std::size_t n,
                                                                  std::uint64_t key) noexcept {
  while (from % 16 != 0 && from < n) {
    if ((table[from].load(kScanOrder) | 1) == (key | 1)) return from;
    ++from;
  }
  const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(key | 1));
  const __m256i low = _mm256_set1_epi64x(1);
  for (; from < n; from += 16) {
    const auto* p = reinterpret_cast<const __m256i*>(table + from);
    __m256i any = _mm256_setzero_si256();
    for (int i = 0; i < 4; ++i) {
      const __m256i slots = _mm256_or_si256(_mm256_load_si256(p + i), low);
      any = _mm256_or_si256(any, _mm256_cmpeq_epi64(slots, wanted));
    }
    if (_mm256_testz_si256(any, any) == 0) return find_slot_scalar(table, from, n, key);
  }
  return n;
}
#endif

inline constinit bool vector_scan_usable = false;  // set once at start-up

inline void prepare_scan() noexcept {
#if defined(LOCKSWAP_HAS_VECTOR_SCAN)
  __builtin_cpu_init();
  vector_scan_usable = __builtin_cpu_supports("avx2");
#endif
}

inline std::size_t find_slot(const Slot* table, std::size_t from, std::size_t n,
                             std::uint64_t key) noexcept {
#if defined(LOCKSWAP_HAS_VECTOR_SCAN)
  if (vector_scan_usable) return find_slot_avx2(table, from, n, key);
#endif
  return find_slot_scalar(table, from, n, key);
}

}  // namespace lockswap
