// An atomic and plain data of the virtual machine, which the exploration platform (platform.h)
// provides to locks.
//
// Operations have the place in the source that called them, so that a trace names it and a mutation
// finds it. An atomic registers in the machine's memory when it is first accessed in an execution,
// and its own bytes only have its number. So starting over costs nothing.
#pragma once

#include <cstdint>
#include <type_traits>

#include "multicore/explore/machine.h"
#include "multicore/explore/plain.h"

namespace lockswap::explore {

template <class T>
class ExploredAtomic {
  static_assert(std::is_unsigned_v<T>);

 public:
  using value_type = T;

  constexpr ExploredAtomic() noexcept = default;
  constexpr explicit ExploredAtomic(T v) noexcept : initial_(v) {}
  ExploredAtomic(const ExploredAtomic&) = delete;
  ExploredAtomic& operator=(const ExploredAtomic&) = delete;

  T load(Order o, Site s = Site::current()) const {
    return static_cast<T>(machine.load(location(), o, s));
  }
  bool is(T v, Site s = Site::current()) const { return load(std::memory_order_relaxed, s) == v; }
  void store(T v, Order o, Site s = Site::current()) { machine.store(location(), v, o, s); }
  T exchange(T v, Order o, Site s = Site::current()) {
    return update(
        Op::exchange, [v](T) { return v; }, o, s);
  }
  bool compare_exchange(T& expected, T desired, Order o, Site s = Site::current()) {
    std::uint64_t seen = expected;
    const bool done = machine.compare_exchange(location(), seen, desired, o, s);
    expected = static_cast<T>(seen);
    return done;
  }
  T fetch_add(T v, Order o, Site s = Site::current()) {
    return update(
        Op::fetch_add, [v](T old) { return static_cast<T>(old + v); }, o, s);
  }
  T fetch_sub(T v, Order o, Site s = Site::current()) {
    return update(
        Op::fetch_sub, [v](T old) { return static_cast<T>(old - v); }, o, s);
  }
  T fetch_or(T v, Order o, Site s = Site::current()) {
    return update(
        Op::fetch_or, [v](T old) { return old | v; }, o, s);
  }
  T fetch_and(T v, Order o, Site s = Site::current()) {
    return update(
        Op::fetch_and, [v](T old) { return old & v; }, o, s);
  }
  // No other thread exists that could interfere. The program orders this by whatever it does to
  // have one thread, or two again.
  T fetch_add_alone(T v, Site s = Site::current()) {
    machine.expect_one_thread(Op::fetch_add, s);
    return fetch_add(v, std::memory_order_relaxed, s);
  }
  bool compare_exchange_alone(T& expected, T desired, Site s = Site::current()) {
    machine.expect_one_thread(Op::compare_exchange, s);
    return compare_exchange(expected, desired, std::memory_order_relaxed, s);
  }

  int location() const {
    if (!is_enrolled()) {
      location_ = machine.enroll(this, static_cast<T>(machine.preset(this, initial_)));
      run_ = machine.run_number();
    }
    return location_;
  }

  bool is_enrolled() const { return run_ == machine.run_number(); }

 private:
  template <class F>
  T update(Op op, F f, Order o, const Site& s) {
    return static_cast<T>(machine.update(
        op, location(), [f](std::uint64_t old) { return f(static_cast<T>(old)); }, o, s));
  }

  T initial_{};
  mutable std::uint32_t run_ = 0;
  mutable int location_ = 0;
};

// Data without their own order, checked by the race detector.
template <class T>
class ExploredPlain {
 public:
  T get(Site s = Site::current()) const {
    if (machine.is_checking()) return value_;
    machine.touch(this, "read", s);
    races_.read(nullptr);
    return value_;
  }
  void set(T v, Site s = Site::current()) {
    machine.touch(this, "write", s);
    races_.write(nullptr);
    value_ = v;
  }

 private:
  T value_{};
  mutable Plain races_;
};

// A predicate on T as the machine takes it. The caller's `pred` must outlive it.
template <class T, class Pred>
Condition condition_on(const Pred& pred, int location) {
  return Condition{[](const void* p, std::uint64_t v) {
                     return static_cast<bool>((*static_cast<const Pred*>(p))(static_cast<T>(v)));
                   },
                   &pred, location};
}

}  // namespace lockswap::explore
