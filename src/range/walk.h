// A walk through a list of ranges. It finds the place of a range, or the node that is in its way.
//
// Paper: as list.h: InsertNode and compare (listings 1 and 2), the validations (listing 3).
// Idea: the walk follows links from the head, and removes released nodes on the way. It may use a
//   node that it has met until it ends, and no longer (epoch.h).
// Order: there are two Dekker pairs:
//     a range        1. inserts its node          2. checks the other nodes again
//     a walk         1. begins (epoch.h)          2. loads links
//     a removal      1. changes a link            2. checks the walks (epoch.h)
//   The first is between two ranges, the second between the other two lines. So there is one rule:
//   every update that inserts a node, removes one or clears kAlone is seq_cst, and so is every load
//   of a link. On x86-64 these loads are plain ones.
// Deviations: `cur.start > lock.end` in the listings is >= here, because ranges are half-open.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "range/node.h"
#include "range/request.h"
#include "reclaim/epoch.h"

namespace lockswap {

enum class RangeStep : std::uint8_t {
  in,       // the node is in the list, or nothing is in its way
  alone,    // the node is in the list, which was empty
  blocked,  // another node is in the way
  lost,     // the place was in a node that has been released
};

// Nodes: a Pools. If kReaders is false, all ranges are exclusive.
template <Platform P, class Nodes, bool kReaders>
class RangeWalk {
  using Link = typename P::template atomic<std::uint64_t>;
  using Node = RangeNode<P>;
  using Supply = typename Nodes::Supply;
  using Step = RangeStep;

 public:
  // Begins the walk. `me` is the calling thread's supply of nodes.
  RangeWalk(Link& head, Supply& me) noexcept : head_(head), me_(me) { begin(); }
  ~RangeWalk() {
    if (walking_) end();
  }
  RangeWalk(const RangeWalk&) = delete;
  RangeWalk& operator=(const RangeWalk&) = delete;

  void begin() noexcept {
    Nodes::epochs().begin(me_);
    walking_ = true;
  }
  void end() noexcept {
    walking_ = false;
    Nodes::epochs().end(me_);
  }

  static Node* node(std::uint64_t w) noexcept { return reinterpret_cast<Node*>(w & ~link::kFlags); }
  static bool reads(const RangeRequest& r) noexcept { return kReaders && r.shared; }
  // Returns the first node of a list, for a caller that follows the links itself. Must be called
  // during a walk.
  static Node* first_of(Link& head) noexcept { return node(look(head)); }
  static std::uint64_t flags_of(const RangeRequest& r) noexcept {
    return reads(r) ? link::kShared : link::kNone;
  }

  // Finds the node's place and inserts it there, replacing released nodes that are in that place.
  Step insert(Node* n, const RangeRequest& r, Node*& other) noexcept {
    Link* at = &head_;
    [[maybe_unused]] const Node* before = nullptr;  // the node whose link `at` is
    std::uint64_t w = look(*at);
    Node* next = node(w);  // the first node from there that is not known to be released
    for (;;) {
      if ((w & link::kReleased) != 0) return Step::lost;
      if (next != nullptr) {
        const std::uint64_t after = next->next.load(seq_cst);
        if ((after & link::kReleased) != 0) {
          next = node(after);
          continue;
        }
        const bool both_read = reads(r) && (after & link::kShared) != 0;
        const bool passes = both_read ? next->start.get() <= r.start : next->end.get() <= r.start;
        const bool blocks = !passes && !both_read && next->start.get() < r.end;
        if (passes || blocks) {
          if (next != node(w) && !take_out(me_, *at, w, next)) {
            w = look(*at);
            next = node(w);
            continue;
          }
          if (blocks) {
            other = next;
            return Step::blocked;
          }
          before = next;
          at = &next->next;
          w = after;
          next = node(w);
          continue;
        }
      }
      const bool alone = at == &head_ && next == nullptr;
      // relaxed: the next line publishes it.
      n->next.store(word(next) | flags_of(r) | (alone ? link::kHeld : link::kNone), relaxed);
      const std::uint64_t mine = flags(w) | word(n) | (alone ? link::kAlone : link::kNone);
      if (at->compare_exchange(w, mine, seq_cst)) {
        P::check([before, n, next] { return may_follow(before, n) && may_follow(n, next); });
        retire(me_, node(w), next);
        return alone ? Step::alone : Step::in;
      }
      w = look(*at);
      next = node(w);
    }
  }

  // A reader's second check: from its node on, for a writer that was there before.
  Step look_on(Node* n, Node*& other) noexcept {
    const std::uint64_t end = n->end.get();
    Link* at = &n->next;
    std::uint64_t w = at->load(seq_cst);
    while (node(w) != nullptr) {
      Node* next = node(w);
      const std::uint64_t after = next->next.load(seq_cst);
      if (next->start.get() >= end) break;
      if ((after & link::kReleased) != 0) {
        if ((w & link::kReleased) == 0 && take_out(me_, *at, w, node(after))) continue;
      } else if ((after & link::kShared) == 0) {
        other = next;
        return Step::blocked;
      }
      at = &next->next;  // also through nodes released meanwhile: their links still lead on
      w = after;
    }
    return Step::in;
  }

  // A writer's second check: from the head to its node, for a reader that was there before.
  Step look_back(Node* n, Node*& other) noexcept {
    const std::uint64_t start = n->start.get();
    Link* at = &head_;
    std::uint64_t w = look(*at);
    while (node(w) != n) {
      Node* next = node(w);
      const std::uint64_t after = next->next.load(seq_cst);
      if ((after & link::kReleased) != 0) {
        if ((w & link::kReleased) == 0 && take_out(me_, *at, w, node(after))) continue;
      } else if (next->end.get() > start) {
        other = next;
        return Step::blocked;
      }
      at = &next->next;  // as in look_on
      w = after;
    }
    return Step::in;
  }

  // Returns whether a range is held. Moves released nodes to `me`, unless that is nullptr. No
  // thread may acquire or release meanwhile.
  static bool any_held(Link& head, Supply* me) noexcept {
    for (std::uint64_t w = look(head); node(w) != nullptr; w = look(head)) {
      Node* first = node(w);
      const std::uint64_t after = first->next.load(relaxed);  // relaxed: it does not change
      if ((after & link::kReleased) == 0) return true;
      if (me == nullptr || !take_out(*me, head, w, node(after))) return true;
    }
    return false;
  }

 private:
  static std::uint64_t word(const Node* n) noexcept { return link::of(n); }
  static std::uint64_t flags(std::uint64_t w) noexcept { return w & link::kFlags; }
  // For P::check, when one of the two has just been inserted: returns whether `second` may follow
  // `first` in the list (list.h, Invariants). relaxed: it publishes nothing.
  static bool may_follow(const Node* first, const Node* second) noexcept {
    if (first == nullptr || second == nullptr) return true;
    const bool both_shared =
        (first->next.load(relaxed) & second->next.load(relaxed) & link::kShared) != 0;
    return (both_shared ? first->start : first->end).get() <= second->start.get();
  }

  // Returns a link after clearing kAlone. From then on its node must be released by the flag.
  static std::uint64_t look(Link& at) noexcept {
    for (;;) {
      std::uint64_t w = at.load(seq_cst);
      if ((w & link::kAlone) == 0) return w;
      // seq_cst: the node is accessed from here on, so this must come after begin(). It acquires
      // the node, which may have been reused since the load.
      if (at.compare_exchange(w, w & ~link::kAlone, seq_cst)) return w & ~link::kAlone;
    }
  }

  // Removes the released nodes from the one that `at` links to up to `until`, if `at` is still w.
  // Sets w to the new link.
  static bool take_out(Supply& me, Link& at, std::uint64_t& w, Node* until) noexcept {
    P::check([w] { return (w & link::kReleased) == 0; });
    std::uint64_t seen = w;
    const std::uint64_t without = flags(w) | word(until);
    if (!at.compare_exchange(seen, without, seq_cst)) return false;
    retire(me, node(w), until);
    w = without;
    return true;
  }
  // Retires the nodes from `first` up to `until`, which have been removed.
  static void retire(Supply& me, Node* first, const Node* until) noexcept {
    while (first != until) {
      Node* next = node(first->next.load(relaxed));  // relaxed: a released node's link is constant
      Nodes::retire(me, first);
      first = next;
    }
  }

  Link& head_;
  Supply& me_;
  bool walking_ = false;
};

}  // namespace lockswap
