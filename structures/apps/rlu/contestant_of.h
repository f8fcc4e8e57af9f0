// A contestant from a set: workers that look for, insert and remove random keys of twice as many as
// there are items.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

#include "common/random.h"
#include "common/report.h"
#include "rlu/contest.h"
#include "rlu/set.h"

namespace bench {

template <SharedSet S>
class alignas(128) SetWorker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::int64_t items = 0;  // inserted, less those removed

  SetWorker(S& set, const Setup& setup, unsigned number)
      : set_(&set),
        keys_(static_cast<std::uint32_t>(setup.items) * 2),
        updates_(share_of_32_bits(setup.updates)),
        both_ways_(setup.both_ways),
        random_(number) {}

  void warm_up() { S::attach(); }

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    constexpr int kBatch = 16;
    for (int i = 0; i < kBatch; ++i) {
      const Key key = random_.below(keys_);
      if (!random_.with_share(updates_)) {
        watch.read([&] { keep(look_for(key)); });
        ++reads;
      } else if ((random_.next() & 1) != 0) {
        watch.write([&] { items += set_->insert(key) ? 1 : 0; });
        ++writes;
      } else {
        watch.write([&] { items -= set_->remove(key) ? 1 : 0; });
        ++writes;
      }
    }
  }

 private:
  bool look_for(Key key) {
    if constexpr (TwoWaySet<S>) {
      if (both_ways_ && (reads & 1) != 0) return set_->contains_from_end(key);
    }
    return set_->contains(key);
  }

  S* set_;
  std::uint32_t keys_;
  std::uint64_t updates_;
  bool both_ways_;
  Random random_;
};

// In a thread of its own: flavours of RCU want to know each thread, and that it ends.
template <SharedSet S, class F>
void attached(F f) {
  std::thread([&f] {
    S::attach();
    f();
  }).join();
}

template <SharedSet S, bool kSorted>
class ContestantOf : public Contestant {
 public:
  explicit ContestantOf(const Setup& setup)
      : setup_(setup), set_(static_cast<std::size_t>(setup.buckets)), items_(setup.items) {
    attached<S>([&] {
      std::vector<Key> keys(static_cast<std::size_t>(setup_.items));
      std::iota(keys.begin(), keys.end(), 0);
      std::shuffle(keys.begin(), keys.end(), std::mt19937_64(1));
      for (const Key key : keys)
        set_.insert(key * 2);
    });
    S::flush();
  }

  Round run(unsigned number) override {
    std::vector<SetWorker<S>> workers;
    for (int i = 0; i < setup_.plan.threads; ++i)
      workers.emplace_back(set_, setup_, number * 1000 + static_cast<unsigned>(i));
    Round r = timed_round(
        [&](Round& round) {
          const Resizer resizer(*this, round.resizes);
          round.phase = run_phase(setup_.plan, workers, false, setup_.plan.seconds);
        },
        [] { S::flush(); });
    for (const auto& w : workers)
      items_ += w.items;
    return r;
  }

  void check() override {
    std::vector<Key> keys;
    attached<S>([&] { set_.for_each([&](Key key) { keys.push_back(key); }); });
    if constexpr (!kSorted) std::sort(keys.begin(), keys.end());
    if (std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>()) != keys.end())
      wrong_result("a key is there twice, or not in order");
    if (static_cast<std::int64_t>(keys.size()) != items_) {
      wrong_result(std::to_string(items_) + " keys should be there, " +
                   std::to_string(keys.size()) + " are");
    }
    if constexpr (TwoWaySet<S>) {
      std::vector<Key> back;
      attached<S>([&] { set_.for_each_from_end([&](Key key) { back.push_back(key); }); });
      std::reverse(back.begin(), back.end());
      if (back != keys) wrong_result("the list is another one backwards");
    }
  }

 private:
  // Resizes as long as it lives, at least there and back.
  class Resizer {
   public:
    Resizer(ContestantOf& of, std::uint64_t& resizes) {
      if constexpr (ResizableSet<S>) {
        if (of.setup_.resized == 0) return;
        thread_.emplace([this, &of, &resizes] {
          S::attach();
          do {
            of.set_.resize(static_cast<std::size_t>(of.setup_.resized));
            of.set_.resize(static_cast<std::size_t>(of.setup_.buckets));
            resizes += 2;
          } while (!stop_.load(std::memory_order_relaxed));
        });
      }
    }
    ~Resizer() {
      stop_.store(true, std::memory_order_relaxed);
      if (thread_) thread_->join();
    }
    Resizer(const Resizer&) = delete;
    Resizer& operator=(const Resizer&) = delete;

   private:
    std::atomic<bool> stop_{false};
    std::optional<std::thread> thread_;
  };

  Setup setup_;
  S set_;
  std::int64_t items_;
};

template <SharedSet S>
std::unique_ptr<Contestant> sorted(const Setup& setup) {
  return std::make_unique<ContestantOf<S, true>>(setup);
}
template <SharedSet S>
std::unique_ptr<Contestant> unsorted(const Setup& setup) {
  return std::make_unique<ContestantOf<S, false>>(setup);
}

}  // namespace bench
