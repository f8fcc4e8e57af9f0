// Watches acquisitions and releases from outside, and checks that a lock keeps what it claims and
// what POSIX demands of results:
//
//   phase fairness, writers in order,
//   readers that exclude each other,
//   sleepers in order,
//   sleeping readers next              if the lock's kClaims say so (locks/common/claims.h)
//   a try or timed form fails          only if another acquisition or hold stood in its way, which
//                                      had not ended, by the program's own happens-before, when it
//                                      began
//   ETIMEDOUT                          only if the deadline has passed
//   fork                               in the child nobody gets in beside a hold of a thread that
//                                      is gone. Where such a thread was in the middle of a call,
//                                      that may have had its effect or not, if it goes together
//                                      with the other holds; but if all of them were waiting, none
//                                      has acquired
//
// Mutual exclusion is the race detector's (plain.h); deadlocks and lost wake-ups are the machine's.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "locks/common/claims.h"
#include "multicore/explore/machine.h"

namespace lockswap::explore {

// Late: the deadline has passed; far: it never comes.
enum class How : std::uint8_t { wait, only_try, timed, late, far };

class Observer {
 public:
  void reset(const Claims& claims);

  // Each by the thread that does it.
  void begins(bool is_write, How how);
  void at_doorway(int thread);  // from the machine
  void acquired();
  void failed();
  void begins_release(bool is_write);
  void released();
  // By the thread that has made the lock anew, which is free now, though holds of it were not
  // released. What readers do to each other is not checked any more.
  void made_anew() { claims_.readers_exclude = false; }
  // The machine forks: all threads but the calling one are gone.
  void forks();
  // Threads that are gone may hold the lock.
  bool has_ghosts() const { return !ghosts_.empty() || (forked_ && lost_); }
  // A hold is released by a thread that did not acquire it. From here on it is not known whose are
  // left, so nothing more is checked.
  void lose_track() { lost_ = true; }
  // A hash of what the order of calls has left here and may decide a check: for Scenario::state.
  std::uint64_t state() const;

 private:
  // An acquisition and the hold that it gave.
  struct Activity {
    bool is_write;
    How how;
    bool over;
    std::uint8_t end;  // the thread's clock when it was over
  };
  struct Thread {
    std::vector<Activity> activities;
    bool waits;
    bool releases;
    How how;
    int began;     // how many had arrived when it began
    int arrival;   // 0: it has not arrived yet
    int phases;    // writers' sections that it has seen while it waited
    bool is_next;  // a reader that slept as a writer left
    View at_begin;
  };

  Thread& me() { return threads_[machine.current()]; }
  // What a thread that is gone held, or perhaps did.
  struct Ghost {
    bool is_write;
    bool holds;  // false: perhaps
  };
  bool stood_in_the_way(const Activity& mine);
  void expect_no_other_reader(const Thread& t);
  static Activity* newest(Thread& t);  // that is not over: what a call under way is about
  void end_newest();

  Claims claims_;
  bool lost_ = false;
  bool forked_ = false;
  int arrivals_ = 0;
  int writers_inside_ = 0;
  std::array<Thread, kMaxThreads> threads_;
  std::vector<Ghost> ghosts_;
};

}  // namespace lockswap::explore
