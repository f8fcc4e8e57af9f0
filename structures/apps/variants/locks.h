// The locks of src/variants/list.def, compiled in.
#pragma once

#include <cstdint>
#include <pthread.h>
#include <string>
#include <vector>

#include "common/lock.h"
#include "common/report.h"

namespace variants_bench {

struct Calls {
  int (*rdlock)(pthread_rwlock_t*);
  int (*wrlock)(pthread_rwlock_t*);
  int (*unlock)(pthread_rwlock_t*);
};

// Names for --lock: "pthread", which is whatever lock the process has, and those of the list.
std::vector<std::string> names();

// Makes that lock ready, with a readers table of so many slots. Null functions: no memory. Called
// once, before threads run.
Calls prepare(const std::string& name, std::uint32_t slots);

// The lock that was prepared, as the benchmarks take one.
struct Variant {
  using Seat = bench::NoSeat;
  static inline Calls calls{};
  pthread_rwlock_t own = PTHREAD_RWLOCK_INITIALIZER;

  void lock(Seat&) { bench::must(calls.wrlock(&own), "wrlock"); }
  void unlock(Seat&) { bench::must(calls.unlock(&own), "unlock"); }
  void lock_shared(Seat&) { lock_shared(); }
  void unlock_shared(Seat&) { unlock_shared(); }
  void lock_shared() { bench::must(calls.rdlock(&own), "rdlock"); }
  void unlock_shared() { bench::must(calls.unlock(&own), "unlock"); }
};

}  // namespace variants_bench
