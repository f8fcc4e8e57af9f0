// range-*: the skip list that locks a range of keys instead of nodes.
//
// Paper: A. Kogan, D. Dice, S. Issa, EuroSys 2020, section 6.
// An insertion acquires the keys from that of the node before its highest link to its own key. A
// removal acquires the same and the victim's key, so that no thread inserts behind the victim
// meanwhile. All links that change belong to nodes whose keys are in the range.
#pragma once

#include "common/report.h"
#include "lockswap/range_lock.h"
#include "skip_list/skip_list.h"

namespace bench {

struct NothingInTheNode {};

class RangesSkipList : public SkipListBase<NothingInTheNode> {
 public:
  // Returns false if it is there already.
  bool insert(Hand& hand, std::uint32_t key) {
    return insert_under(hand, key, [this, key](const Place& p, int levels) {
      return LockedKeys(lock_, p.before[levels - 1]->key, key);
    });
  }

  // Returns false if it is not there.
  bool remove(Hand& hand, std::uint32_t key) {
    Node* victim = nullptr;
    {
      const Walk walk(hand);
      Place p;
      for (;;) {
        search(key, p);
        if (p.found < 0 || !may_remove(*p.after[p.found], p.found)) return false;
        victim = p.after[p.found];
        const LockedKeys locked(lock_, p.before[victim->levels - 1]->key, key + 1);
        if (is_marked(*victim)) return false;
        if (!still_so(p, victim->levels, victim)) continue;
        victim->marked.store(true, std::memory_order_release);
        unlink(*victim, p);
        break;
      }
    }
    removed(hand, victim);
    return true;
  }

 private:
  class LockedKeys {
   public:
    LockedKeys(lockswap_range_lock& lock, std::uint32_t first, std::uint32_t end) {
      must(lockswap_range_acquire(&lock, &range_, first, end, LOCKSWAP_RANGE_EXCLUSIVE),
           "lockswap_range_acquire");
    }
    ~LockedKeys() { must(lockswap_range_release(&range_), "lockswap_range_release"); }
    LockedKeys(const LockedKeys&) = delete;
    LockedKeys& operator=(const LockedKeys&) = delete;

   private:
    lockswap_range range_;
  };

  lockswap_range_lock lock_ = LOCKSWAP_RANGE_LOCK_INITIALIZER;
};

}  // namespace bench
