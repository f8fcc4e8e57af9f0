#include "pingpong.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <sched.h>
#include <thread>
#include <vector>

namespace lockswap::measure {

namespace {

// A round is short against a time slice, so that most rounds have both processors to themselves,
// even if others use them, too.
constexpr double kRoundNs = 300'000;
constexpr std::size_t kFewest = 7, kMost = 1000;
constexpr int kWarmUp = 100;
constexpr int kLeast = 50;  // exchanges of a round

// Each on lines of its own; processors fetch pairs of lines.
struct alignas(128) Ball {
  std::atomic<std::uint32_t> word{0};
};
struct alignas(128) Order {
  std::atomic<int> exchanges{0};  // of the next round; -1: the game is over
  std::atomic<int> ready{0};      // how many threads are on their processors; -1: one can't be
};

class Game {
 public:
  // The thread that answers.
  void answer(int processor) {
    if (!begin(processor)) return;
    for (int round = 0;; ++round) {
      int n = 0;
      while ((n = next(round)) == 0) {}
      if (n < 0) return;
      play(n, 1, 0);
    }
  }

  std::optional<Spread> serve(int processor, double budget_ns) {
    if (!begin(processor)) return std::nullopt;
    const double end = now_ns() + budget_ns;
    // The fastest of some: in a slow one, a thread was not there.
    double each = round_of(kWarmUp);
    for (int i = 0; i < 3; ++i)
      each = std::min(each, round_of(kWarmUp));
    const double length = std::min(kRoundNs, budget_ns / kFewest);
    const int n = static_cast<int>(std::clamp(length / std::max(each, 1.0), double{kLeast}, 1e6));
    std::vector<double> rounds;
    while (rounds.size() < kFewest || (now_ns() < end && rounds.size() < kMost))
      rounds.push_back(round_of(n) / 2);  // there and back
    give(-1);
    return Spread::of(rounds);
  }

 private:
  bool begin(int processor) {
    if (!pin_to(processor)) {
      order_.ready = -1;
      return false;
    }
    // A thread that failed may have come first.
    int seen = order_.ready;
    while (seen >= 0 && !order_.ready.compare_exchange_weak(seen, seen + 1)) {}
    while (order_.ready == 1)
      sched_yield();  // the other one may have to be here first
    return order_.ready == 2;
  }

  // Nanoseconds of an exchange there and back.
  double round_of(int n) {
    give(n);
    const double start = now_ns();
    play(n, 0, 1);
    return (now_ns() - start) / n;
  }

  // The round's number is in the order, so that two rounds of the same length are two orders.
  void give(int n) { order_.exchanges = n < 0 ? -1 : (n << 4) | (++given_ & 15); }
  int next(int round) const {
    const int order = order_.exchanges;
    if (order < 0) return -1;
    return (order & 15) == ((round + 1) & 15) ? order >> 4 : 0;
  }

  void play(int n, std::uint32_t from, std::uint32_t to) {
    for (int i = 0; i < n; ++i) {
      std::uint32_t expected = from;
      while (!ball_.word.compare_exchange_strong(expected, to))
        expected = from;
    }
  }

  Ball ball_;
  Order order_;
  int given_ = 0;
};

}  // namespace

std::optional<Spread> ping_pong(int one, int other, double budget_ns) {
  Game game;
  std::optional<Spread> found;
  std::thread answers([&game, other] { game.answer(other); });
  std::thread serves([&] { found = game.serve(one, budget_ns); });
  serves.join();
  answers.join();
  return found;
}

}  // namespace lockswap::measure
