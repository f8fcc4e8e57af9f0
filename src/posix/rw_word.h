// The contract word of a reader-writer lock.
//
//   bits 40..63  the lock's generation (generations.h); 0 in fresh memory
//   bits 31..39  the stamp of the process that adopted the lock (adoption.h)
//   bits 11..30  n, the number of extra holds: read holds that are not in the lock below
//   bit 10       kEnded: a thread that held the lock destroyed it. Releases that find no hold
//                return 0 from then on, as glibc's do
//   bit 9        kUrgent: the writer that set kDraining has a real-time policy (guests.h). The same
//                bit in a thread's record is kGuest: its hold is an extra one
//   bits  4..8   the level of the readers' patience in this drain (guests.h)
//   bit 3        kDraining: a writer has its turn and waits for readers. It does not have the lock
//                yet, and will check this word before it does
//   bit 2        kSleepers: a thread sleeps on this word until n is 0, or until kActive is clear
//   bit 1        kActive: the writer of a marked lock has the lock
//   bit 0        kMarked: a thread released a read hold of which it had no record. Records of this
//                lock are ignored from then on, until the lock is initialised again
//
//   state       bits             recursive read  other read      release by     writer that has
//                                                                another thread the lock below
//   plain       0                n = 1           lock below      -> marked      has the lock
//   recursive   n                n + 1           lock below      -> marked      waits for n = 0
//   draining    kDraining, n,    n + 1           lock below; if  -> marked      waits for n = 0,
//               level                            impatient n + 1                then -> plain
//   marked      kMarked, n       can't be told   lock below, or  ends any hold  waits for n = 0,
//                                from others     else n + 1                     then -> active
//   active      kMarked|kActive  waits, or       waits           ends the       its release
//                                EDEADLK                         write hold     -> marked
//   A marked lock may also be draining, which changes nothing.
//
// Invariants: the read holds of a lock are those in the lock below and the n extra ones. While the
//   lock is not marked, an extra hold is a guest's, or belongs to a thread that also has another
//   hold. A writer has the lock only when it has the lock below and n is 0. Only a writer that has
//   its turn in the lock below sets or clears kDraining; while it is clear, the level is 0 and
//   kUrgent is clear.
// Exclusion: mark, kDraining and n are in one word. So a recursive read either comes before the
//   mark, and is counted, or comes after it, and does not trust its record. A guest gets in before
//   the writer clears kDraining, which the writer does only while n is 0, or it does not get in.
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
  static constexpr std::uint64_t kDraining = 8;
  static constexpr int kLevelShift = 4;
  static constexpr std::uint64_t kMostLevel = 31;
  static constexpr std::uint64_t kLevel = kMostLevel << kLevelShift;
  static constexpr std::uint64_t kUrgent = 1u << 9;
  static constexpr std::uint64_t kGuest = kUrgent;
  static constexpr std::uint64_t kEnded = 1u << 10;
  // The bits that a writer clears when it no longer waits for readers.
  static constexpr std::uint64_t kOfDrain = kDraining | kUrgent | kLevel;
  static constexpr std::uint64_t kExtra = 1u << 11;  // one extra hold
  static constexpr std::uint64_t kFlags = 0x7fffffff;
  static_assert((kFlags & P::kStampMask) == 0);
  static constexpr std::uint64_t kMostExtra = kFlags - kExtra;
  static constexpr int kGenerationShift = 40;
  static constexpr std::uint32_t kMostGenerations = (1u << (64 - kGenerationShift)) - 1;
  static constexpr std::uint32_t kChannel = 1;

  using Adopted = Adoption<P, WordHas::stamp, ~P::kStampMask>;

  static auto& generations() noexcept {
    return P::template global<Generations<P, kMostGenerations>>();
  }
  static std::uint32_t generation_in(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v >> kGenerationShift);
  }
  // The flags and the extra holds.
  static std::uint64_t flags_in(std::uint64_t v) noexcept { return v & kFlags; }
  static std::uint64_t extra_in(std::uint64_t v) noexcept { return flags_in(v) / kExtra; }
  // For P::check: the invariants that a single load of the word can show.
  static bool is_sound(std::uint64_t v) noexcept {
    return ((v & kDraining) != 0 || (v & kOfDrain) == 0) &&
           ((v & kActive) == 0 || (v & kMarked) != 0);
  }
  static std::uint64_t level_in(std::uint64_t v) noexcept { return (v & kLevel) >> kLevelShift; }

  // Returns whether this process has adopted the lock and its state is "plain".
  static bool is_plain(std::uint64_t v) noexcept { return P::is_process(v); }

  // The stamp of a record: the value of the word whenever its state is "plain", in this generation
  // and process.
  template <class Frame>
  static std::uint64_t stamp_of(const Frame& f) noexcept {
    return f.contract.load(relaxed) & ~kFlags;  // relaxed: generation and process do not change
  }
  // relaxed: the program itself orders a mark that matters to a thread before this load.
  template <class Frame>
  static bool is_marked(const Frame& f) noexcept {
    return (f.contract.load(relaxed) & kMarked) != 0;
  }
};

}  // namespace lockswap
