// The state of a lock that does not fit into its object: a pointer to a block next to it.
//
// A lock gets its block when it is first used, and frees it when it is destroyed, or initialised
// again. The block knows its lock's address, so an object whose bytes were copied from another lock
// gets a block of its own. Blocks are type-stable (platform/blocks.h), so a late access to a block
// that a new lock uses, such as a wake, does no harm.
//
// An object's bytes may be anything: those of a lock in a file that another process wrote, or
// memory that never was a lock and is destroyed. So a pointer is followed only if it is known to be
// that of a block of this process. Off the fast path, Blocks::is_block and the block's owner tell.
// On the fast path the object itself tells, without a load from the block (KnownBy).
//
// A lock that is destroyed while threads hold it keeps its block, so that they can release it.
// After that the block is found to be orphaned, and is reclaimed.
//
// Most locks of C++ programs are never destroyed: std::mutex and std::shared_mutex just end. So
// when blocks run short, is_lost checks for each block whether its lock still exists, which means
// that the object at that address, if there is one, still points to the block. A block whose lock
// is not idle is not reclaimed, whatever the object says.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

// The first part of a block. In a free block its bytes are all zero.
template <class Head, class P>
concept BlockHead = requires(Head& head) {
  // The platform's, while the block is free.
  requires std::same_as<decltype(head.link), typename P::template atomic<std::uint32_t>>;
  // SideBlock's: the address of the lock that the block belongs to, and its state.
  requires std::same_as<decltype(head.owner), typename P::template atomic<std::uint64_t>>;
};

// A base class that has these two members.
template <Platform P>
struct BlockStart {
  typename P::template atomic<std::uint64_t> owner;
  typename P::template atomic<std::uint32_t> link;
};

// A lock that has such a block.
template <class Lock, class Head>
concept HasSideBlock = requires(Head& head) {
  // Returns whether nobody holds the block's lock, waits for it, or is about to leave it. Changes
  // nothing. May be called by any thread, even when the block has become another lock's meanwhile.
  { Lock::is_idle(head) } -> std::same_as<bool>;
};

// How the fast path knows that the pointer in the object was stored by this process.
enum class KnownBy {
  contract,  // mutexes: their contract word contains this process's unique tag (P::seal)
  seal       // that tag is next to the pointer: reader-writer locks' words have no room
};

// The part of a SideBlock that lies in the object: the pointer and, with KnownBy::seal, the seal.
template <Platform P, KnownBy kKnown>
struct SidePointer {
  typename P::template atomic<std::uint64_t> block{};

  bool is_known() const noexcept { return true; }
  void seal() noexcept {}
  void unseal() noexcept {}
};
template <Platform P>
struct SidePointer<P, KnownBy::seal> {
  typename P::template atomic<std::uint64_t> block{};
  typename P::template atomic<std::uint64_t> sealed{};

  // acquire: pairs with seal, so the pointer that it vouches for is visible.
  [[gnu::always_inline]] bool is_known() const noexcept { return P::is_seal(sealed.load(acquire)); }
  void seal() noexcept {
    if (!is_known()) sealed.store(P::seal(), release);  // pairs with is_known
  }
  void unseal() noexcept { sealed.store(0, relaxed); }  // relaxed: as in close
};

// The pointer in the object. Lock must be a HasSideBlock<Head>, which is_lost checks, because Lock
// is an incomplete type here (CRTP).
template <Platform P, class Lock, BlockHead<P> Head, class Part, KnownBy kKnown = KnownBy::contract>
class SideBlock {
 public:
  using Blocks = typename P::template blocks<Head, Part>;

  // Allocates a block if there is none.
  [[gnu::always_inline]] Head& head() noexcept {
    if (pointer_.is_known()) [[likely]] {
      // With a seal there is a block: the process already has its own, so a zero doesn't match.
      Head* const h = there();
      // relaxed: if the block is ours, loading the pointer (acquire) made its owner visible.
      if ((kKnown == KnownBy::seal || h != nullptr) && h->owner.is(address())) [[likely]]
        return *h;
    }
    return open();
  }
  // Returns nullptr if there is none, because no thread has used the lock yet.
  [[gnu::always_inline]] Head* peek() const noexcept {
    if (!pointer_.is_known()) [[unlikely]]
      return find();
    Head* const h = there();
    return h != nullptr && is_mine(*h) ? h : nullptr;
  }
  // The same, whatever the object's bytes are.
  [[gnu::noinline]] Head* find() const noexcept {
    Head* const h = there();
    return is_block(h) && is_mine(*h) ? h : nullptr;
  }
  // Called by the holder: the lock has a block, even if the object has been moved.
  [[gnu::always_inline]] Head& held() const noexcept { return *there(); }
  static Part& part(Head& head, std::uint32_t i) noexcept { return Blocks::part(head, i); }
  // Calls f(part, its number) until it returns false. Returns true if it never did.
  template <class F>
  static bool each_part(Head& head, const F& f) noexcept {
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i) {
      if (!f(part(head, i), i)) return false;
    }
    return true;
  }

  // Called when the lock is destroyed, or its object is about to be initialised, so no thread will
  // acquire it. Its bytes may be anything. at_rest(head) returns whether its block is unused; if
  // not, holders may still reach it through the object.
  template <class AtRest>
  void close(AtRest at_rest) noexcept {
    Head* const h = find();
    if (h == nullptr || !at_rest(*h)) return;
    pointer_.unseal();
    // relaxed: the program has ended all other uses. An RMW, since a store could take effect late.
    pointer_.block.exchange(0, relaxed);
    // relaxed: give() publishes the block. If this fails, it is being probed, and will be
    // reclaimed.
    if (std::uint64_t mine = address(); h->owner.compare_exchange(mine, 0, relaxed)) {
      Blocks::give(*h);
    }
  }
  // Called by a thread that found the object in memory which another process uses, too: the pointer
  // may be that process's. (With KnownBy::seal, a foreign seal shows that.)
  void forget_strange() noexcept {
    if constexpr (kKnown == KnownBy::contract) {
      std::uint64_t seen = pointer_.block.load(relaxed);  // the next line decides
      if (seen != 0 && find() == nullptr) pointer_.block.compare_exchange(seen, 0, relaxed);
    }
  }

 private:
  // Flags next to the address in `owner`. With neither, the block is in use by that lock; in free
  // blocks the address is 0.
  static constexpr std::uint64_t kOpening = 1;  // its lock may not point to it yet
  static constexpr std::uint64_t kDoubted = 2;  // a thread is checking whether it is orphaned
  static constexpr std::uint64_t kStates = kOpening | kDoubted;

  std::uint64_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
  // The block may be another lock's, if this one's bytes were copied.
  [[gnu::always_inline]] Head* there() const noexcept {
    // acquire: pairs with open.
    return reinterpret_cast<Head*>(pointer_.block.load(acquire));
  }
  static bool is_block(const Head* h) noexcept {
    return h != nullptr && Blocks::is_block(reinterpret_cast<std::uintptr_t>(h));
  }
  bool is_mine(const Head& h) const noexcept {
    return (h.owner.load(relaxed) & ~kStates) == address();  // relaxed: as in head
  }

  [[gnu::noinline]] Head& open() noexcept {
    if (Head* const h = find(); h != nullptr) return claim_block(*h);
    Head& mine = Blocks::take(is_lost);
    mine.owner.store(address() | kOpening, relaxed);  // published by the CAS below
    for (;;) {
      std::uint64_t seen = pointer_.block.load(acquire);  // pairs with the next line
      auto* const other = reinterpret_cast<Head*>(seen);
      if (is_block(other) && is_mine(*other)) {
        mine.owner.store(0, relaxed);
        Blocks::give(mine);
        return claim_block(*other);
      }
      // release: publishes the owner's address; pairs with there.
      if (pointer_.block.compare_exchange(seen, reinterpret_cast<std::uintptr_t>(&mine), release))
        return claim_block(mine);
    }
  }
  // Records that the lock points to this block, which ends any probe of it. Other threads may, too.
  Head& claim_block(Head& h) noexcept {
    for (std::uint64_t owner = h.owner.load(relaxed); owner != address();) {
      // release: publishes that the lock points to it; pairs with is_lost.
      if (h.owner.compare_exchange(owner, address(), release)) break;
    }
    pointer_.seal();
    return h;
  }

  // Returns whether the block belonged to a lock that no longer exists. If so, it is free now.
  //
  // Only its own lock can point to a block that is neither free nor being opened, and a lock never
  // begins to point to such a block: so if it is ever seen not to point to the block, it never
  // will. kDoubted is set first, so that the block is known to be still the same lock's, and not
  // that of the next lock at the same address.
  static bool is_lost(Head& h) noexcept {
    static_assert(HasSideBlock<Lock, Head>);
    // relaxed: this first check only avoids a needless CAS.
    std::uint64_t owner = h.owner.load(relaxed);
    const auto is_pointed_to = [&h, at = owner] {
      return P::word_is(at, reinterpret_cast<std::uintptr_t>(&h));
    };
    if (owner == 0 || (owner & kStates) != 0 || is_pointed_to()) return false;
    // acquire: pairs with claim_block.
    if (!h.owner.compare_exchange(owner, owner | kDoubted, acquire)) return false;
    std::uint64_t doubted = owner | kDoubted;
    const bool lost = !is_pointed_to() && Lock::is_idle(h);
    // relaxed: give() publishes the block. If its lock has claimed it meanwhile, it is in use.
    return h.owner.compare_exchange(doubted, lost ? 0 : owner, relaxed) && lost;
  }

  SidePointer<P, kKnown> pointer_;
};

// Whether a block has a part for each CPU or for each memory node.
enum class PartsPer { cpu, node };

// The base class of each lock with a block (BlockCore). The lock makes it a friend, and provides
//   State, state_        a SideBlock
//   is_idle(head)        see HasSideBlock
// and, if it needs them:
//   await_leavers(head)  waits for threads that are about to leave
//   end_holds(head)      ends read holds
template <Platform P, class Lock, PartsPer kPer>
class BlockLock {
 public:
  static std::size_t block_bytes() noexcept { return Lock::State::Blocks::bytes_with(parts()); }
  bool idle() const noexcept {
    auto* const h = state().find();
    return h == nullptr || Lock::is_idle(*h);
  }
  void use() noexcept { state().head(); }
  // Threads may still release their holds.
  void destroy() noexcept {
    state().close([](auto& head) {
      Lock::await_leavers(head);
      return Lock::is_idle(head);
    });
  }
  // Ends all holds.
  void before_init() noexcept {
    state().close([](auto& head) {
      Lock::await_leavers(head);
      Lock::end_holds(head);
      return Lock::is_idle(head);
    });
  }
  void forget_strange() noexcept { state().forget_strange(); }

  template <class Head>
  static void await_leavers(Head&) noexcept {}
  template <class Head>
  static void end_holds(Head&) noexcept {}

 protected:
  static bool prepare_blocks() noexcept {
    P::prepare_topology();
    return Lock::State::Blocks::prepare(parts());
  }

 private:
  auto& state() noexcept { return static_cast<Lock&>(*this).state_; }
  const auto& state() const noexcept { return static_cast<const Lock&>(*this).state_; }
  static std::uint32_t parts() noexcept {
    return kPer == PartsPer::cpu ? P::cpus() : P::node_count();
  }
};

}  // namespace lockswap
