// Stacks of nodes that a thread has in stock, and the batches that it gives to other threads.
//
// Fork: a child's copy of a thread's memory is that of one moment between two of its stores. So a
//   node leaves one stack before it enters another, and the stores stay in this order
//   (signal_fence): in a child a node may be lost, but it is never in two stacks.
#pragma once

#include <concepts>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

template <class T>
concept PooledNode = requires(T& node, const T& glimpse) {
  // The pools', while the node is in one of them.
  requires std::same_as<decltype(node.below), T*>;
  requires std::same_as<decltype(node.batch), T*>;
  // Whether a thread still looks at a node that no walk can meet any more, by a pin that it took in
  // a walk. acquire: what that thread did before it let go.
  { glimpse.pinned() } -> std::same_as<bool>;
};

// The nodes of one thread.
template <class T>
struct NodeStack {
  T* top = nullptr;
  std::uint32_t count = 0;  // of nodes; in the stack of a thread that has ended it may be wrong

  bool empty() const noexcept { return top == nullptr; }
  // The stack must not be empty.
  T* pop() noexcept {
    T* n = top;
    if (n == nullptr) __builtin_unreachable();
    top = n->below;
    --count;
    return n;
  }
  void push(T* n) noexcept {
    n->below = top;
    signal_fence();
    top = n;
    ++count;
  }
  void move_one_to(NodeStack& to) noexcept {
    T* n = pop();
    signal_fence();
    to.push(n);
  }
  void recount() noexcept {
    count = 0;
    for (const T* n = top; n != nullptr; n = n->below)
      ++count;
  }
};

// Batches of kN nodes each, of which some thread had too many. Shared by all threads.
template <Platform P, PooledNode T, std::uint32_t kN>
class SpareBatches {
  using Stack = NodeStack<T>;

 public:
  // From a stack that has kN nodes or more.
  void put(Stack& from) noexcept {
    Stack batch;
    for (std::uint32_t i = 0; i < kN; ++i)
      from.move_one_to(batch);
    push(batch.top, batch.top);
  }
  // Returns false if there is none. All batches are taken and the others put back, so that no batch
  // is looked at which another thread may have taken meanwhile. A thread that comes in between
  // finds none.
  bool take(Stack& to) noexcept {
    if (first_.load(relaxed) == 0) return false;                      // relaxed: a hint
    auto* first = reinterpret_cast<T*>(first_.exchange(0, acquire));  // acquire: pairs with push
    if (first == nullptr) return false;
    if (T* rest = first->batch; rest != nullptr) {
      T* last = rest;
      while (last->batch != nullptr)
        last = last->batch;
      push(rest, last);
    }
    Stack batch{first, kN};
    while (!batch.empty())
      batch.move_one_to(to);
    return true;
  }

 private:
  void push(T* first, T* last) noexcept {
    std::uint64_t head = first_.load(relaxed);
    do {
      last->batch = reinterpret_cast<T*>(head);
      // release: the batch, and that its nodes are ready; pairs with take.
    } while (!first_.compare_exchange(head, reinterpret_cast<std::uintptr_t>(first), release));
  }

  typename P::template atomic<std::uint64_t> first_{};
};

}  // namespace lockswap
