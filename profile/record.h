// What a profiled process leaves behind: a shared mapping of one file, in which the process counts
// as it runs. So the profile survives kill -9. liblockswap.so writes it, and lockswap-profile-read
// turns it into JSON; both include this header. The file begins as recording/head.h says.
//
// The file is the Record, followed by what grows: tallies and stacks. They are referred to by their
// offset in the file, and offset 0 means none.
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

// Memory is bounded. Dropped counts what found no room.
inline constexpr std::uint32_t kMostBytes = 64u << 20;
inline constexpr std::uint32_t kMostClasses = 4096;
inline constexpr std::uint32_t kStackSlots = 8192;
inline constexpr std::uint32_t kPairSlots = 4096;
inline constexpr std::uint32_t kChainSlots = 2048;
inline constexpr std::uint32_t kMostMadeCode = 64;

// Shorter waits are counted, but not charged.
inline constexpr std::uint64_t kThresholdNs = 10'000;
// On average, one in this many acquisitions has its hold timed, and so has each that had to wait.
// Among a thread's first acquisitions of a lock more are timed: if there are few, each one counts.
constexpr std::uint64_t hold_period(std::uint64_t acquisitions) noexcept {
  constexpr std::uint64_t kFirst = 8, kLast = 64, kDrawn = 64;
  const std::uint64_t period = acquisitions / kDrawn;
  return period < kFirst ? kFirst : period > kLast ? kLast : period;
}

using Word = NativeAtomic<std::uint64_t>;
using Offset = NativeAtomic<std::uint32_t>;

enum class Kind : std::uint32_t { mutex, rwlock, cond, semaphore, barrier, join, kEnd };
enum class Mode : std::uint32_t { exclusive, shared, unknown };

// Durations on a log scale, with two buckets per octave. Bucket 0 is below 16 ns, and the last one
// has no upper bound.
struct Histogram {
  static constexpr std::size_t kBuckets = 64;
  std::uint32_t n[kBuckets];

  static constexpr std::size_t bucket(std::uint64_t ns) noexcept {
    if (ns < 16) return 0;
    const auto exponent = static_cast<std::size_t>(std::bit_width(ns)) - 1;
    const std::size_t i = (exponent - 4) * 2 + ((ns >> (exponent - 1)) & 1) + 1;
    return i < kBuckets ? i : kBuckets - 1;
  }
  // Returns the shortest duration in a bucket.
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
// mode. Only that thread writes them, so atomic updates are not needed.
struct ModeTally {
  std::uint64_t acquisitions;
  std::uint64_t next_drawn;  // number of the next acquisition whose hold is timed
  std::uint64_t plain_hold;  // Hold::what of a hold that is not timed
  std::uint64_t contended;   // acquisitions whose first try failed
  std::uint64_t wait_ns;     // waiting time of these
  std::uint64_t most_wait_ns;
  std::uint64_t long_waits;    // of at least kThresholdNs
  std::uint64_t timed_holds;   // the number in `hold`
  std::uint64_t hold_ns;       // of these
  std::uint64_t most_hold_ns;  // includes holds after waits, which are not in `hold`
  union {
    std::uint64_t split_holds;     // long holds with known processor time of their thread
    std::uint64_t woken_with_all;  // condition variables: waits that a broadcast ended
  };
  union {
    std::uint64_t split_ns;  // the duration of these holds
    // Condition variables: wake-ups after which the thread waited again without releasing the mutex
    // in between.
    std::uint64_t woken_in_vain;
  };
  std::uint64_t on_processor_ns;  // for how much of split_ns the thread ran
  std::uint64_t long_expected;    // above 0: holds here tend to be long
  Histogram wait;
  Histogram hold;
};

// When the threads of a tally waited: see timeline.h. It exists once one of them had to wait.
struct Timeline {
  static constexpr std::uint32_t kSlots = 128;
  static constexpr std::uint32_t kFirstShift = 20;  // a slot is about 1 ms
  std::uint32_t shift;                              // a slot is 2^shift ns
  std::uint64_t ns[kSlots];                         // waiting time, from the start of the process
};

struct Tally {
  std::uint32_t next;  // in the same class
  std::uint32_t threads;
  std::uint64_t last_thread;  // the serial number of the writing thread
  union {
    std::uint64_t failed_tries;
    std::uint64_t broadcasts;  // of a condition variable
  };
  std::uint64_t timeouts;
  std::uint64_t signals;  // of a condition variable, with broadcasts; posts
  std::uint64_t timed_out_ns;
  Offset timeline;
  ModeTally mode[2];  // mutexes and condition variables have only the first
};
inline constexpr std::uint32_t bytes_of_tally(Kind kind) noexcept {
  return static_cast<std::uint32_t>(kind == Kind::rwlock ? sizeof(Tally)
                                                         : sizeof(Tally) - sizeof(ModeTally));
}

// Locks that are one line of a profile: a static object, or all locks that were first used with the
// same stack.
struct Class {
  Kind kind;
  std::uint32_t stack;   // where the first was initialised, or else first used
  std::uint64_t object;  // the Place of a static object
  std::uint32_t by_init;
  Offset tallies;
  Word objects;
};

// Code that is in no file, because a compiler in the program has made it (JIT).
struct MadeCode {
  std::uint64_t begin, end;
};

// A pair of stacks: this holder kept that waiter waiting.
struct Pair {
  Word key;  // 0: free; else a hash of the five below, which the thread that set it writes
  NativeAtomic<std::uint32_t> ready;
  std::uint32_t class_number;
  std::uint32_t waiter;  // stacks; 0: unknown
  std::uint32_t holder;
  Mode waiter_mode;
  Mode holder_mode;
  Word waits;
  Word wait_ns;
  Word until_release_ns;  // because of the holder; the rest is the scheduler's
  Word most_ns;
};

// The holder of one pair was itself waiting, as another pair says, while it kept a thread waiting.
struct Chain {
  Word key;  // 0: free; else the numbers of the first and of the second pair, both plus 1
  Word ns;   // waiting of the first, while the second lasted
};

// The latest charged waits, one by one. There is room for kMost.
struct WaitHistory {
  static constexpr std::uint32_t kBlocks = 64;
  static constexpr std::uint32_t kBlock = 1024;
  static constexpr std::uint32_t kMost = kBlocks * kBlock;

  struct Entry {
    Word number;    // counts from 1; 0 during the write
    Word begin_ns;  // relative to started_ns, as all times here
    Word end_ns;
    // The hold that is charged for the wait: since when it kept threads waiting, and its end. 0 if
    // unknown, or if the wait ended by something else than a hold.
    Word kept_since_ns;
    Word released_ns;
    Offset pair;  // its index
    Offset tid;
    Offset holder_tid;  // 0: unknown
    // The lower half of `number`, written together with it but at the other end. If a reader copies
    // the file from its beginning, and the two agree, it has the whole entry.
    Offset again;
  };
  static_assert(sizeof(Entry) == 7 * sizeof(Word));
  struct Block {
    Entry entry[kBlock];
  };

  Word count;  // the number of waits ever
  Offset block[kBlocks];
};

struct Dropped {
  Word objects;  // acquisitions of locks without an Object
  Word tallies;  // acquisitions without a tally
  Word stacks;   // stacks that were not stored
  Word pairs;    // waits that were not charged
  Word pairs_ns;
  Word chains;     // waits whose cause was not stored
  Word timelines;  // waits that are in no timeline
  Word holds;      // holds beyond what is tracked for a thread
  Word inside;     // calls in signal handlers that interrupted the bookkeeping
};

struct Record {
  recording::Head head;
  std::uint64_t started_ns;     // CLOCK_MONOTONIC
  std::uint64_t started_ticks;  // the same moment
  std::uint64_t slept_before;   // `slept` before the start, if the program called exec
  Word slept;                   // how often its threads slept; 0: it was killed
  Word last_ns;                 // when something slow was last recorded
  // The costs of profiling, measured at start-up.
  std::uint64_t pair_ns_256;              // of an acquisition and its release, in 1/256 ns
  std::uint64_t stack_ns;                 // of unwinding a stack
  std::uint64_t start_ns;                 // processor time of start-up
  Word unwound, unwind_ns;                // how many stacks were unwound, and the time
  NativeAtomic<std::uint32_t> used;       // bytes in use
  NativeAtomic<std::uint32_t> allocated;  // bytes with disk blocks
  std::uint32_t counter;                  // 1: times come from the processor's counter
  NativeAtomic<std::uint32_t> classes;    // 0 is for locks that found no room
  Word threads;
  Offset live;     // the first Live
  Offset history;  // a WaitHistory, after the first charged wait; 0 in version 8
  Dropped dropped;
  Offset made_code;  // written when the process exits
  MadeCode made[kMostMadeCode];
  Class class_of[kMostClasses];
  Offset stack_at[kStackSlots];
  Pair pair[kPairSlots];
  Chain chain[kChainSlots];
};

// Version 8 had padding in place of `history`.
static_assert(offsetof(Record, history) == offsetof(Record, live) + sizeof(Offset) &&
              offsetof(Record, dropped) == offsetof(Record, history) + sizeof(Offset));

inline constexpr recording::Format kFormat{kMagic, kSchema, sizeof(Record)};

}  // namespace lockswap::profile
