// What profiling knows of this process, in memory that is empty in each child.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/call_mark.h"
#include "platform/thread.h"
#include "profile/record.h"
#include "recording/process.h"
#include "recording/unwind.h"

namespace lockswap::profile {

// A lock, a mutex or a condition variable; found by its address. It stays for as long as the
// process: a release may look at it after the lock is gone.
struct alignas(64) Object {
  NativeAtomic<std::uint64_t> address;  // 0: free
  // Its class and kind, `packed`; 0: nobody has asked yet. Changes when another object begins here.
  // And kWatched.
  NativeAtomic<std::uint32_t> what;
  NativeAtomic<std::uint32_t> waiters;      // threads that are in a call that has to wait; kWoken
  NativeAtomic<std::uint64_t> release;      // a Ref: the last release that had waiters
  NativeAtomic<std::uint64_t> by_writer;    // the same, of those that were not a reader's
  NativeAtomic<std::uint64_t> waits_since;  // ticks: since when there have been waiters
  NativeAtomic<std::uint32_t> has_long_waits;  // above 0: waits here tend to be long
  // For a condition variable, whether the last signal was for all; for a barrier, its count.
  NativeAtomic<std::uint32_t> was_for_all;
  NativeAtomic<Object*> mutex;          // of a condition variable: its last waiter's
  NativeAtomic<std::uint32_t> arrived;  // of a barrier: how many have come so far
  NativeAtomic<std::uint32_t> quiet;    // watched acquisitions that did not wait, one after another

  // For a mutex: a signalled thread is on its way to acquire it again.
  static constexpr std::uint32_t kWoken = 1u << 31;

  // A bit of `what`: threads have waited here lately. Another thread may take the lock between a
  // look and the call, so while this is set an acquisition finds out afterwards whether it waited.
  static constexpr std::uint32_t kWatched = 1u << 31;
  bool is_watched() const noexcept { return (what.load(relaxed) & kWatched) != 0; }

  static constexpr std::uint32_t kDecided = 8;
  static constexpr std::uint32_t packed(std::uint32_t number, Kind kind) noexcept {
    return number << 4 | kDecided | static_cast<std::uint32_t>(kind);
  }
  static constexpr bool is_of(std::uint32_t what, Kind kind) noexcept {
    return (what & 15) == packed(0, kind);
  }
  static constexpr std::uint32_t number_in(std::uint32_t what) noexcept {
    return (what & ~kWatched) >> 4;
  }
};

inline constexpr std::size_t kObjects = std::size_t{1} << 17;
inline constexpr std::size_t kReleases = 16;
inline constexpr std::size_t kMostThreads = 4096;  // at once

// A release that had waiters, as the thread that made it leaves it behind. A waiter that finds its
// number finds it whole, or sees that the place has gone to a later one.
struct Release {
  NativeAtomic<std::uint64_t> number;  // of the thread's releases; written last
  NativeAtomic<std::uint64_t> at;      // ticks
  // Ticks: since when the hold that ends here has kept others waiting; 0: it is no hold's end.
  NativeAtomic<std::uint64_t> kept_since;
  NativeAtomic<std::uint64_t> caller;  // what the releasing call returns to
  NativeAtomic<std::uint32_t> stack;
  NativeAtomic<std::uint32_t> mode;
  NativeAtomic<std::uint32_t> tid;
  NativeAtomic<std::uint32_t> cause;  // of a Cause
  NativeAtomic<std::uint64_t> cause_begin, cause_end;
};
inline constexpr std::uint32_t kNotYet = ~0u;  // of Release::stack: it is being unwound
inline constexpr unsigned kRefShift = 48;  // of a Ref: the thread's place above, the number below
using Ref = std::uint64_t;

// The longest wait of a thread while it held locks: what it keeps others waiting for, in part.
struct Cause {
  std::uint32_t pair = 0;  // its number, plus 1; 0: there was none
  std::uint64_t begin = 0, end = 0;
};

// The thread's processor time when the one hold began of which it is asked.
struct Split {
  std::uint64_t address = 0;  // 0: of none
  std::uint64_t since = 0;    // as the hold's
  std::uint64_t cpu_ns = 0;
};

// A wait that is over, and not charged yet.
struct Pending {
  const Object* object;
  Ref release;
  std::uint64_t begin, end;  // ticks
  std::uint32_t class_number;
  std::uint32_t stack;
  Mode mode;
  bool holding;             // the thread held locks meanwhile
  std::uint64_t until = 0;  // when the last hold ended, if it is another one than is charged
};

// A lock that the thread took lately: what it needs for the next time. Only locks that are counted.
struct Recent {
  static constexpr unsigned kBits = 6;

  std::uint64_t key;  // 0: none
  Object* object;
  ModeTally* tally;
  // The object's, then: in a child, for another object here, and for one that is watched, it is
  // another.
  std::uint32_t what;

  static std::uint64_t key_of(const void* lock, Kind kind, Mode mode) noexcept {
    constexpr std::uint64_t kShared = 7;
    static_assert(static_cast<std::uint64_t>(Kind::kEnd) <= kShared);
    return reinterpret_cast<std::uint64_t>(lock) << 3 |
           (mode == Mode::shared ? kShared : static_cast<std::uint64_t>(kind));
  }
  static constexpr std::size_t place_of(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>(key) * 0x9e3779b9u >> (32 - kBits);
  }
};

// The last wait for a condition that a broadcast ended, until the thread waits for one again.
struct Woken {
  const void* cond = nullptr;
  std::uint64_t acquisitions = 0;  // of the mutex's class, by this thread, at that time
};

struct Thread {
  NativeAtomic<std::uint32_t> taken;
  bool is_watched;      // it gives this back when it ends
  std::uint32_t place;  // among all
  std::uint64_t serial;
  std::uint32_t random;
  std::uint64_t releases;
  std::uint64_t unwound_at;  // ticks: when a stack was last unwound before a wait
  std::uint32_t root;        // the stack's outermost frames, of a thread that may be joined
  Live* live;                // never nullptr in a thread that is known
  const CallMark* in_wait[kMostWaits];  // of the waits there; nullptr if it isn't known
  Pending pending;
  Cause cause;
  Split split;
  Woken woken;
  Release release[kReleases];
  Recent recent[std::size_t{1} << Recent::kBits];
  std::uint32_t tally[kMostClasses];
  recording::KnownStacks<64> known;
};

// The guard is that of all that grows: the file, classes, stacks, threads.
struct World : recording::ProcessState {
  bool records;  // there is a file
  NativeAtomic<std::uint64_t> serials;
  NativeAtomic<Thread*> thread[kMostThreads];
  Object objects[kObjects];
  // A Ref for each: the release that ended the last hold which made up most of the time for which
  // the lock's waiters had waited.
  NativeAtomic<std::uint64_t> long_release[kObjects];
  Object nothing;  // of holds of what found no room there
};

// All zero in a new thread.
struct Me {
  Thread* thread;
  Live* live;             // the thread's
  std::uint32_t process;  // the World's number when the thread was last made known
  bool busy;              // a signal handler that finds it true keeps away
  bool ready;  // `thread` is there, does nothing of its bookkeeping, and puts nothing off
};
inline Me& me() noexcept { return per_thread<Me>; }

inline constinit World* the_world = nullptr;
inline World& world() noexcept { return *the_world; }

// Called at start-up. Returns false if there is no memory.
bool prepare_world() noexcept;
// Called in a forked child, on kernels that do not empty the mapping.
void empty_world_of_parent() noexcept;

// Returns whether this process has a file of its own.
bool is_recording() noexcept;

// Makes the thread known in this process; nullptr if there is no room, or nothing is recorded.
Thread* make_known(Me& m) noexcept;

// The thread's bookkeeping, as long as one of these exists. A call from a signal handler that
// interrupted it finds no thread, and goes unrecorded.
class Entry {
 public:
  Entry() noexcept : me_(me()) { begin(); }
  ~Entry() { leave(); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  // Returns nullptr if the call is to be passed on.
  Thread* thread() const noexcept { return thread_; }

  // Before a call that may wait.
  void leave() noexcept {
    if (!mine_) return;
    signal_fence();
    me_.busy = mine_ = false;
    me_.ready = thread_ != nullptr && thread_->pending.object == nullptr;
  }
  // Behind it. The process may be another one: a handler may have forked.
  Thread* again() noexcept {
    begin();
    return thread_;
  }

 private:
  void begin() noexcept {
    thread_ = nullptr;
    mine_ = !me_.busy;
    if (!mine_) [[unlikely]] {
      count_inside();
      return;
    }
    me_.busy = true;
    me_.ready = false;
    signal_fence();
    thread_ = me_.process == world().number && me_.process != 0 ? me_.thread : make_known(me_);
  }
  static void count_inside() noexcept;

  Me& me_;
  Thread* thread_ = nullptr;
  bool mine_ = false;
};

}  // namespace lockswap::profile
