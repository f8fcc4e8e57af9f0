// liburcu's own list that is linked both ways (urcu/rculist.h, after the kernel's list), kept in
// order, with serial writers. Readers walk it forwards alone: a writer changes one of a node's two
// links after the other, so a reader that turned round could see two different lists.
//
// Paper: Matveev and others, "Read-Log-Update" (SOSP 2015), section 4.6.
#pragma once

#include <mutex>
#include <urcu/rculist.h>

#include "rlu/rcu.h"
#include "rlu/set.h"

namespace bench {

template <class F, Freeing kFreeing>
class RcuDoubleList : public RcuThreadCalls<F> {
 public:
  explicit RcuDoubleList(std::size_t) { CDS_INIT_LIST_HEAD(&ends_); }
  ~RcuDoubleList() {
    while (!cds_list_empty(&ends_)) {
      Node* const gone = node(ends_.next);
      cds_list_del(&gone->place);
      delete gone;
    }
  }
  RcuDoubleList(const RcuDoubleList&) = delete;
  RcuDoubleList& operator=(const RcuDoubleList&) = delete;

  bool contains(Key key) {
    const RcuReading<F> here;
    return is(at_or_after(key), key);
  }
  bool insert(Key key) {
    const RcuWriting<F, std::mutex> alone(lock_);
    cds_list_head* const after = at_or_after(key);
    if (is(after, key)) return false;
    cds_list_add_tail_rcu(&(new Node{{}, key, {}})->place, after);
    return true;
  }
  bool remove(Key key) {
    cds_list_head* gone;
    {
      const RcuWriting<F, std::mutex> alone(lock_);
      gone = at_or_after(key);
      if (!is(gone, key)) return false;
      cds_list_del_rcu(gone);
    }
    free_later<F, kFreeing>(node(gone));
    return true;
  }
  template <class Function>
  void for_each(Function f) {
    for (cds_list_head* p = ends_.next; p != &ends_; p = p->next)
      f(node(p)->key);
  }

 private:
  struct Node {
    cds_list_head place;
    Key key;
    rcu_head head;
  };
  static Node* node(cds_list_head* p) { return cds_list_entry(p, Node, place); }
  bool is(cds_list_head* p, Key key) const { return p != &ends_ && node(p)->key == key; }
  // The first place whose key is not less, or the end. In a section or under the lock.
  cds_list_head* at_or_after(Key key) {
    cds_list_head* p;
    cds_list_for_each_rcu(p, &ends_) {
      if (node(p)->key >= key) break;
    }
    return p;
  }

  cds_list_head ends_;
  std::mutex lock_;
};

}  // namespace bench
