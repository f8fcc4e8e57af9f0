// orig: the optimistic skip list with a lock in each node.
//
// Paper: as skip_list.h, sections 3.2 and 3.3.
// An insertion locks the nodes before the new one, from the bottom up. A removal locks the victim
// first, marks it, and then locks the nodes before it. Every thread locks greater keys before
// smaller ones.
#pragma once

#include "range/spin_lock.h"
#include "skip_list/skip_list.h"
#include "wait/park.h"

namespace bench {

using NodeLock = lockswap::SpinLock<lockswap::Native, lockswap::Park<lockswap::Native>>;

class NodeLocksSkipList : public SkipListBase<NodeLock> {
 public:
  // Returns false if it is there already.
  bool insert(Hand& hand, std::uint32_t key) {
    return insert_under(hand, key,
                        [](const Place& p, int levels) { return LockedNodes(p, levels); });
  }

  // Returns false if it is not there.
  bool remove(Hand& hand, std::uint32_t key) {
    Node* victim = nullptr;  // once it is locked and marked
    {
      const Walk walk(hand);
      Place p;
      for (;;) {
        search(key, p);
        if (victim == nullptr) {
          if (p.found < 0 || !may_remove(*p.after[p.found], p.found)) return false;
          Node* n = p.after[p.found];
          n->extra.lock();
          if (is_marked(*n)) {
            n->extra.unlock();
            return false;
          }
          n->marked.store(true, std::memory_order_release);
          victim = n;
        }
        const LockedNodes locked(p, victim->levels);
        if (!still_so(p, victim->levels, victim)) continue;
        unlink(*victim, p);
        break;
      }
      victim->extra.unlock();
    }
    removed(hand, victim);
    return true;
  }

 private:
  // The nodes before a place, each once.
  class LockedNodes {
   public:
    LockedNodes(const Place& p, int levels) noexcept : p_(p), levels_(levels) {
      for (int i = 0; i < levels; ++i) {
        if (is_first(i)) p.before[i]->extra.lock();
      }
    }
    ~LockedNodes() {
      for (int i = levels_ - 1; i >= 0; --i) {
        if (is_first(i)) p_.before[i]->extra.unlock();
      }
    }
    LockedNodes(const LockedNodes&) = delete;
    LockedNodes& operator=(const LockedNodes&) = delete;

   private:
    bool is_first(int i) const noexcept { return i == 0 || p_.before[i] != p_.before[i - 1]; }
    const Place& p_;
    const int levels_;
  };
};

}  // namespace bench
