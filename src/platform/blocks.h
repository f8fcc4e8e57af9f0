// Memory for the part of a lock that does not fit into a pthread object: a head and as many parts
// as the machine has CPUs or nodes, in one block.
//
// Blocks are type-stable, as queue nodes are (arena.h gives out both): their memory never becomes
// another type's and never goes back to the system. So a late access to a block that has another
// owner by then does no harm.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "platform/arena.h"

namespace lockswap {

// Head and Part must be zero-initialisable, and free when they are zero. Head has a member
// `NativeAtomic<uint32_t> link` that the arena may use while the block is free. A block that is
// given back must be in its free state, since it is given out as it is.
template <class Head, class Part>
class Blocks {
  static_assert(sizeof(Head) % alignof(Part) == 0);

 public:
  // Called at start-up, by one thread. Returns false if there is no memory.
  static bool prepare(std::uint32_t parts) noexcept {
    if (parts_ == 0) {
      parts_ = parts;
      sweep_at_.store(first_sweep(), relaxed);  // relaxed: there is one thread
    }
    return Heads::prepare();
  }
  static std::uint32_t parts() noexcept { return parts_; }
  static std::size_t bytes_with(std::uint32_t parts) noexcept {
    return sizeof(Head) + parts * sizeof(Part);
  }

  // Never fails: while memory is refused it waits until there is some, or a block is given back. If
  // no block is free, and memory is refused or there are twice as many blocks as were in use at the
  // last search, it searches: it calls reclaim(head) for each block, which returns true if it has
  // made the block free.
  template <class Reclaim>
  static Head& take(const Reclaim& reclaim) noexcept {
    auto h = Heads::take_used();
    // relaxed: at worst two threads search at once.
    if (h == 0 && Heads::given_out() >= sweep_at_.load(relaxed)) {
      sweep(reclaim);
    }
    while (h == 0 && (h = Heads::try_take()) == 0) {
      sweep(reclaim);
      if ((h = Heads::take_used()) == 0) step_aside(kLongNap);
    }
    return Heads::at(h);
  }
  static void give(Head& head) noexcept { Heads::give(Heads::handle_of(head)); }
  static Part& part(Head& head, std::uint32_t i) noexcept {
    return reinterpret_cast<Part*>(&head + 1)[i];
  }
  // Returns whether there is a block at that address, which may be any number.
  static bool is_block(std::uint64_t address) noexcept { return Heads::is_node(address); }

 private:
  struct Size {
    static constexpr std::size_t kUnit = alignof(Head);
    static std::size_t bytes() noexcept { return bytes_with(parts_); }
  };
  using Heads = Arena<Head, Size, 1>;  // they are large, and rarely taken

  static constexpr unsigned kLongNap = 64;  // a round of step_aside, because a search is expensive

  // A millisecond's work, or 4 MB of blocks, whichever is less.
  static std::uint64_t first_sweep() noexcept {
    return std::clamp<std::uint64_t>((4u << 20) / bytes_with(parts_), 64, 4096);
  }

  template <class Reclaim>
  static void sweep(const Reclaim& reclaim) noexcept {
    std::uint64_t in_use = 0;
    Heads::each([&](Head& head) {
      if (reclaim(head)) {
        Heads::give(Heads::handle_of(head));
      } else {
        ++in_use;
      }
    });
    sweep_at_.store(std::max(first_sweep(), 2 * in_use), relaxed);
  }

  static inline constinit std::uint32_t parts_ = 0;
  static inline constinit NativeAtomic<std::uint64_t> sweep_at_{0};
};

}  // namespace lockswap
