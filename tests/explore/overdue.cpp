#include "overdue.h"

#include <algorithm>

namespace lockswap::explore {

void Overdue::begins_to_wait(int lock, int cond) {
  Thread& t = me();
  t.at = At::waits;
  t.lock = lock;
  t.cond = cond;
  t.since = ++moments_;
  --held_[lock].written;
}

void Overdue::comes_back(int lock) {
  Thread& t = me();
  t.at = At::elsewhere;
  t.last[lock] = ++moments_;
  ++held_[lock].written;
  const std::uint32_t mine = 1u << machine.current();
  std::erase_if(signals_, [mine](std::uint32_t threads) { return (threads & mine) != 0; });
}

void Overdue::signals(int cond, bool all) {
  std::uint32_t threads = 0;
  for (int i = 0; i < kMaxThreads; ++i) {
    const Thread& t = threads_[i];
    if (t.at != At::waits || t.cond != cond || me().last[t.lock] <= t.since) continue;
    if (all) {
      signals_.push_back(1u << i);
    } else {
      threads |= 1u << i;
    }
  }
  if (threads != 0) signals_.push_back(threads);
}

void Overdue::forks() {
  signals_.clear();
  for (int i = 0; i < kMaxThreads; ++i) {
    Thread& t = threads_[i];
    if (i == machine.current()) {
      // Amid a wait, in a signal handler: it may have got a signal in the parent.
      if (t.at == At::waits) held_[t.lock].unknown = true;
      continue;
    }
    // Whether it has the lock, or had it still, is not known. A waiter may have been on its way.
    if (t.at != At::elsewhere) held_[t.lock].unknown = true;
    t = Thread{};
  }
}

bool Overdue::is_overdue(const Thread& t) const {
  const Held& held = held_[t.lock];
  if (held.unknown || (t.at != At::reads && t.at != At::writes)) return false;
  if (!held.at_all()) return true;
  const auto writes = [&t](const Thread& other) {
    return other.at == At::writes && other.lock == t.lock;
  };
  return t.at == At::reads && held.written == 0 && !readers_exclude_[t.lock] &&
         std::ranges::none_of(threads_, writes);
}

bool Overdue::is_late(int thread) const {
  const Thread& t = threads_[thread];
  return t.is_timed && (t.at == At::reads || t.at == At::writes) &&
         machine.waits_for_others(thread);
}

std::string Overdue::find() const {
  for (int i = 0; i < kMaxThreads; ++i) {
    const std::string name = "T" + std::to_string(i);
    if (is_overdue(threads_[i])) return "lost wake-up: nobody keeps " + name + " from the lock";
    if (is_late(i)) return "late: " + name + " waits on, whatever its deadline";
  }
  if (std::ranges::any_of(threads_, [](const Thread& t) { return t.in_handler; })) return {};
  for (const std::uint32_t threads : signals_) {
    bool is_free = true;
    for (int i = 0; i < kMaxThreads; ++i) {
      const Held& held = held_[threads_[i].lock];
      if ((threads >> i & 1) != 0 && (held.unknown || held.at_all())) is_free = false;
    }
    if (is_free) return "lost wake-up: nobody has come back from a signal";
  }
  return {};
}

// What a thread has done by itself is known without this.
std::uint64_t Overdue::state() const {
  std::uint64_t h = held_[0].unknown ? 1 : 0;
  if (held_[1].unknown) h += 2;
  for (int i = 0; i < kMaxThreads; ++i) {
    const Thread& t = threads_[i];
    if (t.at != At::waits) continue;
    // Those whose signals are for it.
    std::uint64_t later = 0;
    for (int k = 0; k < kMaxThreads; ++k) {
      if (threads_[k].last[t.lock] > t.since) later |= std::uint64_t{1} << k;
    }
    h = mix(h, later << 8 | static_cast<std::uint64_t>(i));
  }
  for (const std::uint32_t threads : signals_)
    h = mix(h, threads);
  return h;
}

}  // namespace lockswap::explore
