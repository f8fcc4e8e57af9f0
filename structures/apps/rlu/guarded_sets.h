// Plain structures under one rwlock or mutex: under lockswap, any lock of its registry.
#pragma once

#include <pthread.h>
#include <set>
#include <utility>
#include <vector>

#include "rlu/set.h"

namespace bench {

class Rwlock {
 public:
  void lock() { pthread_rwlock_wrlock(&lock_); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};
class Mutex {
 public:
  void lock() { pthread_mutex_lock(&lock_); }
  void lock_shared() { lock(); }
  void unlock() { pthread_mutex_unlock(&lock_); }

 private:
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
};
template <class Lock>
class Shared {
 public:
  explicit Shared(Lock& lock) : lock_(lock) { lock_.lock_shared(); }
  ~Shared() { lock_.unlock(); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

 private:
  Lock& lock_;
};
template <class Lock>
class Alone {
 public:
  explicit Alone(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~Alone() { lock_.unlock(); }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  Lock& lock_;
};

// Plain must be a set that one thread uses.
template <class Plain, class Lock = Rwlock>
class Guarded {
 public:
  explicit Guarded(std::size_t buckets) : set_(buckets) {}
  static void attach() {}
  static void flush() {}
  bool contains(Key key) {
    const Shared here(lock_);
    return set_.contains(key);
  }
  bool insert(Key key) {
    const Alone here(lock_);
    return set_.insert(key);
  }
  bool remove(Key key) {
    const Alone here(lock_);
    return set_.remove(key);
  }
  template <class F>
  void for_each(F f) {
    const Shared here(lock_);
    set_.for_each(f);
  }
  bool contains_from_end(Key key) requires requires(Plain& p, Key k) { p.contains_from_end(k); }
  {
    const Shared here(lock_);
    return set_.contains_from_end(key);
  }
  template <class F>
  void for_each_from_end(F f) requires requires(Plain& p) {
    p.for_each_from_end(f);
  }
  {
    const Shared here(lock_);
    set_.for_each_from_end(f);
  }

 private:
  Lock lock_;
  Plain set_;
};

// A sorted list that is linked both ways.
class PlainDoubleList {
 public:
  explicit PlainDoubleList(std::size_t) { ends_.next = ends_.prev = &ends_; }
  ~PlainDoubleList() {
    for (const Place* p = ends_.next; p != &ends_;) {
      const Place* const gone = std::exchange(p, p->next);
      delete static_cast<const Node*>(gone);
    }
  }
  PlainDoubleList(const PlainDoubleList&) = delete;
  PlainDoubleList& operator=(const PlainDoubleList&) = delete;

  bool contains(Key key) const { return is(at(key), key); }
  bool contains_from_end(Key key) const {
    const Place* p = ends_.prev;
    while (p != &ends_ && static_cast<const Node*>(p)->key > key)
      p = p->prev;
    return is(p, key);
  }
  bool insert(Key key) {
    Place* const after = at(key);
    if (is(after, key)) return false;
    auto* const n = new Node{{after, after->prev}, key};
    after->prev->next = n;
    after->prev = n;
    return true;
  }
  bool remove(Key key) {
    Place* const gone = at(key);
    if (!is(gone, key)) return false;
    take_out(static_cast<Node*>(gone));
    return true;
  }
  template <class F>
  void for_each(F f) const {
    for (const Place* p = ends_.next; p != &ends_; p = p->next)
      f(static_cast<const Node*>(p)->key);
  }
  template <class F>
  void for_each_from_end(F f) const {
    for (const Place* p = ends_.prev; p != &ends_; p = p->prev)
      f(static_cast<const Node*>(p)->key);
  }

 private:
  struct Place {
    Place* next;
    Place* prev;
  };
  struct Node : Place {
    Key key;
  };
  Place* at(Key key) const {
    Place* p = ends_.next;
    while (p != &ends_ && static_cast<const Node*>(p)->key < key)
      p = p->next;
    return p;
  }
  bool is(const Place* p, Key key) const {
    return p != &ends_ && static_cast<const Node*>(p)->key == key;
  }
  static void take_out(Node* n) {
    n->prev->next = n->next;
    n->next->prev = n->prev;
    delete n;
  }
  Place ends_;
};

// A sorted list for each bucket.
class PlainHash {
 public:
  explicit PlainHash(std::size_t buckets) : firsts_(buckets) {}
  ~PlainHash() {
    for (Node* n : firsts_) {
      while (n != nullptr) {
        Node* const next = n->next;
        delete n;
        n = next;
      }
    }
  }
  PlainHash(const PlainHash&) = delete;
  PlainHash& operator=(const PlainHash&) = delete;

  bool contains(Key key) {
    const Node* const n = *link_to(key);
    return n != nullptr && n->key == key;
  }
  bool insert(Key key) {
    Node** const l = link_to(key);
    if (*l != nullptr && (*l)->key == key) return false;
    *l = new Node{key, *l};
    return true;
  }
  bool remove(Key key) {
    Node** const l = link_to(key);
    Node* const gone = *l;
    if (gone == nullptr || gone->key != key) return false;
    *l = gone->next;
    delete gone;
    return true;
  }
  template <class F>
  void for_each(F f) const {
    for (const Node* n : firsts_) {
      for (; n != nullptr; n = n->next)
        f(n->key);
    }
  }

 private:
  struct Node {
    Key key;
    Node* next;
  };
  Node** link_to(Key key) {
    Node** l = &firsts_[bucket_of(key, firsts_.size())];
    while (*l != nullptr && (*l)->key < key)
      l = &(*l)->next;
    return l;
  }
  std::vector<Node*> firsts_;
};
class PlainList : public PlainHash {
 public:
  explicit PlainList(std::size_t) : PlainHash(1) {}
};
class PlainTree {
 public:
  explicit PlainTree(std::size_t) {}
  bool contains(Key key) const { return keys_.contains(key); }
  bool insert(Key key) { return keys_.insert(key).second; }
  bool remove(Key key) { return keys_.erase(key) == 1; }
  template <class F>
  void for_each(F f) const {
    for (const Key key : keys_)
      f(key);
  }

 private:
  std::set<Key> keys_;
};

}  // namespace bench
