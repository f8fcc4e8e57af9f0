// Threads that should go on, as seen from outside: nobody is in their way, or a signal was given to
// them. When no thread can go on, such a thread has lost its wake-up. A time-out of the lock's
// own, as a reader's patience or a relay's, would have it look again, and nobody would notice.
//
// A thread is overdue if no thread can go on, and
//   it waits for a lock that nobody holds
//   it waits to read what others read, and no thread waits to write
//   it waits on a condition variable that was signalled, and of those that waited then, none has
//     come back, though nobody holds the mutex; after a broadcast, it has not. A thread waited if
//     the one that signals has acquired the mutex since. Nothing is said while a thread runs a
//     signal handler amid its wait
// A thread is late if no thread can go on, and it waits in a call with a deadline, but not until
// that deadline.
// Nothing is said of a lock from when a hold is released by another thread than acquired it, or a
// fork has come in the middle of a call.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "multicore/explore/machine.h"
#include "under_test.h"

namespace lockswap::explore {

class Overdue {
 public:
  // readers_exclude: of each lock, whether a reader may wait for readers.
  void reset(const std::array<bool, kPlaces>& readers_exclude) {
    *this = Overdue{};
    readers_exclude_ = readers_exclude;
  }

  // Each by the thread that does it, at that lock.
  void begins(int lock, bool is_write, bool is_timed) {
    me().at = is_write ? At::writes : At::reads;
    me().lock = lock;
    me().is_timed = is_timed;
  }
  void acquired(int lock, bool is_write) {
    me().at = At::elsewhere;
    me().last[lock] = ++moments_;
    ++held_[lock].of(is_write);
  }
  void failed() { me().at = At::elsewhere; }
  void begins_release(int lock) {
    me().at = At::releases;
    me().lock = lock;
  }
  void released(int lock, bool is_write) {
    me().at = At::elsewhere;
    --held_[lock].of(is_write);
  }
  void begins_to_wait(int lock, int cond);
  void comes_back(int lock);
  void signals(int cond, bool all);
  void handler_begins() { me().in_handler = true; }
  void handler_ends() { me().in_handler = false; }
  void lose_track(int lock) { held_[lock].unknown = true; }
  // All threads but the calling one are gone.
  void forks();

  std::string find() const;
  // A hash of what the order of calls has left here: for Scenario::state.
  std::uint64_t state() const;

 private:
  enum class At : std::uint8_t { elsewhere, reads, writes, releases, waits };
  struct Thread {
    At at = At::elsewhere;
    int lock = 0;
    bool is_timed = false;  // reads, writes: the call has a deadline that passes
    int cond = 0;           // waits
    int since = 0;          // waits: the moment
    bool in_handler = false;
    std::array<int, kPlaces> last{};  // when it acquired each lock last
  };
  struct Held {
    int read = 0, written = 0;
    bool unknown = false;

    int& of(bool is_write) { return is_write ? written : read; }
    bool at_all() const { return read + written != 0; }
  };

  Thread& me() { return threads_[machine.current()]; }
  bool is_overdue(const Thread& t) const;
  bool is_late(int thread) const;

  std::array<Thread, kMaxThreads> threads_{};
  std::array<Held, kPlaces> held_{};
  std::array<bool, kPlaces> readers_exclude_{};
  int moments_ = 0;
  // For each signal that nobody has come back from yet, the threads that it may be for, as bits.
  std::vector<std::uint32_t> signals_;
};

}  // namespace lockswap::explore
