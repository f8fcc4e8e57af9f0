// An atomic of the modelled machine. It has a real one's size, so a lock's words share the same
// lines as in the library.
#pragma once

#include <cstdint>

#include "multicore/cost/machine.h"
#include "platform/atomic.h"

namespace lockswap::cost {

template <class T>
class ModelledAtomic {
 public:
  using value_type = T;

  constexpr ModelledAtomic() noexcept = default;
  constexpr explicit ModelledAtomic(T v) noexcept : value_(v) {}
  ModelledAtomic(const ModelledAtomic&) = delete;
  ModelledAtomic& operator=(const ModelledAtomic&) = delete;

  T load(Order) const {
    machine.access(this, Access::read);
    return value_;
  }
  bool is(T v) const { return load(relaxed) == v; }
  void store(T v, Order o) {
    machine.access(this, o == seq_cst ? Access::update : Access::write);
    value_ = v;
  }
  T exchange(T v, Order) {
    return update([v](T) { return v; });
  }
  bool compare_exchange(T& expected, T desired, Order) {
    machine.access(this, Access::update);
    const bool same = value_ == expected;
    expected = value_;
    if (same) value_ = desired;
    return same;
  }
  T fetch_add(T v, Order) {
    return update([v](T old) { return static_cast<T>(old + v); });
  }
  T fetch_sub(T v, Order) {
    return update([v](T old) { return static_cast<T>(old - v); });
  }
  T fetch_or(T v, Order) {
    return update([v](T old) { return static_cast<T>(old | v); });
  }
  T fetch_and(T v, Order) {
    return update([v](T old) { return static_cast<T>(old & v); });
  }
  // Without the prefix that makes an update expensive.
  T fetch_add_alone(T v) {
    machine.access(this, Access::write);
    const T old = value_;
    value_ = static_cast<T>(old + v);
    return old;
  }
  bool compare_exchange_alone(T& expected, T desired) {
    return compare_exchange(expected, desired, relaxed);
  }

  // Not a step. For what is no access of the lock's.
  T peek() const { return value_; }

 private:
  template <class F>
  T update(F f) {
    machine.access(this, Access::update);
    const T old = value_;
    value_ = f(old);
    return old;
  }

  T value_{};
};

// Data that one thread writes and others read.
template <class T>
class ModelledPlain {
 public:
  T get() const {
    machine.access(this, Access::read);
    return value_;
  }
  void set(T v) {
    machine.access(this, Access::write);
    value_ = v;
  }

 private:
  T value_{};
};

}  // namespace lockswap::cost
