// How the 40 bytes of a pthread_mutex_t are shared out. See docs/interposition.md for the table.
//
//   0..7   core      the lock algorithm's own state
//   8..11  owner     thread id of the holder, where glibc keeps it: true for debuggers
//  12..15  again     of a recursive mutex: how many more times its owner has locked it
//  16..19  kind      glibc's: the type, and flags that make the whole object glibc's
//  20..23  spins     glibc's, for kinds that are not ours: left alone
//  24..31  contract  mutex_contract.h's: the stamp of the process that adopted the mutex, a mark
//                    that no pointer has, and its kind; all 0 in fresh memory. glibc's robust
//                    mutexes have a pointer there
//  32..35  waiters   threads that wait on condition variables with this mutex
//  36..39  choice    under a policy, what runs the mutex (registry/policy_ops.h); else 0
//
// All zeroes is a free mutex, and so are the other static initialisers, which set the kind alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/concept.h"

namespace lockswap {

inline constexpr std::size_t kMutexCoreBytes = 8;

template <Platform P, class Core>
struct MutexFrame {
  union {
    Core core{};
    std::byte core_bytes[kMutexCoreBytes];
  };
  typename P::template atomic<std::uint32_t> owner{};
  typename P::template atomic<std::uint32_t> again{};
  std::uint32_t kind = 0;
  std::uint32_t spins = 0;
  typename P::template atomic<std::uint64_t> contract{};
  typename P::template atomic<std::uint32_t> waiters{};
  typename P::template atomic<std::uint32_t> choice{};
};

// The bits of `kind`, by glibc's nptl; pthread.h has the types, but not the flags.
namespace mutex_kind {
inline constexpr std::uint32_t kType = 3;
inline constexpr std::uint32_t kRecursive = 1;
inline constexpr std::uint32_t kErrorcheck = 2;  // 0: normal, 3: adaptive
// Robust, priority inheritance, priority protection, process-shared; or all bits: destroyed.
inline constexpr std::uint32_t kGlibcs = 0xf0;
inline constexpr std::uint32_t kDestroyed = ~0u;
}  // namespace mutex_kind

}  // namespace lockswap
