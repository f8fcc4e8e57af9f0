// The profile's knowledge of this process, in memory that is empty in each child.
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

// A lock, a mutex or a condition variable, found by its address. It stays as long as the process,
// because a release may access it after the lock is gone.
struct alignas(64) Object {
  NativeAtomic<std::uint64_t> address;  // 0: free
  // Its class and kind, `packed`, and kWatched; 0 if nobody has looked it up yet. Changes when
  // another object begins here.
  NativeAtomic<std::uint32_t> what;
  NativeAtomic<std::uint32_t> waiters;         // threads in a call that must wait; kWoken
  NativeAtomic<std::uint64_t> release;         // a Ref: the last release that threads waited for
  NativeAtomic<std::uint64_t> by_writer;       // the same, except for releases by readers
  NativeAtomic<std::uint64_t> waits_since;     // ticks; since when there have been waiters
  NativeAtomic<std::uint32_t> has_long_waits;  // above 0: waits here tend to be long
  // Condition variable: whether the last signal was for all. Barrier: its count.
  NativeAtomic<std::uint32_t> was_for_all;
  NativeAtomic<Object*> mutex;          // condition variable: its last waiter's mutex
  NativeAtomic<std::uint32_t> arrived;  // barrier: how many threads have arrived so far
  NativeAtomic<std::uint32_t> quiet;    // watched acquisitions in a row that did not wait

  // Mutex: a signalled thread is about to acquire it again.
  static constexpr std::uint32_t kWoken = 1u << 31;

  // A bit of `what`: threads have waited here recently. Another thread may take the lock between
  // the check and the call, so while this bit is set, an acquisition finds out afterwards whether
  // it waited.
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

// A release that threads waited for, as the releasing thread leaves it behind. A waiter that finds
// its number finds the whole release, or sees that a later one has taken the place.
struct Release {
  NativeAtomic<std::uint64_t> number;  // counts the thread's releases; written last
  NativeAtomic<std::uint64_t> at;      // ticks
  // Ticks: since when the hold that ends here has kept others waiting; 0 if no hold ends.
  NativeAtomic<std::uint64_t> kept_since;
  NativeAtomic<std::uint64_t> caller;  // the return address of the releasing call
  NativeAtomic<std::uint32_t> stack;
  NativeAtomic<std::uint32_t> mode;
  NativeAtomic<std::uint32_t> tid;
  NativeAtomic<std::uint32_t> cause;  // a Cause
  NativeAtomic<std::uint64_t> cause_begin, cause_end;
};
inline constexpr std::uint32_t kNotYet = ~0u;  // for Release::stack: it is being unwound
inline constexpr unsigned kRefShift = 48;      // a Ref: the thread's place above, the number below
using Ref = std::uint64_t;

// The longest wait of a thread while it held locks. Others wait for those locks partly because of
// it.
struct Cause {
  std::uint32_t pair = 0;  // its index plus 1; 0: none
  std::uint64_t begin = 0, end = 0;
};

// The thread's processor time at the beginning of the hold that is measured.
struct Split {
  std::uint64_t address = 0;  // 0: none
  std::uint64_t since = 0;    // as in the Hold
  std::uint64_t cpu_ns = 0;
};

// A wait that is over but not charged yet.
struct Pending {
  const Object* object;
  Ref release;
  std::uint64_t begin, end;  // ticks
  std::uint32_t class_number;
  std::uint32_t stack;
  Mode mode;
  bool holding;             // the thread held locks during the wait
  std::uint64_t until = 0;  // the end of the last hold, if another one is charged
};

// A lock that the thread took recently, with what it needs next time. Only for locks that are
// counted.
struct Recent {
  static constexpr unsigned kBits = 6;

  std::uint64_t key;  // 0: none
  Object* object;
  ModeTally* tally;
  // The object's `what` at that time. It differs in a child, if another object is here now, and if
  // the object is watched.
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

// The last wait for a condition that a broadcast ended, until the thread's next such wait.
struct Woken {
  const void* cond = nullptr;
  std::uint64_t acquisitions = 0;  // by this thread, in the mutex's class, at that time
};

struct Thread {
  NativeAtomic<std::uint32_t> taken;
  bool is_watched;      // the thread will return this when it ends
  std::uint32_t place;  // index among all
  std::uint64_t serial;
  std::uint32_t random;
  std::uint64_t releases;
  std::uint64_t unwound_at;             // ticks; when a stack was last unwound before a wait
  std::uint32_t root;                   // outermost frames, if the thread can be joined
  Live* live;                           // never nullptr if the thread is known
  const CallMark* in_wait[kMostWaits];  // the marks of these waits; nullptr if unknown
  Pending pending;
  Cause cause;
  Split split;
  Woken woken;
  Release release[kReleases];
  Recent recent[std::size_t{1} << Recent::kBits];
  std::uint32_t tally[kMostClasses];
  recording::KnownStacks<64> known;
};

// The guard protects all that grows: the file, classes, stacks, threads.
struct World : recording::ProcessState {
  bool records;  // there is a file
  NativeAtomic<std::uint64_t> serials;
  NativeAtomic<Thread*> thread[kMostThreads];
  Object objects[kObjects];
  // For each object a Ref: the release that ended the last hold which accounts for most of the
  // waiting time of its waiters.
  NativeAtomic<std::uint64_t> long_release[kObjects];
  Object nothing;  // for holds of objects that found no room
};

// Zero in a new thread.
struct Me {
  Thread* thread;
  Live* live;             // the thread's
  std::uint32_t process;  // World::number when the thread last became known
  bool busy;              // a signal handler that finds it true does nothing
  bool ready;             // `thread` exists, is not in its bookkeeping, and has postponed nothing
};
inline Me& me() noexcept { return per_thread<Me>; }

inline constinit World* the_world = nullptr;
inline World& world() noexcept { return *the_world; }

// Called at start-up. Returns false if there is no memory.
bool prepare_world() noexcept;
// Called in a forked child on kernels that do not clear the mapping.
void empty_world_of_parent() noexcept;

// Returns whether this process has its own file.
bool is_recording() noexcept;

// Makes the thread known in this process. Returns nullptr if there is no room, or if nothing is
// recorded.
Thread* make_known(Me& m) noexcept;

// The thread is in its bookkeeping while one of these exists. A call in a signal handler that
// interrupted it gets no thread, and is not recorded.
class Entry {
 public:
  Entry() noexcept : me_(me()) { begin(); }
  ~Entry() { leave(); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  // Returns nullptr if the call must only be passed on.
  Thread* thread() const noexcept { return thread_; }

  // Called before a call that may wait.
  void leave() noexcept {
    if (!mine_) return;
    signal_fence();
    me_.busy = mine_ = false;
    me_.ready = thread_ != nullptr && thread_->pending.object == nullptr;
  }
  // Called after it. The process may be another one, because a handler may have forked.
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
