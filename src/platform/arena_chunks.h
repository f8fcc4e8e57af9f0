// The memory of an arena: chunks that are mapped one at a time, as nodes are needed.
//
// Idea: a handle counts units from a base at which nothing has to lie. So chunks may lie anywhere
//   in a window of kHandles units, and a node is found by one multiplication and one addition, as
//   in one contiguous reservation. No more memory is mapped than the nodes need.
// State: the newest chunk. Each chunk begins with a head, which counts its nodes and points to the
//   chunk before.
// Invariants: a chunk that is in the list stays there, with its memory. A node's number is given
//   out only once its memory is mapped, so that a refused mapping costs no numbers.
// Where: chunks of all arenas lie one after the other, far from what the program maps, and so the
//   kernel usually has them as one mapping. If something else lies there, they go wherever the
//   window has room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include "platform/atomic.h"
#include "platform/memory.h"

namespace lockswap {

// Where the next chunk of any arena goes. This is only a hint.
class ChunkPlace {
 public:
  static std::uintptr_t get() noexcept {
    const std::uint64_t known = next_.load(relaxed);  // relaxed, all: the kernel decides
    return known != 0 ? known : below_everything();
  }
  static void is_behind(std::uintptr_t end) noexcept { next_.store(end, relaxed); }

 private:
  // The system maps from below the stack downwards; an eighth further down nothing is mapped.
  static std::uintptr_t below_everything() noexcept {
    constexpr std::uintptr_t kAligned = std::uintptr_t{1} << 21;
    const auto stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return (stack - stack / 8) & ~(kAligned - 1);
  }
  static inline constinit NativeAtomic<std::uint64_t> next_{0};
};

// Size has kUnit, a power of two that divides a node's size, and bytes(), known at start-up.
template <class Size>
class ArenaChunks {
 public:
  using Handle = std::uint32_t;  // 0 is no node
  // Locks keep two bits of a handle for themselves.
  static constexpr std::uint64_t kHandles = std::uint64_t{1} << 30;
  static constexpr std::size_t kUnit = Size::kUnit;

  // Called at start-up by one thread: maps the first chunk. Returns false if there is no memory.
  static bool prepare() noexcept { return newest_.load(relaxed) != nullptr || grow(nullptr); }

  [[gnu::always_inline]] static void* at(Handle h) noexcept {
    return reinterpret_cast<void*>(base_ + std::uintptr_t{h} * kUnit);
  }
  // Returns the handle of a node.
  static Handle handle_of(const void* node) noexcept {
    return static_cast<Handle>((reinterpret_cast<std::uintptr_t>(node) - base_) / kUnit);
  }
  // Returns whether a node that was given out lies at that address, which may be any number.
  static bool is_node(std::uint64_t address) noexcept {
    if (!in_window(address)) return false;
    // acquire: makes the chunks' heads visible; pairs with grow.
    for (const Chunk* c = newest_.load(acquire); c != nullptr; c = c->older) {
      const std::uint64_t offset = address - c->nodes();
      if (offset < c->given_out() * Size::bytes()) return offset % Size::bytes() == 0;
    }
    return false;
  }

  // Returns a node that nobody has had, or 0 if there is no memory.
  static Handle fresh() noexcept {
    for (;;) {
      Chunk* const c = newest_.load(acquire);  // pairs with grow, which wrote the chunk's head
      // relaxed: giving out numbers orders nothing, and the memory has been zero since grow.
      std::uint32_t n = c->used.load(relaxed);
      while (n < c->room) {
        if (c->used.compare_exchange(n, n + 1, relaxed)) {
          return handle_of(reinterpret_cast<const void*>(c->nodes() + n * Size::bytes()));
        }
      }
      if (!grow(c)) return 0;
    }
  }

  // Returns how many nodes were ever given out.
  static std::uint64_t given_out() noexcept {
    const Chunk* const c = newest_.load(acquire);  // pairs with grow
    return c->before + c->given_out();
  }
  // Calls f(node) for each of them, but may miss the newest.
  template <class F>
  static void each(const F& f) noexcept {
    for (const Chunk* c = newest_.load(acquire); c != nullptr; c = c->older) {  // pairs with grow
      for (std::uint64_t i = 0, n = c->given_out(); i < n; ++i)
        f(reinterpret_cast<void*>(c->nodes() + i * Size::bytes()));
    }
  }

 private:
  struct Chunk {
    Chunk* older;
    std::uint64_t before;              // number of nodes in older chunks
    std::uint32_t room;                // number of nodes that fit into this one
    NativeAtomic<std::uint32_t> used;  // index of the next one to give out

    std::uintptr_t nodes() const noexcept {
      return reinterpret_cast<std::uintptr_t>(this) + kHeadBytes;
    }
    std::uint64_t given_out() const noexcept { return used.load(relaxed); }  // relaxed: a count
  };
  static constexpr std::size_t kHeadBytes = std::max<std::size_t>(128, kUnit);
  static_assert(sizeof(Chunk) <= kHeadBytes && kHeadBytes % kUnit == 0);

  static constexpr std::size_t kPage = 4096;
  static_assert(kPage % kUnit == 0);
  static constexpr std::size_t kFirst = std::size_t{1} << 16;
  static constexpr std::size_t kMost = std::size_t{1} << 26;

  // Adds a chunk after `full`. If two threads do so at once, one chunk stays. Returns false if
  // there is no memory.
  [[gnu::noinline]] static bool grow(Chunk* full) noexcept {
    const std::size_t least = pages_for(1);
    const std::uint64_t so_far = full == nullptr ? 0 : full->before + full->room;
    // A quarter of what there is, so that never more than that is unused.
    const std::size_t wanted = std::clamp<std::size_t>(so_far * Size::bytes() / 4, kFirst, kMost);
    std::size_t bytes = std::max(least, pages_of(wanted));
    void* p = map_in_window(bytes);
    if (p == nullptr && bytes != least) p = map_in_window(bytes = least);
    if (p == nullptr) return false;
    Chunk* const c = new (p) Chunk{};
    c->older = full;
    c->before = so_far;
    c->room = static_cast<std::uint32_t>((bytes - kHeadBytes) / Size::bytes());
    // release: publishes the head; pairs with the loads of newest_.
    if (Chunk* seen = full; newest_.compare_exchange(seen, c, release)) return true;
    unmap_pages(p, bytes);
    return true;
  }
  static std::size_t pages_of(std::size_t bytes) noexcept {
    return (bytes + kPage - 1) / kPage * kPage;
  }
  static std::size_t pages_for(std::size_t nodes) noexcept {
    return pages_of(kHeadBytes + nodes * Size::bytes());
  }

  // --- the window

  static bool in_window(std::uint64_t address) noexcept {
    return address - base_ < kHandles * kUnit;
  }
  static std::uintptr_t anywhere() noexcept {
    constexpr std::uint64_t kWindow = kHandles * kUnit;
    const std::uint64_t n = tried_.fetch_add(1, relaxed) + 1;  // relaxed: orders nothing
    return (n * 0x9E3779B97F4A7C15u >> 1) % kWindow & ~(kPage - 1);
  }
  static void* map_in_window(std::size_t bytes) noexcept {
    constexpr unsigned kTries = 16;
    for (unsigned i = 0; i < kTries; ++i) {
      // The second try is after another thread's chunk, if one came meanwhile; later ones anywhere.
      const std::uintptr_t wish = i < 2 ? ChunkPlace::get() : base_ + anywhere();
      void* const p = map_pages(bytes, wish);
      if (p == nullptr) return nullptr;
      const auto address = reinterpret_cast<std::uintptr_t>(p);
      // The first chunk lies in the middle of the window, which wraps around below address 0.
      if (base_ == 0) base_ = address - kHandles / 2 * kUnit;
      if (in_window(address) && in_window(address + bytes - 1)) {
        ChunkPlace::is_behind(address + bytes);
        return p;
      }
      unmap_pages(p, bytes);
    }
    return nullptr;
  }

  static inline constinit std::uintptr_t base_ = 0;
  static inline constinit NativeAtomic<Chunk*> newest_{nullptr};
  static inline constinit NativeAtomic<std::uint64_t> tried_{0};  // how often anywhere() was called
};

}  // namespace lockswap
