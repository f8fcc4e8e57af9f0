#include "wind.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <tuple>

#include "multicore/explore/platform.h"

namespace lockswap::explore {
namespace {

using Presets = std::vector<Machine::Preset>;

// Locks that count phases have a bit or two that change with each, so a step is so many rounds.
constexpr std::uint64_t kRounds = 4;
constexpr std::uint64_t kEnd = std::uint64_t{1} << 24;

std::uint64_t value_in(const Presets& values, const void* atom) {
  const auto it = std::find_if(values.begin(), values.end(),
                               [&](const Machine::Preset& p) { return p.atom == atom; });
  return it == values.end() ? 0 : it->value;
}

// Does `round` so many times, on a lock that has come so far, and adds the change `times` times.
void step(LockUnderTest& lock, Presets& so_far, const std::function<void()>& round,
          std::uint64_t rounds, std::uint64_t times) {
  Presets before, after;
  Scenario s;
  s.threads = 1;  // which has nothing to do
  s.body = [](int) {};
  s.setup = [&] {
    Explored::tick = 0;
    lock.begin();
    before = machine.values();
    for (std::uint64_t i = 0; i < rounds; ++i)
      round();
    if (!lock.at_rest()) machine.fail("a lock is not at rest after a round");
    machine.end_and_begin_thread();  // what it has of its own, as rows, others may have
    after = machine.values();
  };
  machine.presets = so_far;
  machine.search.restart();
  if (!machine.run(s, Bounds{})) {
    std::printf("    before the script begins: %s\n", machine.failure().c_str());
    if (!so_far.empty()) {
      std::printf(
          "      The lock's counters were wound forward. Each needs 24 bits or more: "
          "tests/explore/wind.h\n");
    }
    std::fflush(stdout);
    return;
  }
  for (const Machine::Preset& p : after) {
    // An atom that is first touched by the rounds began as it was left.
    const bool is_new = std::none_of(before.begin(), before.end(),
                                     [&](const Machine::Preset& b) { return b.atom == p.atom; });
    const std::uint64_t began = value_in(is_new ? so_far : before, p.atom);
    const std::uint64_t change = p.value - began;
    if (change == 0) continue;
    const auto known = std::find_if(so_far.begin(), so_far.end(),
                                    [&](const Machine::Preset& k) { return k.atom == p.atom; });
    if (known == so_far.end()) {
      so_far.push_back({p.atom, change * times});
    } else {
      known->value += change * times;
    }
  }
}

void repeat(LockUnderTest& lock, Presets& so_far, const std::function<void()>& round,
            std::uint64_t times) {
  for (std::uint64_t done = 0; done < times;) {
    // The end itself is gone past on foot.
    const std::uint64_t to_end = kEnd - kRounds - done % kEnd;
    const std::uint64_t left = times - done;
    // On foot as well what the first rounds alone change.
    const bool walks = done == 0 || to_end > kEnd;
    const std::uint64_t steps = walks ? 0 : std::min(left, to_end) / kRounds;
    const std::uint64_t on_foot = std::min(left, 2 * kRounds);
    step(lock, so_far, round, steps != 0 ? kRounds : on_foot, std::max<std::uint64_t>(steps, 1));
    done += steps != 0 ? steps * kRounds : on_foot;
  }
}

void write(LockUnderTest& lock) {
  if (lock.write(How::wait) != 0 || lock.unlock(true) != 0) machine.fail("a round of writing");
}
void read(LockUnderTest& lock) {
  if (lock.read(How::wait) != 0 || lock.unlock(false) != 0) machine.fail("a round of reading");
}

}  // namespace

Presets wind(LockUnderTest& lock, std::uint64_t writes, std::uint64_t reads, std::uint64_t locks) {
  static std::map<std::tuple<LockUnderTest*, std::uint64_t, std::uint64_t, std::uint64_t>, Presets>
      known;
  const auto [it, is_new] = known.try_emplace({&lock, writes, reads, locks});
  Presets& presets = it->second;
  if (is_new) {
    repeat(
        lock, presets, [&] { write(lock); }, writes);
    repeat(
        lock, presets, [&] { read(lock); }, reads);
    repeat(
        lock, presets, [&] { lock.begin(); }, locks);
  }
  return presets;
}

bool counts_acquisitions(LockUnderTest& lock) {
  Presets presets;
  step(
      lock, presets, [&] { write(lock); }, kRounds, 1);
  machine.presets.clear();
  return !presets.empty();
}

}  // namespace lockswap::explore
