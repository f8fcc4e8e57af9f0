/** @file
 * Range locks: threads lock parts of something that is addressed by numbers (a file, an array, an
 * address space), and wait for each other only where the parts overlap.
 *
 * A lock covers the units 0 to 2^64 - 2; what a unit is (a byte, a page, an index) is the caller's
 * business. A range is half-open: [start, end) has the units start to end - 1, so [0, 10) and
 * [10, 20) do not overlap. A range is acquired shared (many threads) or exclusive (one), and is
 * released through a handle that the caller keeps.
 *
 * Link with -llockswap_api (pkg-config lockswap, CMake package lockswap); a preloaded
 * liblockswap.so has the same functions. Environment: LOCKSWAP_RANGE (the default implementation),
 * LOCKSWAP_WAIT, LOCKSWAP_SPIN.
 *
 * All functions return 0 or an error number; none sets errno. None may be called in a signal
 * handler. None calls malloc.
 *
 * Locks are of one process: in memory that processes share they do not work.
 *
 * Threads. A thread may hold any number of ranges, of one lock or of several. The thread that
 * acquired a range must release it. The order in which ranges are acquired is the program's
 * business: two threads that wait for each other's ranges wait for ever, as with mutexes; EDEADLK
 * is only about a thread's own. A handle may be copied, and released once.
 *
 * Fork. In the child the one thread keeps its ranges. Those of the other threads stay held, by no
 * thread. Initialise locks again that other threads were using.
 *
 * Cost of list-ex and list-rw. In a lock that is free: two atomic updates for acquire and release
 * together, and no memory that other threads write. Otherwise a walk over the ranges that begin
 * before this one. Memory: 64 bytes a range, 8 KiB a thread. Nothing is allocated while threads
 * acquire and release at a steady pace, whichever of them takes the other's ranges out of the list.
 *
 * sharded-rw is list-rw for locks of which hundreds of ranges are held: 1024 lists, each for a
 * segment of the units, in turn. A range that touches n segments is put into n lists, at most 1024:
 * so much it costs, in time and in memory. 8 KiB a lock.
 *
 * The others are there to be compared with. lustre-ex, kernel-rw: a tree under a spin lock; a new
 * acquisition waits behind those that wait, so a thread that holds a range and asks for another may
 * wait for a thread that waits for it. pnova-rw: 256 locks, each for a segment of the units, in
 * turn; rwlock: one lock for all. Both know no ranges but only locks: two ranges of one thread that
 * need the same lock are as two acquisitions of it (EDEADLK, EAGAIN, or a wait for ever, as that
 * lock does), and nothing can be downgraded (ENOTSUP). */
#ifndef LOCKSWAP_RANGE_LOCK_H
#define LOCKSWAP_RANGE_LOCK_H

#include <stdint.h>
#include <time.h>

struct timespec; /* in case strict C hides it */

#ifdef __cplusplus
extern "C" {
#endif

/** A lock. All zeroes is a free one with the default attributes. */
typedef struct lockswap_range_lock {
  uint64_t opaque[8]; /**< Private. */
} __attribute__((aligned(64))) lockswap_range_lock;
/** A free lock, for a static one. */
/* clang-format off */
#define LOCKSWAP_RANGE_LOCK_INITIALIZER {{0}}
/* clang-format on */

/** An acquired range; filled in by the functions that acquire. */
typedef struct lockswap_range {
  void* opaque[2]; /**< Private. */
} lockswap_range;

/** What a lock shall be, for lockswap_range_lock_init(). */
typedef struct lockswap_range_lock_attr {
  uint64_t opaque[4]; /**< Private. */
} lockswap_range_lock_attr;

/** How a range is acquired. */
enum {
  LOCKSWAP_RANGE_EXCLUSIVE = 0, /**< By one thread alone. */
  LOCKSWAP_RANGE_SHARED = 1     /**< Beside others that share it. list-ex: as exclusive. */
};

/** Which one goes first when a reader and a writer come at the same moment; the other one starts
 * again (list-rw). */
enum {
  LOCKSWAP_RANGE_PREFER_READERS = 0, /**< The default. */
  LOCKSWAP_RANGE_PREFER_WRITERS = 1  /**< The writer goes first. */
};

/* --- Attributes. Defaults: the implementation that LOCKSWAP_RANGE names, else list-rw; what its
 * name says of fairness and preference, else fair, readers preferred. Thread-safe as long as no two
 * threads use one object. */

/** Sets all of them to their defaults. */
int lockswap_range_lock_attr_init(lockswap_range_lock_attr* attr);
/** Chooses the implementation.
 * "list-ex": every range is exclusive. "list-rw": shared and exclusive. "sharded-rw": the
 * same for many ranges. For comparison "lustre-ex", "kernel-rw", "pnova-rw", "pnova-rw:LOCK",
 * "rwlock", "rwlock:LOCK" (see above; LOCK: a reader-writer lock of lockswap). Behind the name of a
 * list, ":unfair" and ":writers-first" say what the next two functions do, which override them. In
 * any case of letters. EINVAL: there is none of that name.
 * ENOTSUP: that LOCK cannot be used here. */
int lockswap_range_lock_attr_set_implementation(lockswap_range_lock_attr* attr, const char* name);
/** Chooses fairness.
 * 1: an acquisition that fails too often goes first: those that overlap it wait until it is in,
 * unless their threads hold a range. 0: the thread that comes at the right moment does. EINVAL:
 * neither. */
int lockswap_range_lock_attr_set_fair(lockswap_range_lock_attr* attr, int fair);
/** Chooses LOCKSWAP_RANGE_PREFER_READERS or LOCKSWAP_RANGE_PREFER_WRITERS. EINVAL: neither. */
int lockswap_range_lock_attr_set_preference(lockswap_range_lock_attr* attr, int preference);
/** sharded-rw, pnova-rw: how many units a segment has; sharded-rw rounds up to a power of two, 2^63
 * at most. About as many as a range usually has. EINVAL: 0. Others take no notice. */
int lockswap_range_lock_attr_set_segment(lockswap_range_lock_attr* attr, uint64_t units);

/* --- Making and destroying a lock. While either runs, no other thread may use the lock. */

/** Makes a free lock with these attributes; NULL: the defaults. */
int lockswap_range_lock_init(lockswap_range_lock* lock, const lockswap_range_lock_attr* attr);
/** Ends a lock.
 * EBUSY: a range is held; the lock stays as it is. sharded-rw says so also of a range that touches
 * several segments while its thread has not come back from the release, which is not one step. */
int lockswap_range_lock_destroy(lockswap_range_lock* lock);

/* --- Acquire [start, end) as `mode`. On success *range is the handle; on failure it is no range.
 * EINVAL: start >= end, or not a mode. ENOMEM: no memory for the range. */

/** Waits until no thread holds a unit of it in a way that excludes this one. EDEADLK: this thread
 * itself does, and would wait for ever. */
int lockswap_range_acquire(lockswap_range_lock* lock, lockswap_range* range, uint64_t start,
                           uint64_t end, int mode);
/** The same of all units, 0 to 2^64 - 2. */
int lockswap_range_acquire_full(lockswap_range_lock* lock, lockswap_range* range, int mode);
/** Does not wait, and asks no other thread to. EBUSY: it would have to, for others, for one that
 * goes first, or for this thread's own range. (Also when the only one in the way is an acquisition
 * that fails itself; or, in sharded-rw, a range of several segments whose thread has not come back
 * from the release.) */
int lockswap_range_try_acquire(lockswap_range_lock* lock, lockswap_range* range, uint64_t start,
                               uint64_t end, int mode);
/** Waits until a time on CLOCK_REALTIME at most.
 * ETIMEDOUT: it has come. EINVAL also: tv_nsec is not
 * below a second. A free range is acquired however late it is, unless another acquisition goes
 * first. */
int lockswap_range_timed_acquire(lockswap_range_lock* lock, lockswap_range* range, uint64_t start,
                                 uint64_t end, int mode, const struct timespec* until);
/** The same on CLOCK_REALTIME or CLOCK_MONOTONIC. EINVAL also: another clock. */
int lockswap_range_clock_acquire(lockswap_range_lock* lock, lockswap_range* range, uint64_t start,
                                 uint64_t end, int mode, int clock, const struct timespec* until);

/* --- A range that this thread holds. EINVAL: the handle is of no range, or was released. EPERM:
 * another thread acquired it. None of these waits. */

/** Releases it. */
int lockswap_range_release(lockswap_range* range);
/** Exclusive becomes shared, without a moment in between at which a writer could come. EINVAL also:
 * it is shared already. ENOTSUP: the implementation has no shared ranges. */
int lockswap_range_downgrade(lockswap_range* range);
/** Shared becomes exclusive, without a moment in between at which another could write.
 * EBUSY: others
 * are in the way, and it stays shared: another shared range overlaps it (so of two threads that try
 * neither waits for the other; one must release), or has waited since before this one came. A
 * thread that waits for it goes on waiting. EINVAL also: it is exclusive already. ENOTSUP: all but
 * kernel-rw. In the lists a reader that has walked past a shared range would not look at it again;
 * in the -ex locks no range is shared, whatever was asked for. Cost: each range that overlaps is
 * looked at twice. */
int lockswap_range_try_upgrade(lockswap_range* range);

/* --- Counts */

/** The memory of ranges (not of pnova-rw, rwlock) in this process, each number a glimpse. */
typedef struct lockswap_range_counts {
  uint64_t nodes;   /**< that were allocated, 64 bytes each (trees: 128); never given back */
  uint64_t growths; /**< how often more had to be allocated, beside the first of each thread */
  uint64_t blocked; /**< of those: because a thread was stopped, or slow, in the middle of a call */
  uint64_t threads; /**< that were supplied at the same time, at most */
} lockswap_range_counts;
/** Fills in these counts. Thread-safe. */
int lockswap_range_get_counts(lockswap_range_counts* counts);

#ifdef __cplusplus
}
#endif
#endif
