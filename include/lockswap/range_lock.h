/** @file
 * Range locks: threads lock parts of something that is addressed by numbers (a file, an array, an
 * address space), and wait for each other only where the parts overlap.
 *
 * A lock covers the units 0 to 2^64 - 2. The caller decides what a unit is: a byte, a page, an
 * index. A range is half-open: [start, end) has the units start to end - 1, so [0, 10) and
 * [10, 20) do not overlap. A range is acquired shared (by many threads) or exclusive (by one), and
 * is released through a handle that the caller keeps.
 *
 * Link with -llockswap_api (pkg-config lockswap, CMake package lockswap). A preloaded
 * liblockswap.so has the same functions. These environment variables have an effect:
 * LOCKSWAP_RANGE (the default implementation), LOCKSWAP_WAIT and LOCKSWAP_SPIN.
 *
 * All functions return 0 or an error number, and none sets errno. They must not be called in signal
 * handlers, and don't call malloc.
 *
 * A lock belongs to one process: it does not work in memory that processes share.
 *
 * Threads. A thread may hold any number of ranges, of one lock or of several, and must release
 * those that it has acquired. A handle may be copied, but is released once. As with mutexes, two
 * threads that wait for each other's ranges wait for ever; EDEADLK is returned only if a thread
 * would wait for itself.
 *
 * Fork. The thread that forked keeps its ranges in the child. Ranges of other threads stay held
 * there and are never released, so locks that other threads were using must be initialized again.
 *
 * Cost of list-ex and list-rw. If the lock is free, acquire and release make two atomic updates
 * together, and write to no memory that other threads write to. Otherwise an acquisition walks over
 * the ranges that begin before its own. A range takes 64 bytes and a thread 8 KiB. While threads
 * acquire and release at a steady pace, nothing is allocated.
 *
 * sharded-rw is list-rw for locks with hundreds of held ranges. It has 1024 lists, which take
 * 8 KiB, and deals out segments of the units to them in turn. A range that touches n segments is
 * put into n lists (at most 1024) and costs accordingly, in time and in memory.
 *
 * The other implementations are for comparison. lustre-ex and kernel-rw keep a tree of ranges under
 * a spin lock. A new acquisition waits behind earlier ones that still wait, so a thread that holds
 * a range and asks for another may wait behind a thread that waits for the first. pnova-rw has 256
 * locks and deals out segments of the units to them in turn, and rwlock has one lock for all units.
 * Both have locks instead of ranges. So if two ranges of a thread need the same lock, it acquires
 * that lock twice (EDEADLK, EAGAIN or an endless wait, depending on the lock), and nothing can be
 * downgraded (ENOTSUP). */
#ifndef LOCKSWAP_RANGE_LOCK_H
#define LOCKSWAP_RANGE_LOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct timespec; /* in case strict C hides it */

#ifdef __cplusplus
extern "C" {
#endif

/** A lock. All zeroes are a free lock with the default attributes. */
typedef struct lockswap_range_lock {
  uint64_t opaque[8]; /**< Private. */
} __attribute__((aligned(64))) lockswap_range_lock;
/** Initializes a static lock. */
/* clang-format off */
#define LOCKSWAP_RANGE_LOCK_INITIALIZER {{0}}
/* clang-format on */

/** The handle of an acquired range, which the acquiring functions fill in. */
typedef struct lockswap_range {
  void* opaque[2]; /**< Private. */
} lockswap_range;

/** Attributes of a lock, for lockswap_range_lock_init(). */
typedef struct lockswap_range_lock_attr {
  uint64_t opaque[4]; /**< Private. */
} lockswap_range_lock_attr;

/** How a range is acquired. */
enum {
  LOCKSWAP_RANGE_EXCLUSIVE = 0, /**< By one thread alone. */
  LOCKSWAP_RANGE_SHARED = 1     /**< Beside others that share it; exclusive under list-ex. */
};

/** Which of a reader and a writer goes first under list-rw if both arrive at the same moment. The
 * other one starts again. */
enum {
  LOCKSWAP_RANGE_PREFER_READERS = 0, /**< The reader; this is the default. */
  LOCKSWAP_RANGE_PREFER_WRITERS = 1  /**< The writer. */
};

/* --- Attributes. By default a lock has the implementation that LOCKSWAP_RANGE names (list-rw if
 * that is not set), with the options in that name. Without options it is fair and prefers readers.
 * These functions are thread-safe as long as no two threads use the same attributes object. */

/** Sets all attributes to their defaults. */
int lockswap_range_lock_attr_init(lockswap_range_lock_attr* attr);
/** Chooses the implementation by its name. Case does not matter.
 * "list-ex" has only exclusive ranges, "list-rw" shared and exclusive ones, and "sharded-rw" is
 * list-rw for many ranges. For comparison there are "lustre-ex", "kernel-rw", "pnova-rw",
 * "pnova-rw:LOCK", "rwlock" and "rwlock:LOCK" (see above), where LOCK is one of lockswap's
 * reader-writer locks. The options ":unfair" and ":writers-first" may follow the name of a list,
 * and the next two functions override them. Returns EINVAL if there is no implementation of that
 * name, and ENOTSUP if LOCK cannot be used here. */
int lockswap_range_lock_attr_set_implementation(lockswap_range_lock_attr* attr, const char* name);
/** Chooses fairness.
 * If fair is 1, an acquisition that fails too often goes first: those that overlap it wait until it
 * has its range, unless their threads hold a range. If fair is 0, whichever thread comes at the
 * right moment gets the range. Returns EINVAL for other values. */
int lockswap_range_lock_attr_set_fair(lockswap_range_lock_attr* attr, int fair);
/** Chooses LOCKSWAP_RANGE_PREFER_READERS or LOCKSWAP_RANGE_PREFER_WRITERS. Returns EINVAL for
 * other values. */
int lockswap_range_lock_attr_set_preference(lockswap_range_lock_attr* attr, int preference);
/** Sets the size of a segment, in units.
 * It should be about the size of a usual range. sharded-rw rounds it up to a power of two, at most
 * 2^63. Implementations other than sharded-rw and pnova-rw ignore it. Returns EINVAL for 0. */
int lockswap_range_lock_attr_set_segment(lockswap_range_lock_attr* attr, uint64_t units);

/* --- Making and destroying a lock. While either runs, no other thread may use the lock. */

/** Makes a free lock with these attributes, or with the defaults if attr is NULL. */
int lockswap_range_lock_init(lockswap_range_lock* lock, const lockswap_range_lock_attr* attr);
/** Destroys a lock.
 * Returns EBUSY if a range is held, and then the lock stays as it is. Under sharded-rw this may
 * also happen for a range of several segments while its thread is still in the release. */
int lockswap_range_lock_destroy(lockswap_range_lock* lock);

/* --- Acquire [start, end) as `mode`. *range becomes the handle, unless the function fails. All of
 * these may return EINVAL (start >= end, or no such mode) and ENOMEM (no memory for the range). */

/** Waits until no thread holds a unit of the range in a way that excludes this acquisition.
 * Returns EDEADLK if the calling thread itself holds one, so that it would wait for ever. */
int lockswap_range_acquire(lockswap_range_lock* lock, lockswap_range* range, uint64_t start,
                           uint64_t end, int mode);
/** The same for all units, 0 to 2^64 - 2. */
int lockswap_range_acquire_full(lockswap_range_lock* lock, lockswap_range* range, int mode);
/** Does not wait, and makes no other thread wait.
 * Returns EBUSY if it would have to wait for another thread, for an acquisition that goes first, or
 * for a range of its own. It may also return EBUSY because of an acquisition that itself fails in
 * the end, or under sharded-rw while the thread that held the range is still in the release. */
int lockswap_range_try_acquire(lockswap_range_lock* lock, lockswap_range* range, uint64_t start,
                               uint64_t end, int mode);
/** Waits at most until a time on CLOCK_REALTIME.
 * Returns ETIMEDOUT if that time has passed, and EINVAL also if tv_nsec is negative or a second or
 * more. A free range is acquired even after that time, unless another acquisition goes first. */
int lockswap_range_timed_acquire(lockswap_range_lock* lock, lockswap_range* range, uint64_t start,
                                 uint64_t end, int mode, const struct timespec* until);
/** The same on CLOCK_REALTIME or CLOCK_MONOTONIC. Returns EINVAL also for other clocks. */
int lockswap_range_clock_acquire(lockswap_range_lock* lock, lockswap_range* range, uint64_t start,
                                 uint64_t end, int mode, int clock, const struct timespec* until);

/* --- A range that this thread holds. All of these return EINVAL if the handle is of no range or
 * was released, and EPERM if another thread acquired the range. None of them waits. */

/** Releases the range. */
int lockswap_range_release(lockswap_range* range);
/** Makes an exclusive range shared, without letting a writer in between.
 * Returns EINVAL also if it is shared already, and ENOTSUP if the implementation has no shared
 * ranges. */
int lockswap_range_downgrade(lockswap_range* range);
/** Makes a shared range exclusive, without letting another writer in between.
 * Returns EBUSY, and the range stays shared, if another shared range overlaps it, or if an
 * acquisition that overlaps it has been waiting since before this range was acquired. So if two
 * threads with overlapping ranges try, neither waits for the other, and one of them must release.
 * Threads that wait for the range go on waiting. Returns EINVAL also if it is exclusive already.
 *
 * Only kernel-rw can do this, and the others return ENOTSUP: in the lists a reader that has walked
 * past a shared range would not check it again, and the -ex locks have no shared ranges. The cost
 * is two visits to each range that overlaps. */
int lockswap_range_try_upgrade(lockswap_range* range);

/* --- Counts */

/** Memory that ranges use in this process, except under pnova-rw and rwlock. The counts are racy
 * snapshots. */
typedef struct lockswap_range_counts {
  uint64_t nodes;   /**< Nodes allocated (64 bytes each, 128 in trees); they are never freed. */
  uint64_t growths; /**< Allocations after a thread's first one. */
  uint64_t blocked; /**< Growths that happened because a thread was stopped, or slow, in a call. */
  uint64_t threads; /**< The largest number of threads that had nodes at the same time. */
} lockswap_range_counts;
/** Fills in the counts. Thread-safe. */
int lockswap_range_get_counts(lockswap_range_counts* counts);

#if defined(__SANITIZE_THREAD__)
#define LOCKSWAP_RANGE_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSWAP_RANGE_WATCHED 1
#endif
#endif
#ifdef LOCKSWAP_RANGE_WATCHED
/** @cond private */
/* ThreadSanitizer does not see how the library orders threads, so a program that is compiled for it
 * says so itself: what a thread did before it released a range happens before what a thread does
 * that acquires one later. This takes the lock as a whole. So no race is reported where there is
 * none, but one between threads whose ranges don't overlap may be missed. */
#include <sanitizer/tsan_interface.h>

static inline int lockswap_range_watch(void* lock, int error) {
  if (error == 0 && lock != NULL) __tsan_acquire(lock);
  return error;
}
static inline lockswap_range* lockswap_range_let_go(lockswap_range* range) {
  if (range->opaque[0] != NULL) __tsan_release(range->opaque[1]);
  return range;
}
static inline int lockswap_range_watched_acquire(lockswap_range_lock* lock, lockswap_range* range,
                                                 uint64_t start, uint64_t end, int mode) {
  return lockswap_range_watch(lock, lockswap_range_acquire(lock, range, start, end, mode));
}
static inline int lockswap_range_watched_acquire_full(lockswap_range_lock* lock,
                                                      lockswap_range* range, int mode) {
  return lockswap_range_watch(lock, lockswap_range_acquire_full(lock, range, mode));
}
static inline int lockswap_range_watched_try_acquire(lockswap_range_lock* lock,
                                                     lockswap_range* range, uint64_t start,
                                                     uint64_t end, int mode) {
  return lockswap_range_watch(lock, lockswap_range_try_acquire(lock, range, start, end, mode));
}
static inline int lockswap_range_watched_timed_acquire(lockswap_range_lock* lock,
                                                       lockswap_range* range, uint64_t start,
                                                       uint64_t end, int mode,
                                                       const struct timespec* until) {
  return lockswap_range_watch(lock,
                              lockswap_range_timed_acquire(lock, range, start, end, mode, until));
}
static inline int lockswap_range_watched_clock_acquire(lockswap_range_lock* lock,
                                                       lockswap_range* range, uint64_t start,
                                                       uint64_t end, int mode, int clock,
                                                       const struct timespec* until) {
  return lockswap_range_watch(
      lock, lockswap_range_clock_acquire(lock, range, start, end, mode, clock, until));
}
static inline int lockswap_range_watched_release(lockswap_range* range) {
  return lockswap_range_release(lockswap_range_let_go(range));
}
static inline int lockswap_range_watched_downgrade(lockswap_range* range) {
  return lockswap_range_downgrade(lockswap_range_let_go(range));
}
static inline int lockswap_range_watched_try_upgrade(lockswap_range* range) {
  return lockswap_range_watch(range->opaque[1], lockswap_range_try_upgrade(range));
}
#define lockswap_range_acquire lockswap_range_watched_acquire
#define lockswap_range_acquire_full lockswap_range_watched_acquire_full
#define lockswap_range_try_acquire lockswap_range_watched_try_acquire
#define lockswap_range_timed_acquire lockswap_range_watched_timed_acquire
#define lockswap_range_clock_acquire lockswap_range_watched_clock_acquire
#define lockswap_range_release lockswap_range_watched_release
#define lockswap_range_downgrade lockswap_range_watched_downgrade
#define lockswap_range_try_upgrade lockswap_range_watched_try_upgrade
/** @endcond */
#endif

#ifdef __cplusplus
}
#endif
#endif
