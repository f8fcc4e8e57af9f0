// A walk through a list of ranges: it finds a range's place, and the node that is in the way.
//
// Paper: as list.h: InsertNode and compare (listings 1 and 2), the validations (listing 3).
// Idea: links are read one after the other from the head; a released node on the way is taken out.
//   A node that a walk has met may be used as long as the walk lasts, and no longer (epoch.h).
// Order: there are two Dekker pairs:
//     a range        1. puts its node in          2. looks again at the others
//     a walk         1. begins (epoch.h)          2. loads links
//     taking out     1. changes a link            2. looks at the walks (epoch.h)
//   The first is between two ranges, the second between the other two lines. Therefore one rule:
//   each update that puts a node in, takes one out or clears kAlone is seq_cst, and so is each load
//   of a link. On x86-64 these loads are plain ones.
// Deviations: the listings' `cur.start > lock.end` is >=: ranges are half-open.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "range/node.h"
#include "range/request.h"
#include "reclaim/epoch.h"

namespace lockswap {

enum class RangeStep : std::uint8_t {
  in,       // the node is in the list; or: nothing is in its way
  alone,    // the node is in the list, and no other is
  blocked,  // by another node
  lost,     // the place was in a node that was released meanwhile
};

// Nodes: Pools. Without kReaders all ranges are exclusive.
template <Platform P, class Nodes, bool kReaders>
class RangeWalk {
  using Link = typename P::template atomic<std::uint64_t>;
  using Node = RangeNode<P>;
  using Supply = typename Nodes::Supply;
  using Step = RangeStep;

 public:
  // Begins the walk. `me`: the calling thread's supply.
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
  // The first node of a list, for a caller that follows the links itself. In a walk.
  static Node* first_of(Link& head) noexcept { return node(look(head)); }
  static std::uint64_t flags_of(const RangeRequest& r) noexcept {
    return reads(r) ? link::kShared : link::kNone;
  }

  // Finds the node's place and puts it there, instead of released nodes that are there.
  Step insert(Node* n, const RangeRequest& r, Node*& other) noexcept {
    Link* at = &head_;
    [[maybe_unused]] const Node* before = nullptr;  // whose link that is
    std::uint64_t w = look(*at);
    Node* next = node(w);  // the first from there on that is not known to be released
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

  // A reader's second look: from its node on, for a writer that was in before.
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
      at = &next->next;  // through nodes that were released as well: their links still lead on
      w = after;
    }
    return Step::in;
  }

  // A writer's: from the head to its node, for a reader that was in before.
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

  // Returns whether a range is held, when no thread acquires or releases. Takes released nodes out,
  // into `me`, if there is one.
  static bool any_held(Link& head, Supply* me) noexcept {
    for (std::uint64_t w = look(head); node(w) != nullptr; w = look(head)) {
      Node* first = node(w);
      const std::uint64_t after = first->next.load(relaxed);  // relaxed: nobody changes it
      if ((after & link::kReleased) == 0) return true;
      if (me == nullptr || !take_out(*me, head, w, node(after))) return true;
    }
    return false;
  }

 private:
  static std::uint64_t word(const Node* n) noexcept { return link::of(n); }
  static std::uint64_t flags(std::uint64_t w) noexcept { return w & link::kFlags; }
  // Returns whether the second may come next in the list (list.h, Invariants), when one of them has
  // just been put in. relaxed: nothing goes with it.
  static bool may_follow(const Node* first, const Node* second) noexcept {
    if (first == nullptr || second == nullptr) return true;
    const bool both_shared =
        (first->next.load(relaxed) & second->next.load(relaxed) & link::kShared) != 0;
    return (both_shared ? first->start : first->end).get() <= second->start.get();
  }

  // A link, after kAlone is cleared: from here on its node is released by a flag.
  static std::uint64_t look(Link& at) noexcept {
    for (;;) {
      std::uint64_t w = at.load(seq_cst);
      if ((w & link::kAlone) == 0) return w;
      // seq_cst: from here on the node is looked at, so it comes after begin(). It acquires the
      // node, which may have been used again since the load.
      if (at.compare_exchange(w, w & ~link::kAlone, seq_cst)) return w & ~link::kAlone;
    }
  }

  // Takes out the released nodes from the one that `at` leads to up to `until`, if `at` still is w,
  // and makes w what it is then.
  static bool take_out(Supply& me, Link& at, std::uint64_t& w, Node* until) noexcept {
    P::check([w] { return (w & link::kReleased) == 0; });
    std::uint64_t seen = w;
    const std::uint64_t without = flags(w) | word(until);
    if (!at.compare_exchange(seen, without, seq_cst)) return false;
    retire(me, node(w), until);
    w = without;
    return true;
  }
  // The nodes from `first` up to `until` have been taken out.
  static void retire(Supply& me, Node* first, const Node* until) noexcept {
    while (first != until) {
      Node* next = node(first->next.load(relaxed));  // relaxed: of a released node, and known
      Nodes::retire(me, first);
      first = next;
    }
  }

  Link& head_;
  Supply& me_;
  bool walking_ = false;
};

}  // namespace lockswap
