// Deferred updates by more threads than processors. Built as it is, under ThreadSanitizer and under
// AddressSanitizer.
//
//   ldu_stress SECONDS    for each of the forms below
//
// ldu.hpp: a read must show each object as it was at some moment of the read, and later reads of
// the thread nothing older. Threads hand objects to each other, retire them, end and begin anew.
// ldu_stamped.hpp: updates of several threads come one after the other; a read must show the state
// between two of them, as ../bonsai/versions.h judges it.
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "../bonsai/versions.h"
#include "lockswap/ldu.hpp"
#include "lockswap/ldu_stamped.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kObjects = 24;
constexpr std::size_t kLasting = 16;  // the others are retired, and new ones take their places
constexpr std::size_t kUpdaters = 5;
constexpr std::size_t kReaders = 3;

struct Few : lockswap::ldu_machine {  // fewer than there are updaters and structures
  static constexpr std::size_t kThreads = 4;
  static constexpr std::size_t kSlots = 2;
};

// The structure: which objects are there. A double insert, or remove, is counted.
template <class P>
struct Objects {
  struct object {
    std::size_t number = 0;
    bool in = false;
    lockswap::basic_ldu_hook<P> hook{};
  };
  static lockswap::basic_ldu_hook<P>& hook(object& o) { return o.hook; }
  void insert(object& o) {
    wrong += o.in ? 1 : 0;
    there[o.number] = o.in = true;
  }
  void remove(object& o) {
    wrong += o.in ? 0 : 1;
    there[o.number] = o.in = false;
  }
  void free(object& o) {
    wrong += o.in ? 1 : 0;
    delete &o;
  }
  std::array<bool, kObjects> there{};
  std::size_t wrong = 0;
};

// Each place has a version, odd while its object is there. The thread that has a place's mutex
// updates it, so an object's next update may be another thread's.
struct Place {
  std::mutex mutex;
  void* object = nullptr;
  std::atomic<std::uint64_t> began{0}, ended{0};
};

template <class P, class Lock>
class ByObject {
  using Structure = Objects<P>;
  using Object = typename Structure::object;
  using Set = lockswap::ldu<Structure, Lock, P>;
  using Logs = typename Set::logs;

 public:
  std::size_t run(double seconds) {
    const auto end = Clock::now() + std::chrono::milliseconds(static_cast<long>(1000 * seconds));
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kUpdaters; ++t) {
      threads.emplace_back([this, t, end] {
        std::mt19937 random(static_cast<unsigned>(t));
        do {                                // at least once, though it may come late to a processor
          typename Logs::thread me(logs_);  // threads come and go
          for (int i = 0; i < 500; ++i)
            update(me, random);
        } while (Clock::now() < end);
      });
    }
    for (std::size_t t = 0; t < kReaders; ++t) {
      threads.emplace_back([this, end] {
        std::array<std::array<std::uint64_t, kObjects>, kSets> seen{};
        std::size_t round = 0;
        do {
          look(round % kSets, seen[round % kSets]);
          ++round;
        } while (Clock::now() < end);
      });
    }
    for (auto& t : threads)
      t.join();
    for (std::size_t s = 0; s < kSets; ++s) {
      sets_[s].exclusive([&](Structure& all) {
        wrong_ += all.wrong;
        for (std::size_t i = 0; i < kObjects; ++i) {
          Place& p = places_[s][i];
          if (i < kLasting && all.there[i] != (p.ended % 2 == 1)) ++wrong_;
          delete static_cast<Object*>(p.object);
        }
      });
    }
    return wrong_;
  }
  std::size_t updates() const { return updates_; }
  std::size_t looks() const { return looks_; }

 private:
  static constexpr std::size_t kSets = 3;

  void update(typename Logs::thread& me, std::mt19937& random) {
    const std::size_t s = random() % kSets;
    const std::size_t i = random() % kObjects;
    Place& p = places_[s][i];
    if (!p.mutex.try_lock()) return;
    const std::uint64_t next = p.ended.load(std::memory_order_relaxed) + 1;
    p.began.store(next, std::memory_order_seq_cst);
    if (next % 2 == 1) {
      if (p.object == nullptr) p.object = new Object{i};
      auto& o = *static_cast<Object*>(p.object);
      random() % 8 == 0 ? sets_[s].insert(o) : sets_[s].insert(me, o);
    } else {
      auto& o = *static_cast<Object*>(p.object);
      if (i >= kLasting && random() % 2 == 0) {
        p.object = nullptr;
        sets_[s].retire(me, o);
      } else {
        random() % 8 == 0 ? sets_[s].remove(o) : sets_[s].remove(me, o);
      }
    }
    p.ended.store(next, std::memory_order_seq_cst);
    p.mutex.unlock();
    updates_.fetch_add(1, std::memory_order_relaxed);
  }

  void look(std::size_t s, std::array<std::uint64_t, kObjects>& seen) {
    std::array<std::uint64_t, kObjects> least{};
    for (std::size_t i = 0; i < kLasting; ++i) {
      least[i] = std::max(seen[i], places_[s][i].ended.load(std::memory_order_seq_cst));
    }
    const auto there = sets_[s].read([](const Structure& all) { return all.there; });
    for (std::size_t i = 0; i < kLasting; ++i) {
      const std::uint64_t most = places_[s][i].began.load(std::memory_order_seq_cst);
      seen[i] = least[i] + ((least[i] % 2 == 1) != there[i] ? 1 : 0);
      if (seen[i] > most) wrong_.fetch_add(1, std::memory_order_relaxed);
    }
    looks_.fetch_add(1, std::memory_order_relaxed);
  }

  Logs logs_;
  std::array<Set, kSets> sets_{Set{logs_}, Set{logs_}, Set{logs_}};
  std::array<std::array<Place, kObjects>, kSets> places_;
  std::atomic<std::size_t> wrong_{0}, updates_{0}, looks_{0};
};

class ByState {
  using Structure = Objects<Few>;
  using Set = lockswap::ldu_stamped<Structure, std::shared_mutex, Few, 8>;
  using Logs = typename Set::logs;

 public:
  std::size_t run(double seconds) {
    const auto end = Clock::now() + std::chrono::milliseconds(static_cast<long>(1000 * seconds));
    for (std::size_t i = 0; i < kObjects; ++i)
      objects_[i].number = i;
    std::barrier turn(static_cast<std::ptrdiff_t>(kUpdaters + kReaders),
                      [&]() noexcept { judge(end); });
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kUpdaters + kReaders; ++t) {
      threads.emplace_back([this, t, &turn] {
        std::mt19937 random(static_cast<unsigned>(t));
        while (!over_) {
          t < kReaders ? read(found_[t]) : write(random);
          turn.arrive_and_wait();
        }
      });
    }
    for (auto& t : threads)
      t.join();
    return wrong_;
  }
  std::size_t looks() const { return looks_; }
  std::size_t updates() const { return updates_; }

 private:
  void read(std::vector<bonsai_test::Look>& looks) {
    for (int i = 0; i < 20; ++i) {
      bonsai_test::Look look{};
      look.kind = bonsai_test::Kind::all;
      look.began = clock_.fetch_add(1);
      const auto there = set_.read([](const Structure& all) { return all.there; });
      look.ended = clock_.fetch_add(1);
      for (std::uint32_t n = 0; n < kObjects; ++n) {
        if (there[n]) look.got.emplace_back(n, 0);
      }
      looks.push_back(std::move(look));
    }
  }
  void write(std::mt19937& random) {
    Logs::thread me(logs_);
    for (int i = 0; i < 30; ++i) {
      const std::lock_guard one_at_a_time(mutex_);
      bonsai_test::Update u{};
      u.key = random() % kObjects;
      u.there = !there_[u.key];
      there_[u.key] = u.there;
      u.began = clock_.fetch_add(1);
      u.there ? set_.insert(me, objects_[u.key]) : set_.remove(me, objects_[u.key]);
      u.ended = clock_.fetch_add(1);
      done_.push_back(u);
    }
  }
  void judge(Clock::time_point end) noexcept {
    std::vector<bonsai_test::Look> all;
    for (auto& looks : found_) {
      all.insert(all.end(), looks.begin(), looks.end());
      looks.clear();
    }
    looks_ += all.size();
    updates_ += done_.size();
    wrong_ += bonsai_test::unexplained(state_, done_, std::move(all));
    for (const auto& u : done_) {
      u.there ? void(state_[u.key] = 0) : void(state_.erase(u.key));
    }
    done_.clear();
    over_ = Clock::now() >= end;
  }

  Logs logs_;
  Set set_{logs_};
  std::array<Structure::object, kObjects> objects_{};
  std::array<bool, kObjects> there_{};
  std::mutex mutex_;
  std::atomic<std::uint64_t> clock_{0};
  std::array<std::vector<bonsai_test::Look>, kReaders> found_;
  std::vector<bonsai_test::Update> done_;
  bonsai_test::State state_;
  std::size_t wrong_ = 0, looks_ = 0, updates_ = 0;
  bool over_ = false;
};

template <class Stress>
bool holds(const char* name, double seconds) {
  const auto stress = std::make_unique<Stress>();
  const std::size_t wrong = stress->run(seconds);
  std::printf("%-14s %zu updates, %zu reads, %zu wrong\n", name, stress->updates(), stress->looks(),
              wrong);
  return wrong == 0 && stress->updates() > 0 && stress->looks() > 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: ldu_stress SECONDS\n");
    return 2;
  }
  const double seconds = std::atof(argv[1]);
  bool all = holds<ByObject<lockswap::ldu_machine, std::shared_mutex>>("logs", seconds);
  all = holds<ByObject<lockswap::ldu_machine, std::mutex>>("logs, mutex", seconds) && all;
  all = holds<ByObject<Few, std::shared_mutex>>("few logs", seconds) && all;
  all = holds<ByState>("stamps", seconds) && all;
  return all ? 0 : 1;
}
