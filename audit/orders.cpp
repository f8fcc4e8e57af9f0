#include "audit/orders.h"

#include <algorithm>

#include "audit/book.h"
#include "audit/mutex_holds.h"
#include "audit/report.h"
#include "audit/stacks.h"
#include "audit/world.h"

namespace lockswap::audit {
namespace {

constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u;

bool is_same(const Order& a, const Order& b) noexcept {
  return a.held == b.held && a.asked == b.asked && a.holds_to_write == b.holds_to_write &&
         a.asks_to_write == b.asks_to_write;
}

// Removes the gates of `o` that `seen` does not have. Returns false if there was none to remove.
bool keep_common_gates(Order& o, const Order& seen) noexcept {
  bool changed = false;
  for (std::uint64_t& gate : o.gates) {
    if (gate == 0 ||
        std::find(seen.gates, seen.gates + Order::kGates, gate) != seen.gates + Order::kGates)
      continue;
    gate = 0;
    changed = true;
  }
  return changed;
}

// Returns whether the book has the hold.
bool is_held(const Me& m, const HeldLock& held) noexcept {
  return held.is_mutex ? is_in_book(held.address, held.number) : is_still_held(held, m.serial);
}

// The locks that a thread holds, in the order in which it took them.
struct All {
  std::size_t count = 0;
  HeldLock one[2 * kMostHeld];

  void add(const HeldLock& l) noexcept {
    std::size_t i = count++;
    for (; i != 0 && one[i - 1].step > l.step; --i)
      one[i] = one[i - 1];
    one[i] = l;
  }
};

void fill_in_gates(Order& o, const All& all) noexcept {
  std::size_t n = 0;
  for (std::size_t i = 0; i < all.count && n < Order::kGates; ++i) {
    const HeldLock& l = all.one[i];
    if (l.writes && l.number != o.held && l.number != o.asked) o.gates[n++] = l.number;
  }
}

std::uint64_t fingerprint(const Order& o, std::uint64_t more) noexcept {
  std::uint64_t h = more;
  const auto mix = [&h](std::uint64_t value) {
    h = (h ^ value) * kFactor;
    h ^= h >> 29;
  };
  mix(o.held);
  mix(o.asked);
  mix((o.holds_to_write ? 1u : 0u) | (o.asks_to_write ? 2u : 0u));
  for (const std::uint64_t gate : o.gates)
    mix(gate);
  return h | 1;  // 0 is none
}

void forget(Me& m, const HeldLock& gone) noexcept {
  if (gone.is_mutex) {
    forget_held_mutex(m, gone.address);
  } else {
    m.held.locks.remove([&](const HeldLock& l) { return l.number == gone.number; });
  }
}

}  // namespace

std::uint32_t* Orders::bucket_of_pair(std::uint64_t held, std::uint64_t asked) noexcept {
  return &of_pair_[(held * kFactor + asked) * kFactor >> 50];
}
std::uint32_t* Orders::bucket_of_held(std::uint64_t held) noexcept {
  static_assert(kBuckets == 1u << (64 - 50));
  return &of_held_[held * kFactor >> 50];
}

std::uint32_t Orders::find(const Order& o) noexcept {
  std::uint32_t i = *bucket_of_pair(o.held, o.asked);
  while (i != 0 && !is_same(all_[i], o))
    i = all_[i].next_of_pair;
  return i;
}

std::uint32_t Orders::add(const Order& o) noexcept {
  if (free_ == 0 && count_ + 1 == kOrders) make_room();
  std::uint32_t i = free_;
  if (i != 0) {
    free_ = all_[i].next_of_pair;
  } else {
    i = ++count_;
  }
  std::uint32_t* pair = bucket_of_pair(o.held, o.asked);
  std::uint32_t* from = bucket_of_held(o.held);
  all_[i] = o;
  all_[i].next_of_pair = *pair;
  all_[i].next_of_held = *from;
  *pair = *from = i;
  return i;
}

void Orders::drop(std::uint32_t index) noexcept {
  Order& o = all_[index];
  std::uint32_t* at = bucket_of_pair(o.held, o.asked);
  while (*at != index)
    at = &all_[*at].next_of_pair;
  *at = o.next_of_pair;
  at = bucket_of_held(o.held);
  while (*at != index)
    at = &all_[*at].next_of_held;
  *at = o.next_of_held;
  o = {};
  o.next_of_pair = free_;
  free_ = index;
}

// Threads that have seen one of the dropped orders look it up again.
void Orders::make_room() noexcept {
  for (std::uint32_t i = 1; i < kOrders; ++i) {
    const Order& o = all_[i];
    if (!is_in_book(o.held_address, o.held) || !is_in_book(o.asked_address, o.asked)) drop(i);
  }
  if (free_ == 0) {
    constexpr std::uint32_t kAtOnce = kOrders / 16;
    count(Count::orders_forgotten, kAtOnce);
    for (std::uint32_t i = 0; i < kAtOnce; ++i)
      drop(1 + oldest_++ % (kOrders - 1));
  }
  dropped_.fetch_add(1, relaxed);  // relaxed: a thread that sees it late misses one order
}

bool Orders::see(const Me& m, const HeldLock& held, const Asked& asked, const Order& now) noexcept {
  const bool alone = now.alone;
  const Section section(guard_);
  std::uint32_t i = find(now);
  bool changed = false;
  if (i != 0) {
    changed = keep_common_gates(all_[i], now);
    changed = changed || (all_[i].alone && !alone);
    if (all_[i].alone && !alone) {
      all_[i].serial = now.serial;
      all_[i].tid = now.tid;
    }
    all_[i].alone = all_[i].alone && alone;
  } else {
    if (!is_held(m, held)) return false;
    i = add(now);
    all_[i].asked_stack = take_stack(m, asked.site);
    changed = true;
  }
  if (changed && !alone) look_for_circles(i);
  return true;
}

void Orders::note_all(Me& m, const Asked& asked) noexcept {
  if (m.record == nullptr || m.record->unwinding == nullptr || asked.number == 0) return;
  const Busy busy;
  forget_taken_mutexes(m);
  All all;
  for (const HeldLock& one : m.held.locks)
    all.add(one);
  for (HeldLock& one : m.held.mutexes) {
    if (one.number == 0) one.number = number_of_mutex(one.address);
    all.add(one);
  }
  const bool alone = is_alone(m);
  // relaxed: as in make_room.
  const std::uint64_t era = 2 * dropped_.load(relaxed) + (alone ? 1 : 0);
  for (std::size_t i = 0; i < all.count; ++i) {
    const HeldLock& one = all.one[i];
    if (one.number == asked.number || one.number == 0) continue;
    if (!asked.for_ever && (one.writes || asked.writes)) continue;
    Order now{.held = one.number,
              .asked = asked.number,
              .held_address = one.address,
              .asked_address = asked.address,
              .held_site = one.site,
              .asked_site = asked.site,
              .serial = m.serial,
              .held_stack = one.stack,
              .tid = m.tid,
              .holds_to_write = one.writes,
              .asks_to_write = asked.writes,
              .held_is_mutex = one.is_mutex,
              .asked_is_mutex = asked.is_mutex,
              .alone = alone};
    fill_in_gates(now, all);
    const std::uint64_t print = fingerprint(now, era);
    std::uint64_t& seen = m.record->unwinding->orders[print >> 54];
    static_assert(Unwinding::kOrders == 1u << (64 - 54));
    if (seen == print) continue;
    if (!see(m, one, asked, now)) {
      forget(m, one);
      continue;
    }
    seen = print;
  }
}

}  // namespace lockswap::audit
