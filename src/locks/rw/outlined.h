// The state of a lock that does not fit into its object: a pointer to a block beside it.
//
// A lock gets its block when it is first used, and gives it back when it is destroyed, or
// initialised again. The block knows its lock's address, so an object whose bytes were copied from
// another lock gets a block of its own. Blocks are type-stable (platform/blocks.h): what comes late
// to one that has a new lock, such as a wake, does no harm.
//
// What is lost: the block of a lock that is never destroyed, of one that is destroyed while another
// thread writes, and the old one of a lock whose bytes were moved.
#pragma once

#include <cstdint>

#include "platform/atomic.h"

namespace lockswap {

// Head has `link` (platform/blocks.h) and `owner`, an atom of 64 bits.
template <class P, class Head, class Part>
class Outlined {
 public:
  using Blocks = typename P::template blocks<Head, Part>;

  // Also gets it.
  [[gnu::always_inline]] Head& head() noexcept {
    Head* const h = peek();
    // relaxed: of a block that is this lock's, the pointer handed it on.
    if (h != nullptr && h->owner.load(relaxed) == address()) [[likely]]
      return *h;
    return open();
  }
  // nullptr: there is none yet, so nobody has come. Who holds the lock need not ask whose it is.
  Head* peek() const noexcept {
    // acquire: pairs with open.
    return reinterpret_cast<Head*>(block_.load(acquire));
  }
  static Part& part(Head& head, std::uint32_t i) noexcept { return Blocks::part(head, i); }

  // The lock is destroyed: nobody will use it. at_rest(head) says whether its block is free; one
  // that is not is lost, for its holders may still come to it.
  template <class AtRest>
  void close(AtRest at_rest) noexcept {
    Head* const h = peek();
    // relaxed: the program has ended all other uses. An update: no store may come late.
    block_.exchange(0, relaxed);
    if (h == nullptr || h->owner.load(relaxed) != address() || !at_rest(*h)) return;
    h->owner.store(0, relaxed);
    Blocks::give(*h);
  }
  // The object will be initialised. Its bytes may be anything; they may be those of a lock that was
  // there and was not destroyed.
  template <class AtRest>
  void close_old(AtRest at_rest) noexcept {
    if (Blocks::is_block(block_.load(relaxed))) close(at_rest);  // relaxed: as in close
  }

 private:
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }

  [[gnu::noinline]] Head& open() noexcept {
    Head& mine = Blocks::take();
    mine.owner.store(address(), relaxed);  // handed on by the next line
    for (;;) {
      std::uint64_t seen =
          block_.load(acquire);  // pairs with the compare-exchange of another thread
      auto* const there = reinterpret_cast<Head*>(seen);
      if (there != nullptr && there->owner.load(relaxed) == address()) {
        mine.owner.store(0, relaxed);
        Blocks::give(mine);
        return *there;
      }
      // release: the owner's address; pairs with peek.
      if (block_.compare_exchange(seen, reinterpret_cast<std::uintptr_t>(&mine), release)) {
        return mine;
      }
    }
  }

  typename P::template atomic<std::uint64_t> block_{};
};

}  // namespace lockswap
