// Sorted lists on RCU: one with serial writers, or a hash table with a list and a lock for each
// bucket.
//
// Paper: Matveev and others, "Read-Log-Update" (SOSP 2015), sections 2.1, 4.1 and 4.2.
#pragma once

#include <mutex>

#include "rlu/rcu.h"
#include "rlu/set.h"

namespace bench {

template <class F, Freeing kFreeing>
class RcuHash : public RcuThreadCalls<F> {
 public:
  explicit RcuHash(std::size_t buckets)
      : buckets_(buckets),
        firsts_(std::make_unique<Node*[]>(buckets)),
        locks_(std::make_unique<std::mutex[]>(buckets)) {}
  ~RcuHash() {
    for (std::size_t i = 0; i < buckets_; ++i) {
      for (Node* n = firsts_[i]; n != nullptr;) {
        Node* const next = n->next;
        delete n;
        n = next;
      }
    }
  }
  RcuHash(const RcuHash&) = delete;
  RcuHash& operator=(const RcuHash&) = delete;

  bool contains(Key key) {
    const RcuReading<F> here;
    const Node* n = rcu_dereference(firsts_[bucket_of(key, buckets_)]);
    while (n != nullptr && n->key < key)
      n = rcu_dereference(n->next);
    return n != nullptr && n->key == key;
  }
  bool insert(Key key) {
    const std::size_t bucket = bucket_of(key, buckets_);
    const RcuWriting<F, std::mutex> alone(locks_[bucket]);
    Node** const l = link_to(bucket, key);
    if (*l != nullptr && (*l)->key == key) return false;
    rcu_assign_pointer(*l, (new Node{key, *l, {}}));
    return true;
  }
  bool remove(Key key) {
    Node* gone;
    {
      const std::size_t bucket = bucket_of(key, buckets_);
      const RcuWriting<F, std::mutex> alone(locks_[bucket]);
      Node** const l = link_to(bucket, key);
      gone = *l;
      if (gone == nullptr || gone->key != key) return false;
      rcu_assign_pointer(*l, gone->next);
    }
    free_later<F, kFreeing>(gone);
    return true;
  }
  template <class Function>
  void for_each(Function f) {
    for (std::size_t i = 0; i < buckets_; ++i) {
      for (const Node* n = firsts_[i]; n != nullptr; n = n->next)
        f(n->key);
    }
  }

 private:
  struct Node {
    Key key;
    Node* next;
    rcu_head head;
  };
  // Under the bucket's lock: the link to the first node whose key is not less.
  Node** link_to(std::size_t bucket, Key key) {
    Node** l = &firsts_[bucket];
    while (*l != nullptr && (*l)->key < key)
      l = &(*l)->next;
    return l;
  }

  std::size_t buckets_;
  std::unique_ptr<Node*[]> firsts_;
  std::unique_ptr<std::mutex[]> locks_;
};

template <class F, Freeing kFreeing>
class RcuList : public RcuHash<F, kFreeing> {
 public:
  explicit RcuList(std::size_t) : RcuHash<F, kFreeing>(1) {}
};

}  // namespace bench
