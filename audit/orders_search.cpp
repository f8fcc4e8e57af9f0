// Cycles of orders. If two threads of a cycle hold the same lock, and not both for reading, they
// can't be where the cycle has them at the same time, so it is not a cycle.
#include <algorithm>

#include "audit/book.h"
#include "audit/orders.h"
#include "audit/report.h"
#include "audit/stacks.h"
#include "audit/world.h"

namespace lockswap::audit {
namespace {

constexpr std::uint32_t kSteps = 8192;  // steps in one search

bool has_gate(const Order& o, std::uint64_t lock) noexcept {
  return std::find(o.gates, o.gates + Order::kGates, lock) != o.gates + Order::kGates;
}

// Returns whether the two threads can be at these orders at the same time.
bool can_meet(const Order& a, const Order& b) noexcept {
  if (a.alone || b.alone || has_gate(a, b.held) || has_gate(b, a.held)) return false;
  return std::none_of(a.gates, a.gates + Order::kGates,
                      [&](std::uint64_t gate) { return gate != 0 && has_gate(b, gate); });
}

// Returns whether the first order certainly waits for what the second one holds. If both read, the
// first waits only behind a writer.
bool waits_for_certain(const Order& first, const Order& second) noexcept {
  return first.asks_to_write || second.holds_to_write;
}

Finding finding_of(std::uint32_t length, std::uint32_t certain) noexcept {
  if (length > 2) return certain == length ? Finding::circle_of_orders : Finding::circle_with_reads;
  return certain == 2   ? Finding::opposite_orders
         : certain == 1 ? Finding::opposite_mixed_orders
                        : Finding::opposite_read_orders;
}

std::uint64_t print_of(const Order& o) noexcept {
  std::uint64_t h = (o.held * 0x9E3779B97F4A7C15u + o.asked) * 0x9E3779B97F4A7C15u;
  h += (o.holds_to_write ? 1u : 0u) | (o.asks_to_write ? 2u : 0u);
  h ^= h >> 31;
  return h * 0x9E3779B97F4A7C15u;
}

Part part_of(const Order& o) noexcept {
  return {.held = o.held_address,
          .asked = o.asked_address,
          .held_object = object_at(o.held_address),
          .asked_object = object_at(o.asked_address),
          .held_stack = o.held_stack,
          .asked_stack = o.asked_stack,
          .thread = o.tid,
          .holds_to_write = static_cast<std::uint8_t>(o.holds_to_write),
          .asks_to_write = static_cast<std::uint8_t>(o.asks_to_write),
          .held_is_mutex = static_cast<std::uint8_t>(o.held_is_mutex),
          .asked_is_mutex = static_cast<std::uint8_t>(o.asked_is_mutex)};
}

}  // namespace

std::uint32_t Orders::first_from(std::uint64_t held) noexcept {
  std::uint32_t i = *bucket_of_held(held);
  while (i != 0 && all_[i].held != held)
    i = all_[i].next_of_held;
  return i;
}

void Orders::look_for_circles(std::uint32_t index) noexcept {
  if (look_for_pairs(index)) return;
  const Order& o = all_[index];
  const std::uint32_t shortest = distance(index, o.held);
  if (shortest == 0) return;
  if (shortest + 1 > kLocksOfCircle) {
    count(Count::circles_too_long);
    return;
  }
  // Gates may exclude orders on the shortest path, so longer ones are tried as well.
  for (const bool certain : {true, false}) {
    std::uint32_t steps = kSteps;
    for (std::uint32_t length = shortest + 1; length <= kLocksOfCircle && steps != 0; ++length) {
      Path path{.count = 1, .order = {index}};
      if (extend(path, length, certain, steps)) {
        say(path);
        return;
      }
    }
    if (steps == 0) count(Count::searches_given_up);
  }
}

bool Orders::look_for_pairs(std::uint32_t index) noexcept {
  const Order& o = all_[index];
  bool found = false;
  for (std::uint32_t i = *bucket_of_pair(o.asked, o.held); i != 0; i = all_[i].next_of_pair) {
    if (all_[i].held != o.asked || all_[i].asked != o.held || !can_meet(o, all_[i])) continue;
    const Path path{.count = 2, .order = {index, i}};
    if (!is_whole(path)) continue;
    say(path);
    found = true;
  }
  return found;
}

// Returns how many orders lead from what this one asks for to that lock, through any threads.
// Returns 0 if none do, or if the search was given up.
std::uint32_t Orders::distance(std::uint32_t from, std::uint64_t to) noexcept {
  ++visits_;
  std::uint32_t end = 0, steps = 0;
  queue_[end++] = from;
  std::uint32_t length = 1;
  for (std::uint32_t at = 0, level_end = 1; at < end; ++at) {
    if (at == level_end) {
      level_end = end;
      ++length;
    }
    const std::uint64_t lock = all_[queue_[at]].asked;
    const std::uint32_t first = first_from(lock);
    // The first order from a lock records for all of them whether this search has been here.
    if (first == 0 || all_[first].visit == visits_) continue;
    all_[first].visit = visits_;
    for (std::uint32_t i = first; i != 0; i = all_[i].next_of_held) {
      if (all_[i].held != lock) continue;
      if (all_[i].asked == to) return length;
      if (end == kQueue || ++steps == 8 * kQueue) {
        count(Count::searches_given_up);
        return 0;
      }
      queue_[end++] = i;
    }
  }
  return 0;
}

bool Orders::fits(const Path& path, const Order& next, bool closes, bool certain) const noexcept {
  const Order& last = all_[path.order[path.count - 1]];
  const Order& first = all_[path.order[0]];
  if (certain && !waits_for_certain(last, next)) return false;
  if (certain && closes && !waits_for_certain(next, first)) return false;
  return std::all_of(path.order, path.order + path.count, [&](std::uint32_t i) {
    const Order& o = all_[i];
    return can_meet(o, next) && o.held != next.held && (closes || o.held != next.asked);
  });
}

bool Orders::extend(Path& path, std::uint32_t length, bool certain, std::uint32_t& steps) noexcept {
  const std::uint64_t lock = all_[path.order[path.count - 1]].asked;
  const std::uint64_t begin = all_[path.order[0]].held;
  const bool is_last = path.count + 1 == length;
  for (std::uint32_t i = first_from(lock); i != 0; i = all_[i].next_of_held) {
    if (steps == 0) return false;
    --steps;
    const Order& next = all_[i];
    if (next.held != lock || (next.asked == begin) != is_last) continue;
    if (!fits(path, next, is_last, certain)) continue;
    path.order[path.count++] = i;
    if (is_last ? is_whole(path) : extend(path, length, certain, steps)) return true;
    --path.count;
  }
  return false;
}

// Returns whether all of its locks still exist. Orders of locks that are gone stay for a while.
bool Orders::is_whole(const Path& path) noexcept {
  return std::all_of(path.order, path.order + path.count, [&](std::uint32_t i) {
    return is_in_book(all_[i].held_address, all_[i].held);
  });
}

void Orders::say(const Path& path) noexcept {
  std::uint64_t print = 0;
  for (std::uint32_t i = 0; i < path.count; ++i)
    print += print_of(all_[path.order[i]]);
  std::uint64_t& said = said_[print % kSaid];
  if (said == print) return;
  said = print;
  Circle circle{.count = path.count, .one_thread = 1};
  std::uint32_t certain = 0;
  for (std::uint32_t i = 0; i < path.count; ++i) {
    const Order& o = all_[path.order[i]];
    circle.part[i] = part_of(o);
    if (o.serial != all_[path.order[0]].serial) circle.one_thread = 0;
    if (waits_for_certain(o, all_[path.order[(i + 1) % path.count]])) ++certain;
  }
  const Order& now = all_[path.order[0]];
  const Order& next = all_[path.order[1]];
  note(finding_of(path.count, certain), {.lock = pointer_to(now.asked_address),
                                         .site = now.asked_site,
                                         .other_thread = next.tid,
                                         .other_site = next.asked_site,
                                         .more_sites = {now.held_site, next.held_site},
                                         .stack = now.asked_stack,
                                         .other_stack = next.asked_stack,
                                         .circle = &circle});
}

}  // namespace lockswap::audit
