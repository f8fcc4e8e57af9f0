// A recorded program, played on the maps of ldubench: each of its processes forks, runs programs,
// maps and unmaps files, and ends as it did when it was recorded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ldu/process_trace.h"

namespace bench {

// Crowd: Processes<...>.
template <class Crowd>
class TracePlayer {
  using Hand = typename Crowd::Hand;
  using Process = typename Crowd::Process;

 public:
  // `trace` may be nullptr if play() is never called.
  TracePlayer(Crowd& crowd, const ProcessTrace* trace) : crowd_(&crowd), trace_(trace) {}

  // Some steps more; from the first step to the last, and again.
  void play(Hand& hand) {
    if (next_step_ == 0) {
      played_.clear();
      played_.resize(trace_->processes);
    }
    for (int i = 0; i < 32 && next_step_ < trace_->steps.size(); ++i)
      follow(hand, trace_->steps[next_step_++]);
    if (next_step_ == trace_->steps.size()) next_step_ = next_mapping_ = 0;
  }
  template <class F>
  void each_process(const F& f) {
    for (Played& p : played_)
      f(p.process);
  }

 private:
  struct Played {
    Process process;
    std::vector<std::uint32_t> mappings;  // numbers of those in `process`, in its order
  };

  void follow(Hand& hand, const ProcessStep& step) {
    using Kind = ProcessStep::Kind;
    Played& p = played_[step.process];
    switch (step.kind) {
      case Kind::start:
        p.process = crowd_->empty(hand);
        return;
      case Kind::fork:
        return fork(hand, p, played_[step.number]);
      case Kind::exec:
      case Kind::end:
        crowd_->exit(hand, p.process);
        p.mappings.clear();
        if (step.kind == Kind::exec) p.process = crowd_->empty(hand);
        return;
      case Kind::map:
        crowd_->map_one(hand, p.process, step.file, step.pages);
        p.mappings.push_back(next_mapping_++);
        return;
      case Kind::unmap: {
        const auto at = std::ranges::find(p.mappings, step.number);
        crowd_->unmap_one(hand, p.process, static_cast<std::size_t>(at - p.mappings.begin()));
        p.mappings.erase(at);
        return;
      }
    }
  }
  void fork(Hand& hand, Played& parent, Played& child) {
    child.process = crowd_->fork(hand, parent.process);
    child.mappings.clear();
    for (std::size_t i = 0; i < parent.mappings.size(); ++i)
      child.mappings.push_back(next_mapping_++);
  }

  Crowd* crowd_;
  const ProcessTrace* trace_;
  std::vector<Played> played_;
  std::size_t next_step_ = 0;
  std::uint32_t next_mapping_ = 0;
};

}  // namespace bench
