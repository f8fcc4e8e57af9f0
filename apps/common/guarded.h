// A reader-writer lock and data that it protects, on one cache line: what a benchmark takes, and
// the proof that taking it kept others out.
#pragma once

#include <cstdint>
#include <pthread.h>

#include "common/report.h"
#include "common/witness.h"

namespace bench {

inline void lock_read(pthread_rwlock_t& l) {
  must(pthread_rwlock_rdlock(&l), "pthread_rwlock_rdlock");
}
inline void lock_write(pthread_rwlock_t& l) {
  must(pthread_rwlock_wrlock(&l), "pthread_rwlock_wrlock");
}
inline void unlock(pthread_rwlock_t& l) {
  must(pthread_rwlock_unlock(&l), "pthread_rwlock_unlock");
}

// The line is 64 bytes; 128 keep the neighbour, which processors fetch along, free of others.
struct alignas(128) Guarded : Witness<std::uint32_t> {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
};
static_assert(sizeof(pthread_rwlock_t) + 8 <= 64);

}  // namespace bench
