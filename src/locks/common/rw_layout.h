// How the 56 bytes of a pthread_rwlock_t are shared out. See docs/interposition.md for the table.
//
//   0..23  core      the lock algorithm's own state
//  24..27  writer    thread id of the write holder, where glibc keeps it: true for debuggers
//  28..31  shared    glibc's: not 0 = process-shared, and then the whole object is glibc's
//  32..39  contract  rw_word.h: flags and extra holds, the stamp of the process that adopted the
//                    lock, its generation; all 0 in fresh memory
//  40..47  bias      BRAVO's RBias and InhibitUntil: locks/rw/bias_word.h
//  48..51  kind      glibc's: the preference that the attributes asked for
//  52..55  padding   in glibc's type too; assignments may not copy it
//
// All zeroes is a free lock, so static initialisers and zeroed memory need no call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/concept.h"

namespace lockswap {

inline constexpr std::size_t kCoreBytes = 24;

// A core that stores the writer's thread id into `writer` itself, as glibc does, as soon as its own
// lock is taken.
template <class Core>
concept NamesWriter = requires {
  requires Core::kNamesWriter;
};

template <Platform P, class Core>
struct RwFrame {
  union {
    Core core{};
    std::byte core_bytes[kCoreBytes];
  };
  typename P::template atomic<std::uint32_t> writer{};
  std::uint32_t shared = 0;
  typename P::template atomic<std::uint64_t> contract{};
  typename P::template atomic<std::uint64_t> bias{};
  std::uint32_t kind = 0;
  std::uint32_t padding = 0;

  static constexpr bool kCoreNamesWriter = NamesWriter<Core>;

  // The name of this lock in records, hashes and table slots.
  std::uint64_t key() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
};

}  // namespace lockswap
