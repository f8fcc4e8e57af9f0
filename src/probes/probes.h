// Static probes (USDT) of provider `lockswap`: places at which a tracer such as bpftrace, perf or
// gdb can attach, with the names and arguments of glibc's own probes. They are listed in
// docs/production.md.
//
// Header: sys/sdt.h, from Debian's systemtap-sdt-dev. If it is missing at build time there are no
//   probes, and the functions here are empty.
// Cost without a tracer: one no-op instruction for `acquired`, and none at an entry. The note of an
//   entry refers to an instruction that exists anyway, the first one of an exported function.
//   `acquired` can't do that, because other paths of the function may lead to the instruction that
//   follows. Slow stages have their own probes (slow_probes.h).
#pragma once

#include <ctime>
#include <pthread.h>

#if __has_include(<sys/sdt.h>) && !defined(LOCKSWAP_WITHOUT_PROBES)
#include <sys/sdt.h>
#define LOCKSWAP_HAS_PROBES 1
// gcc counts the forty lines of a note as code, and would inline less around it. The header's
// macros are expanded below, so this applies to their `__asm__ __volatile__`.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
#define __volatile__ __volatile__ inline
#define LOCKSWAP_PROBE1(name, a) STAP_PROBE1(lockswap, name, a)
#define LOCKSWAP_PROBE2(name, a, b) STAP_PROBE2(lockswap, name, a, b)
#define LOCKSWAP_PROBE3(name, a, b, c) STAP_PROBE3(lockswap, name, a, b, c)
#else
#define LOCKSWAP_HAS_PROBES 0
#define LOCKSWAP_PROBE1(name, a) static_cast<void>(a)
#define LOCKSWAP_PROBE2(name, a, b) static_cast<void>(a), static_cast<void>(b)
#define LOCKSWAP_PROBE3(name, a, b, c) \
  static_cast<void>(a), static_cast<void>(b), static_cast<void>(c)
#endif

namespace lockswap::probes {

// --- for objects that lockswap runs; those that stay glibc's have none of these

// For fast stages.

[[gnu::always_inline]] inline void mutex_acquired(const pthread_mutex_t* m) noexcept {
  LOCKSWAP_PROBE1(mutex_acquired, m);
}
[[gnu::always_inline]] inline void rdlock_acquire_read(const pthread_rwlock_t* l) noexcept {
  LOCKSWAP_PROBE1(rdlock_acquire_read, l);
}
[[gnu::always_inline]] inline void wrlock_acquire_write(const pthread_rwlock_t* l) noexcept {
  LOCKSWAP_PROBE1(wrlock_acquire_write, l);
}

// For everything else: one place for all locks. A tracer can attach to some hundred places at most,
// and each use of the functions above is one in each lock. These return `error`, and fire if it is
// 0.
int mutex_acquired(const pthread_mutex_t* m, int error) noexcept;
int mutex_timedlock_acquired(const pthread_mutex_t* m, int error) noexcept;
int rdlock_acquire_read(const pthread_rwlock_t* l, int error) noexcept;
int wrlock_acquire_write(const pthread_rwlock_t* l, int error) noexcept;

// --- entries. They come first in the functions that programs call, whatever the lock.

#if LOCKSWAP_HAS_PROBES
#undef _SDT_NOP
#define _SDT_NOP  // NOLINT(bugprone-reserved-identifier): the header's, for "no instruction here"
#endif

[[gnu::always_inline]] inline void mutex_init(const pthread_mutex_t* m) noexcept {
  LOCKSWAP_PROBE1(mutex_init, m);
}
[[gnu::always_inline]] inline void mutex_destroy(const pthread_mutex_t* m) noexcept {
  LOCKSWAP_PROBE1(mutex_destroy, m);
}
[[gnu::always_inline]] inline void mutex_entry(const pthread_mutex_t* m) noexcept {
  LOCKSWAP_PROBE1(mutex_entry, m);
}
[[gnu::always_inline]] inline void mutex_timedlock_entry(const pthread_mutex_t* m,
                                                         const timespec* at) noexcept {
  LOCKSWAP_PROBE2(mutex_timedlock_entry, m, at);
}
[[gnu::always_inline]] inline void mutex_clocklock_entry(const pthread_mutex_t* m, clockid_t clock,
                                                         const timespec* at) noexcept {
  LOCKSWAP_PROBE3(mutex_clocklock_entry, m, clock, at);
}
[[gnu::always_inline]] inline void mutex_release(const pthread_mutex_t* m) noexcept {
  LOCKSWAP_PROBE1(mutex_release, m);
}
[[gnu::always_inline]] inline void rwlock_destroy(const pthread_rwlock_t* l) noexcept {
  LOCKSWAP_PROBE1(rwlock_destroy, l);
}
[[gnu::always_inline]] inline void rdlock_entry(const pthread_rwlock_t* l) noexcept {
  LOCKSWAP_PROBE1(rdlock_entry, l);
}
[[gnu::always_inline]] inline void wrlock_entry(const pthread_rwlock_t* l) noexcept {
  LOCKSWAP_PROBE1(wrlock_entry, l);
}
[[gnu::always_inline]] inline void rwlock_unlock(const pthread_rwlock_t* l) noexcept {
  LOCKSWAP_PROBE1(rwlock_unlock, l);
}
[[gnu::always_inline]] inline void cond_init(const pthread_cond_t* c,
                                             const pthread_condattr_t* a) noexcept {
  LOCKSWAP_PROBE2(cond_init, c, a);
}
[[gnu::always_inline]] inline void cond_destroy(const pthread_cond_t* c) noexcept {
  LOCKSWAP_PROBE1(cond_destroy, c);
}
[[gnu::always_inline]] inline void cond_wait(const pthread_cond_t* c,
                                             const pthread_mutex_t* m) noexcept {
  LOCKSWAP_PROBE2(cond_wait, c, m);
}
[[gnu::always_inline]] inline void cond_signal(const pthread_cond_t* c) noexcept {
  LOCKSWAP_PROBE1(cond_signal, c);
}
[[gnu::always_inline]] inline void cond_broadcast(const pthread_cond_t* c) noexcept {
  LOCKSWAP_PROBE1(cond_broadcast, c);
}

}  // namespace lockswap::probes

#if LOCKSWAP_HAS_PROBES
#undef __volatile__
#undef _SDT_NOP
#define _SDT_NOP nop  // NOLINT(bugprone-reserved-identifier): as it was
#endif
