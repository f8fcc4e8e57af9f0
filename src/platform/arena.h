// Queue nodes: type-stable memory reached through 32-bit handles.
//
// A pthread object has no room for the pointers of a queue lock, so queues link handles. A node's
// memory is never given back and never becomes another type, so a late wake-up or a late load of a
// node that now belongs to another thread is harmless.
//
// Memory is mapped a chunk at a time (arena_chunks.h). Each thread keeps a few free nodes to
// itself; the rest lie on one lock-free stack.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "platform/arena_chunks.h"
#include "platform/atomic.h"
#include "platform/step_aside.h"
#include "platform/thread.h"

namespace lockswap {

template <class T>
struct SizeOf {
  static constexpr std::size_t kUnit = sizeof(T);
  static_assert(std::has_single_bit(kUnit));
  static constexpr std::size_t bytes() noexcept { return sizeof(T); }
};

// T must be zero-initialisable and have a member `NativeAtomic<uint32_t> link` that the arena may
// use while the node is free. `Size` is for nodes with a tail, whose length is known at start-up.
// Each thread keeps up to kKept free nodes, which is as many as it usually takes at once.
template <class T, class Size = SizeOf<T>, std::uint32_t kKept = 4>
class Arena {
  using Chunks = ArenaChunks<Size>;

 public:
  using Handle = std::uint32_t;  // 0 is no node

  // Called at start-up, by one thread. Maps the first chunk. Returns false if there is no memory.
  static bool prepare() noexcept { return Chunks::prepare() && ThreadExit::add(&on_thread_exit); }

  [[gnu::always_inline]] static T& at(Handle h) noexcept { return *static_cast<T*>(Chunks::at(h)); }
  static Handle handle_of(const T& node) noexcept { return Chunks::handle_of(&node); }
  // Returns whether a node that was given out lies at that address, which may be any number.
  static bool is_node(std::uint64_t address) noexcept { return Chunks::is_node(address); }

  // Returns whether that, which may be any number, is the handle of such a node.
  static bool is_handle(Handle h) noexcept {
    return h != 0 && h < Chunks::kHandles && is_node(reinterpret_cast<std::uintptr_t>(&at(h)));
  }

  // Never fails: while memory is refused it waits until there is some, or a node is given back.
  static Handle take() noexcept {
    const Handle h = take_kept();
    return h != 0 ? h : take_shared();
  }
  // Returns 0 if no node is free and memory is refused.
  static Handle try_take() noexcept {
    const Handle h = take_used();
    return h != 0 ? h : Chunks::fresh();
  }
  static void give(Handle h) noexcept {
    if (!keep(h)) [[unlikely]]
      give_shared(h);
  }

  // Takes a node that was in use before. Returns 0 if none is free.
  static Handle take_used() noexcept {
    const Handle h = take_kept();
    return h != 0 ? h : pop();
  }
  // Returns how many nodes were ever given out.
  static std::uint64_t given_out() noexcept { return Chunks::given_out(); }
  // Calls f(node) for each of them, but may miss the newest.
  template <class F>
  static void each(const F& f) noexcept {
    Chunks::each([&f](void* node) { f(*static_cast<T*>(node)); });
  }

  // Take and give for hot paths, without a call: these two use only the nodes that the thread keeps
  // to itself. They return 0, or false, if nothing was done.
  [[gnu::always_inline]] static Handle take_kept() noexcept {
    Cache& mine = per_thread<Cache>;
    if (mine.busy != 0) [[unlikely]]
      return 0;
    mine.busy = 1;
    signal_fence();
    const std::uint32_t n = mine.count;
    Handle h = 0;
    if (n != 0) [[likely]] {
      h = mine.kept[n - 1];
      mine.count = n - 1;
    }
    signal_fence();
    mine.busy = 0;
    return h;
  }
  [[gnu::always_inline]] static bool keep(Handle h) noexcept {
    Cache& mine = per_thread<Cache>;
    if (mine.busy != 0 || !ThreadExit::is_armed()) [[unlikely]]
      return false;
    mine.busy = 1;
    signal_fence();
    const std::uint32_t n = mine.count;
    if (n < kKept) [[likely]] {
      mine.kept[n] = h;
      mine.count = n + 1;
    }
    signal_fence();
    mine.busy = 0;
    return n < kKept;
  }
  [[gnu::noinline]] static void give_shared(Handle h) noexcept {
    if (!ThreadExit::arm() || !keep(h)) push(h);
  }

 private:
  struct Cache {
    std::uint32_t busy;  // signal handlers must leave it alone
    std::uint32_t count;
    Handle kept[kKept];
  };

  [[gnu::noinline]] static Handle take_shared() noexcept {
    for (unsigned round = 0;; ++round) {
      if (Handle h = pop(); h != 0) return h;
      if (Handle h = Chunks::fresh(); h != 0) return h;
      step_aside(round);
    }
  }

  static Handle pop() noexcept {
    std::uint64_t head = free_.load(acquire);  // pairs with push: the link of the node on top
    while (static_cast<Handle>(head) != 0) {
      const Handle h = static_cast<Handle>(head);
      const std::uint64_t below = at(h).link.load(relaxed);
      const std::uint64_t next = ((head >> 32) + 1) << 32 | below;  // the tag defeats ABA
      if (free_.compare_exchange(head, next, acquire)) return h;
      head = free_.load(acquire);
    }
    return 0;
  }

  static void push(Handle h) noexcept {
    std::uint64_t head = free_.load(relaxed);
    do {
      at(h).link.store(static_cast<Handle>(head), relaxed);
    } while (!free_.compare_exchange(head, ((head >> 32) + 1) << 32 | h, release));  // with pop
  }

  static void on_thread_exit() noexcept {
    Cache& mine = per_thread<Cache>;
    mine.busy = 1;
    signal_fence();
    while (mine.count != 0)
      push(mine.kept[--mine.count]);
    signal_fence();
    mine.busy = 0;
  }

  static inline constinit NativeAtomic<std::uint64_t> free_{0};  // tag, handle
};

}  // namespace lockswap
