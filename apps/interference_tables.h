// The library's bravo-ba, compiled into a benchmark, with a readers table of our choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <vector>

#include "common/report.h"

namespace bench {

struct Calls {
  int (*rdlock)(pthread_rwlock_t*);
  int (*unlock)(pthread_rwlock_t*);
};

// A lock as the benchmark's pool has it. In all variants alike: `table` is looked at only by the
// compiled-in lock.
struct alignas(128) PooledLock {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  alignas(8) std::byte table[16] = {};  // a lockswap::ReadersTable

  static inline Calls calls{pthread_rwlock_rdlock, pthread_rwlock_unlock};  // before threads run
  void lock_shared() { must(calls.rdlock(&lock), "rdlock"); }
  void unlock_shared() { must(calls.unlock(&lock), "unlock"); }
};

// Gives each lock of the pool a table of `slots` slots: one for all, or one each. The memory stays
// until the process ends. Null functions: no memory. Before threads run.
Calls compiled_in_bravo(std::vector<PooledLock>& pool, std::uint32_t slots, bool private_tables);

}  // namespace bench
