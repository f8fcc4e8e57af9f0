// Memory beside a lock that does not fit into a pthread object: a head and as many parts as the
// machine has CPUs or nodes, in one block.
//
// Blocks are type-stable, as queue nodes are (arena.h gives out both): their memory never becomes
// another type's and never goes back to the system. So a thread that comes late to a block which
// has another owner by then does no harm.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "platform/arena.h"

namespace lockswap {

// Head and Part are zero-initialisable, and free when they are zero. Head has a member
// `NativeAtomic<uint32_t> link`, the arena's while the block is free. A block that is given back
// must be at rest: it is handed out as it is.
template <class Head, class Part>
class Blocks {
  static_assert(sizeof(Head) % alignof(Part) == 0);

 public:
  // At start-up, by one thread. Reserves address space only. False: there is none.
  static bool prepare(std::uint32_t parts) noexcept {
    if (parts_ == 0) parts_ = parts;
    return Heads::prepare();
  }
  static std::uint32_t parts() noexcept { return parts_; }
  static std::size_t bytes_with(std::uint32_t parts) noexcept {
    return sizeof(Head) + parts * sizeof(Part);
  }

  // Never fails: at the limit of memory it waits until a block is given back. If no block is free,
  // and there are twice as many as were in use when it last searched, it searches: it calls
  // reclaim(head) for each block; true: that call has made the block nobody's, so it is free.
  template <class Reclaim>
  static Head& take(const Reclaim& reclaim) noexcept {
    auto h = Heads::take_used();
    // relaxed: at worst two threads do it at once.
    if (h == 0 && Heads::end() >= sweep_at_.load(relaxed)) {
      sweep(reclaim);
      h = Heads::take_used();
    }
    return Heads::at(h != 0 ? h : Heads::take());
  }
  static void give(Head& head) noexcept { Heads::give(Heads::handle_at(address_of(&head))); }
  static Part& part(Head& head, std::uint32_t i) noexcept {
    return reinterpret_cast<Part*>(&head + 1)[i];
  }
  // Whether there is a block at that address, which may be any number.
  static bool is_block(std::uint64_t address) noexcept { return Heads::handle_at(address) != 0; }

 private:
  struct Size {
    static std::size_t bytes() noexcept { return bytes_with(parts_); }
  };
  using Heads = Arena<Head, Size, 1>;  // they are large, and rarely taken

  static constexpr std::uint32_t kFirstSweep = 4096;  // a millisecond's work

  template <class Reclaim>
  static void sweep(const Reclaim& reclaim) noexcept {
    const typename Heads::Handle end = Heads::end();
    std::uint32_t in_use = 0;
    for (typename Heads::Handle h = 1; h < end; ++h) {
      if (reclaim(Heads::at(h))) {
        Heads::give(h);
      } else {
        ++in_use;
      }
    }
    sweep_at_.store(std::min(std::max(kFirstSweep, 2 * in_use), Heads::capacity()), relaxed);
  }

  static std::uint64_t address_of(const Head* head) noexcept {
    return reinterpret_cast<std::uintptr_t>(head);
  }

  static inline constinit std::uint32_t parts_ = 0;
  static inline constinit NativeAtomic<std::uint32_t> sweep_at_{kFirstSweep};
};

}  // namespace lockswap
