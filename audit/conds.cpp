#include "audit/conds.h"

#include <algorithm>

#include "audit/address.h"
#include "audit/report.h"
#include "audit/stacks.h"

namespace lockswap::audit {

Conds::Set& Conds::set_of(std::uint64_t cond) noexcept {
  static_assert(kSets == 1u << (64 - 55));
  return sets_[cond * 0x9E3779B97F4A7C15u >> 55];
}

Conds::Use* Conds::Set::find(std::uint64_t cond) noexcept {
  Use* const found =
      std::find_if(use, use + kUses, [&](const Use& u) { return u.address == cond; });
  return found == use + kUses ? nullptr : found;
}

void Conds::waits(const Me& m, std::uint64_t cond, std::uint64_t mutex, std::uint64_t site,
                  std::uint32_t in_there) noexcept {
  const std::uint32_t stack = take_stack(m, site);
  Set& set = set_of(cond);
  const Section section(set.guard);
  Use* u = set.find(cond);
  if (u == nullptr) {
    u = set.find(0);
    if (u == nullptr) {
      count(Count::conds_forgotten);
      u = &set.use[set.oldest++ % kUses];
    }
    *u = {.address = cond, .mutex = mutex};
  }
  u->waiting = std::min(u->waiting, in_there);
  if (u->mutex != mutex) {
    const Noted noted{.lock = pointer_to(cond),
                      .site = site,
                      .other_thread = u->tid,
                      .other_site = u->site,
                      .stack = stack,
                      .other_stack = u->stack};
    if (u->waiting != 0) {
      note(Finding::cond_two_mutexes, noted);
    } else if (!u->changes_said) {
      u->changes_said = true;
      note(Finding::cond_changes_mutex, noted);
    }
  }
  u->mutex = mutex;
  u->site = site;
  u->stack = stack;
  u->tid = m.tid;
  ++u->waiting;
}

void Conds::wakes(std::uint64_t cond, bool all) noexcept {
  Set& set = set_of(cond);
  const Section section(set.guard);
  Use* u = set.find(cond);
  if (u == nullptr || u->waiting == 0) return;
  u->waiting = all ? 0 : u->waiting - 1;
}

void Conds::forget(std::uint64_t cond) noexcept {
  Set& set = set_of(cond);
  const Section section(set.guard);
  if (Use* u = set.find(cond)) *u = {};
}

}  // namespace lockswap::audit
