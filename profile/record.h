// What a profiled process leaves behind: one file, mapped and shared, in which it counts as it
// runs. So what was gathered outlives kill -9. liblockswap.so writes it, lockswap-profile-read
// turns it into JSON; both are built from this header. recording/head.h has what it begins with.
//
// The file is the Record, and behind it what grows: tallies and stacks. They are named by their
// offset in the file, 0 is none.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "profile/live.h"
#include "recording/head.h"
#include "recording/stacks.h"

namespace lockswap::profile {

using recording::Place;

inline constexpr std::uint64_t kMagic = 0x656c69666f72'706c;
inline constexpr std::uint32_t kSchema = 9;

// Memory is bounded; what finds no room is counted in Dropped.
inline constexpr std::uint32_t kMostBytes = 64u << 20;
inline constexpr std::uint32_t kMostClasses = 4096;
inline constexpr std::uint32_t kStackSlots = 8192;
inline constexpr std::uint32_t kPairSlots = 4096;
inline constexpr std::uint32_t kChainSlots = 2048;
inline constexpr std::uint32_t kMostMadeCode = 64;

// Waits below this are counted, not charged.
inline constexpr std::uint64_t kThresholdNs = 10'000;
// One in this many acquisitions has its hold timed, on average, besides each that had to wait. A
// thread times more of its first ones at a lock: where there are few, each one counts.
constexpr std::uint64_t hold_period(std::uint64_t acquisitions) noexcept {
  constexpr std::uint64_t kFirst = 8, kLast = 64, kDrawn = 64;
  const std::uint64_t period = acquisitions / kDrawn;
  return period < kFirst ? kFirst : period > kLast ? kLast : period;
}

using Word = NativeAtomic<std::uint64_t>;
using Offset = NativeAtomic<std::uint32_t>;

enum class Kind : std::uint32_t { mutex, rwlock, cond, semaphore, barrier, join, kEnd };
enum class Mode : std::uint32_t { exclusive, shared, unknown };

// Durations on a log scale, two buckets an octave: bucket 0 is below 16 ns, the last one is open.
struct Histogram {
  static constexpr std::size_t kBuckets = 64;
  std::uint32_t n[kBuckets];

  static constexpr std::size_t bucket(std::uint64_t ns) noexcept {
    if (ns < 16) return 0;
    const auto exponent = static_cast<std::size_t>(std::bit_width(ns)) - 1;
    const std::size_t i = (exponent - 4) * 2 + ((ns >> (exponent - 1)) & 1) + 1;
    return i < kBuckets ? i : kBuckets - 1;
  }
  // The least duration of a bucket.
  static constexpr std::uint64_t begin(std::size_t i) noexcept {
    if (i == 0) return 0;
    const std::uint64_t octave = std::uint64_t{16} << (i - 1) / 2;
    return (i - 1) % 2 == 0 ? octave : octave + octave / 2;
  }
};
static_assert(Histogram::bucket(15) == 0 && Histogram::bucket(16) == 1);
static_assert(Histogram::bucket(Histogram::begin(30)) == 30 &&
              Histogram::bucket(Histogram::begin(30) - 1) == 29);

// The counts of one thread (or of several, one after the other) for one class of locks and one
// mode. Only that thread writes them, so no atomic operation is needed.
struct ModeTally {
  std::uint64_t acquisitions;
  std::uint64_t next_drawn;  // that acquisition's hold is timed
  std::uint64_t plain_hold;  // Hold::what of a hold that is not
  std::uint64_t contended;   // a try at once failed
  std::uint64_t wait_ns;     // of the contended ones
  std::uint64_t most_wait_ns;
  std::uint64_t long_waits;    // of kThresholdNs and more
  std::uint64_t timed_holds;   // in `hold`
  std::uint64_t hold_ns;       // of these
  std::uint64_t most_hold_ns;  // also of those that had waited and are not in `hold`
  union {
    std::uint64_t split_holds;     // long holds whose thread's processor time is known
    std::uint64_t woken_with_all;  // of a condition variable: waits that a broadcast ended
  };
  union {
    std::uint64_t split_ns;  // how long they were
    // For a condition variable: wake-ups after which the thread waited again without having given
    // the mutex back.
    std::uint64_t woken_in_vain;
  };
  std::uint64_t on_processor_ns;  // how much of split_ns the thread ran
  std::uint64_t long_expected;    // above 0: holds here tend to be long
  Histogram wait;
  Histogram hold;
};

// When the threads of a tally waited: see timeline.h. It is there once one of them had to.
struct Timeline {
  static constexpr std::uint32_t kSlots = 128;
  static constexpr std::uint32_t kFirstShift = 20;  // a slot of some 1 ms
  std::uint32_t shift;                              // a slot is 2^shift ns
  std::uint64_t ns[kSlots];                         // waited, from the process's start on
};

struct Tally {
  std::uint32_t next;  // of the same class
  std::uint32_t threads;
  std::uint64_t last_thread;  // the serial number of the thread that writes it
  union {
    std::uint64_t failed_tries;
    std::uint64_t broadcasts;  // of condition variables
  };
  std::uint64_t timeouts;
  std::uint64_t signals;  // of condition variables; broadcasts and posts too
  std::uint64_t timed_out_ns;
  Offset timeline;
  ModeTally mode[2];  // of mutexes and condition variables the first alone is there
};
inline constexpr std::uint32_t bytes_of_tally(Kind kind) noexcept {
  return static_cast<std::uint32_t>(kind == Kind::rwlock ? sizeof(Tally)
                                                         : sizeof(Tally) - sizeof(ModeTally));
}

// Locks that are one line of a profile: a static object, or all that were first used on one stack.
struct Class {
  Kind kind;
  std::uint32_t stack;   // where the first one was initialised, or else first used
  std::uint64_t object;  // a Place, of a static object
  std::uint32_t by_init;
  Offset tallies;
  Word objects;
};

// Code in no file: what a compiler in the program has made (JIT).
struct MadeCode {
  std::uint64_t begin, end;
};

// "Holder here kept waiter there."
struct Pair {
  Word key;  // 0: free; else a hash of the five below, which are written by the thread that set it
  NativeAtomic<std::uint32_t> ready;
  std::uint32_t class_number;
  std::uint32_t waiter;  // stacks; 0 = not known
  std::uint32_t holder;
  Mode waiter_mode;
  Mode holder_mode;
  Word waits;
  Word wait_ns;
  Word until_release_ns;  // the holder's part; the rest is the scheduler's
  Word most_ns;
};

// The holder of one pair waited itself while it kept the other side waiting: as another pair says.
struct Chain {
  Word key;  // 0: free; else the pair's number above, the other one's below, both plus 1
  Word ns;   // of the waiting of the first, while the second went on
};

// The latest waits that were charged, one by one. There is room for the last kMost of them.
struct WaitHistory {
  static constexpr std::uint32_t kBlocks = 64;
  static constexpr std::uint32_t kBlock = 1024;
  static constexpr std::uint32_t kMost = kBlocks * kBlock;

  struct Entry {
    Word number;    // counts from 1; 0 while it is written
    Word begin_ns;  // since started_ns, as all times here
    Word end_ns;
    // The hold that the wait is charged to: since when it kept threads waiting, and its end. 0: not
    // known, or what ended the wait was no hold.
    Word kept_since_ns;
    Word released_ns;
    Offset pair;  // its number
    Offset tid;
    Offset holder_tid;  // 0: not known
    // The lower half of `number`, written with it but at the other end: a reader that copies the
    // file from its beginning has the entry whole if the two agree.
    Offset again;
  };
  static_assert(sizeof(Entry) == 7 * sizeof(Word));
  struct Block {
    Entry entry[kBlock];
  };

  Word count;  // of all that there were
  Offset block[kBlocks];
};

struct Dropped {
  Word objects;  // acquisitions of locks that found no room
  Word tallies;  // acquisitions without a tally
  Word stacks;   // stacks that were not kept
  Word pairs;    // waits that were not charged
  Word pairs_ns;
  Word chains;     // waits whose cause was not kept
  Word timelines;  // waits of which it is not kept when they were
  Word holds;      // holds of threads that hold more than is followed
  Word inside;     // calls from signal handlers that interrupted the bookkeeping
};

struct Record {
  recording::Head head;
  std::uint64_t started_ns;     // CLOCK_MONOTONIC
  std::uint64_t started_ticks;  // the same moment
  std::uint64_t slept_before;   // as `slept`, before the start: the program called exec
  Word slept;                   // how often its threads slept; 0: it did not come to its end
  Word last_ns;                 // when something slow was last recorded
  // What profiling costs, measured at the start.
  std::uint64_t pair_ns_256;              // of an acquisition and its release, 256th of ns
  std::uint64_t stack_ns;                 // of a stack that has to be unwound
  std::uint64_t start_ns;                 // of the start, of processor time
  Word unwound, unwind_ns;                // how many were, and how long it took
  NativeAtomic<std::uint32_t> used;       // bytes of the file
  NativeAtomic<std::uint32_t> allocated;  // bytes that have blocks
  std::uint32_t counter;                  // 1: times are by the processor's counter
  NativeAtomic<std::uint32_t> classes;    // 0 is for what found no room
  Word threads;
  Offset live;     // the first Live
  Offset history;  // a WaitHistory, once a wait was charged; version 8 has 0 here
  Dropped dropped;
  Offset made_code;  // of a process that came to its end
  MadeCode made[kMostMadeCode];
  Class class_of[kMostClasses];
  Offset stack_at[kStackSlots];
  Pair pair[kPairSlots];
  Chain chain[kChainSlots];
};

// Version 8 had padding where `history` is.
static_assert(offsetof(Record, history) == offsetof(Record, live) + sizeof(Offset) &&
              offsetof(Record, dropped) == offsetof(Record, history) + sizeof(Offset));

inline constexpr recording::Format kFormat{kMagic, kSchema, sizeof(Record)};

}  // namespace lockswap::profile
