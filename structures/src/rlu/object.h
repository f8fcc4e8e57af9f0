// Objects and their headers.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.4, "Object".
// State: before each object, and before each copy in a write-log, are a word and a size. The word
//   is one of
//     0                      the object is not locked
//     kIsCopy                this is a copy
//     an address             the object is locked; this is the address of its copy
//     an address | kRecord   it is locked without a copy; this is the record (write_log.h)
// Invariants: only the thread that has locked the object changes the word from an address. The copy
//   or record is in the write-log of that thread.
// Deviations: the paper's pseudo-code has no locks without a copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap::rlu {

inline constexpr std::uint64_t kUnlocked = 0;
inline constexpr std::uint64_t kIsCopy = 1;
inline constexpr std::uint64_t kRecord = 2;

inline constexpr std::size_t kAlignment = 16;  // of objects, copies and records
constexpr std::size_t rounded(std::size_t bytes) noexcept {
  return (bytes + kAlignment - 1) & ~(kAlignment - 1);
}

template <Platform P>
struct alignas(kAlignment) Header {
  typename P::template atomic<std::uint64_t> lock{};
  std::uint64_t size : 48 = 0;  // the object's; never changes
  std::uint64_t give : 16 = 0;  // for the heap: how to free it
};

template <Platform P>
Header<P>& header_of(const void* object) noexcept {
  return static_cast<Header<P>*>(const_cast<void*>(object))[-1];
}

constexpr bool is_record(std::uint64_t lock) noexcept { return (lock & kRecord) != 0; }
inline void* copy_at(std::uint64_t lock) noexcept { return reinterpret_cast<void*>(lock); }

// Where the memory of objects goes, including the header. Any thread may call it.
template <class H>
concept Heap = requires(void* memory) {
  H::give(memory);
};

}  // namespace lockswap::rlu
