/** @file
 * Read-Log-Update (RLU): readers take no lock and never wait, while writers change several objects
 * at once.
 *
 * Paper: A. Matveev, N. Shavit, P. Felber, P. Marlier, "Read-Log-Update: A Lightweight
 * Synchronization Mechanism for Concurrent Programming" (SOSP 2015). Section numbers below
 * are the paper's. structures/docs/rlu.md has a tutorial, and says what differs from the paper.
 *
 * An object is memory from lockswap_rlu_alloc(). A thread reads objects in a section, between
 * lockswap_rlu_reader_lock() and lockswap_rlu_reader_unlock(). A section sees all objects as they
 * were when it began: it sees all changes of another section, or none of them. A thread that
 * changes an object locks it, and gets a copy that it changes instead. When the section ends, it
 * is committed: its changes take effect for all of its objects at once.
 *
 *     for (;;) {                                      // remove the node after `first` from a list
 *       lockswap_rlu_reader_lock();
 *       struct node* prev = lockswap_rlu_dereference(first);
 *       struct node* gone = lockswap_rlu_dereference(prev->next);
 *       if ((prev = lockswap_rlu_try_lock(prev)) != NULL &&
 *           (gone = lockswap_rlu_try_lock_const(gone)) != NULL) {
 *         prev->next = lockswap_rlu_actual(gone->next);
 *         lockswap_rlu_free(gone);
 *         lockswap_rlu_reader_unlock();
 *         break;
 *       }
 *       lockswap_rlu_abort();                         // another thread was faster
 *     }
 *
 * There are two variants (section 3.8), which must not be mixed on one object:
 *   fine-grained: as above. Writers conflict at the objects that they lock, and if two want the
 *     same object, one of them starts again. Commits may be deferred (lockswap_rlu_set_deferral).
 *   coarse-grained: a writer acquires a writer lock before its section. Nothing is ever aborted,
 *     and each commit has taken effect when the section ends.
 *
 * Rules. Pointers from dereference and try_lock are valid until the section ends. A pointer that
 * is stored in an object must point to an object and not to a copy, so pass it through
 * lockswap_rlu_actual(). For the same reason, compare objects with lockswap_rlu_same(). Objects
 * are copied byte by byte. A section must not wait for another thread that may be ending a
 * section, flushing or synchronizing, because that thread waits for this section.
 *
 * Nested sections. A section inside another one is a part of the outermost one, and only the end
 * of that one commits. An abort would also end the sections around it, which are still reading, so
 * a nested section can't abort: report to the caller that the change failed, and let the outermost
 * one abort.
 *
 * Threads need not be registered: that happens on a thread's first call. There may be any number
 * of threads. If a thread exits in a section, the section is aborted. When a thread exits, its
 * deferred commits are flushed. All functions are thread-safe unless their comments say otherwise.
 * None of them may be called in a signal handler.
 *
 * Fork. The child's thread keeps its section, with the objects that it has locked. What other
 * threads had committed takes effect in the child, if it had not yet. What they had not committed
 * is dropped, and their locks are released. The child does that by itself when its thread, outside
 * a section, next begins one (or flushes, or synchronizes). A thread that is in a section when it
 * forks sees the same objects as before until the section ends. If that section has locked nothing
 * yet, a lock in it may fail, even under a writer lock.
 *
 * dlclose. The library stays loaded (-z nodelete), so threads may continue to use it.
 *
 * lockswap/rlu_inline.h has sections that begin and end without a call.
 *
 * Link with -llockswap_structures (pkg-config and CMake package lockswap-structures). It works the
 * same with and without a preloaded liblockswap.so. Under ThreadSanitizer or AddressSanitizer link
 * with -llockswap_structures-checked (pkg-config lockswap-structures-checked), which tells them
 * how it orders threads, and which copies a program may still access.
 *
 * Checks. If LOCKSWAP_RLU_CHECKS is defined, incorrect use stops the program by abort(), with a
 * line on stderr that has the file and line of the call. It finds
 * - a dereference, a lock, an abort or an unlock outside a section
 * - in a nested section, an abort, or a change that needs its own section (rlu.hpp)
 * - while the thread has a writer lock, a failed try for a lock, or an abort
 * - a writer lock that the thread has already, or that is acquired or released in a section
 * - the release of a writer lock that the thread does not have
 * - the free of an object that another thread has locked, that the section has not locked, or that
 *   has been freed already
 * - a lock or a dereference of a freed object
 * - the end of a section that stores the address of a copy in an object
 * - the end of a section that has read an object which was written without a lock
 * - the end of a section that reads and locks nothing, and writes into an object which its thread
 *   has made
 * - the discard of a locked object
 * - a wait for readers in a section (synchronize, flush, barrier).
 *
 * Without the checks all of these are undefined, except where a function says otherwise. With the
 * checks, or with LOCKSWAP_RLU_COUNTS, dereferences are counted. */
#ifndef LOCKSWAP_RLU_H
#define LOCKSWAP_RLU_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lockswap/sanitizers.h"

/* NOLINTBEGIN(modernize-use-nullptr): C reads this, too. */
#ifdef __cplusplus
extern "C" {
#endif

#ifdef LOCKSWAP_TSAN
/** @cond private */
/* Only the checked library tells ThreadSanitizer how it orders threads. With the other one,
 * ThreadSanitizer would report false races, so the program does not link. */
extern const char lockswap_structures_checked_is_needed_under_ThreadSanitizer;
__attribute__((unused, used)) static const char* const lockswap_structures_checked =
    &lockswap_structures_checked_is_needed_under_ThreadSanitizer;
/** @endcond */
#endif

/* --- Objects (section 3.4) */

/* The header before each object, which the inline functions below need. `copy` is 0 if the object
 * is not locked, 1 in a copy, and otherwise the address of the copy or, with bit 1 set, of a record
 * (locked without a copy). */
/** @cond private */
struct lockswap_rlu_header {
  uint64_t copy;
  uint64_t size; /* in the lower 48 bits; above it the number of the function that frees it */
};
#define LOCKSWAP_RLU_HEADER(object) ((struct lockswap_rlu_header*)(void*)(object)-1)
/** @endcond */

/** Makes an object in memory from any allocator, which must be aligned to 16 bytes: a header,
 * followed by `size` zero bytes. Returns the object. When the object is freed, any thread may call
 * `give` with the memory. Objects may have different functions. If `give` is NULL, the memory is
 * not freed, as for an object inside something larger. The library itself allocates no objects and
 * calls no malloc. Returns NULL if the process has passed 4,096 different functions already, or if
 * the size has more than 48 bits. */
void* lockswap_rlu_made(void* memory, size_t size, void (*give)(void*));
/** Allocates an object of that size, aligned to 16 bytes and zeroed, which no other thread has yet.
 * Uses the program's calloc and free. Returns NULL if there is no memory. May be called in a
 * section. */
static inline void* lockswap_rlu_alloc(size_t size) {
  const size_t head = sizeof(struct lockswap_rlu_header);
  void* memory = size > SIZE_MAX - head ? NULL : calloc(1, head + size);
  void* object = memory == NULL ? NULL : lockswap_rlu_made(memory, size, free);
  if (object == NULL) free(memory);
  return object;
}
/** Frees an object when nobody can read it any more.
 * In a section, that is after its commit has taken effect, and nothing is freed if the section is
 * aborted. The section must have locked the object, in either way, or a writer lock must keep
 * others from it, and the commit must remove every path to it. Outside a section, this works like
 * a section of its own. NULL is ignored. Returns EBUSY if another thread has locked the object, or
 * ENOMEM if there is no memory to note it; then nothing is freed, and the section must abort. The
 * cost is an entry in the write-log. */
int lockswap_rlu_free(void* object);
/** Immediately frees an object that no other thread has ever seen, because it was allocated for a
 * section that was aborted. NULL is ignored. */
void lockswap_rlu_discard(void* object);

/* --- Sections (sections 3.3 to 3.5) */

/** Registers the thread, as its first section would. Returns 0 or ENOMEM. Without this, the first
 * section waits until there is memory. */
int lockswap_rlu_register(void);
/** Begins a section. Never waits for a thread. The cost is two stores to the thread's own memory
 * and two loads of the clock. There is no atomic update, and a fence only while commits are
 * frequent. */
void lockswap_rlu_reader_lock(void);
/** Ends the section. A section that has locked nothing never waits. Otherwise, the end of the
 * outermost section commits: it waits until all sections that began before have ended, and then
 * writes the copies back. If commits are deferred, that happens later (see
 * lockswap_rlu_set_deferral). Returns EPERM, and does nothing, if there is no section. */
int lockswap_rlu_reader_unlock(void);
/** Ends the section and undoes it: its locks are released, and its copies and frees are dropped. If
 * a try for a lock has failed, this waits until the thread that had the object no longer needs it,
 * and writes back that thread's deferred commits if the thread does not (section 3.7). Returns 0
 * if the section can be tried again, and ENOMEM if a lock failed for lack of memory. Returns
 * EDEADLK in a nested section, which goes on: the outermost one must abort. Returns EPERM outside
 * a section. */
int lockswap_rlu_abort(void);
/** Returns how many sections are nested here, or 0 outside a section. */
unsigned lockswap_rlu_depth(void);

/** @cond private */
void* lockswap_rlu_steal(const void* object);
void* lockswap_rlu_counted_dereference(const void* object);
/** @endcond */
/** Returns the version of the object that this section sees: the object itself, or a copy of it.
 * Returns a copy unchanged, and NULL for NULL. The cost is a load, and a call if the object is
 * locked. */
static inline void* lockswap_rlu_dereference(const void* object) {
#if defined(LOCKSWAP_RLU_CHECKS) || defined(LOCKSWAP_RLU_COUNTS)
  return lockswap_rlu_counted_dereference(object);
#else
  /* acquire: what was written back before the object was unlocked, or the contents of a new copy.
   */
  if (object == NULL ||
      __atomic_load_n(&LOCKSWAP_RLU_HEADER(object)->copy, __ATOMIC_ACQUIRE) == 0) {
    return (void*)object;
  }
  return lockswap_rlu_steal(object);
#endif
}

/** Locks an object and returns the copy that the section may change.
 * The argument may be the object or what dereference returned for it. If the section has a copy
 * already, returns that one. The object is and stays as this section sees it, so nothing has to be
 * validated. Returns NULL if another thread has the object, if there is no memory for the copy, or
 * if there is no section. Then call lockswap_rlu_abort() and begin again. Never waits. An object
 * that is locked only by this thread's deferred commits counts as free. The cost is an update of
 * the object's header, and the copy. */
void* lockswap_rlu_try_lock(void* object);
/** The same for an object that is only read, but must not change until this section has taken
 * effect, for example the node that is removed from a list. Nothing is copied or written back.
 * Returns the object as the section sees it. lockswap_rlu_try_lock() may follow. */
void* lockswap_rlu_try_lock_const(void* object);

/** @cond private */
void* lockswap_rlu_actual_of_copy(const void* copy);
/** @endcond */
/** Returns the object of which this may be a copy. Store this in other objects. Returns NULL for
 * NULL. (The paper's assign is `copy->next = lockswap_rlu_actual(node)`.) */
static inline void* lockswap_rlu_actual(const void* object) {
  if (object == NULL ||
      __atomic_load_n(&LOCKSWAP_RLU_HEADER(object)->copy, __ATOMIC_RELAXED) != 1) {
    return (void*)object;
  }
  return lockswap_rlu_actual_of_copy(object);
}
/** Returns whether both are the same object, or copies of it. */
static inline int lockswap_rlu_same(const void* a, const void* b) {
  return lockswap_rlu_actual(a) == lockswap_rlu_actual(b);
}

/* --- Deferral (section 3.7) */

/** A domain limits how far its commits may be deferred, so that data structures in one process need
 * not agree on a limit. A section belongs to the domains that it joins, and to the default domain
 * if it joins none. A zeroed domain does not defer commits. There is nothing to destroy. */
typedef struct lockswap_rlu_domain {
  uint32_t opaque[4]; /**< Private. */
} lockswap_rlu_domain;
/* clang-format off */
/** Initialises a static domain, which does not defer commits. */
#define LOCKSWAP_RLU_DOMAIN_INITIALIZER {{0}}
/* clang-format on */
/** The same as lockswap_rlu_set_deferral(), for the domain's commits only. Returns EINVAL for 0. */
int lockswap_rlu_domain_set_deferral(lockswap_rlu_domain* domain, unsigned commits);
/** Adds the outermost section here to this domain, or to the default one if it is NULL. Its commit
 * is deferred only as far as all of its domains allow. Returns EPERM outside a section. */
int lockswap_rlu_join(const lockswap_rlu_domain* domain);
/** Sets how many commits a thread may collect before they all take effect at once.
 * 1, which is the default, means that none is deferred. This applies to sections that join no
 * domain, in all threads, from their next commits on. So it is for programs, and a library should
 * have its own domain. The objects stay locked until the commits take effect. The committing
 * thread sees its deferred changes. Other threads see them later, all at once, so not necessarily
 * when the section has ended. Commits take effect earlier if another thread wants one of their
 * objects. Returns EINVAL for 0. */
int lockswap_rlu_set_deferral(unsigned commits);
/** Makes this thread's deferred commits take effect, and waits as a commit does. Returns EDEADLK in
 * a section. */
int lockswap_rlu_flush(void);
/** The same for the deferred commits of all threads whose sections ended before this call. Waits
 * for threads that are in a section and have locked something. Returns EDEADLK in a section. */
int lockswap_rlu_flush_all(void);

/* --- Writer locks (section 3.8, coarse-grained) */

/** A mutex, which is fair but not recursive. While a thread holds one, its sections take effect
 * when they end, whatever the deferral. A thread may hold several, if the program acquires them in
 * a fixed order. A zeroed one is free. There is nothing to destroy. */
typedef struct lockswap_rlu_writer_lock {
  uint64_t opaque[2]; /**< Private. */
} lockswap_rlu_writer_lock;
/** Initialises a static writer lock. */
/* clang-format off */
#define LOCKSWAP_RLU_WRITER_LOCK_INITIALIZER {{0}}
/* clang-format on */
/** Waits until the lock is free. Before that, the thread's deferred commits take effect. Returns
 * EDEADLK if the thread has the lock already, or is in a section, for whose end another writer may
 * be waiting. */
int lockswap_rlu_writer_acquire(lockswap_rlu_writer_lock* lock);
/** Releases the lock. Returns EPERM if this thread does not have it, and EDEADLK in a section. */
int lockswap_rlu_writer_release(lockswap_rlu_writer_lock* lock);

/* --- Grace periods */

/** Waits until all sections that had begun before this call have ended. Makes no deferred commits
 * take effect. Returns EDEADLK in a section. The cost is a check of each thread and, unless
 * commits are frequent, a barrier on all processors that run the process. */
int lockswap_rlu_synchronize(void);
/** A callback. Make it a member of the object that it is for. */
typedef struct lockswap_rlu_callback {
  struct lockswap_rlu_callback* next;              /**< Private. */
  void (*function)(struct lockswap_rlu_callback*); /**< Private. */
} lockswap_rlu_callback;
/** Calls function(callback) once, after all sections that had begun before this call have ended.
 * A thread that is outside a section calls it: at the end of one of its sections, or of a flush, a
 * synchronize or a barrier. Deferred commits have not taken effect by then, so flush first if the
 * callback frees what a commit removed. The callback may call all of these functions. This
 * function may be called in a section, where it never waits. Outside a section, and at the end of
 * this thread's section, the thread waits for readers itself if many callbacks have accumulated. */
void lockswap_rlu_call(lockswap_rlu_callback* callback, void (*function)(lockswap_rlu_callback*));
/** Waits until all callbacks that were added before this call have run. Returns EDEADLK in a
 * section or in a callback. */
int lockswap_rlu_barrier(void);

/* --- Counts */

/** The counts of the paper's figure 8, summed over all threads of this process. They are read one
 * by one, so they are not a consistent snapshot.
 *
 *   sync ratio           syncs / commits
 *   read copy ratio      steals / reads
 *   sync request ratio   sync_requests / locks
 *   write-back quiescence  wait_loops / synchronizes */
typedef struct lockswap_rlu_counts {
  uint64_t threads;       /**< the largest number of threads at the same time */
  uint64_t commits;       /**< sections that locked or freed something, and were not aborted */
  uint64_t aborts;        /**< sections that were aborted */
  uint64_t syncs;         /**< how often commits took effect, alone or together */
  uint64_t helps;         /**< those that another thread did */
  uint64_t synchronizes;  /**< waits for readers: syncs, callbacks, and separate ones */
  uint64_t wait_loops;    /**< checks in them that found a reader still there */
  uint64_t locks;         /**< tries to lock an object */
  uint64_t sync_requests; /**< those that failed because another thread had it */
  uint64_t reads;         /**< dereferences in code that was compiled to count them, see above */
  uint64_t steals;        /**< dereferences that returned another thread's copy */
  uint64_t write_backs;   /**< objects written back */
  uint64_t log_bytes;     /**< size of all write-logs */
} lockswap_rlu_counts;
/** Returns 0 and fills in the counts. The cost is a check of each thread. */
int lockswap_rlu_get_counts(lockswap_rlu_counts* counts);

/* --- Checks, see above: the call that is about to be made, and its place. For the macros below and
 * for rlu.hpp. Returns the object, or ends the process. */
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
/* NOLINTEND(modernize-use-nullptr) */
#endif
