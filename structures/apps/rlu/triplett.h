// The resizable hash table for RCU, which is unzipped column by column.
//
// Paper: J. Triplett, P. McKenney, J. Walpole, "Resizable, scalable, concurrent hash tables via
// relativistic programming" (USENIX ATC 2011).
// Idea: the larger table's buckets begin in the middle of the smaller one's chains, at their first
//   node; so a chain has nodes of two buckets, in turns. A pass over all chains makes each skip the
//   next run of the other bucket's nodes, and waits for readers, until none is left.
// Insertions and removals wait while a resize goes on: the paper leaves them out.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "rlu/rcu.h"
#include "rlu/set.h"

namespace bench {

template <class F>
class TriplettHash {
 public:
  explicit TriplettHash(std::size_t buckets) : table_(new Table(buckets)) {}
  ~TriplettHash() {
    for (Node* n : table_->firsts) {
      while (n != nullptr)
        delete std::exchange(n, n->next);
    }
    delete table_;
  }
  TriplettHash(const TriplettHash&) = delete;
  TriplettHash& operator=(const TriplettHash&) = delete;

  static void attach() { F::attach(); }
  static void flush() { F::barrier(); }

  bool contains(Key key) {
    const RcuReading<F> here;
    const Table* const t = rcu_dereference(table_);
    const Node* n = rcu_dereference(t->firsts[t->bucket_of(key)]);
    while (n != nullptr && n->key != key)
      n = rcu_dereference(n->next);
    return n != nullptr;
  }
  bool insert(Key key) {
    const RcuWriting<F, std::mutex> alone(writers_);
    Node** const l = link_to(key);
    if (*l != nullptr) return false;
    Node*& first = table_->firsts[table_->bucket_of(key)];
    rcu_assign_pointer(first, (new Node{key, first, {}}));
    return true;
  }
  bool remove(Key key) {
    Node* gone;
    {
      const RcuWriting<F, std::mutex> alone(writers_);
      Node** const l = link_to(key);
      gone = *l;
      if (gone == nullptr) return false;
      rcu_assign_pointer(*l, gone->next);
    }
    free_later<F, Freeing::call>(gone);
    return true;
  }
  template <class Function>
  void for_each(Function f) {
    for (const Node* n : table_->firsts) {
      for (; n != nullptr; n = n->next)
        f(n->key);
    }
  }
  // A power of two.
  void resize(std::size_t buckets) {
    const RcuWriting<F, std::mutex> alone(writers_);
    while (table_->firsts.size() < buckets)
      grow();
    while (table_->firsts.size() > buckets)
      shrink();
  }

 private:
  struct Node {
    Key key;
    Node* next;
    rcu_head head;
  };
  struct Table {
    explicit Table(std::size_t buckets) : firsts(buckets) {}
    std::size_t bucket_of(Key key) const { return hash_of(key) & (firsts.size() - 1); }
    bool are_together(const Node* a, const Node* b) const {
      return bucket_of(a->key) == bucket_of(b->key);
    }
    std::vector<Node*> firsts;
  };

  Node** link_to(Key key) {
    Node** l = &table_->firsts[table_->bucket_of(key)];
    while (*l != nullptr && (*l)->key != key)
      l = &(*l)->next;
    return l;
  }
  Table* publish(Table* t) {
    Table* const old = table_;
    rcu_assign_pointer(table_, t);
    F::synchronize();
    return old;
  }

  void grow() {
    const std::size_t n = table_->firsts.size();
    auto* const t = new Table(n * 2);
    for (std::size_t i = 0; i < n * 2; ++i) {
      Node* first = table_->firsts[i & (n - 1)];
      while (first != nullptr && t->bucket_of(first->key) != i)
        first = first->next;
      t->firsts[i] = first;
    }
    Table* const old = publish(t);
    // The old table's links now say how far each chain is unzipped.
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (Node*& from : old->firsts)
        goes_on |= unzip_one(*t, from);
      if (goes_on) F::synchronize();
    }
    delete old;
  }
  // The run of nodes at `from` is linked to the next run of the same bucket.
  static bool unzip_one(const Table& t, Node*& from) {
    if (from == nullptr) return false;
    Node* last = from;
    while (last->next != nullptr && t.are_together(last, last->next))
      last = last->next;
    Node* const other = last->next;
    from = other;
    if (other == nullptr) return false;
    Node* same = other;
    while (same != nullptr && !t.are_together(last, same))
      same = same->next;
    rcu_assign_pointer(last->next, same);
    return true;
  }
  void shrink() {
    const std::size_t n = table_->firsts.size() / 2;
    auto* const t = new Table(n);
    for (std::size_t i = 0; i < n; ++i) {
      Node** end = &table_->firsts[i];
      t->firsts[i] = *end;
      if (*end == nullptr) {  // readers of the old table look into both buckets as before
        t->firsts[i] = table_->firsts[i + n];
        continue;
      }
      while (*end != nullptr)
        end = &(*end)->next;
      rcu_assign_pointer(*end, table_->firsts[i + n]);
    }
    delete publish(t);
  }

  Table* table_;
  std::mutex writers_;
};

}  // namespace bench
