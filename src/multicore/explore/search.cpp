#include "multicore/explore/search.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace lockswap::explore {

void Search::restart(Schedule schedule, std::uint64_t seed, int depth) {
  trail_.clear();
  seen_.clear();
  diverged_ = false;
  schedule_ = schedule;
  depth_ = depth;
  step_ = 0;
  most_steps_ = 1;
  random_.seed(seed);
}

void Search::begin_execution() {
  next_ = 0;
  if (schedule_ != Schedule::pct) return;
  most_steps_ = std::max(most_steps_, step_);
  step_ = 0;
  // The falls have priorities 1 to depth-1, so all initial ones are above them.
  std::iota(priority_, priority_ + kActors, depth_);
  std::shuffle(priority_, priority_ + kActors, random_);
  fall_after_.resize(static_cast<std::size_t>(depth_ - 1));
  for (int& step : fall_after_)
    step = random(most_steps_);
}

int Search::pick_actor(const Actor* actors, int options) {
  if (schedule_ == Schedule::dfs) return 0;
  const bool lucky = random(kLuck) == 0;
  int able[kActors];
  int n = 0;
  for (int i = 0; i < options; ++i) {
    if (actors[i].sure || lucky) able[n++] = i;
  }
  if (n == 0) return 0;
  if (schedule_ == Schedule::random) return able[random(n)];
  const auto lower = [&](int a, int b) {
    return priority_[actors[a].id] < priority_[actors[b].id];
  };
  int best = *std::max_element(able, able + n, lower);
  for (std::size_t i = 0; i < fall_after_.size(); ++i) {
    if (fall_after_[i] != step_) continue;
    priority_[actors[best].id] = static_cast<int>(i) + 1 - depth_;
    best = *std::max_element(able, able + n, lower);
  }
  ++step_;
  return best;
}

bool Search::advance() {
  if (schedule_ != Schedule::dfs) {
    trail_.clear();
    return true;
  }
  trail_.resize(next_);
  while (!trail_.empty()) {
    if (++trail_.back().pick < trail_.back().options) return true;
    trail_.pop_back();
  }
  return false;
}

std::string Search::replay_string() const {
  std::string out;
  each_choice([&](std::size_t i, int pick) {
    if (!out.empty()) out += ',';
    out += std::to_string(i) + '=' + std::to_string(pick);
  });
  return out.empty() ? "-" : out;
}

bool Search::load(const std::string& replay) {
  restart();
  if (replay == "-") return true;
  const char* p = replay.c_str();
  while (*p != '\0') {
    char* end;
    const unsigned long at = std::strtoul(p, &end, 10);
    if (end == p || *end != '=' || at < trail_.size() || at > 100'000) return false;
    p = end + 1;
    const long pick = std::strtol(p, &end, 10);
    if (end == p || pick <= 0 || pick > 1000 || (*end != ',' && *end != '\0')) return false;
    p = *end == ',' ? end + 1 : end;
    trail_.resize(at, Choice{kUnknown, 0});
    trail_.push_back({kUnknown, static_cast<int>(pick)});
  }
  return true;
}

}  // namespace lockswap::explore
