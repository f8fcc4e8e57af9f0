// Writes down the calls of each thread.
//
// A thread writes into a chunk of its own, so that it waits for others only when the chunk is full.
// When the file is full, recording ends for all threads at once.
//
// A gap between two calls in which the thread was off its processor isn't work. Looking at the
// thread's processor time takes a system call, so only long gaps are looked at. What is neither
// processor time since the last look nor time in calls was time off the processor.
//
// All orders here are relaxed: numbers and the stage stand for nothing but themselves, chunks are
// taken under the guard, and the file is for another process.
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
  NativeAtomic<std::uint32_t> number;   // 0: nobody has asked since the object began
};
inline constexpr unsigned kSlotBits = 17;
inline constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;

enum class Stage : std::uint32_t { before, on, over };

// What the recording knows of this process.
struct World : recording::ProcessState {
  NativeAtomic<Stage> stage;
  NativeAtomic<std::uint32_t> threads;
  NativeAtomic<std::uint32_t> objects;
  Slot slots[kSlots];
};
inline constinit World* the_world = nullptr;
inline World& world() noexcept { return *the_world; }

// All zero in a new thread.
struct Me {
  Call* next;  // where the next call goes; nullptr: nowhere
  Call* end;
  std::uint32_t thread;
  std::uint32_t process;  // the world's number when the thread got this
  bool is_busy;           // a signal handler that finds it true keeps away
  std::uint64_t last;     // ticks: when the last call returned
  // At the last look at the thread's processor time, and when it last slept in a call.
  std::uint64_t looked, cpu_ns, sleeps;
  std::uint64_t in_calls_ns;  // in calls that may have slept, since then
};

// A thread's bookkeeping, as long as one of these exists.
class Entry {
 public:
  // is() returns false in a thread that isn't recorded, and in a signal handler that has
  // interrupted one of these.
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

  // A call is over.
  void note(What what, std::uint32_t object, std::uint64_t begin, std::uint64_t end) noexcept {
    if (Ticks::ns_between(begin, end) >= kMaySleepNs) [[unlikely]]
      end = look_at_call(begin, end);
    if (me_.next == me_.end) [[unlikely]] {
      next_chunk();
      end = Ticks::now();  // a part of the call, too
    }
    // A child's file begins amid its first call.
    begin = std::max(begin, record().began_ticks);
    put(Call::of(what, object, Ticks::ns_between(record().began_ticks, begin),
                 Ticks::ns_between(begin, end)));
    me_.last = end;
  }
  // A try failed, or an acquisition timed out: what came of it the program decides.
  void count_failed() noexcept { record().failed.fetch_add(1, relaxed); }
  // The gap before a call that begins at `begin` is over, and it was a long one.
  void look_at_gap(std::uint64_t begin) noexcept;

  static bool is_long_gap(std::uint64_t begin) noexcept {
    return Ticks::ns_between(per_thread<Me>.last, begin) >= kLongNs;
  }

 private:
  // A gap that is worth a look, and a call that may have slept.
  static constexpr std::uint64_t kLongNs = 50'000, kMaySleepNs = 5'000;

  void put(const Call& call) noexcept {
    if (me_.next == me_.end && !next_chunk()) [[unlikely]]
      return;
    me_.next->took = call.took;
    signal_fence();  // a thread that is killed here leaves all of it, or nothing
    me_.next->when = call.when;
    ++me_.next;
  }
  [[gnu::noinline]] bool next_chunk() noexcept;
  [[gnu::noinline]] void make_known(std::uint64_t now) noexcept;
  // Returns when that is done, so that what it takes counts as a part of the call.
  [[gnu::noinline]] std::uint64_t look_at_call(std::uint64_t begin, std::uint64_t end) noexcept;
  [[gnu::noinline]] static void count_left_out() noexcept;
  void look() noexcept;

  Me& me_;
  bool mine_ = false;
  bool records_ = false;
};

// Whether calls may be recorded. Once they aren't any more, this is all that a call costs.
inline bool is_on() noexcept {
  return world().stage.load(relaxed) != Stage::over;  // relaxed: a moment earlier or later
}

// The object's number; 0 if there is no room.
std::uint32_t number_of(const void* object) noexcept;
// Another object begins here, or this one ends.
void forget(const void* object) noexcept;

// At start-up. Returns false if there is no memory.
bool prepare_book() noexcept;
// When the process ends.
void close_book() noexcept;
// In a forked child.
void empty_book_of_parent() noexcept;
// For measuring what this costs. From begin_trial to end_trial calls are recorded, whatever was
// asked for, and then forgotten. take_trial moves the calls of this thread since the last time to
// `into`, and returns how many there are.
void begin_trial() noexcept;
std::uint32_t take_trial(Call* into) noexcept;
void end_trial() noexcept;

}  // namespace lockswap::calls
