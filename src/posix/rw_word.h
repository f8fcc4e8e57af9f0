// The contract word of a reader-writer lock.
//
//   bits 40..63  the lock's generation (generations.h); 0: fresh memory
//   bits 31..39  the stamp of the process that adopted the lock (adoption.h)
//   bits  3..30  n, the number of extra holds: read holds that are not in the lock below
//   bit 2        kSleepers: a thread sleeps on this word until n is 0, or kActive is clear
//   bit 1        kActive: the writer of a marked lock is in
//   bit 0        kMarked: a thread released a read hold of which it had no record. Records of this
//                lock mean nothing from then on, until the lock is initialised again
//
//   state       bits             recursive read  other read      release by     writer that has
//                                                                another thread the lock below
//   plain       0                n = 1           lock below      -> marked      is in
//   recursive   n                n + 1           lock below      -> marked      waits for n = 0
//   marked      kMarked, n       is no longer    lock below, or  ends any hold  waits for n = 0,
//                                known           else n + 1                     then -> active
//   active      kMarked|kActive  waits, or       waits           ends the       its release
//                                EDEADLK                         write hold     -> marked
//
// Invariants: the read holds of a lock are those in the lock below and the n extra ones. While the
//   lock is not marked, each extra hold belongs to a thread that also has a hold below. A writer is
//   in only when the lock below is its own and n is 0.
// Exclusion: mark and n are in one word. So a recursive read comes before the mark, and is counted,
//   or it comes after the mark, and does not trust its record.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "posix/adoption.h"
#include "posix/generations.h"

namespace lockswap {

template <Platform P>
struct RwWord {
  static constexpr std::uint64_t kMarked = 1;
  static constexpr std::uint64_t kActive = 2;
  static constexpr std::uint64_t kSleepers = 4;
  static constexpr std::uint64_t kExtra = 8;  // one extra hold
  static constexpr std::uint64_t kFlags = 0x7fffffff;
  static_assert((kFlags & P::kStampMask) == 0);
  static constexpr std::uint64_t kMostExtra = kFlags - kExtra;
  static constexpr int kGenerationShift = 40;
  static constexpr std::uint32_t kMostGenerations = (1u << (64 - kGenerationShift)) - 1;
  static constexpr std::uint32_t kChannel = 1;

  using Adopted = Adoption<P, ~P::kStampMask>;

  static auto& generations() noexcept {
    return P::template global<Generations<P, kMostGenerations>>();
  }
  static std::uint32_t generation_in(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v >> kGenerationShift);
  }
  // Flags and extra holds.
  static std::uint64_t flags_in(std::uint64_t v) noexcept { return v & kFlags; }
  static std::uint64_t extra_in(std::uint64_t v) noexcept { return flags_in(v) / kExtra; }

  // This process has adopted the lock, and its state is "plain".
  static bool is_plain(std::uint64_t v) noexcept { return P::is_process(v); }

  // The stamp of a record: what the word is whenever its state is "plain", in this generation and
  // process.
  template <class Frame>
  static std::uint64_t stamp_of(const Frame& f) noexcept {
    return f.contract.load(relaxed) & ~kFlags;  // relaxed: generation and process do not change
  }
  // relaxed: a mark that matters to a thread happened before, by the program's own doing.
  template <class Frame>
  static bool is_marked(const Frame& f) noexcept {
    return (f.contract.load(relaxed) & kMarked) != 0;
  }
};

}  // namespace lockswap
