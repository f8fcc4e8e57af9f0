// Stacks of nodes that a thread keeps in reserve, and the batches that it gives to other threads.
//
// Fork: a child's copy of a thread's memory is a snapshot between two of its stores. So a node
//   leaves one stack before it enters another, and the stores stay in this order (signal_fence): a
//   child may leak a node, but never has it in two stacks.
#pragma once

#include <concepts>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

template <class T>
concept PooledNode = requires(T& node, const T& glimpse) {
  // Links that belong to the pools while the node is in one of them.
  requires std::same_as<decltype(node.below), T*>;
  requires std::same_as<decltype(node.batch), T*>;
  // Returns whether a thread still accesses a node that no walk can reach any more, thanks to a pin
  // that it took during a walk. acquire: pairs with the release by which that thread unpins it.
  { glimpse.pinned() } -> std::same_as<bool>;
};

// The nodes of one thread.
template <class T>
struct NodeStack {
  T* top = nullptr;
  std::uint32_t count = 0;  // number of nodes; may be wrong for a thread that a fork has ended

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

// Batches of kN nodes each, from threads that had too many. Shared by all threads.
template <Platform P, PooledNode T, std::uint32_t kN>
class SpareBatches {
  using Stack = NodeStack<T>;

 public:
  // Adds a batch from a stack, which must have at least kN nodes.
  void put(Stack& from) noexcept {
    Stack batch;
    for (std::uint32_t i = 0; i < kN; ++i)
      from.move_one_to(batch);
    push(batch.top, batch.top);
  }
  // Moves a batch to a stack. Returns false if there is none. Takes the whole list and puts the
  // rest back, so that it never reads a batch that another thread may have taken meanwhile. A
  // thread that comes in between finds none.
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
      // release: publishes the batch, and that its nodes are ready; pairs with take.
    } while (!first_.compare_exchange(head, reinterpret_cast<std::uintptr_t>(first), release));
  }

  typename P::template atomic<std::uint64_t> first_{};
};

}  // namespace lockswap
