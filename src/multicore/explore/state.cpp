// The state of the machine, for SeenStates: everything that decides what may happen from here on.
//
// A thread's program is deterministic, so where a thread is and what it knows follows from what the
// machine's operations have returned to it. That is its past (Memory::past): each step, each write
// that it read, each of its own writes with the one before it in modification order, and each
// result of a wait. A write is identified by its thread's past, so a past includes those of others,
// and with them all views. The rest of the state is the order of each atomic's writes, what others
// do to a waiting thread, rounds in which time passes, and the scenario's own state
// (Scenario::state).
//
// Whatever an operation returns must be added to the past: if a result is missing, the search takes
// two states for one. Machine::adds does that, and `visits` does it for data that threads share
// without the machine. `lockswap-explore run --compare` compares the states that are reached with
// and without any reduction.
#include "multicore/explore/machine.h"

namespace lockswap::explore {

std::uint64_t Machine::state_of(int thread) const {
  const Thread& t = threads_[thread];
  std::uint64_t flags = 0;
  for (const bool flag : {t.finished, t.expired, t.impatient, t.woken, t.idle_over, t.lost_place,
                          t.wait == Thread::Wait::aside && writes_ != t.writes_seen}) {
    flags = flags << 1 | (flag ? 1 : 0);
  }
  flags = flags << 2 | static_cast<std::uint64_t>(t.wait);
  std::uint64_t h = mix(memory_.past(thread), flags);
  h = mix(h, static_cast<std::uint64_t>(t.patience_over));
  if (wakes_in_order) {
    h = mix(h, static_cast<std::uint64_t>(t.asleep_since));
    for (const Sleeps::First& f : t.sleeps.first)
      h += mix(reinterpret_cast<std::uintptr_t>(f.address), static_cast<std::uint64_t>(f.number));
  }
  return h;
}

std::uint64_t Machine::fingerprint() const {
  std::uint64_t h = static_cast<std::uint64_t>(current_);
  for (int i = 0; i < count_; ++i)
    h = mix(h, state_of(i));
  h = mix(h, memory_.contents());
  h = mix(h, static_cast<std::uint64_t>(idle_rounds_) << 32 |
                 static_cast<std::uint64_t>(patience_rounds_) << 1 | (one_thread_ ? 1 : 0));
  for (const HandOff& o : hand_offs_) {
    if (o.lock == nullptr) break;
    h = mix(h, static_cast<std::uint64_t>(o.moment));
  }
  if (wakes_one_at_a_time) {
    for (const Wakes& w : wakes_) {
      if (w.address == nullptr) break;
      h += mix(reinterpret_cast<std::uintptr_t>(w.address),
               static_cast<std::uint64_t>(w.of_one) << 32 | static_cast<std::uint64_t>(w.back));
    }
  }
  return mix(h, scenario_->state());
}

SeenStates::Left Machine::left() const {
  const auto byte = [](int n) { return static_cast<std::uint8_t>(n < 255 ? n : 255); };
  return {byte(left_.preemptions), byte(left_.stale), byte(left_.spurious), byte(left_.timeouts),
          byte(left_.moves)};
}

// Called at a choice of the next thread, after all choices of the last execution: returns whether
// the search has continued from here before.
bool Machine::was_here() {
  return scenario_->state && trace == nullptr && search.is_new() &&
         search.has_seen(fingerprint(), left());
}

// By values alone, without any of the above: what operations returned, and what is left.
std::uint64_t Machine::final_state() const {
  std::uint64_t h = 0;
  for (int i = 0; i < count_; ++i)
    h = mix(h, threads_[i].results);
  // Not by address, because some atomics are elsewhere when the same case is explored again.
  std::uint64_t sum = 0;
  for (int i = 0; i < memory_.count(); ++i)
    sum += mix(1, memory_.newest_value(i));
  return mix(h, sum);
}

}  // namespace lockswap::explore
