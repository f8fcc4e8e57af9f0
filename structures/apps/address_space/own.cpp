#include "address_space/own.h"

#include <algorithm>
#include <iterator>

#include "address_space/allocator.h"

namespace bench {

void Own::apply(const Step& step, std::uint64_t value) {
  Kinds& kinds = kinds_[step.kind];
  ++kinds.all;
  const bool changes = step.kind <= Step::brk;
  const std::uint64_t start = step.kind == Step::brk ? std::min(brk_, step.end) : step.start;
  const std::uint64_t end = step.kind == Step::brk ? std::max(brk_, step.end) : step.end;
  const std::vector<Backing> before = changes ? behind(start, end) : std::vector<Backing>();
  const Part part = step.kind == Step::protect ? part_of(step) : Part::other;
  const bool in_one = carry_out(step, value);
  const bool structural = changes && behind(start, end) != before;
  kinds.structural += structural ? 1 : 0;
  kinds.spread += in_one ? 0 : 1;
  kinds.split += structural && in_one ? 1 : 0;
  kinds.parts[static_cast<std::size_t>(part)] += structural ? 1 : 0;
}

bool Own::carry_out(const Step& step, std::uint64_t value) {
  switch (step.kind) {
    case Step::map:
      put(step.start, step.end, {step.end, step.protection, step.file, step.shared, step.base});
      mappings_.put(step.start, step.end, step.file >= 0);
      break;
    case Step::unmap:
      remove(step.start, step.end);
      break;
    case Step::protect:
      return protect(step);
    case Step::discard:
      values_.forget(step.start, step.end);
      break;
    case Step::brk:
      if (step.end > brk_) put(brk_, step.end, {step.end, kReadWrite, -1, false, 0});
      if (step.end < brk_) remove(step.end, brk_);
      brk_ = step.end;
      break;
    case Step::write:
      if (step.stack && at(step.start) == nullptr)
        put(step.start, step.end, {step.end, kReadWrite, -1, false, 0});
      for (std::uint64_t p = step.start; p < step.end; ++p)
        values_.set(p, value + 1);
      break;
    case Step::fork:
    case Step::read:
    case Step::visit:
    case Step::rest:
      break;
  }
  return true;
}

std::uint64_t Own::value(std::uint64_t page) const {
  const std::uint64_t there = values_.at(page);
  if (there != 0) return there - 1;
  const Run* r = at(page);
  return r != nullptr && r->file >= 0 ? kFileFirst + page - r->base : 0;
}

const Own::Run* Own::at(std::uint64_t page) const {
  const auto above = runs_.upper_bound(page);
  if (above == runs_.begin()) return nullptr;
  const auto& run = std::prev(above)->second;
  return page < run.end ? &run : nullptr;
}

bool Own::is_mapped(std::uint64_t start, std::uint64_t end) const {
  while (start < end) {
    const Run* r = at(start);
    if (r == nullptr) return false;
    start = r->end;
  }
  return true;
}

std::vector<Own::Backing> Own::behind(std::uint64_t start, std::uint64_t end) const {
  std::vector<Backing> found;
  auto i = runs_.lower_bound(start);
  if (i != runs_.begin() && std::prev(i)->second.end >= start) --i;
  for (; i != runs_.end() && i->first <= end; ++i)
    found.push_back({i->second.file, i->second.shared, i->second.base});
  return found;
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
  values_.forget(start, end);
  mappings_.remove(start, end);
}

void Own::put(std::uint64_t start, std::uint64_t end, const Run& run) {
  remove(start, end);
  runs_.emplace(start, run);
  merge_around(start, end);
}

Part Own::part_of(const Step& protect) const {
  const auto above = runs_.upper_bound(protect.start);
  if (above == runs_.begin()) return Part::several;
  const auto& [low, run] = *std::prev(above);
  if (run.end < protect.end) return Part::several;
  return mappings_.part(protect.start, protect.end, low, run.end, run.protection != 0);
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

}  // namespace bench
