// The library's structures, as rlubench compares them.
#pragma once

#include "lockswap/rlu_citrus.hpp"
#include "lockswap/rlu_double_list.hpp"
#include "lockswap/rlu_hash.hpp"
#include "lockswap/rlu_list.hpp"
#include "lockswap/rlu_resizable_hash.hpp"
#include "rlu/set.h"

namespace bench {

template <class Structure>
class RluSet {
 public:
  explicit RluSet(std::size_t buckets) : set_(make(buckets)) {}

  static void attach() { lockswap_rlu_register(); }
  static void flush() { lockswap_rlu_flush_all(); }
  bool contains(Key key) { return set_->contains(key); }
  bool insert(Key key) { return set_->insert(key); }
  bool remove(Key key) { return set_->remove(key); }
  template <class F>
  void for_each(F f) {
    set_->for_each(f);
  }
  bool contains_from_end(Key key) requires requires(Structure& s, Key k) { s.contains_from_end(k); }
  { return set_->contains_from_end(key); }
  template <class F>
  void for_each_from_end(F f) requires requires(Structure& s) {
    s.for_each_from_end(f);
  }
  { set_->for_each_from_end(f); }
  void resize(std::size_t buckets) requires requires(Structure& s, std::size_t n) { s.resize(n); }
  { set_->resize(buckets); }

 private:
  static std::unique_ptr<Structure> make(std::size_t buckets) {
    if constexpr (std::constructible_from<Structure, std::size_t>) {
      return std::make_unique<Structure>(buckets);
    } else {
      return std::make_unique<Structure>();
    }
  }
  std::unique_ptr<Structure> set_;
};

using RluList = RluSet<lockswap::rlu::list<Key>>;
using RluHash = RluSet<lockswap::rlu::hash_set<Key>>;
using RluDoubleList = RluSet<lockswap::rlu::double_list<Key>>;
using RluResizable = RluSet<lockswap::rlu::resizable_hash_set<Key>>;
using RluCitrus = RluSet<lockswap::rlu::citrus<Key>>;

}  // namespace bench
