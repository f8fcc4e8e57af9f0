// liburcu's own hash table, without locks: cds_lfht.
#pragma once

#include <bit>
#include <new>
#include <urcu/rculfhash.h>  // after a flavour

#include "rlu/rcu.h"
#include "rlu/set.h"

namespace bench {

template <class F>
class RcuLfHash {
 public:
  explicit RcuLfHash(std::size_t buckets)
      : table_(cds_lfht_new_flavor(std::bit_ceil(buckets), 1, 0, 0, &F::flavour(), nullptr)) {
    if (table_ == nullptr) throw std::bad_alloc();
  }
  ~RcuLfHash() {
    F::attach();
    F::read_lock();
    cds_lfht_iter i;
    cds_lfht_first(table_, &i);
    while (cds_lfht_node* const n = cds_lfht_iter_get_node(&i)) {
      cds_lfht_del(table_, n);
      F::call(&of(n)->head, [](rcu_head* head) { free_node(head); });
      cds_lfht_next(table_, &i);
    }
    F::read_unlock();
    F::barrier();
    cds_lfht_destroy(table_, nullptr);
  }
  RcuLfHash(const RcuLfHash&) = delete;
  RcuLfHash& operator=(const RcuLfHash&) = delete;

  static void attach() { F::attach(); }
  static void flush() { F::barrier(); }

  bool contains(Key key) {
    const RcuReading<F> here;
    return look_up(key) != nullptr;
  }
  bool insert(Key key) {
    const RcuReading<F> here;
    if (look_up(key) != nullptr) return false;
    auto* const fresh = new Node{{}, key, {}};
    cds_lfht_node_init(&fresh->node);
    if (cds_lfht_add_unique(table_, hash_of(key), is_key, &key, &fresh->node) == &fresh->node)
      return true;
    delete fresh;
    return false;
  }
  bool remove(Key key) {
    const RcuReading<F> here;
    cds_lfht_node* const n = look_up(key);
    if (n == nullptr || cds_lfht_del(table_, n) != 0) return false;
    F::call(&of(n)->head, [](rcu_head* head) { free_node(head); });
    return true;
  }
  void resize(std::size_t buckets) { cds_lfht_resize(table_, buckets); }
  template <class Function>
  void for_each(Function f) {
    const RcuReading<F> here;
    cds_lfht_iter i;
    cds_lfht_first(table_, &i);
    while (cds_lfht_node* const n = cds_lfht_iter_get_node(&i)) {
      f(of(n)->key);
      cds_lfht_next(table_, &i);
    }
  }

 private:
  struct Node {
    cds_lfht_node node;
    Key key;
    rcu_head head;
  };
  static Node* of(cds_lfht_node* n) noexcept { return reinterpret_cast<Node*>(n); }
  static int is_key(cds_lfht_node* n, const void* key) noexcept {
    return of(n)->key == *static_cast<const Key*>(key) ? 1 : 0;
  }
  static void free_node(rcu_head* head) noexcept {
    delete reinterpret_cast<Node*>(reinterpret_cast<char*>(head) - offsetof(Node, head));
  }
  cds_lfht_node* look_up(Key key) {
    cds_lfht_iter i;
    cds_lfht_lookup(table_, hash_of(key), is_key, &key, &i);
    return cds_lfht_iter_get_node(&i);
  }

  cds_lfht* table_;
};

}  // namespace bench
