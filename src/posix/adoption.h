// Adoption: every object carries the stamp of the process that uses it. A forked child finds its
// parent's stamp, and repairs the object before it uses it, because other threads of the parent may
// have waited there and don't exist in the child. An object whose stamp is no ancestor's can't be
// used as it is: its bytes come from a file that another process wrote, or were never an object.
//
// Users: reader-writer locks (rw_adoption.h), mutexes (mutex_contract.h), condition variables
//   (condvar.h).
// Idea: there is no list of objects, so the first call on each of them does the work.
// State: one word. It has a stamp (P::process) in bits 31 to 39, or a seal (P::seal), which no
//   other process has by chance, in bits 31 to 63. The other bits belong to the owner.
//
//     the word has                      object       a thread that sees this
//     Owner::is_new                     new          stores its stamp and the owner's first bits,
//                                                    or kSystemsWord if P::begins_systems
//     kSystemsWord                      the system's leaves it to the system, in any process
//     this process's stamp              adopted      goes on
//     that stamp without its top bit    in repair    waits for the thread that repairs the object
//     another process's stamp           inherited    1. if it is inherited and needs no repair:
//                                       or strange      stores its stamp
//                                                    2. in memory that processes share: if it is
//                                                       strange and needs no repair, stores its
//                                                       stamp; else goes on, because a thread of
//                                                       another process may be waiting
//                                                    3. else claims the repair, repairs the object
//                                                       (or makes it anew if it is strange), and
//                                                       stores its stamp
//
// Invariants: the store for "new", those of steps 1 and 2, and the claim of step 3 are
//   compare-exchanges, so one thread wins and the others recheck. Only the claimant changes an
//   object in repair. Once the object is adopted, nothing of the parent's threads remains in it
//   except holds. An object is the system's from its beginning to its end, or never: kSystemsWord
//   is stored in place of the first stamp, and only an init removes it.
// Strange: the stamp is no ancestor's, or there is none although the object is not new, which is
//   how glibc's locks look. A stamp has only 8 bits, so a strange object may pass for an inherited
//   one, or even for this process's own. Therefore cores don't trust what they find there
//   (SideBlock).
#pragma once

#include <concepts>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

// The word of an object that was left to the system when it began. No adopted object has it,
// because it contains no stamp.
inline constexpr std::uint64_t kSystemsWord = 1u << 9;

// What the owner of the word knows about its object.
template <class O>
concept AdoptionOwner = requires(O o, std::uint64_t word) {
  // Returns whether the object has the bytes of a new one, and nobody has adopted it yet.
  { o.is_new(word) } -> std::same_as<bool>;
  // Whether the system has functions for such objects, so that one may be left to it.
  { O::kMayBeSystems } -> std::convertible_to<bool>;
  // Returns the owner's bits of a new object. Called at each try.
  { o.first_bits() } -> std::same_as<std::uint64_t>;
  // Returns whether a child may use the object as it is. Changes nothing: other threads may have
  // adopted the object already, and be using it.
  { o.needs_no_repair(word) } -> std::same_as<bool>;
  // Drops what threads of the parent left, and returns the new word, with any stamp. No other
  // thread acquires or waits meanwhile. The process may fork again at each step, and then the
  // grandchild repairs what it finds.
  { o.repair_after_fork(word) } -> std::same_as<std::uint64_t>;
  // Called if the object is strange. Makes it new, and returns the owner's bits.
  { o.begin_anew() } -> std::same_as<std::uint64_t>;
  // Called for memory that processes share. Drops references to another process's memory.
  o.forget_strange();
  // For P::check after either. Returns whether threads that don't exist have left nothing but
  // holds.
  { o.is_at_rest() } -> std::same_as<bool>;
};

// Which mark of the process the word has.
enum class WordHas { stamp, seal };

// kOwnBits: the bits next to the stamp that may be set in the word of an adopted object. kMark: the
// bits that are always set there. If other data may lie in the word's place, choose bits that are
// never all set in those data.
template <Platform P, WordHas kHas, std::uint64_t kOwnBits, std::uint64_t kMark = 0>
class Adoption {
  static constexpr bool kSealed = kHas == WordHas::seal;
  static constexpr std::uint64_t kStampMask = kSealed ? ~(P::kStampTop - 1) : P::kStampMask;

 public:
  using Word = typename P::template atomic<std::uint64_t>;

  // Returns the stamp or the seal.
  static std::uint64_t stamp_in(std::uint64_t v) noexcept { return v & kStampMask; }
  static std::uint64_t stamp() noexcept { return kSealed ? P::seal() : P::process(); }

  // Returns whether this process has adopted the object.
  [[gnu::always_inline]] static bool is_done(const Word& word) noexcept {
    // acquire: pairs with the release in adopt, by the thread that repaired the object.
    const std::uint64_t stamp = (word.load(acquire) & ~kOwnBits) - kMark;
    return kSealed ? P::is_seal(stamp) : P::is_process(stamp);
  }

  // Returns whether neither this process nor an ancestor has adopted the object, so that it is new
  // or strange.
  static bool is_unknown(const Word& word) noexcept {
    const std::uint64_t v =
        word.load(relaxed);  // relaxed: the program must have ordered what matters
    return !is_inherited(v) && stamp_in(v) != stamp();
  }

  // Called by a thread for which is_done returned false, perhaps by several at once. Returns false
  // if the object is the system's.
  template <AdoptionOwner Owner>
  static bool adopt(Word& word, Owner owner) noexcept {
    const std::uint64_t mine = stamp();
    const std::uint64_t in_repair = mine & ~P::kStampTop;
    for (;;) {
      std::uint64_t v = word.load(acquire);  // as in is_done
      if (stamp_in(v) == mine) return true;
      if (Owner::kMayBeSystems && v == kSystemsWord) return false;
      if (stamp_in(v) == in_repair) {
        // relaxed: the next round acquires.
        P::await(Pause::nap, word, relaxed,
                 [in_repair](std::uint64_t now) { return stamp_in(now) != in_repair; });
        continue;
      }
      // All relaxed: fork() orders what is in the object, or the object is new. Until this thread
      // has changed the word, another thread may adopt the object first, and use it during
      // needs_no_repair.
      const bool inherited = is_inherited(v);
      if (owner.is_new(v)) {
        const bool ours = !Owner::kMayBeSystems || !P::begins_systems();
        const std::uint64_t begun = ours ? mine | kMark | owner.first_bits() : kSystemsWord;
        if (word.compare_exchange(v, begun, relaxed)) return ours;
      } else if (inherited && owner.needs_no_repair(v)) {
        if (!word.compare_exchange(v, with_stamp(v, mine), relaxed)) continue;
        P::check([&owner] { return owner.is_at_rest(); });
        return true;
      } else if (stamp_in(v) != 0 && P::is_shared(&word)) {
        if (inherited) return true;
        owner.forget_strange();
        if (!owner.needs_no_repair(v)) return true;
        if (word.compare_exchange(v, with_stamp(v, mine), relaxed)) return true;
      } else {
        // A signal handler that used the object meanwhile would wait for the thread that it
        // interrupted.
        const typename P::NoSignals blocked;
        if (!word.compare_exchange(v, with_stamp(v, in_repair), relaxed)) continue;
        // release: the repaired object; pairs with is_done, and with the load above.
        const std::uint64_t rest =
            inherited ? owner.repair_after_fork(v) : kMark | owner.begin_anew();
        P::check([&] { return owner.is_at_rest() && stamp_in(word.load(relaxed)) == in_repair; });
        word.store(with_stamp(rest, mine), release);
        return true;
      }
    }
  }

 private:
  static bool is_inherited(std::uint64_t v) noexcept {
    return kSealed ? P::is_ancestor_seal(stamp_in(v)) : P::is_ancestor(stamp_in(v));
  }
  static std::uint64_t with_stamp(std::uint64_t v, std::uint64_t stamp) noexcept {
    return (v & ~kStampMask) | stamp;
  }
};

}  // namespace lockswap
