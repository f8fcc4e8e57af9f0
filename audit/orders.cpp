#include "audit/orders.h"

#include <algorithm>

#include "audit/book.h"
#include "audit/report.h"
#include "audit/world.h"

namespace lockswap::audit {
namespace {

const void* pointer(std::uint64_t address) noexcept {
  return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

unsigned modes_of(const Order& o) noexcept {
  return (o.holds_to_write ? 1u : 0u) | (o.asks_to_write ? 2u : 0u);
}

bool is_same(const Order& a, const Order& b) noexcept {
  return a.held == b.held && a.asked == b.asked && modes_of(a) == modes_of(b);
}
bool is_opposite(const Order& a, const Order& b) noexcept {
  return a.held == b.asked && a.asked == b.held;
}

// A thread in the one order and a thread in the other stop each other for certain where each asks
// for what the other does not share. A lock that both read stops them only while a writer waits.
Finding finding_of(const Order& a, const Order& b) noexcept {
  const bool first = a.holds_to_write || b.asks_to_write,
             second = b.holds_to_write || a.asks_to_write;
  if (first && second) return Finding::opposite_orders;
  return first || second ? Finding::opposite_mixed_orders : Finding::opposite_read_orders;
}

bool has_gate(const Order& o, std::uint64_t gate) noexcept {
  return std::find(o.gates, o.gates + Order::kGates, gate) != o.gates + Order::kGates;
}
bool have_common_gate(const Order& a, const Order& b) noexcept {
  return std::any_of(a.gates, a.gates + Order::kGates,
                     [&](std::uint64_t gate) { return gate != 0 && has_gate(b, gate); });
}
void keep_common_gates(Order& o, const Order& seen) noexcept {
  for (std::uint64_t& gate : o.gates) {
    if (!has_gate(seen, gate)) gate = 0;
  }
}

// Numbers are small and addresses are not, so one cannot be taken for the other.
void fill_in_gates(Order& o, const Held& all, std::uint64_t before) noexcept {
  std::size_t n = 0;
  for (const HeldLock& l : all.locks) {
    if (l.writes && l.step < before && n < Order::kGates) o.gates[n++] = l.number;
  }
  for (const HeldMutex& m : all.mutexes) {
    if (m.step < before && n < Order::kGates) o.gates[n++] = m.address;
  }
}

// Asks the book.
bool is_there(std::uint64_t address, std::uint64_t number) noexcept {
  Shard& shard = shard_of(pointer(address));
  const Section section(shard.guard);
  const LockEntry* entry = shard.find(address);
  return entry != nullptr && entry->number == number;
}
bool is_held(const Me& m, const HeldLock& held) noexcept {
  Shard& shard = shard_of(pointer(held.address));
  const Section section(shard.guard);
  LockEntry* entry = shard.find(held.address);
  return entry != nullptr && entry->number == held.number &&
         Shard::hold_of(*entry, m.serial) != nullptr;
}

bool is_gone(const Order& o) noexcept {
  return !is_there(o.held_address, o.held) || !is_there(o.asked_address, o.asked);
}

void say(const Order& now, const Order& before) noexcept {
  note(finding_of(now, before), {.lock = pointer(now.asked_address),
                                 .site = now.asked_site,
                                 .other_thread = before.tid,
                                 .other_site = before.asked_site,
                                 .more_sites = {now.held_site, before.held_site}});
}

}  // namespace

bool Orders::see(const Me& m, const HeldLock& held, const Asked& asked) noexcept {
  Order now{.held = held.number,
            .asked = asked.number,
            .held_address = held.address,
            .asked_address = asked.address,
            .held_site = held.site,
            .asked_site = asked.site,
            .tid = m.tid,
            .holds_to_write = held.writes,
            .asks_to_write = asked.writes};
  fill_in_gates(now, m.held, held.step);
  const auto [low, high] = std::minmax(held.number, asked.number);
  Set& set = sets_[(low * 0x9E3779B97F4A7C15u + high) * 0x9E3779B97F4A7C15u >> 54];
  static_assert(kSets == 1u << (64 - 54));
  const Section section(set.guard);
  Order* const end = set.order + kOrders;
  Order* mine = std::find_if(set.order, end, [&](const Order& o) { return is_same(o, now); });
  if (mine != end) {
    keep_common_gates(*mine, now);
  } else {
    if (!is_held(m, held)) return false;
    mine = std::find_if(set.order, end, [](const Order& o) { return o.held == 0; });
    if (mine == end) mine = std::find_if(set.order, end, is_gone);
    if (mine == end) {
      count(Count::orders_forgotten);
      mine = &set.order[set.oldest++ % kOrders];
    }
    *mine = now;
  }
  if (!has_had_threads()) return true;
  for (Order& o : set.order) {
    if (!is_opposite(o, *mine) || have_common_gate(o, *mine)) continue;
    if ((mine->said >> modes_of(o) & 1) != 0 && (o.said >> modes_of(*mine) & 1) != 0) continue;
    mine->said |= 1u << modes_of(o);
    o.said |= 1u << modes_of(*mine);
    say(*mine, o);
  }
  return true;
}

void Orders::note_all(Me& m, const Asked& asked) noexcept {
  const Busy busy;
  const auto held = m.held.locks;  // by value: those that are gone are taken out meanwhile
  for (const HeldLock& one : held) {
    if (one.number == asked.number) continue;
    if (!asked.for_ever && (one.writes || asked.writes)) continue;
    if (see(m, one, asked)) continue;
    m.held.locks.remove([&](const HeldLock& l) { return l.number == one.number; });
  }
}

}  // namespace lockswap::audit
