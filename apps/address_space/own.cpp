#include "address_space/own.h"

#include <algorithm>
#include <iterator>

#include "address_space/allocator.h"

namespace bench {

void Own::apply(const Step& step, std::uint64_t value) {
  Kinds& kinds = kinds_[step.kind];
  ++kinds.all;
  const std::size_t before = runs_.size();
  bool in_one = true;
  switch (step.kind) {
    case Step::map:
      put(step.start, step.end, {step.end, step.protection, step.file, step.file ? step.start : 0});
      break;
    case Step::unmap:
      remove(step.start, step.end);
      break;
    case Step::protect:
      in_one = protect(step);
      break;
    case Step::discard:
      forget(step.start, step.end);
      break;
    case Step::brk:
      if (step.end > brk_) put(brk_, step.end, {step.end, kReadWrite, false, 0});
      if (step.end < brk_) remove(step.end, brk_);
      brk_ = step.end;
      break;
    case Step::write:
      if (step.end - first_ > values_.size()) values_.resize(step.end - first_);
      std::fill(values_.begin() + static_cast<std::ptrdiff_t>(step.start - first_),
                values_.begin() + static_cast<std::ptrdiff_t>(step.end - first_), value + 1);
      break;
    case Step::read:
    case Step::visit:
    case Step::rest:
      break;
  }
  const bool structural = runs_.size() != before;
  kinds.structural += structural ? 1 : 0;
  kinds.spread += in_one ? 0 : 1;
  kinds.split += structural && in_one ? 1 : 0;
}

std::uint64_t Own::value(std::uint64_t page) const {
  const std::uint64_t there = page - first_ < values_.size() ? values_[page - first_] : 0;
  if (there != 0) return there - 1;
  const Run* r = at(page);
  return r != nullptr && r->file ? kFileFirst + page - r->base : 0;
}

const Own::Run* Own::at(std::uint64_t page) const {
  const auto above = runs_.upper_bound(page);
  if (above == runs_.begin()) return nullptr;
  const auto& run = std::prev(above)->second;
  return page < run.end ? &run : nullptr;
}

// No run goes across `at` then.
void Own::cut(std::uint64_t at) {
  auto i = runs_.lower_bound(at);
  if (i == runs_.begin()) return;
  --i;
  if (i->second.end <= at) return;
  runs_.emplace_hint(std::next(i), at, i->second);
  i->second.end = at;
}

void Own::remove(std::uint64_t start, std::uint64_t end) {
  cut(start);
  cut(end);
  runs_.erase(runs_.lower_bound(start), runs_.lower_bound(end));
  forget(start, end);
}

void Own::put(std::uint64_t start, std::uint64_t end, const Run& run) {
  remove(start, end);
  runs_.emplace(start, run);
  merge_around(start, end);
}

bool Own::protect(const Step& step) {
  const Run* r = at(step.start);
  const bool in_one = r != nullptr && r->end >= step.end;
  cut(step.start);
  cut(step.end);
  for (auto i = runs_.lower_bound(step.start); i != runs_.end() && i->first < step.end; ++i)
    i->second.protection = step.protection;
  merge_around(step.start, step.end);
  return in_one;
}

void Own::merge_around(std::uint64_t start, std::uint64_t end) {
  auto i = runs_.lower_bound(start);
  if (i != runs_.begin()) --i;
  while (i != runs_.end() && i->first <= end) {
    const auto next = std::next(i);
    if (next == runs_.end()) break;
    Run joined = i->second;
    joined.end = next->second.end;
    if (i->second.end == next->first && joined == next->second) {
      i->second.end = next->second.end;
      runs_.erase(next);
    } else {
      i = next;
    }
  }
}

void Own::forget(std::uint64_t start, std::uint64_t end) {
  const std::uint64_t last = std::min<std::uint64_t>(end - first_, values_.size());
  for (std::uint64_t p = start - first_; p < last; ++p)
    values_[p] = 0;
}

}  // namespace bench
