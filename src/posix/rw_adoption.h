// Adoption of reader-writer locks: how a lock begins, and what a forked child does with one that
// its parent used. The protocol is in adoption.h.
//
// Fork: every hold stays, guests' too. Nobody waits, since threads that waited do not exist in the
//   child. A write hold counts as one from the moment at which a release would take it for one
//   (RwWriter::is_write_held). A writer that was between that moment and the lock below was still
//   acquiring, or had released.
#pragma once

#include <cstdint>
#include <new>

#include "locks/concept.h"
#include "platform/atomic.h"
#include "platform/concept.h"
#include "posix/holds.h"
#include "posix/rw_word.h"
#include "posix/rw_writer.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W, class Lock, EventCounter Count>
class RwAdoption {
  using Frame = typename Lock::Frame;
  using Core = decltype(Frame::core);
  using Word = RwWord<P>;
  using Adopted = typename Word::Adopted;
  using Writer = RwWriter<P, W, Lock, Count>;

 public:
  static bool is_done(const Frame& f) noexcept { return Adopted::is_done(f.contract); }
  static bool adopt(Frame& f) noexcept { return Adopted::adopt(f.contract, Owner{f}); }
  // relaxed: the word does not change before the object ends.
  static bool is_systems(const Frame& f) noexcept {
    return f.contract.load(relaxed) == kSystemsWord;
  }

  // For an object that nobody has used. Does nothing and returns false if its word is not 0 any
  // more, because another thread has made it another kind of lock, or the system's
  // (registry/policy_ops.h).
  static bool adopt_unused(Frame& f) noexcept {
    std::uint64_t unused = 0;
    // relaxed: the object is new; there is nothing to publish.
    return f.contract.compare_exchange(unused, new_generation(f) | P::process(), relaxed);
  }

  // Called by pthread_rwlock_init on zeroed bytes that nobody else may use yet.
  static void begin(Frame& f) noexcept {
    const std::uint64_t ours = new_generation(f) | P::process();
    // relaxed: the program hands the object on.
    f.contract.store(P::begins_systems() ? kSystemsWord : ours, relaxed);
  }

  // Which generation numbers locks of this algorithm get. Set at start-up.
  static NumberShare& numbers() noexcept { return P::template global<Numbers>().share; }

 private:
  // For Adoption; `v` is the contract word.
  struct Owner {
    static constexpr bool kMayBeSystems = true;
    Frame& f;

    // A lock of glibc's has nonzero words where a free lock of ours has zeroes.
    bool is_new(std::uint64_t v) const noexcept {
      return Word::generation_in(v) == 0 &&
             (SystemsCore<Core> || P::is_blank(f.core_bytes, sizeof f.core_bytes));
    }
    std::uint64_t first_bits() const noexcept { return new_generation(f); }

    // Returns whether nothing is left but holds.
    bool needs_no_repair(std::uint64_t v) const noexcept {
      const bool written = Writer::is_write_held(f, v);
      const std::uint64_t active = written && (v & Word::kMarked) != 0 ? Word::kActive : 0;
      return (v & kOfWaiting) == active && Lock::needs_no_repair(f, written) &&
             (!written || owner_after_fork(v) == f.writer.load(relaxed));
    }
    // Meanwhile no thread acquires, and threads release only by RwContract::fast_read_unlock.
    [[gnu::noinline]] std::uint64_t repair_after_fork(std::uint64_t v) const noexcept {
      const bool written = Writer::is_write_held(f, v);
      // relaxed: only a thread's own id matters.
      if (written) f.writer.store(owner_after_fork(v), relaxed);
      Lock::repair_after_fork(f, written);
      v &= ~kOfWaiting;
      if (written && (v & Word::kMarked) != 0) v |= Word::kActive;
      return v;
    }
    std::uint64_t begin_anew() const noexcept {
      new (&f.core) Core();
      f.writer.store(0, relaxed);
      f.bias.store(0, relaxed);
      return new_generation(f);
    }
    void forget_strange() const noexcept {
      if constexpr (BlockCore<Core>) f.core.forget_strange();
    }

    bool is_at_rest() const noexcept {
      if constexpr (IdleCore<decltype(f.core)>) {
        return f.writer.load(relaxed) != 0 || f.core.has_readers() || f.core.idle();
      }
      return true;
    }

   private:
    // The bits that say that a thread waits, and kActive, which says that a writer has the lock.
    static constexpr std::uint64_t kOfWaiting = Word::kActive | Word::kSleepers | Word::kOfDrain;

    std::uint32_t owner_after_fork(std::uint64_t v) const noexcept {
      return P::survivor(f.writer.load(relaxed), Adopted::stamp_in(v));
    }
  };

  // One type for each algorithm, so that each has its own share.
  struct Numbers {
    NumberShare share;
  };

  // Returns the contract word of a new lock, without the stamp.
  static std::uint64_t new_generation(const Frame& f) noexcept {
    // Drop a hold of the lock that was here before: it is no hold of this one.
    Holds<P>& holds = P::template local<Holds<P>>();
    if (HoldRecord* hold = holds.find(f.key()); hold != nullptr) holds.remove(hold);
    const Generation generation = Word::generations().begin(numbers());
    return std::uint64_t{generation.number} << Word::kGenerationShift |
           (generation.trusted ? 0 : Word::kMarked);
  }
};

}  // namespace lockswap
