/** @file
 * Read-Log-Update: readers that never wait and never write to shared memory, beside writers that
 * change several objects at once.
 *
 * Paper: A. Matveev, N. Shavit, P. Felber, P. Marlier, "Read-Log-Update: A Lightweight
 * Synchronization Mechanism for Concurrent Programming" (SOSP 2015); sections are given below.
 * structures/docs/rlu.md has a tutorial, and what is different here.
 *
 * An object is memory of lockswap_rlu_alloc(). A thread reads objects in a section, between
 * lockswap_rlu_reader_lock() and lockswap_rlu_reader_unlock(). A section sees all objects as they
 * were when it began: of what another section changes it sees everything or nothing. A thread that
 * changes an object locks it, and gets a copy that it changes instead. What a section has changed
 * takes effect when the section ends (it is committed), for all of its objects at once.
 *
 *   for (;;) {                                        to take the node after `first` out of a list
 *     lockswap_rlu_reader_lock();
 *     struct node* prev = lockswap_rlu_dereference(first);
 *     struct node* gone = lockswap_rlu_dereference(prev->next);
 *     if ((prev = lockswap_rlu_try_lock(prev)) != NULL &&
 *         (gone = lockswap_rlu_try_lock_const(gone)) != NULL) {
 *       prev->next = lockswap_rlu_actual(gone->next);
 *       lockswap_rlu_free(gone);
 *       lockswap_rlu_reader_unlock();
 *       break;
 *     }
 *     lockswap_rlu_abort();                           another thread was there first
 *   }
 *
 * Two flavours (section 3.8), which do not mix on one object:
 *   fine-grained: as above; writers meet at the objects that they lock, and one of two that want
 *     the same object starts again. Commits may be deferred (lockswap_rlu_set_deferral).
 *   coarse-grained: a writer acquires a writer lock before its section. Nothing is ever aborted,
 *     and each commit has taken effect when the section ends.
 *
 * Rules. Pointers from dereference and try_lock are good until the section ends. A pointer that is
 * stored in an object must be that of an object, not of a copy: pass it through
 * lockswap_rlu_actual(). Objects are compared with lockswap_rlu_same(), for the same reason.
 * Objects are copied byte by byte. A section must not wait for anything that a thread does which
 * may be ending a section of its own, flushing or synchronizing: that thread waits for this
 * section.
 *
 * Nested sections: a section inside another one is a part of the outermost. Only the end of that
 * one commits. An abort would end it under those around it, who still read, so it is refused in a
 * nested section: say to the caller that the change failed, and have the outermost one abort.
 *
 * Threads need not be registered: a thread is when it first calls one of these functions. There may
 * be any number of them. If a thread exits in a section, the section is aborted. What a thread has
 * deferred is flushed when it exits. Thread-safe: all functions may be called by any number of
 * threads at once, if nothing else is said; none of them in a signal handler.
 *
 * Fork. The child's thread keeps its section, with the objects that it has locked. Of the other
 * threads, what they had committed takes effect in the child, if it had not yet; what they had not
 * committed is gone; their locks are released. The child does that by itself when its thread next
 * begins a section (or flushes, or synchronizes) while it is in none. A thread that has a section
 * open when it forks sees what it saw before until it ends the section. If that section has locked
 * nothing yet, a lock in it may fail, under a writer lock, too.
 *
 * dlclose: the library stays loaded (-z nodelete), so a thread may go on after it.
 *
 * lockswap/rlu_inline.h has sections that are entered and left without a call.
 *
 * Link with -llockswap_structures (pkg-config and CMake package lockswap-structures). It works
 * alike with and without a preloaded liblockswap.so. Under ThreadSanitizer or AddressSanitizer link
 * with -llockswap_structures-checked (pkg-config lockswap-structures-checked), which says to them
 * how it orders threads, and which copies a program may still look at.
 *
 * Errors of use. Compiled with LOCKSWAP_RLU_CHECKS defined, a program is stopped by abort() with a
 * line on stderr that has file and line of the call, at: a dereference, a lock, an abort or an
 * unlock outside of a section; an abort, or a change that needs a section of its own (rlu.hpp), in
 * a nested section; a try for a lock that fails, or an abort, while the thread has a
 * writer lock; a writer lock that the thread has already, or that is acquired or released inside of
 * a section; the release of a writer lock that the thread does not have; the free of an object that
 * another thread has locked, that the section has not locked, or that is freed already; a lock or a
 * dereference of a freed one; the end of a section that stores the address of a copy in an object,
 * that has read an object which was written without a lock, or that writes, reading and locking
 * nothing, into an object which its thread has made; the discard of an object that is locked; a
 * wait for readers inside of a section (synchronize, flush, barrier). Without it these are
 * undefined but where a function says otherwise. With it, or with LOCKSWAP_RLU_COUNTS, dereferences
 * are counted. */
#ifndef LOCKSWAP_RLU_H
#define LOCKSWAP_RLU_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lockswap/sanitizers.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef LOCKSWAP_TSAN
/** @cond private */
/* Only the checked library tells ThreadSanitizer how it orders threads. With the other one a
 * program would get reports of what is no error, so it does not link. */
extern const char lockswap_structures_checked_is_needed_under_ThreadSanitizer;
__attribute__((unused, used)) static const char* const lockswap_structures_checked =
    &lockswap_structures_checked_is_needed_under_ThreadSanitizer;
/** @endcond */
#endif

/* --- Objects (section 3.4) */

/* What lies before each object. It is here for the inline functions below. `copy` is 0 (the object
 * is not locked), 1 (this is a copy), or the address of the copy; with bit 1 set, that of a record
 * (locked, but not copied). */
/** @cond private */
struct lockswap_rlu_header {
  uint64_t copy;
  uint64_t size; /* in the lower 48 bits; the number of the function that frees it in the others */
};
#define LOCKSWAP_RLU_HEADER(object) ((struct lockswap_rlu_header*)(void*)(object)-1)
/** @endcond */

/** Makes an object of memory from any allocator, at a multiple of 16: a header, and `size` bytes
 * behind it, all 0. Returns the object. `give` is called with the memory when this object is freed,
 * by whichever thread; each object may have another one. NULL: the memory stays the program's, as
 * for an object that is a part of something larger. The library itself allocates no object and
 * calls no malloc. Returns NULL if the process has given 4,096 different functions already, or if
 * the size has more than 48 bits. */
void* lockswap_rlu_made(void* memory, size_t size, void (*give)(void*));
/** A new object of that size, with all bytes 0, at a multiple of 16; no other thread knows it yet.
 * NULL: no memory. By calloc and free of the program. In or outside of a section. */
static inline void* lockswap_rlu_alloc(size_t size) {
  const size_t head = sizeof(struct lockswap_rlu_header);
  void* memory = size > SIZE_MAX - head ? NULL : calloc(1, head + size);
  void* object = memory == NULL ? NULL : lockswap_rlu_made(memory, size, free);
  if (object == NULL) free(memory);
  return object;
}
/** Frees an object when nobody can read it any more. In a section: if the section is committed, and
 * when that has taken effect; the object must be locked by this section, in either way, or be kept
 * from others by a writer lock; and what is committed must leave no way to it. Outside of a
 * section: the same as in a section of its own. NULL is ignored. EBUSY: another thread has locked
 * it, so abort. ENOMEM: no memory to note it in; nothing is freed, so abort. Cost: a note in the
 * write-log. */
int lockswap_rlu_free(void* object);
/** Frees an object at once that no other thread has ever seen: one that was allocated for a section
 * which was aborted. NULL is ignored. */
void lockswap_rlu_discard(void* object);

/* --- Sections (sections 3.3 to 3.5) */

/** Makes the thread known, as the first section would. 0, or ENOMEM. A section that is begun
 * without it waits until there is memory. */
int lockswap_rlu_register(void);
/** Begins a section. Never waits for a thread. Cost: two stores to memory of the thread's own and
 * two loads of the clock, no update, and a fence while commits are frequent. */
void lockswap_rlu_reader_lock(void);
/** Ends it. One that has locked nothing never waits. Else the outermost one's end commits:
 * it waits until all sections that began before have ended, and then writes the copies back; or, if
 * commits are deferred, that happens later (see lockswap_rlu_set_deferral). EPERM: there is no
 * section to end, and nothing has happened. */
int lockswap_rlu_reader_unlock(void);
/** Ends the section, and undoes what it has done: objects that it locked are free again, copies and
 * frees are forgotten. If a try for a lock failed, waits until the thread that had the object is
 * through with it, and writes back what that thread has deferred if it does not do so itself
 * (section 3.7). 0: try again. ENOMEM: what failed was for want of memory. EDEADLK: in a nested
 * section, which goes on: the outermost one must abort. EPERM: outside of a section. */
int lockswap_rlu_abort(void);
/** How many sections are nested here; 0: none. */
unsigned lockswap_rlu_depth(void);

/** @cond private */
void* lockswap_rlu_steal(const void* object);
void* lockswap_rlu_counted_dereference(const void* object);
/** @endcond */
/** The version of the object that this section sees: the object itself, or a copy of it. NULL gives
 * NULL. Of a copy, the copy. Cost: a load, and a call if the object is locked. */
static inline void* lockswap_rlu_dereference(const void* object) {
#if defined(LOCKSWAP_RLU_CHECKS) || defined(LOCKSWAP_RLU_COUNTS)
  return lockswap_rlu_counted_dereference(object);
#else
  /* acquire: what was written back before the object was unlocked, or the copy before it became
   * one. */
  if (object == NULL ||
      __atomic_load_n(&LOCKSWAP_RLU_HEADER(object)->copy, __ATOMIC_ACQUIRE) == 0) {
    return (void*)object;
  }
  return lockswap_rlu_steal(object);
#endif
}

/** Locks an object, which may be given as the object or as what dereference made of it, and gives
 * the copy that the section may change. The same copy again if the section has it already. The
 * object is as this section sees it, and stays so: nothing has to be validated. NULL: another
 * thread has it, there is no memory for the copy, or there is no section; call lockswap_rlu_abort()
 * and begin again. Never waits. An object that is locked by what this thread has deferred counts as
 * free. Cost: an update of the object's header, and the copy. */
void* lockswap_rlu_try_lock(void* object);
/** The same for an object that is read and must not change until this section has taken effect, as
 * the node that is taken out of a list. Nothing is copied or written back. Gives the object as the
 * section sees it. lockswap_rlu_try_lock() may follow. */
void* lockswap_rlu_try_lock_const(void* object);

/** @cond private */
void* lockswap_rlu_actual_of_copy(const void* copy);
/** @endcond */
/** The object itself, of which this may be a copy: what is stored in other objects. NULL gives
 * NULL. (The paper's assign: `copy->next = lockswap_rlu_actual(node)`.) */
static inline void* lockswap_rlu_actual(const void* object) {
  if (object == NULL ||
      __atomic_load_n(&LOCKSWAP_RLU_HEADER(object)->copy, __ATOMIC_RELAXED) != 1) {
    return (void*)object;
  }
  return lockswap_rlu_actual_of_copy(object);
}
/** Whether both are the same object, copies or not. */
static inline int lockswap_rlu_same(const void* a, const void* b) {
  return lockswap_rlu_actual(a) == lockswap_rlu_actual(b);
}

/* --- Deferral (section 3.7) */

/** A domain says how far its commits may be deferred, so that structures in one process need not
 * agree on that. A section belongs to the domains that it joins, and to the default one if it joins
 * none. All zeroes is a domain whose commits are not deferred; there is nothing to destroy. */
typedef struct lockswap_rlu_domain {
  uint32_t opaque[4]; /**< Private. */
} lockswap_rlu_domain;
/* clang-format off */
/** A domain whose commits are not deferred, for a static one. */
#define LOCKSWAP_RLU_DOMAIN_INITIALIZER {{0}}
/* clang-format on */
/** The same as lockswap_rlu_set_deferral(), for the domain's commits alone. EINVAL: 0. */
int lockswap_rlu_domain_set_deferral(lockswap_rlu_domain* domain, unsigned commits);
/** The outermost section here belongs to this domain, too; NULL: to the default one. What it
 * commits is deferred only as far as all of its domains allow. EPERM: outside of a section. */
int lockswap_rlu_join(const lockswap_rlu_domain* domain);
/** How many commits a thread may collect before it makes them take effect, all at once; 1: none is
 * deferred (the default). For the sections of all threads that join no domain, from their next
 * commits on; so it is for a program, and a library has a domain of its own. The objects stay
 * locked meanwhile. The thread that did it sees what it has deferred; others see it later, at once
 * and in full. So another thread need not see it when the section has ended. It takes effect sooner
 * if another thread wants an object of it. EINVAL: 0. */
int lockswap_rlu_set_deferral(unsigned commits);
/** Makes what this thread has deferred take effect. Waits as a commit does. EDEADLK: in a section.
 * */
int lockswap_rlu_flush(void);
/** The same for what any thread has deferred whose section has ended before this call; waits for
 * threads that are in a section and have locked something. EDEADLK: in a section. */
int lockswap_rlu_flush_all(void);

/* --- Writer locks (section 3.8, coarse-grained) */

/** A mutex, fair, not recursive. While a thread has one, its sections take effect when they end,
 * whatever the deferral. Several may be held, acquired in an order that the program keeps to. All
 * zeroes is a free one; there is nothing to destroy. */
typedef struct lockswap_rlu_writer_lock {
  uint64_t opaque[2]; /**< Private. */
} lockswap_rlu_writer_lock;
/** A free writer lock, for a static one. */
/* clang-format off */
#define LOCKSWAP_RLU_WRITER_LOCK_INITIALIZER {{0}}
/* clang-format on */
/** Waits until it is free. What the thread has deferred takes effect before. EDEADLK: in a section
 * (another writer may be waiting for its end), or this thread has it. */
int lockswap_rlu_writer_acquire(lockswap_rlu_writer_lock* lock);
/** EPERM: this thread does not have it. EDEADLK: in a section. */
int lockswap_rlu_writer_release(lockswap_rlu_writer_lock* lock);

/* --- Grace periods */

/** Waits until all sections have ended that had begun before this call. Makes nothing take effect.
 * EDEADLK: in a section. Cost: a fence on all processors that run the process, a look at each
 * thread. */
int lockswap_rlu_synchronize(void);
/** A callback, as a member of what it is for. */
typedef struct lockswap_rlu_callback {
  struct lockswap_rlu_callback* next;              /**< Private. */
  void (*function)(struct lockswap_rlu_callback*); /**< Private. */
} lockswap_rlu_callback;
/** function(callback) will be called once, when all sections have ended that had begun before this
 * call: by a thread that is in no section, at the end of one of its sections, of a flush, a
 * synchronize or a barrier. What is deferred has not taken effect yet: flush first, if the callback
 * frees what the commit took out. It may call all of these functions. In or outside of a section;
 * never waits in one. Outside, or at the end of this thread's section, the thread waits for readers
 * itself when many callbacks have come together. */
void lockswap_rlu_call(lockswap_rlu_callback* callback, void (*function)(lockswap_rlu_callback*));
/** Waits until all callbacks have run that were given before this call. EDEADLK: in a section, or
 * in a callback. */
int lockswap_rlu_barrier(void);

/* --- Counts */

/** As in the paper's figure 8, of all threads of this process, each number read without the others.
 *
 *   sync ratio           syncs / commits
 *   read copy ratio      steals / reads
 *   sync request ratio   sync_requests / locks
 *   write-back quiescence  wait_loops / synchronizes */
typedef struct lockswap_rlu_counts {
  uint64_t threads;      /**< that there were at the same time, at most */
  uint64_t commits;      /**< sections that had locked or freed something, and were not aborted */
  uint64_t aborts;       /**< sections that were */
  uint64_t syncs;        /**< how often commits took effect, one or several at once */
  uint64_t helps;        /**< of those, by another thread */
  uint64_t synchronizes; /**< waits for readers: syncs, and those for callbacks and by themselves */
  uint64_t wait_loops;   /**< looks at a reader that was still there, in all of them */
  uint64_t locks;        /**< tries to lock an object */
  uint64_t sync_requests; /**< of those: another thread had it */
  uint64_t reads;       /**< dereferences; only those that were compiled to be counted, see above */
  uint64_t steals;      /**< dereferences that gave a copy of another thread */
  uint64_t write_backs; /**< objects that were written back */
  uint64_t log_bytes;   /**< of all write-logs */
} lockswap_rlu_counts;
/** Cost: a look at each thread. */
int lockswap_rlu_get_counts(lockswap_rlu_counts* counts);

/* --- Errors of use: what is about to be called, from where; see above. For the macros below and
 * for rlu.hpp. Gives the object, or ends the process. */
/** @cond private */
enum {
  LOCKSWAP_RLU_AT_UNLOCK,
  LOCKSWAP_RLU_AT_ABORT,
  LOCKSWAP_RLU_AT_DEREFERENCE,
  LOCKSWAP_RLU_AT_LOCK,
  LOCKSWAP_RLU_AT_FREE,
  LOCKSWAP_RLU_AT_DISCARD,
  LOCKSWAP_RLU_AT_WRITER_ACQUIRE,
  LOCKSWAP_RLU_AT_WRITER_RELEASE,
  LOCKSWAP_RLU_AT_WAIT,
  LOCKSWAP_RLU_AT_UPDATE,
  LOCKSWAP_RLU_AT_BEGIN,
  LOCKSWAP_RLU_AT_MADE
};
void* lockswap_rlu_check(int what, const void* object, const char* file, int line);

#if defined(LOCKSWAP_RLU_CHECKS)
#define LOCKSWAP_RLU_CHECK(what, object) \
  lockswap_rlu_check(LOCKSWAP_RLU_AT_##what, (object), __FILE__, __LINE__)
#define LOCKSWAP_RLU_CHECK_LOCK(what, lock) \
  ((lockswap_rlu_writer_lock*)LOCKSWAP_RLU_CHECK(what, lock))
#define lockswap_rlu_made(memory, size, give) \
  LOCKSWAP_RLU_CHECK(MADE, (lockswap_rlu_made)(memory, size, give))
#define lockswap_rlu_alloc(size) LOCKSWAP_RLU_CHECK(MADE, (lockswap_rlu_alloc)(size))
#define lockswap_rlu_reader_lock() (LOCKSWAP_RLU_CHECK(BEGIN, NULL), (lockswap_rlu_reader_lock)())
#define lockswap_rlu_reader_unlock() \
  (LOCKSWAP_RLU_CHECK(UNLOCK, NULL), (lockswap_rlu_reader_unlock)())
#define lockswap_rlu_abort() (LOCKSWAP_RLU_CHECK(ABORT, NULL), (lockswap_rlu_abort)())
#define lockswap_rlu_dereference(object) \
  (lockswap_rlu_dereference)(LOCKSWAP_RLU_CHECK(DEREFERENCE, object))
#define lockswap_rlu_try_lock(object) (lockswap_rlu_try_lock)(LOCKSWAP_RLU_CHECK(LOCK, object))
#define lockswap_rlu_try_lock_const(object) \
  (lockswap_rlu_try_lock_const)(LOCKSWAP_RLU_CHECK(LOCK, object))
#define lockswap_rlu_free(object) (lockswap_rlu_free)(LOCKSWAP_RLU_CHECK(FREE, object))
#define lockswap_rlu_discard(object) (lockswap_rlu_discard)(LOCKSWAP_RLU_CHECK(DISCARD, object))
#define lockswap_rlu_writer_acquire(lock) \
  (lockswap_rlu_writer_acquire)(LOCKSWAP_RLU_CHECK_LOCK(WRITER_ACQUIRE, lock))
#define lockswap_rlu_writer_release(lock) \
  (lockswap_rlu_writer_release)(LOCKSWAP_RLU_CHECK_LOCK(WRITER_RELEASE, lock))
#define lockswap_rlu_synchronize() (LOCKSWAP_RLU_CHECK(WAIT, NULL), (lockswap_rlu_synchronize)())
#define lockswap_rlu_flush() (LOCKSWAP_RLU_CHECK(WAIT, NULL), (lockswap_rlu_flush)())
#define lockswap_rlu_flush_all() (LOCKSWAP_RLU_CHECK(WAIT, NULL), (lockswap_rlu_flush_all)())
#define lockswap_rlu_barrier() (LOCKSWAP_RLU_CHECK(WAIT, NULL), (lockswap_rlu_barrier)())
#endif
/** @endcond */

#ifdef __cplusplus
}
#endif
#endif
