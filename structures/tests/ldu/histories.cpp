// Recorded histories of deferred updates, judged against the structure behind them: each object by
// itself is linearizable, which is all that ldu.hpp promises. (A read of several is no snapshot.)
//
//   ldu_histories SECONDS    for each of the forms below
//
// An object is in or out. Its updates come by turns, so they have an order, and versions.h judges
// exactly what reads saw of it; reads are those with the lock as reader and as writer.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "../bonsai/versions.h"
#include "lockswap/ldu.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Numbers = std::set<std::uint32_t>;

constexpr std::size_t kPlaces = 6;  // few: their updates meet each other, and reads
constexpr std::size_t kUpdaters = 4;
constexpr std::size_t kReaders = 2;

struct Few : lockswap::ldu_machine {  // fewer than there are updaters
  static constexpr std::size_t kThreads = 2;
  static constexpr std::size_t kSlots = 1;
};

template <class P>
struct Objects {
  struct object {
    std::uint32_t number = 0;
    lockswap::basic_ldu_hook<P> hook{};
  };
  static lockswap::basic_ldu_hook<P>& hook(object& o) { return o.hook; }
  void insert(object& o) { wrong += there.insert(o.number).second ? 0 : 1; }
  void remove(object& o) { wrong += there.erase(o.number) == 1 ? 0 : 1; }
  void free(object& o) {
    wrong += there.contains(o.number) ? 1 : 0;
    delete &o;
  }
  Numbers there;
  std::size_t wrong = 0;
};

// Whose log an update goes to: its thread's (PLDU), the structure's (GLDU), or one or the other.
enum class Log : std::uint8_t { of_thread, own, either };

struct Walk {
  std::uint64_t began, ended;
  Numbers got;
};

// What nothing explains: object by object, from what was in before. `updates` in their order.
std::size_t unexplained(const Numbers& first, const std::vector<bonsai_test::Update>& updates,
                        const std::vector<Walk>& walks) {
  std::map<std::uint32_t, std::vector<bonsai_test::Update>> of;
  for (const std::uint32_t n : first)
    of[n] = {};
  for (const auto& u : updates)
    of[u.key].push_back(u);
  for (const Walk& w : walks) {
    for (const std::uint32_t n : w.got)
      of[n];  // one that was retired long ago is explained by nothing
  }
  std::size_t wrong = 0;
  for (const auto& [number, changes] : of) {
    std::vector<bonsai_test::Look> looks;
    for (const Walk& w : walks) {
      looks.push_back({w.began, w.ended, bonsai_test::Kind::find, number, {}});
      if (w.got.contains(number)) looks.back().got.emplace_back(number, 0);
    }
    bonsai_test::State before;
    if (first.contains(number)) before[number] = 0;
    wrong += bonsai_test::unexplained(before, changes, std::move(looks));
  }
  return wrong;
}

template <class P, class Lock, Log kLog>
class Histories {
  using Structure = Objects<P>;
  using Object = typename Structure::object;
  using Set = lockswap::ldu<Structure, Lock, P>;
  using Logs = typename Set::logs;

 public:
  Histories() { set_.set_limit(4); }
  std::size_t run(double seconds) {
    const auto end = Clock::now() + std::chrono::milliseconds(static_cast<long>(1000 * seconds));
    // Between two rounds nobody is in an operation.
    std::barrier turn(kUpdaters + kReaders, [&]() noexcept { judge(end); });
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kUpdaters + kReaders; ++t) {
      threads.emplace_back([this, t, &turn] {
        std::mt19937 random(static_cast<unsigned>(t));
        while (!over_) {
          t < kUpdaters ? update_some(random, mine_[t]) : look_some(random, mine_[t]);
          turn.arrive_and_wait();
        }
      });
    }
    for (auto& t : threads)
      t.join();
    wrong_ += set_.exclusive([](const Structure& all) { return all.wrong; });
    for (const Place& p : places_)
      delete p.object;
    return wrong_;
  }
  std::size_t updates() const { return updates_; }
  std::size_t walks() const { return walks_; }

 private:
  struct Place {
    std::mutex mutex;
    Object* object = nullptr;
    bool in = false;
  };
  struct Mine {
    std::vector<bonsai_test::Update> updates;
    std::vector<Walk> walks;
  };

  void update_some(std::mt19937& random, Mine& mine) {
    typename Logs::thread me(logs_);
    for (int i = 0; i < 12; ++i) {
      update(me, random, mine);
      if (random() % 6 == 0) look(random, mine);  // it must see its own
    }
  }
  void look_some(std::mt19937& random, Mine& mine) {
    for (int i = 0; i < 10; ++i) {
      look(random, mine);
      if (random() % 4 == 0) std::this_thread::yield();
    }
  }
  void update(typename Logs::thread& me, std::mt19937& random, Mine& mine) {
    Place& p = places_[random() % kPlaces];
    const std::lock_guard one_at_a_time(p.mutex);
    if (p.object == nullptr) p.object = new Object{made_.fetch_add(1)};
    Object& o = *p.object;
    p.in = !p.in;
    const bool is_the_last = !p.in && random() % 8 == 0;
    if (is_the_last) p.object = nullptr;
    const bool own = kLog == Log::own || (kLog == Log::either && random() % 2 == 0);
    bonsai_test::Update u{};
    u.key = o.number;
    u.there = p.in;
    u.began = clock_.fetch_add(1);
    if (is_the_last) {
      own ? set_.retire(o) : set_.retire(me, o);
    } else if (p.in) {
      own ? set_.insert(o) : set_.insert(me, o);
    } else {
      own ? set_.remove(o) : set_.remove(me, o);
    }
    u.ended = clock_.fetch_add(1);
    mine.updates.push_back(u);
  }
  void look(std::mt19937& random, Mine& mine) {
    Walk w{};
    const auto numbers = [](const Structure& all) { return all.there; };
    const bool as_writer = random() % 8 == 0;
    w.began = clock_.fetch_add(1);
    w.got = as_writer ? set_.exclusive(numbers) : set_.read(numbers);
    w.ended = clock_.fetch_add(1);
    mine.walks.push_back(std::move(w));
  }
  void judge(Clock::time_point end) noexcept {
    std::vector<bonsai_test::Update> updates;
    std::vector<Walk> walks;
    for (Mine& m : mine_) {
      updates.insert(updates.end(), m.updates.begin(), m.updates.end());
      walks.insert(walks.end(), m.walks.begin(), m.walks.end());
      m = {};
    }
    // Those of one object do not overlap.
    std::ranges::sort(updates, {}, &bonsai_test::Update::began);
    updates_ += updates.size();
    walks_ += walks.size();
    wrong_ += unexplained(in_, updates, walks);
    for (const auto& u : updates)
      u.there ? void(in_.insert(u.key)) : void(in_.erase(u.key));
    over_ = Clock::now() >= end;
  }

  Logs logs_;
  Set set_{logs_};
  std::array<Place, kPlaces> places_{};
  std::atomic<std::uint32_t> made_{0};
  std::atomic<std::uint64_t> clock_{0};
  std::array<Mine, kUpdaters + kReaders> mine_{};
  Numbers in_;
  std::size_t wrong_ = 0, updates_ = 0, walks_ = 0;
  bool over_ = false;
};

template <class P, class Lock, Log kLog>
bool holds(const char* name, double seconds) {
  const auto histories = std::make_unique<Histories<P, Lock, kLog>>();
  const std::size_t wrong = histories->run(seconds);
  std::printf("%s: %zu updates, %zu reads, %zu wrong\n", name, histories->updates(),
              histories->walks(), wrong);
  return wrong == 0 && histories->updates() > 0 && histories->walks() > 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: ldu_histories SECONDS\n");
    return 2;
  }
  const double seconds = std::atof(argv[1]);
  using All = lockswap::ldu_machine;
  bool good = holds<All, std::shared_mutex, Log::of_thread>("pldu", seconds);
  good = holds<All, std::shared_mutex, Log::own>("gldu", seconds) && good;
  good = holds<All, std::mutex, Log::of_thread>("pldu, mutex", seconds) && good;
  good = holds<All, std::mutex, Log::own>("gldu, mutex", seconds) && good;
  good = holds<All, std::shared_mutex, Log::either>("both", seconds) && good;
  good = holds<Few, std::shared_mutex, Log::either>("both, few logs", seconds) && good;
  return good ? 0 : 1;
}
