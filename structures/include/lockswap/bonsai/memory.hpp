// The memory of a Bonsai tree's nodes (lockswap/bonsai.hpp). Used by one thread at a time.
//
//     a node goes               when
//     spare    -> the tree      an update makes it (make)
//     the tree -> taken         the update has removed it, and readers may see it (drop)
//     the tree -> spare         the same for a node that no reader has seen
//     taken    -> open          the update's result is visible (end_update)
//     open     -> closed        there are enough of them, and the last period is over
//     closed   -> spare         the period is over
//     spare    -> the system    there are many
// Some more are kept in reserve, for an erasure that gets no memory.
//
// Steps: each node has the step in which it was made, and no reader has seen the nodes of the
// current step. Publishing nodes begins a new step.
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <utility>

namespace lockswap {

/// Counts of a tree since it was made. Only a writer may read them.
struct bonsai_counts {
  std::uint64_t updates = 0;  ///< those that changed something
  std::uint64_t garbage = 0;  ///< nodes that were removed
  /// Single rotations, which balance the tree.
  std::uint64_t single_rotations = 0;
  /// Double rotations.
  std::uint64_t double_rotations = 0;
  std::uint64_t waiting = 0;  ///< removed nodes whose grace period is not over
  /// The largest value that `waiting` has had.
  std::uint64_t most_waiting = 0;
  std::uint64_t spare = 0;  ///< free nodes that are kept
};

/// @cond private
namespace bonsai {

template <class Node>
struct stack {
  Node* top = nullptr;
  std::uint64_t count = 0;

  void push(Node* n) noexcept {
    n->below = top;
    top = n;
    ++count;
  }
  Node* pop() noexcept {
    Node* n = top;
    top = n->below;
    --count;
    return n;
  }
};

template <class Node, class Domain, class P>
class memory {
 public:
  explicit memory(Domain& of) noexcept : domain_(of) {}
  ~memory() {
    for (stack<Node>* s : {&taken_, &open_, &closed_, &spare_, &reserve_}) {
      while (s->top != nullptr)
        destroy(s->pop());
    }
  }
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  // The update will make at most `nodes` nodes, and must leave as many in reserve as an erasure may
  // need. Throws std::bad_alloc, and then nothing has changed.
  void begin_update(std::uint64_t nodes, std::uint64_t for_erasure) {
    while (reserve_.count < for_erasure)
      reserve_.push(new (P::template take<Node>()) Node);
    make_spare(nodes);
    begin_step();
  }
  // The same for an erasure. If there is no memory, it takes the reserve, or waits for readers. An
  // erasure removes more nodes than it makes, so together with those that readers may see, there
  // are always enough.
  void begin_erasure(std::uint64_t nodes) {
    try {
      make_spare(nodes);
    } catch (const std::bad_alloc&) {
      while (reserve_.top != nullptr)
        give(reserve_.pop());
      if (spare_.count < nodes) synchronize();
    }
    begin_step();
  }
  void begin_step() noexcept { ++step_; }
  void end_update() {
    ++counts_.updates;
    counts_.garbage += taken_.count;
    while (taken_.top != nullptr)
      open_.push(taken_.pop());
    if (waiting() > counts_.most_waiting) counts_.most_waiting = waiting();
    if (open_.count >= batch_) reclaim();
    if (limit_ != 0 && waiting() > limit_) synchronize();
  }

  template <class Key, class Value>
  Node* make(const Key& key, const Value& value) noexcept {
    Node* n = spare_.pop();
    P::permit(n);
    n->key.set(key);
    n->value.set(value);
    n->made = step_;
    return n;
  }
  void drop(Node* n) noexcept {
    if (n->made == step_) {
      give(n);
    } else {
      taken_.push(n);
    }
  }
  static void destroy(Node* n) noexcept {
    n->~Node();
    P::template give<Node>(n);
  }

  void reclaim() {
    if (closed_.top == nullptr && open_.top != nullptr) {
      std::swap(closed_, open_);
      period_.emplace(domain_.close());
    }
    if (closed_.top == nullptr || !domain_.is_over(*period_)) return;
    while (closed_.top != nullptr) {
      if (spare_.count < most_spare_) {
        give(closed_.pop());
      } else {
        destroy(closed_.pop());
      }
    }
  }
  void synchronize() {
    while (waiting() != 0) {
      reclaim();
      if (closed_.top != nullptr) domain_.wait(*period_);
    }
  }

  void set_limit(std::uint64_t nodes) noexcept { limit_ = nodes; }
  void set_batch(std::uint64_t nodes) noexcept { batch_ = nodes; }
  bonsai_counts& own_counts() noexcept { return counts_; }
  bonsai_counts counts() const noexcept {
    bonsai_counts c = counts_;
    c.waiting = waiting();
    c.spare = spare_.count + reserve_.count;
    return c;
  }

 private:
  std::uint64_t waiting() const noexcept { return open_.count + closed_.count; }
  void make_spare(std::uint64_t nodes) {
    most_spare_ = nodes + 2 * batch_;
    while (spare_.count < nodes)
      give(new (P::template take<Node>()) Node);
  }
  void give(Node* n) noexcept {
    P::forbid(n);
    spare_.push(n);
  }

  Domain& domain_;
  std::optional<typename Domain::period> period_;  // of closed_
  stack<Node> spare_, reserve_, taken_, open_, closed_;
  std::uint64_t step_ = 0;
  std::uint64_t batch_ = 512;
  std::uint64_t limit_ = 0;
  std::uint64_t most_spare_ = 0;
  bonsai_counts counts_;
};

}  // namespace bonsai
/// @endcond
}  // namespace lockswap
