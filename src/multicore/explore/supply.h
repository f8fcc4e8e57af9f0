// The supply of queue nodes and of blocks for locks. The exploration platform (platform.h) has only
// a few, so that locks soon get used ones. If a node or block is used incorrectly, the execution
// fails.
#pragma once

#include <cstddef>
#include <cstdint>

#include "multicore/explore/machine.h"
#include "multicore/explore/renewed.h"

namespace lockswap::explore {

// The number of nodes in use, of all types.
inline int& nodes_in_use() { return Renewed<int, 1>::at(0); }

// Queue nodes as platform/arena.h supplies them: each thread keeps one free node for itself (the
// arena keeps more), and the others are on one stack, through which a node passes on what its last
// user knew. A thread that ends puts its free node there. The arena uses a free node's link, so a
// node comes back with another one. The arena's own atomics are not explored.
template <class T>
class ExploredNodes {
 public:
  using Handle = std::uint32_t;

  static bool prepare() { return true; }
  static T& at(Handle h) {
    if (h == 0 || h >= kNodes) machine.fail("a handle of no node: %#x", h);
    return Renewed<Node, kNodes>::at(static_cast<int>(h)).item;
  }
  static bool is_handle(Handle h) { return h != 0 && h < kNodes; }
  static Handle take() {
    const Handle h = take_kept();
    if (h != 0) return h;
    return take_shared();
  }
  static Handle try_take() { return take(); }  // memory is never refused here
  static void give(Handle h) {
    if (!keep(h)) give_shared(h);
  }
  static Handle take_kept() {
    Handle& mine = shared().cached[machine.current()];
    const Handle h = mine;
    mine = 0;
    if (h != 0) mark_taken(h);
    return h;
  }
  static bool keep(Handle h) {
    Handle& mine = shared().cached[machine.current()];
    if (mine != 0) return false;
    mark_given(h);
    mine = h;
    machine.expect_exit_hook(&on_thread_exit);
    return true;
  }
  static void give_shared(Handle h) {
    mark_given(h);
    push(h);
  }
  static int in_use() {
    int n = 0;
    for (bool t : shared().taken)
      n += t ? 1 : 0;
    return n;
  }

 private:
  static Handle take_shared() {
    Shared& s = shared();
    machine.visits(s.last);
    Handle h = 0;
    if (s.free != 0) {
      h = s.stack[--s.free];
      machine.take_over(s.known[h]);
    }
    if (h == 0) h = ++s.used;
    mark_taken(h);
    return h;
  }
  static void mark_taken(Handle h) {
    Shared& s = shared();
    if (h >= kNodes - 1) machine.fail("too many queue nodes");
    if (s.taken[h]) machine.fail("node %u is taken twice", h);
    s.taken[h] = true;
    ++nodes_in_use();
  }
  static void mark_given(Handle h) {
    Shared& s = shared();
    if (h == 0 || h >= kNodes || !s.taken[h]) machine.fail("node %u is given back twice", h);
    s.taken[h] = false;
    --nodes_in_use();
    // To a node that is never supplied, so that following an old link does no harm.
    auto& link = Renewed<Node, kNodes>::at(static_cast<int>(h)).item.link;
    if (link.is_enrolled()) machine.scribble(link.location(), kNodes - 1);
  }

  static constexpr int kNodes = 16;
  struct Node {
    T item{};
  };
  struct Shared {
    Handle cached[kMaxThreads];
    bool taken[kNodes];
    Handle stack[kNodes];
    int free;
    Handle used;
    int known[kNodes];
    std::uint64_t last;  // see Machine::visits
  };
  static void push(Handle h) {
    Shared& s = shared();
    machine.visits(s.last);
    s.known[h] = machine.hand_on();
    s.stack[s.free++] = h;
  }
  static void on_thread_exit() {
    Handle& mine = shared().cached[machine.current()];
    if (mine != 0) push(mine);
    mine = 0;
  }
  static Shared& shared() { return Renewed<Shared, 1>::at(0); }
};

// Blocks as platform/blocks.h supplies them, with two parts each, but without a thread's cache.
template <class Head, class Part>
class ExploredBlocks {
 public:
  static bool prepare(std::uint32_t parts) { return parts <= kParts; }
  static std::uint32_t parts() { return kParts; }
  static std::size_t bytes_with(std::uint32_t parts) { return sizeof(Head) + parts * sizeof(Part); }

  // From the third on, other owners are asked first.
  template <class Reclaim>
  static Head& take(const Reclaim& reclaim) {
    Shared& s = shared();
    machine.visits(s.last);
    for (int i = 0; s.free == 0 && s.used >= 2 && i < s.used; ++i) {
      if (reclaim(block(i).head)) give(block(i).head);
    }
    const int i = s.free != 0 ? s.stack[--s.free] : s.used++;
    if (i >= kBlocks) machine.fail("too many blocks");
    if (s.known[i] != 0) machine.take_over(s.known[i] - 1);
    return block(i).head;
  }
  static void give(Head& head) {
    Shared& s = shared();
    machine.visits(s.last);
    const int i = index_of(head);
    for (int k = 0; k < s.free; ++k) {
      if (s.stack[k] == i) machine.fail("block %d is given back twice", i);
    }
    s.known[i] = machine.hand_on() + 1;
    s.stack[s.free++] = i;
  }
  static Part& part(Head& head, std::uint32_t i) { return block(index_of(head)).parts[i]; }
  static bool is_block(std::uint64_t address) {
    machine.visits(shared().last);
    for (int i = 0; i < shared().used; ++i) {
      if (reinterpret_cast<std::uintptr_t>(&block(i).head) == address) return true;
    }
    return false;
  }

 private:
  static constexpr int kBlocks = 6;
  static constexpr std::uint32_t kParts = 2;
  struct Block {
    Head head{};
    Part parts[kParts]{};
  };
  struct Shared {
    int stack[kBlocks];
    int free;
    int used;
    int known[kBlocks];  // a message's number, plus one
    std::uint64_t last;  // see Machine::visits
  };
  static Block& block(int i) { return Renewed<Block, kBlocks>::at(i); }
  static int index_of(const Head& head) {
    for (int i = 0; i < kBlocks; ++i) {
      if (&block(i).head == &head) return i;
    }
    machine.fail("no block lies there");
  }
  static Shared& shared() { return Renewed<Shared, 1>::at(0); }
};

}  // namespace lockswap::explore
