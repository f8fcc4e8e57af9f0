#include "costs.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <thread>

namespace lockswap::measure {

namespace {

constexpr int kRounds = 31;
constexpr int kEach = 20'000;  // operations of a round, some 0.1 ms: short against a time slice
constexpr int kWords = 16;

struct alignas(128) Word {
  std::atomic<std::uint64_t> value{0};
};

// The operation's result goes into the next one, so that they don't overlap.
template <class Operation>
Spread cost_of(Operation operation) {
  std::uint64_t last = 0;
  std::vector<double> rounds;
  for (int round = -1; round < kRounds; ++round) {  // the first one warms up
    const double start = now_ns();
    for (int i = 0; i < kEach; ++i)
      last = operation(last);
    if (round >= 0) rounds.push_back((now_ns() - start) / kEach);
  }
  asm volatile("" : : "r"(last));
  return Spread::of(rounds);
}

// Of an access among others, as in a lock's code: it needn't wait for the one before. What is read
// decides whether a branch is taken, and never does.
template <class Use>
Spread cost_among_others(Use use) {
  static std::array<Word, kWords> words;
  const Spread all = cost_of([use](std::uint64_t last) {
    for (const Word& w : words)
      last = use(last, w.value.load(std::memory_order_acquire));
    return last;
  });
  return {all.median / kWords, all.low / kWords, all.high / kWords};
}

template <class Pair>
Spread cost_of_pair(Pair pair) {
  return cost_of([pair](std::uint64_t last) {
    pair();
    return last;
  });
}

}  // namespace

Costs own_costs() {
  static Word word;
  std::atomic<std::uint64_t>& w = word.value;
  return {
      // The value is always 0, but the compiler can't know that: the address depends on it.
      {"load", cost_of([](std::uint64_t last) {
         const auto* at = reinterpret_cast<const std::atomic<std::uint64_t>*>(
             reinterpret_cast<const char*>(&word.value) + last);
         return at->load(std::memory_order_acquire);
       })},
      {"load_among_others",
       cost_among_others([](std::uint64_t last, std::uint64_t value) { return last + value; })},
      {"load_and_branch", cost_among_others([](std::uint64_t last, std::uint64_t value) {
         if (value != 0) [[unlikely]] {
           asm volatile("" : "+r"(last));
         }
         return last;
       })},
      {"store_and_fence", cost_of([&w](std::uint64_t last) {
         w.store(last, std::memory_order_seq_cst);
         return last;
       })},
      {"exchange", cost_of([&w](std::uint64_t last) { return w.exchange(last); })},
      {"add", cost_of([&w](std::uint64_t last) { return w.fetch_add(last & 0); })},
      {"compare_exchange", cost_of([&w](std::uint64_t last) {
         w.compare_exchange_strong(last, last);
         return last;
       })},
      {"clock", cost_of([](std::uint64_t last) { return last + (now_ns() < 0 ? 1 : 0); })},
  };
}

Costs uncontended_pairs() {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  // Some locks are cheaper as long as the process has had one thread only.
  std::thread([] {}).join();
  return {
      {"read", cost_of_pair([] {
         pthread_rwlock_rdlock(&lock);
         pthread_rwlock_unlock(&lock);
       })},
      {"write", cost_of_pair([] {
         pthread_rwlock_wrlock(&lock);
         pthread_rwlock_unlock(&lock);
       })},
      {"mutex", cost_of_pair([] {
         pthread_mutex_lock(&mutex);
         pthread_mutex_unlock(&mutex);
       })},
  };
}

}  // namespace lockswap::measure
