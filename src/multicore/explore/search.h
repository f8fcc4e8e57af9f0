// The choices of an execution: made by a schedule, stored, repeated.
//
// dfs     depth first through all of them, without stored states: an execution is repeated from its
//         start, with the last choice that has another option changed.
// pct     probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, "A
//         Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010):
//         threads have random priorities, and at `depth` - 1 random steps the running one falls to
//         the lowest. A bug that needs d such changes among n threads and k steps is found by one
//         execution with a probability of at least 1 / (n k^(d-1)).
// random  a random thread at each step.
// The last two are for cases that are too large for the first. All of them are deterministic.
//
// Option 0 is always the plain one (continue, newest value, no time-out), so a sequence of choices
// is written as the few that differ: "12=1,40=2". That is the replay string, for any schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "multicore/explore/seen_states.h"
#include "multicore/explore/view.h"

namespace lockswap::explore {

enum class Schedule : std::uint8_t { dfs, pct, random };

class Search {
 public:
  // An option for what runs next: a thread, or another actor.
  struct Actor {
    int id;     // 0..kActors-1
    bool sure;  // false: it can continue only by luck, such as a stray wake-up
  };
  static constexpr int kActors = 2 * kMaxThreads;

  // `depth` is for pct: 1 or more.
  void restart(Schedule schedule = Schedule::dfs, std::uint64_t seed = 0, int depth = 1);
  // Whether dfs may explore a state again that it has explored before.
  bool repeats_states = false;
  void begin_execution();

  // Returns one of 0..options-1, for example which value is read, or whether a deadline passes.
  int choose(int options) {
    if (options <= 1) return 0;
    return next_ < trail_.size() ? repeat(options) : append(options, pick_value(options));
  }
  // The same for the next actor; option 0 is the plain one.
  int choose_actor(const Actor* actors, int options) {
    if (options <= 1) return 0;
    return next_ < trail_.size() ? repeat(options) : append(options, pick_actor(actors, options));
  }
  // With dfs, returns whether all choices repeated from the last execution have been made, so that
  // what comes next is new. Returns false for pct and random, which sample.
  bool is_new() const {
    return schedule_ == Schedule::dfs && !repeats_states && next_ == trail_.size();
  }
  bool has_seen(std::uint64_t fingerprint, const SeenStates::Left& left) {
    return seen_.has(fingerprint, left);
  }
  // Returns whether the choices belonged to another program, or the program is not deterministic.
  bool diverged() const { return diverged_; }

  // Goes to the next execution, or returns false if there is none. pct and random have no end.
  bool advance();

  std::string replay_string() const;
  // Calls put(number, pick) for each choice so far that is not the plain one.
  template <class F>
  void each_choice(F put) const {
    for (std::size_t i = 0; i < next_ && i < trail_.size(); ++i) {
      if (trail_[i].pick != 0) put(i, trail_[i].pick);
    }
  }
  // Returns false if it is not a replay string.
  bool load(const std::string& replay);

 private:
  static constexpr int kUnknown = 0;
  struct Choice {
    int options;
    int pick;
  };

  int repeat(int options) {
    Choice& c = trail_[next_++];
    if (c.options == kUnknown) c.options = options;
    if (c.options != options || c.pick >= options) diverged_ = true;
    return diverged_ ? 0 : c.pick;
  }
  int append(int options, int pick) {
    trail_.push_back({options, pick});
    ++next_;
    return pick;
  }
  int pick_value(int options) {
    return schedule_ == Schedule::dfs || random(kRare) != 0 ? 0 : random(options);
  }
  int pick_actor(const Actor* actors, int options);
  int random(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  static constexpr int kRare = 4;   // one value in this many is chosen freely
  static constexpr int kLuck = 16;  // one step in this many allows luck

  std::vector<Choice> trail_;
  std::size_t next_ = 0;
  bool diverged_ = false;

  SeenStates seen_;
  Schedule schedule_ = Schedule::dfs;
  std::mt19937_64 random_;
  // pct
  int depth_ = 1;
  int step_ = 0;
  int most_steps_ = 1;           // the most in any execution so far
  int priority_[kActors] = {};   // for each actor
  std::vector<int> fall_after_;  // steps after which the running actor falls
};

}  // namespace lockswap::explore
