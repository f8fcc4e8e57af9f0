// Depth-first search over the choices of an execution, without stored states: an execution is
// repeated from its start, with the last choice that has another option changed.
//
// Option 0 is always the plain one (go on, newest value, no time-out), so a sequence of choices is
// written as the few that differ: "12=1,40=2". That is the replay string.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockswap::explore {

class Search {
 public:
  void restart() {
    trail_.clear();
    diverged_ = false;
  }
  void begin_execution() { next_ = 0; }

  // One of 0..options-1.
  int choose(int options) {
    if (options <= 1) return 0;
    if (next_ == trail_.size()) trail_.push_back({options, 0});
    Choice& c = trail_[next_++];
    if (c.options == kUnknown) c.options = options;
    // Not the same options as before: the program under test is not deterministic, or the replay
    // string is another program's.
    if (c.options != options || c.pick >= options) diverged_ = true;
    if (diverged_) return 0;
    return c.pick;
  }
  bool diverged() const { return diverged_; }
  std::size_t made() const { return next_; }

  // Turns to the next execution; false: there is none.
  bool advance() {
    trail_.resize(next_);
    while (!trail_.empty()) {
      if (++trail_.back().pick < trail_.back().options) return true;
      trail_.pop_back();
    }
    return false;
  }

  std::string replay_string() const;
  // False: not a replay string.
  bool load(const std::string& replay);

 private:
  static constexpr int kUnknown = 0;
  struct Choice {
    int options;
    int pick;
  };
  std::vector<Choice> trail_;
  std::size_t next_ = 0;
  bool diverged_ = false;
};

}  // namespace lockswap::explore
