// What an audited process leaves behind: a shared mapping of one file, in which the process counts
// and notes findings as they happen. So nothing is lost if it is killed, crashes or deadlocks.
//
// liblockswap-audit.so writes it, and lockswap-audit-read turns it into JSON; both include this
// header. The file begins as recording/head.h says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "recording/head.h"

namespace lockswap::audit {

// clang-format off
#define LOCKSWAP_AUDIT_COUNTS(X)                                                            \
  /* calls of reader-writer locks, one for each function */                                 \
  X(rw_init) X(rw_destroy) X(rdlock) X(tryrdlock) X(timedrdlock) X(clockrdlock)             \
  X(wrlock) X(trywrlock) X(timedwrlock) X(clockwrlock) X(rw_unlock)                         \
  /* their results */                                                                       \
  X(reads) X(writes) X(rw_busy) X(rw_timeouts) X(rw_deadlk) X(rw_again) X(rw_invalid)       \
  /* deadlines of timed calls */                                                            \
  X(rw_clock_realtime) X(rw_clock_monotonic) X(rw_clock_other)                              \
  /* reader-writer locks seen, by what their attributes or initialisers say */              \
  X(rwlocks) X(rw_prefer_writer) X(rw_prefer_writer_nonrecursive) X(rw_process_shared)      \
  /* calls on process-shared locks; calls that were passed on without a record */           \
  X(rw_calls_shared) X(unrecorded)                                                          \
  /* orders of two locks that were forgotten, the table being full */                       \
  X(orders_forgotten)                                                                       \
  /* locks taken by a thread that holds more than are compared; searches for circles that   \
     were given up; circles of more locks than the record has room for */                   \
  X(holds_left_out) X(searches_given_up) X(circles_too_long)                                \
  /* acquisitions without a stack, to save time; stacks and condition variables that found  \
     no room */                                                                             \
  X(stacks_left_out) X(stacks_forgotten) X(conds_forgotten)                                 \
  /* calls of mutexes and what came of them */                                              \
  X(mutex_init) X(mutex_destroy) X(mutex_lock) X(mutex_trylock) X(mutex_timedlock)          \
  X(mutex_clocklock) X(mutex_unlock)                                                        \
  X(mutex_acquired) X(mutex_busy) X(mutex_timeouts) X(mutex_deadlk) X(mutex_owner_dead)     \
  X(mutex_clock_realtime) X(mutex_clock_monotonic)                                          \
  /* acquiring calls by the mutex's kind: one of four, and what else it is */               \
  X(mutex_normal) X(mutex_recursive) X(mutex_errorcheck) X(mutex_adaptive)                  \
  X(mutex_robust) X(mutex_inherit) X(mutex_protect) X(mutex_process_shared)                 \
  /* calls of condition variables; what they are by their attributes */                      \
  X(cond_init) X(cond_destroy) X(cond_monotonic) X(cond_process_shared)                     \
  /* waits, of any form; those with a deadline, by its clock; on process-shared ones */      \
  X(cond_waits) X(cond_timed) X(cond_clock_realtime) X(cond_clock_monotonic)                \
  X(cond_waits_process_shared)                                                              \
  X(cond_signal) X(cond_broadcast)

#define LOCKSWAP_AUDIT_FINDINGS(X)                                                          \
  X(recursive_read)          /* a thread that reads the lock reads it again */              \
  X(recursive_read_writer_waiting)  /* the same while a writer waits for the lock */        \
  X(recursive_read_shut_out) /* the same on glibc's kind for writers: a self-deadlock */     \
  X(self_deadlock)           /* a thread that reads the lock waits to write it */           \
  X(deadlk)                  /* EDEADLK was returned */                                     \
  X(foreign_read_release)    /* a read hold released by another thread */                   \
  X(foreign_write_release)   /* a write hold released by another thread */                  \
  X(release_of_unheld)       /* nobody held it */                                           \
  X(destroy_while_held) X(destroy_while_awaited)                                            \
  X(init_while_held)                                                                        \
  X(memory_reset_while_held) /* the bytes of a held lock became those of a fresh one */     \
  X(used_before_seen)        /* first seen with bytes that no initialiser leaves */         \
  X(in_signal_handler)       /* a handler locked while its thread was in a lock function */ \
  X(fork_while_holding)      /* the forking thread held a lock */                           \
  X(fork_while_others_hold)  /* another thread did */                                       \
  X(fork_with_waiters)       /* a thread was waiting for a lock, or about to */             \
  X(foreign_mutex_release)   /* a mutex released by another thread than its owner */        \
  X(cond_wait_unheld)        /* a wait with a mutex that the thread does not hold */        \
  X(cond_two_mutexes)        /* threads wait for it with two mutexes at the same time */    \
  X(cond_changes_mutex)      /* the same, one after the other */                            \
  X(cond_shared_mutex_private)  /* process-shared, with a mutex that would be swapped */      \
  X(stopped_in_lock_call)    /* a handler waited in sigsuspend, its thread in such a call */\
  X(stopped_by_signal)       /* the same, its thread outside such a call */                 \
  X(left_lock_call)          /* a thread jumped out of such a call, or ended in it */       \
  X(real_time_thread)        /* a thread with a real-time policy */                         \
  X(bound_elsewhere)         /* a library whose calls bypass the preload */                 \
  X(unknown_layout)          /* objects of an unknown kind, not recorded */                 \
  X(destroy_of_uninitialised) /* its bytes are not those of a lock */                       \
  X(join_may_wait)           /* a thread holds a lock that the one it joins took before */   \
  X(starving_writer)         /* it waited long while readers passed it */                   \
  X(held_over_fork)          /* a child asks for a lock that a thread of the parent has */   \
  X(ended_holding)           /* a thread ended with it, and nobody has released it since */ \
  /* Cycles of lock orders, each reported once. */                                          \
  X(circle_with_reads)       /* of three or more; at one lock readers meet readers */       \
  X(circle_of_orders)        /* of three or more: a deadlock under any lock */              \
  X(opposite_read_orders)    /* both read, in both orders */                                \
  X(opposite_mixed_orders)   /* one of them read in both orders, the other not */           \
  X(opposite_orders)         /* otherwise: a deadlock under any lock */                     \
  X(wait_while_reading)      /* a thread waits for others, reading a lock that one writes */\
  X(join_while_holding)      /* a thread asks for a lock of the one that joins it */
// clang-format on

#define LOCKSWAP_AUDIT_NAME(name) name,
enum class Count : std::uint32_t { LOCKSWAP_AUDIT_COUNTS(LOCKSWAP_AUDIT_NAME) kEnd };
enum class Finding : std::uint32_t { LOCKSWAP_AUDIT_FINDINGS(LOCKSWAP_AUDIT_NAME) kEnd };
#undef LOCKSWAP_AUDIT_NAME

#define LOCKSWAP_AUDIT_NAME(name) #name,
inline constexpr const char* kCountNames[] = {LOCKSWAP_AUDIT_COUNTS(LOCKSWAP_AUDIT_NAME)};
inline constexpr const char* kFindingNames[] = {LOCKSWAP_AUDIT_FINDINGS(LOCKSWAP_AUDIT_NAME)};
#undef LOCKSWAP_AUDIT_NAME

inline constexpr std::size_t kCounts = static_cast<std::size_t>(Count::kEnd);
inline constexpr std::size_t kFindings = static_cast<std::size_t>(Finding::kEnd);
inline constexpr std::size_t kExamples = 6;  // per finding, one for each pair of call sites
inline constexpr std::size_t kStripes = 16;  // of the counters; threads spread over them
inline constexpr std::uint64_t kMagic = 0x7469647561'6b6c73;
inline constexpr std::uint32_t kSchema = 9;

inline constexpr std::size_t kLocksOfCircle = 12;  // longer cycles are not searched for
inline constexpr std::uint64_t kOfRwlocks = 1, kOfMutexes = 2;

using Word = NativeAtomic<std::uint64_t>;

inline constexpr std::uint32_t kFrames = 16;   // the innermost ones of a stack
inline constexpr std::uint32_t kStacks = 256;  // in the record

struct RecordedStack {
  std::uint32_t count;
  std::uint32_t cut;  // 1: there are more frames
  recording::Place frame[kFrames];
};

// Where a call came from: an address, and the file that is mapped there if there is one.
struct Place {
  std::uint64_t address;
  std::uint64_t offset;  // in the file
  char file[208];        // empty: no file, or unknown; cut if it is too long
};

struct Example {
  std::uint64_t times;
  std::uint64_t lock;          // address
  std::uint32_t thread;        // kernel's id of the thread that is reported
  std::uint32_t other_thread;  // of the lock's holder; 0 if there is none
  Place place;
  Place other_place;                 // where the hold was taken; a library's name
  std::uint64_t key;                 // of the stacks, if they distinguish examples
  std::uint32_t stack, other_stack;  // of the two places: index in the record plus 1; 0: unknown
};

// The findings from this one on have two more places.
inline constexpr std::size_t kFirstWithMore = static_cast<std::size_t>(Finding::circle_with_reads);
inline constexpr std::size_t kWithMore = kFindings - kFirstWithMore;
// The first of these are cycles.
inline constexpr std::size_t kCircles =
    static_cast<std::size_t>(Finding::wait_while_reading) - kFirstWithMore;

// For opposite orders: where each thread took the lock that it held. For a wait: where the writer
// asked. For a join: where it is. The last two have no second place.
struct MorePlaces {
  Place place[2];
};

// One thread's part in a cycle of orders: it holds one lock and asks for the next.
struct Part {
  std::uint64_t held, asked;                   // addresses
  recording::Place held_object, asked_object;  // where they lie, if in a file
  std::uint32_t held_stack, asked_stack;       // index in the record plus 1
  std::uint32_t thread;
  std::uint8_t holds_to_write, asks_to_write;
  std::uint8_t held_is_mutex, asked_is_mutex;
};
struct Circle {
  std::uint32_t count{};
  std::uint32_t one_thread{};  // one thread did all of it, at different times
  Part part[kLocksOfCircle]{};
};

struct FindingRecord {
  Word times;
  Word kinds;     // kOfRwlocks, kOfMutexes, if both are possible; 0: as always
  Word examples;  // number of examples; stored after the example
  Example example[kExamples];
};

// What is timed: holds, and waits of writers. The audit keeps the longest of each.
enum class Time : std::uint32_t { read, write, mutex, write_wait, kEnd };
inline constexpr const char* kTimeNames[] = {"read", "write", "mutex", "write_wait"};
inline constexpr std::size_t kTimes = static_cast<std::size_t>(Time::kEnd);

struct Longest {
  Word ns;                              // 0: none has ended
  Word lock;                            // address
  NativeAtomic<std::uint32_t> stack;    // where it began: index in the record plus 1
  NativeAtomic<std::uint32_t> goes_on;  // 1: until the process ended
};

// The lock that a thread waits for, or is about to.
struct Inside {
  NativeAtomic<std::uint32_t> tid;   // the thread that uses this; 0: free
  NativeAtomic<std::uint32_t> mode;  // kOfRwlocks or kOfMutexes; with those below
  Word lock;                         // address; 0: none
  Word place;                        // of the call
};
inline constexpr std::uint32_t kToWrite = 4, kForEver = 8;  // without a deadline
inline constexpr std::size_t kInside = 256;                 // threads

// A lock in memory that other processes may share, although it is not process-shared, as the first
// call of this process found it. The place in the file identifies it in all processes.
enum class ObjectKind : std::uint32_t { rwlock, mutex, cond, kEnd };
inline constexpr const char* kObjectKindNames[] = {"rwlock", "mutex", "cond"};
struct SharedLock {
  std::uint64_t address;
  std::uint64_t device;  // major number in the upper half, minor in the lower
  std::uint64_t inode;
  std::uint64_t offset;  // in the file
  ObjectKind kind;
  std::uint32_t pid, thread;  // a child without a file of its own uses its parent's
  std::uint32_t stack;        // of the call: index in the record plus 1
  std::uint32_t begins;       // 1: the call was an init
  std::uint32_t is_used;      // 1: the bytes were not those of a new one
  std::uint32_t not_glibcs;   // 1: glibc leaves no such bytes
  std::uint32_t gone_holder;  // the thread that held it, if there is none with that id; otherwise 0
  char file[208];             // as the kernel names the mapping; cut if it is too long
};
inline constexpr std::uint32_t kSharedLocks = 128;

struct Record {
  recording::Head head;
  Word most_rwlocks_held;  // by one thread at once
  Word most_mutexes_held;
  Longest longest[kTimes];
  Word counts[kStripes][kCounts];
  FindingRecord findings[kFindings];
  MorePlaces more[kWithMore][kExamples];
  Circle circle[kCircles][kExamples];  // for findings from kFirstWithMore on
  NativeAtomic<std::uint32_t> stacks;
  RecordedStack stack[kStacks];
  Inside inside[kInside];
  NativeAtomic<std::uint32_t> shared_locks;
  NativeAtomic<std::uint32_t> shared_locks_cut;  // 1: there were more
  SharedLock shared_lock[kSharedLocks];
};

inline constexpr recording::Format kFormat{kMagic, kSchema, sizeof(Record)};

}  // namespace lockswap::audit
