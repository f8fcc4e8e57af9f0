// Queue nodes: type-stable memory reached through 32-bit handles.
//
// A pthread object has no room for the pointers of a queue lock, so queues link handles. A node's
// memory is never given back and never becomes another type, so a late wake-up or a late look at a
// node that has changed hands is harmless.
//
// Address space is reserved once, without memory behind it, and opened a chunk at a time. Each
// thread keeps a few free nodes to itself; the rest lie on one lock-free stack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/memory.h"
#include "platform/thread.h"

namespace lockswap {

template <class T>
struct SizeOf {
  static constexpr std::size_t bytes() noexcept { return sizeof(T); }
};

// T must be zero-initialisable and have a member `NativeAtomic<uint32_t> link` that the arena may
// use while the node is free. `Size` is for nodes with a tail, of a length known at start-up.
// Each thread keeps up to kKept free ones: as many as it takes at once, as a rule.
template <class T, class Size = SizeOf<T>, std::uint32_t kKept = 4>
class Arena {
 public:
  using Handle = std::uint32_t;  // 0 is no node

  // Runs at start-up, in one thread, and reserves address space only. False: there is none.
  static bool prepare() noexcept {
    if (base_ != nullptr) return true;
    for (std::uint32_t n = kMostNodes; n >= kChunkNodes && base_ == nullptr; n /= 4) {
      if (n * Size::bytes() > kMostBytes) continue;
      base_ = static_cast<std::byte*>(map_pages(n * Size::bytes(), PROT_NONE));
      capacity_ = n;
    }
    return base_ != nullptr && ThreadExit::add(&on_thread_exit);
  }

  static T& at(Handle h) noexcept { return *reinterpret_cast<T*>(base_ + h * Size::bytes()); }
  // The handle of what lies at that address, or 0 if no node does. Any address may be asked for.
  static Handle handle_at(std::uint64_t address) noexcept {
    const std::uint64_t offset = address - reinterpret_cast<std::uintptr_t>(base_);
    const std::uint64_t h = offset / Size::bytes();
    // relaxed: as in fresh, a number orders nothing.
    const bool is_node = offset % Size::bytes() == 0 && h < next_.load(relaxed) && h < capacity_;
    return is_node ? static_cast<Handle>(h) : 0;
  }

  // Never fails: at the limit of memory or nodes it waits until one is given back.
  static Handle take() noexcept {
    const Handle h = take_kept();
    return h != 0 ? h : take_shared();
  }
  static void give(Handle h) noexcept {
    if (!keep(h)) [[unlikely]]
      give_shared(h);
  }

  // Takes a node that was in use before. 0: none is free.
  static Handle take_used() noexcept {
    const Handle h = take_kept();
    return h != 0 ? h : pop();
  }
  static std::uint32_t capacity() noexcept { return capacity_; }
  // All nodes that were ever given out have handles below this, and their memory is there.
  static Handle end() noexcept {
    const std::uint64_t opened = std::uint64_t{opened_.load(acquire)} * kChunkNodes;  // with fresh
    const std::uint64_t numbers = std::min(next_.load(relaxed), capacity_);
    return static_cast<Handle>(std::min(opened, numbers));
  }

  // The same for hot paths, without a call: these two use only the nodes that the thread keeps to
  // itself. 0, false: nothing was done.
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
    std::uint32_t busy;  // a signal handler leaves it alone
    std::uint32_t count;
    Handle kept[kKept];
  };
  static constexpr std::uint32_t kMostNodes = 1u << 24;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 40;
  static constexpr std::uint32_t kChunkNodes = 4096;

  [[gnu::noinline]] static Handle take_shared() noexcept {
    for (;;) {
      if (Handle h = pop(); h != 0) return h;
      if (Handle h = fresh(); h != 0) return h;
      raw_syscall(SYS_sched_yield);
    }
  }

  static Handle fresh() noexcept {
    // relaxed: handing out numbers orders nothing; the pages are opened before the node is used.
    if (next_.load(relaxed) >= capacity_) return 0;
    const Handle h = next_.fetch_add(1, relaxed);
    if (h >= capacity_) return 0;
    // The thread with the first number of a chunk opens the chunk. A later number may be used
    // before, so any thread that finds its chunk closed opens it: opening twice is harmless.
    const std::uint32_t chunk = h / kChunkNodes;
    if (opened_.load(acquire) <= chunk) {  // pairs with the store below
      const std::size_t bytes = kChunkNodes * Size::bytes();
      if (!open_pages(base_ + chunk * bytes, bytes)) return 0;
      std::uint32_t seen = opened_.load(relaxed);
      while (seen == chunk && !opened_.compare_exchange(seen, chunk + 1, release)) {}
    }
    return h;
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

  static inline constinit std::byte* base_ = nullptr;
  static inline constinit std::uint32_t capacity_ = 0;
  static inline constinit NativeAtomic<std::uint32_t> next_{1};
  static inline constinit NativeAtomic<std::uint32_t> opened_{0};  // chunks
  static inline constinit NativeAtomic<std::uint64_t> free_{0};    // tag, handle
};

}  // namespace lockswap
