#include "audit/joining.h"

#include <algorithm>

#include "audit/asking.h"
#include "audit/mutex_holds.h"
#include "audit/report.h"
#include "audit/stacks.h"
#include "audit/world.h"

namespace lockswap::audit {
namespace {

// If a thread was cancelled in its join, it may have released the lock.
bool is_held(const Joins::Join& join, const HeldLock& held) noexcept {
  return held.is_mutex ? shows_owner(held.address, join.tid) : is_still_held(held, join.serial);
}

bool shuts_out(const HeldLock& held, const Question& question) noexcept {
  return held.address == question.address && (held.writes || (question.mode & kToWrite) != 0);
}

}  // namespace

// If a thread was cancelled in a join, it has left its entry behind.
Joins::Join* Joins::free_join(const Me& m) noexcept {
  for (Join& join : all_) {
    if (join.tid == 0) continue;
    if (join.tid != m.tid && has_thread(join.tid)) continue;
    join.tid = 0;
    active_.fetch_sub(1, relaxed);
  }
  auto* const found = std::find_if(all_, all_ + kJoins, [](const Join& j) { return j.tid == 0; });
  return found == all_ + kJoins ? nullptr : found;
}

Joins::Join* Joins::begin(const Me& m, pthread_t thread, std::uint64_t site) noexcept {
  if (m.record == nullptr) return nullptr;
  Join* join = nullptr;
  {
    const Section section(guard_);
    join = free_join(m);
    if (join == nullptr) return nullptr;
    *join = {.thread = thread, .serial = m.serial, .site = site, .tid = m.tid};
    const auto add = [join](const HeldLock& one) {
      if (join->count != kMostHeld) join->held[join->count++] = one;
    };
    std::for_each(m.held.mutexes.begin(), m.held.mutexes.end(), add);
    std::for_each(m.held.locks.begin(), m.held.locks.end(), add);
    active_.fetch_add(1, relaxed);
    look_at_joined(m, *join);
  }
  return join;
}

void Joins::end(Join* join) noexcept {
  if (join == nullptr) return;
  const Section section(guard_);
  join->tid = 0;
  active_.fetch_sub(1, relaxed);
}

// It may be waiting for such a lock already, or it has taken one before and may do so again.
void Joins::look_at_joined(const Me& m, Join& join) noexcept {
  Threads::Joined joined;
  if (!world().threads.find(join.thread, joined)) return;
  for (std::uint32_t i = 0; i < join.count && !join.said; ++i) {
    const HeldLock& held = join.held[i];
    if ((joined.question.mode & kForEver) != 0 && shuts_out(held, joined.question))
      say(join, held, joined.question, joined.tid, 0);
  }
  for (std::uint32_t i = 0; i < join.count && !join.said; ++i) {
    const HeldLock& held = join.held[i];
    if (!held.writes || !joined.record->has_asked(held.address)) continue;
    join.said = true;
    note(Finding::join_may_wait, {.lock = pointer_to(held.address),
                                  .site = join.site,
                                  .other_site = held.site,
                                  .stack = take_stack(m, join.site),
                                  .other_stack = held.stack,
                                  .kinds = held.is_mutex ? kOfMutexes : kOfRwlocks});
  }
}

void Joins::look_at(const Me& m, const Question& question) noexcept {
  const Section section(guard_);
  for (Join& join : all_) {
    if (join.tid == 0 || join.tid == m.tid || !pthread_equal(join.thread, pthread_self())) continue;
    for (std::uint32_t i = 0; i < join.count; ++i) {
      const HeldLock& held = join.held[i];
      if (shuts_out(held, question) && is_held(join, held))
        say(join, held, question, m.tid, take_stack(m, question.site));
    }
  }
}

void Joins::say(Join& join, const HeldLock& held, const Question& question, std::uint32_t tid,
                std::uint32_t stack) noexcept {
  join.said = true;
  note(Finding::join_while_holding, {.lock = pointer_to(held.address),
                                     .site = question.site,
                                     .other_thread = join.tid,
                                     .other_site = held.site,
                                     .thread = tid,
                                     .more_sites = {join.site, 0},
                                     .stack = stack,
                                     .other_stack = held.stack,
                                     .kinds = held.is_mutex ? kOfMutexes : kOfRwlocks});
}

}  // namespace lockswap::audit
