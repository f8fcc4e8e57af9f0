#include "common/live.h"

#include <algorithm>
#include <cstddef>

namespace bench {
namespace {

struct Span {
  double from, to;
};

double at(const Stamp& s) { return static_cast<double>(s.at); }

// How far a thread was at a time between its first stamp and its last, as if it went evenly from
// stamp to stamp.
double done_at(const Stamps& stamps, double time) {
  const auto after = std::lower_bound(stamps.begin() + 1, stamps.end() - 1, time,
                                      [](const Stamp& s, double t) { return at(s) < t; });
  const auto before = after - 1;
  const double share = (time - at(*before)) / (at(*after) - at(*before));
  return static_cast<double>(before->done) +
         share * static_cast<double>(after->done - before->done);
}

double longest_step(const std::vector<const Stamps*>& threads, double gap_factor) {
  std::vector<double> steps;
  for (const Stamps* stamps : threads) {
    for (std::size_t i = 1; i < stamps->size(); ++i)
      steps.push_back(at((*stamps)[i]) - at((*stamps)[i - 1]));
  }
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return gap_factor * *middle;
}

// What remains of [begin, end] between the gaps.
std::vector<Span> without(std::vector<Span> gaps, double begin, double end) {
  std::sort(gaps.begin(), gaps.end(), [](Span a, Span b) { return a.from < b.from; });
  std::vector<Span> alive;
  for (const Span& gap : gaps) {
    if (gap.from > begin) alive.push_back({begin, std::min(gap.from, end)});
    begin = std::max(begin, gap.to);
    if (begin >= end) return alive;
  }
  alive.push_back({begin, end});
  return alive;
}

}  // namespace

Live live_windows(const std::vector<const Stamps*>& threads, double gap_factor) {
  double begin = 0;
  double end = 1e300;
  for (const Stamps* stamps : threads) {
    if (stamps->size() < 2) return {0, 0};
    begin = std::max(begin, at(stamps->front()));
    end = std::min(end, at(stamps->back()));
  }
  if (threads.empty() || begin >= end) return {0, 0};

  const double longest = longest_step(threads, gap_factor);
  std::vector<Span> gaps;
  for (const Stamps* stamps : threads) {
    for (std::size_t i = 1; i < stamps->size(); ++i) {
      const Span step{at((*stamps)[i - 1]), at((*stamps)[i])};
      if (step.to - step.from > longest) gaps.push_back(step);
    }
  }

  double time = 0;
  double operations = 0;
  for (const Span& s : without(std::move(gaps), begin, end)) {
    time += s.to - s.from;
    for (const Stamps* stamps : threads)
      operations += done_at(*stamps, s.to) - done_at(*stamps, s.from);
  }
  if (operations <= 0) return {0, 0};
  return {time * static_cast<double>(threads.size()) / operations, time / (end - begin)};
}

}  // namespace bench
