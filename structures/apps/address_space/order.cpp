#include "address_space/order.h"

#include <algorithm>
#include <iterator>

namespace bench {

Order::Thread& Order::of(std::uint32_t thread) {
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  return threads_[thread];
}

Order::Place Order::operation(std::uint32_t thread, std::uint64_t start, std::uint64_t end,
                              bool empties) {
  Place place{{}, ++number_, 0};
  const std::uint64_t low = start == 0 ? 0 : start - 1;
  cut(start);
  cut(end);
  fill(start, end);
  auto i = runs_.upper_bound(low);
  if (i != runs_.begin()) --i;
  for (; i != runs_.end() && i->first <= end; ++i) {
    Run& run = i->second;
    if (run.end <= low) continue;
    if (run.operation.steps != 0) place.waits.push_back(run.operation);
    if (i->first < start || i->first >= end) continue;
    place.waits.insert(place.waits.end(), run.faults.begin(), run.faults.end());
  }
  take(thread, place.waits);
  std::vector<Wait> none;
  for (i = runs_.lower_bound(start); i != runs_.end() && i->first < end; ++i) {
    Run& run = i->second;
    run.operation = {thread, of(thread).steps};
    run.faults = none;
    run.number = number_;
    if (empties) run.emptied = number_;
  }
  return place;
}

Order::Place Order::fault(std::uint32_t thread, std::uint64_t page) {
  cut(page);
  cut(page + 1);
  fill(page, page + 1);
  Run& run = runs_.find(page)->second;
  Place place{{}, run.number, run.emptied};
  if (run.operation.steps != 0) place.waits.push_back(run.operation);
  take(thread, place.waits);
  const Wait here{thread, of(thread).steps};
  const auto mine = std::ranges::find(run.faults, thread, &Wait::thread);
  if (mine == run.faults.end()) {
    run.faults.push_back(here);
  } else {
    *mine = here;
  }
  return place;
}

void Order::begin(std::uint32_t parent, std::uint32_t child) {
  of(std::max(parent, child));
  Thread& c = threads_[child];
  // As many threads ran at a time as in the recording: those that had ended end first.
  c.first = ended_;
  if (threads_[parent].steps != 0) c.first.push_back({parent, threads_[parent].steps});
}

void Order::end(std::uint32_t thread) {
  if (of(thread).steps != 0) ended_.push_back({thread, of(thread).steps});
}

void Order::take(std::uint32_t thread, std::vector<Wait>& waits) {
  Thread& t = of(thread);
  if (t.steps == 0) waits.insert(waits.end(), t.first.begin(), t.first.end());
  ++t.steps;
  std::vector<Wait> left;
  for (const Wait& w : waits) {
    if (w.thread == thread) continue;
    if (w.thread >= t.known.size()) t.known.resize(w.thread + 1);
    if (w.steps <= t.known[w.thread]) continue;
    t.known[w.thread] = w.steps;
    const auto same = std::ranges::find(left, w.thread, &Wait::thread);
    if (same == left.end()) {
      left.push_back(w);
    } else {
      same->steps = w.steps;
    }
  }
  waits = std::move(left);
}

void Order::cut(std::uint64_t at) {
  auto i = runs_.lower_bound(at);
  if (i == runs_.begin()) return;
  --i;
  if (i->second.end <= at) return;
  Run after = i->second;
  i->second.end = at;
  runs_.emplace_hint(std::next(i), at, std::move(after));
}

void Order::fill(std::uint64_t start, std::uint64_t end) {
  while (start < end) {
    const auto i = runs_.lower_bound(start);
    const std::uint64_t next = i == runs_.end() ? end : std::min(i->first, end);
    if (next > start) {
      runs_.emplace_hint(i, start, Run{next, {0, 0}, {}, 0, 0});
      start = next;
    } else {
      start = i->second.end;
    }
  }
}

}  // namespace bench
