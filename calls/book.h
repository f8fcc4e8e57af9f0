// Records the calls of each thread.
//
// Each thread writes into its own chunk, so it waits for others only when the chunk is full. When
// the file is full, recording ends for all threads.
//
// If a thread was off its processor in a gap between two calls, the gap was not work. To find out
// takes a system call for the thread's processor time, so only long gaps are checked. Time since
// the last check that is neither processor time nor time in calls was time off the processor.
//
// All orders here are relaxed: no other data depends on the numbers and the stage, chunks are taken
//   under the guard, and the file is for another process.
#pragma once

#include <algorithm>
#include <cstdint>

#include "calls/file.h"
#include "platform/thread.h"
#include "platform/ticks.h"
#include "recording/process.h"

namespace lockswap::calls {

// The number of a lock or condition variable, by its address.
struct Slot {
  NativeAtomic<std::uint64_t> address;  // 0: free
  NativeAtomic<std::uint32_t> number;   // 0: not looked up since the object began
};
inline constexpr unsigned kSlotBits = 17;
inline constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;

enum class Stage : std::uint32_t { before, on, over };

// The recording's data about this process.
struct World : recording::ProcessState {
  NativeAtomic<Stage> stage;
  NativeAtomic<std::uint32_t> threads;
  NativeAtomic<std::uint32_t> objects;
  Slot slots[kSlots];
};
inline constinit World* the_world = nullptr;
inline World& world() noexcept { return *the_world; }

// Zero in a new thread.
struct Me {
  Call* next;  // where the next call goes; nullptr: nowhere
  Call* end;
  std::uint32_t thread;
  std::uint32_t process;  // World::number when the thread got this
  bool is_busy;           // a signal handler that finds it true does nothing
  std::uint64_t last;     // ticks: when the last call returned
  // At the last check of the thread's processor time, and of how often it had slept.
  std::uint64_t looked, cpu_ns, sleeps;
  std::uint64_t in_calls_ns;  // since then, in calls that may have slept
};

// The thread is in its bookkeeping while one of these exists.
class Entry {
 public:
  // is() returns false if the thread isn't recorded, or in a signal handler that has interrupted
  // one of these.
  explicit Entry(std::uint64_t now) noexcept : me_(per_thread<Me>) {
    if (me_.is_busy) [[unlikely]] {
      count_left_out();
      return;
    }
    me_.is_busy = mine_ = true;
    signal_fence();
    if (me_.process != world().number || me_.thread == 0) [[unlikely]]
      make_known(now);
    records_ = me_.thread != 0;
  }
  ~Entry() {
    signal_fence();
    if (mine_) me_.is_busy = false;
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  bool is() const noexcept { return records_; }

  // Called when a call is over.
  void note(What what, std::uint32_t object, std::uint64_t begin, std::uint64_t end) noexcept {
    if (Ticks::ns_between(begin, end) >= kMaySleepNs) [[unlikely]]
      end = look_at_call(begin, end);
    if (me_.next == me_.end) [[unlikely]] {
      next_chunk();
      end = Ticks::now();  // this is a part of the call, too
    }
    // A child's file begins during its first call.
    begin = std::max(begin, record().began_ticks);
    put(Call::of(what, object, Ticks::ns_between(record().began_ticks, begin),
                 Ticks::ns_between(begin, end)));
    me_.last = end;
  }
  // A try failed, or an acquisition timed out. The program decides what follows.
  void count_failed() noexcept { record().failed.fetch_add(1, relaxed); }
  // Checks a long gap that ended with the call that begins at `begin`.
  void look_at_gap(std::uint64_t begin) noexcept;

  static bool is_long_gap(std::uint64_t begin) noexcept {
    return Ticks::ns_between(per_thread<Me>.last, begin) >= kLongNs;
  }

 private:
  // Gaps that are checked, and calls that may have slept.
  static constexpr std::uint64_t kLongNs = 50'000, kMaySleepNs = 5'000;

  void put(const Call& call) noexcept {
    if (me_.next == me_.end && !next_chunk()) [[unlikely]]
      return;
    me_.next->took = call.took;
    signal_fence();  // if the process is killed here, the call is recorded fully or not at all
    me_.next->when = call.when;
    ++me_.next;
  }
  [[gnu::noinline]] bool next_chunk() noexcept;
  [[gnu::noinline]] void make_known(std::uint64_t now) noexcept;
  // Returns the time when it is done, so that this counts as a part of the call.
  [[gnu::noinline]] std::uint64_t look_at_call(std::uint64_t begin, std::uint64_t end) noexcept;
  [[gnu::noinline]] static void count_left_out() noexcept;
  void look() noexcept;

  Me& me_;
  bool mine_ = false;
  bool records_ = false;
};

// Returns whether calls may be recorded. After the recording has ended, this is the only cost of a
// call.
inline bool is_on() noexcept {
  return world().stage.load(relaxed) != Stage::over;  // relaxed: a moment earlier or later
}

// Returns the object's number, or 0 if there is no room.
std::uint32_t number_of(const void* object) noexcept;
// Called when an object begins or ends at this address.
void forget(const void* object) noexcept;

// Called at start-up. Returns false if there is no memory.
bool prepare_book() noexcept;
// Called when the process ends.
void close_book() noexcept;
// Called in a forked child.
void empty_book_of_parent() noexcept;
// For measuring the cost of recording. From begin_trial to end_trial calls are recorded, whatever
// the settings, and then dropped. take_trial moves this thread's calls since the last time to
// `into`, and returns their number.
void begin_trial() noexcept;
std::uint32_t take_trial(Call* into) noexcept;
void end_trial() noexcept;

}  // namespace lockswap::calls
