/** @file
 * Read-Log-Update: sections that begin and end without a call.
 *
 *     lockswap_rlu_enter();                      lockswap_rlu_reader_lock()
 *     ... lockswap_rlu_leave();                  lockswap_rlu_reader_unlock()
 *
 * They do the same as the functions on the right, and can be mixed with them. An outermost section
 * that locks nothing makes no call. The library handles everything else: a thread's first section,
 * a nested one, a commit, the first section in a forked child. rlu.hpp uses these functions.
 *
 * What they share with the library has names that end in _1, and the size, offsets and meaning of
 * those members never change. A future library that changes them will use other names, and also
 * define these. Then threads find no context here and call the functions. A program needs a library
 * that is at least as new as the header that it was compiled with.
 *
 * Order: the Dekker pair of rlu/clock_rows.h. A committing thread moves the clock, has all
 * processors run a fence, and checks the words. */
#ifndef LOCKSWAP_RLU_INLINE_H
#define LOCKSWAP_RLU_INLINE_H

/* The explorer compiles this for its own platform (structures/tests/explore/rlu_inline.h). */
#ifndef LOCKSWAP_RLU_EXPLORED
#include "lockswap/rlu.h"

/* NOLINTBEGIN(modernize-use-nullptr): C reads this, too. */
#ifdef __cplusplus
extern "C" {
#endif

/** @cond private */
/* A thread's data for Read-Log-Update. Other threads read `word`. */
struct lockswap_rlu_context_1 {
  uint64_t word; /* 0: in no section; else 1 plus a time that is not later than `clock` */
  uint64_t others[7];
  uint64_t clock; /* the time that the section uses */
  /* The nesting depth, and in the upper half what must be done at the end. One word here, because
   * a load would be delayed by a recent store to one half. */
  uint64_t state;
};
/* The calling thread's. Without a context, `mark` is never the process's mark. */
struct lockswap_rlu_here_1 {
  struct lockswap_rlu_context_1* context;
  uint64_t mark;
};
__attribute__((
    visibility("default"))) extern __thread struct lockswap_rlu_here_1 lockswap_rlu_here_1;
/* The clock and the process's mark, 64 bits each, and 32 bits that are 0 while sections need no
 * fence, because commits have all processors run one (membarrier(2)). */
struct lockswap_rlu_process_1 {
  const void* clock;
  const void* mark;
  const void* fence;
};
__attribute__((
    visibility("default"))) extern const struct lockswap_rlu_process_1 lockswap_rlu_process_1;

#define LOCKSWAP_RLU_HERE (&lockswap_rlu_here_1)
#define LOCKSWAP_RLU_CONTEXT struct lockswap_rlu_context_1
#define LOCKSWAP_RLU_STATE(context) ((context)->state)
#define LOCKSWAP_RLU_SET_STATE(context, value) ((context)->state = (value))
#define LOCKSWAP_RLU_NOW(order) \
  __atomic_load_n((const uint64_t*)lockswap_rlu_process_1.clock, __ATOMIC_##order)
#define LOCKSWAP_RLU_MARK() \
  __atomic_load_n((const uint64_t*)lockswap_rlu_process_1.mark, __ATOMIC_RELAXED)
#define LOCKSWAP_RLU_SET_WORD(context, value) \
  __atomic_store_n(&(context)->word, (value), __ATOMIC_RELEASE)
/* Called by a thread that is about to read; see src/rlu/section_fence.h. */
void lockswap_rlu_fence(void);
static inline void lockswap_rlu_light_fence(void) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  /* acquire: pairs with the commit since which they need none. */
  if (__builtin_expect(
          __atomic_load_n((const uint32_t*)lockswap_rlu_process_1.fence, __ATOMIC_ACQUIRE) != 0,
          0)) {
    lockswap_rlu_fence();
  }
}
#define LOCKSWAP_RLU_LIGHT_FENCE() lockswap_rlu_light_fence()
/** @endcond */
#endif

/** lockswap_rlu_reader_lock(), without a call in most cases. */
static inline void lockswap_rlu_enter(void) {
  LOCKSWAP_RLU_CONTEXT* const me = LOCKSWAP_RLU_HERE->context;
  /* The mark first: it differs if there is no context. */
  if (__builtin_expect(
          LOCKSWAP_RLU_HERE->mark != LOCKSWAP_RLU_MARK() || LOCKSWAP_RLU_STATE(me) != 0, 0)) {
    (lockswap_rlu_reader_lock)();
    return;
  }
  LOCKSWAP_RLU_SET_STATE(me, 1);
  /* relaxed: an older time only makes a commit wait longer. */
  const uint64_t before = LOCKSWAP_RLU_NOW(RELAXED);
  /* release, both: a commit that waits for the end of the previous section may find this word. */
  LOCKSWAP_RLU_SET_WORD(me, before + 1);
  LOCKSWAP_RLU_LIGHT_FENCE();
  /* acquire: pairs with the store that moved the clock. */
  const uint64_t now = LOCKSWAP_RLU_NOW(ACQUIRE);
  me->clock = now;
  if (__builtin_expect(now != before, 0)) LOCKSWAP_RLU_SET_WORD(me, now + 1);
}

/** lockswap_rlu_reader_unlock(), without a call in most cases. */
static inline void lockswap_rlu_leave(void) {
  LOCKSWAP_RLU_CONTEXT* const me = LOCKSWAP_RLU_HERE->context;
  /* Without a context here, the functions belong to another version of the library. */
  if (__builtin_expect(me == NULL || LOCKSWAP_RLU_STATE(me) != 1, 0)) {
    (lockswap_rlu_reader_unlock)();
    return;
  }
  LOCKSWAP_RLU_SET_STATE(me, 0);
  LOCKSWAP_RLU_SET_WORD(me, 0); /* release: the reads of the section; pairs with the wait for it */
}

/** lockswap_rlu_depth(), without a call in most cases. */
static inline unsigned lockswap_rlu_nested(void) {
  const LOCKSWAP_RLU_CONTEXT* const me = LOCKSWAP_RLU_HERE->context;
  return __builtin_expect(me != NULL, 1) ? (unsigned)LOCKSWAP_RLU_STATE(me) : lockswap_rlu_depth();
}

#ifndef LOCKSWAP_RLU_EXPLORED
#undef LOCKSWAP_RLU_HERE
#undef LOCKSWAP_RLU_CONTEXT
#undef LOCKSWAP_RLU_STATE
#undef LOCKSWAP_RLU_SET_STATE
#undef LOCKSWAP_RLU_NOW
#undef LOCKSWAP_RLU_MARK
#undef LOCKSWAP_RLU_SET_WORD
#undef LOCKSWAP_RLU_LIGHT_FENCE
/** @cond private */
#if defined(LOCKSWAP_RLU_CHECKS)
#define lockswap_rlu_enter() (LOCKSWAP_RLU_CHECK(BEGIN, NULL), (lockswap_rlu_enter)())
#define lockswap_rlu_leave() (LOCKSWAP_RLU_CHECK(UNLOCK, NULL), (lockswap_rlu_leave)())
#endif
/** @endcond */
#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-use-nullptr) */
#endif
#endif
