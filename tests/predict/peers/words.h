// What the modelled locks of other projects are made of. They are written from what their projects
// publish about the algorithms, for comparison with measurements that others made.
#pragma once

#include <cstdint>
#include <limits>

#include "multicore/cost/platform.h"

namespace lockswap::predict::peers {

using cost::machine;
using cost::Modelled;
using Word = cost::ModelledAtomic<std::uint32_t>;

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Polls the word until pred holds or it is `until`. Returns whether pred held.
template <class Pred>
bool poll(const Word& word, Pred pred, double until = kNever) {
  while (!pred(word.load(relaxed))) {
    if (machine.now() >= until || !machine.watch(&word, until)) return pred(word.load(relaxed));
  }
  return true;
}

// The same without an end. If threads share processors, it yields before each poll after the first
// thousand.
template <class Pred>
void poll_and_yield(const Word& word, Pred pred) {
  constexpr int kPolls = 1000;
  const double until =
      machine.shares_processors() ? machine.now() + kPolls * machine.costs().pause : kNever;
  while (!poll(word, pred, until))
    machine.yield();
}

// Sleeps for that time, as nanosleep does.
inline void nap(double ns) {
  static constexpr std::uint32_t kNobody = 0;
  machine.sleep(&kNobody, 0, machine.now() + ns);
}

// Sleeps while the word has that value, as futex_wait does.
inline void sleep_while(const Word& word, std::uint32_t value) {
  Modelled::park(word, value, 1, nullptr);
}
inline void wake_one(const Word& word) { Modelled::unpark_one(&word, 1); }
inline void wake_all(const Word& word) { Modelled::unpark(&word, 1); }

// folly's detail::Sleeper: 4,000 polls with a pause between them, then half a millisecond of sleep
// before each.
class Sleeper {
 public:
  template <class Pred>
  void wait(const Word& word, Pred pred) {
    const double until = machine.now() + (kPolls - polled_) * machine.costs().pause;
    if (polled_ < kPolls && poll(word, pred, until)) {
      polled_ += 1;
      return;
    }
    polled_ = kPolls;
    nap(kNap);
  }

 private:
  static constexpr int kPolls = 4000;
  static constexpr double kNap = 500'000;
  int polled_ = 0;
};

}  // namespace lockswap::predict::peers
