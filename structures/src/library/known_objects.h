// The set of existing objects, in programs that are compiled with checks. It shows that an object
// is used after it was freed, without reading its memory.
//
// State: a table of addresses, which the first check of the process maps; 0 before. An address
//   stays, and becomes an object again when its memory does. An object that does not fit is
//   unknown.
// Order: relaxed, all, because a correct program orders the creation of an object before its use
//   and its free.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/native.h"

namespace lockswap {

class KnownObjects {
 public:
  static void begin() noexcept {
    if (table() != nullptr) return;
    void* const memory = Native::map(kMost * sizeof(Word));
    std::uint64_t none = 0;
    if (memory == nullptr) return;
    // release: the table, which is zero; pairs with table().
    if (!first().compare_exchange(none, reinterpret_cast<std::uintptr_t>(memory), release))
      Native::unmap(memory, kMost * sizeof(Word));
  }
  static void made(const void* object) noexcept { note(object, kIsThere, true); }
  static void freed(const void* object) noexcept { note(object, kIsFreed, false); }
  static bool is_freed(const void* object) noexcept {
    const Word* const at = table() == nullptr ? nullptr : place_of(object);
    return at != nullptr && at->load(relaxed) == word_of(object, kIsFreed);
  }

 private:
  using Word = NativeAtomic<std::uint64_t>;
  static constexpr std::size_t kMost = 1 << 20;
  static constexpr std::size_t kProbes = 64;
  static constexpr std::uint64_t kIsThere = 1;  // in the low bits of an address, which are 0
  static constexpr std::uint64_t kIsFreed = 2;
  struct State {
    Word table;
  };

  static Word& first() noexcept { return Native::global<State>().table; }
  static Word* table() noexcept { return reinterpret_cast<Word*>(first().load(acquire)); }
  static std::uint64_t word_of(const void* object, std::uint64_t state) noexcept {
    return reinterpret_cast<std::uintptr_t>(object) | state;
  }
  // Returns where the object is, or would be, or nullptr if there is no room.
  static Word* place_of(const void* object) noexcept {
    const std::uint64_t address = word_of(object, 0);
    const auto first = static_cast<std::size_t>(address * 0x9E3779B97F4A7C15u >> 44);
    for (std::size_t i = 0; i < kProbes; ++i) {
      Word& at = table()[(first + i) % kMost];
      const std::uint64_t there = at.load(relaxed);
      if (there == 0 || (there & ~std::uint64_t{3}) == address) return &at;
    }
    return nullptr;
  }
  static void note(const void* object, std::uint64_t state, bool is_new) noexcept {
    Word* const at = table() == nullptr ? nullptr : place_of(object);
    if (at == nullptr) return;
    std::uint64_t there = at->load(relaxed);
    if (there == 0 && !is_new) return;
    // If another thread takes the place, this object is unknown.
    at->compare_exchange(there, word_of(object, state), relaxed);
  }
};

}  // namespace lockswap
