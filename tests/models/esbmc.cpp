// The shipped PF-T for ESBMC: a third platform, small enough for a bounded model checker.
//
// Each operation on an atom is one atomic step (sequential consistency is all that ESBMC has). A
// wait is an assumption: only executions in which it ends are followed, so this checks exclusion,
// not progress.
#include <pthread.h>

#include "locks/rw/pf-t.h"

namespace {

using lockswap::Deadline;
using lockswap::Order;

template <class T>
struct Atom {
  using value_type = T;
  T v{};

  T load(Order) const { return v; }
  void store(T n, Order) { v = n; }
  bool compare_exchange(T& expected, T desired, Order) {
    __ESBMC_atomic_begin();
    const bool same = v == expected;
    if (same)
      v = desired;
    else
      expected = v;
    __ESBMC_atomic_end();
    return same;
  }
  T fetch_add(T n, Order) {
    __ESBMC_atomic_begin();
    const T old = v;
    v = old + n;
    __ESBMC_atomic_end();
    return old;
  }
  T fetch_or(T n, Order) {
    __ESBMC_atomic_begin();
    const T old = v;
    v = old | n;
    __ESBMC_atomic_end();
    return old;
  }
};

struct Checked {
  template <class T>
  using atomic = Atom<T>;
  static unsigned spin_budget() { return 0; }
  static void relax() {}
};
struct Assumed {
  static constexpr bool kParks = true;
  template <class A, class Pred>
  static bool until(A& atom, Order order, typename A::value_type, std::uint32_t, const Deadline*,
                    Pred pred) {
    __ESBMC_assume(pred(atom.load(order)));
    return true;
  }
  template <class A>
  static void wake(const A*, std::uint32_t) {}
};

lockswap::PfT<Checked, Assumed> lock;
int readers, writers;

void* read(void*) {
  const std::uint32_t phase = lock.read_arrive();
  if (phase != 0) lock.read_wait(phase, nullptr);
  __ESBMC_atomic_begin();
  ++readers;
  __ESBMC_assert(writers == 0, "a reader beside a writer");
  __ESBMC_atomic_end();
  --readers;
  lock.read_unlock();
  return nullptr;
}
void* write(void*) {
  lock.write_lock([] {});
  __ESBMC_atomic_begin();
  ++writers;
  __ESBMC_assert(writers == 1 && readers == 0, "a writer beside another");
  __ESBMC_atomic_end();
  --writers;
  lock.write_unlock();
  return nullptr;
}

}  // namespace

int main() {
  pthread_t t[3];
  pthread_create(&t[0], nullptr, write, nullptr);
#if WRITERS == 2
  pthread_create(&t[1], nullptr, write, nullptr);
#else
  pthread_create(&t[1], nullptr, read, nullptr);
#endif
  pthread_create(&t[2], nullptr, read, nullptr);
  return 0;
}
