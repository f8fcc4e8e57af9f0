// Range locks against an oracle: threads acquire random ranges in every form, and each unit records
// which threads are in. It is built a second time under ThreadSanitizer, which checks that the
// declared memory orders cover every access.
//
// usage: range_stress [MILLISECONDS for each lock, wait policy and option]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "platform/libc_watch.h"
#include "platform/native.h"
#include "range/stages.h"
#include "registry/range_list_headers.h"  // written by src/lists.cmake
#include "wait/park.h"
#include "wait/spin.h"
#include "wait/yield.h"

namespace {

using namespace lockswap;

constexpr int kThreads = 6;
constexpr std::uint64_t kUnits = 48;
int failures = 0;

// The oracle: a unit has one writer or any number of readers. The plain data are ThreadSanitizer's.
struct Unit {
  std::atomic<int> readers{0};
  std::atomic<int> writers{0};
  long a = 0;
  long b = 0;

  bool enter(bool shared) {
    if (shared) {
      readers.fetch_add(1, std::memory_order_relaxed);
      return writers.load(std::memory_order_relaxed) == 0 && a == b;
    }
    const bool alone = writers.fetch_add(1, std::memory_order_relaxed) == 0 &&
                       readers.load(std::memory_order_relaxed) == 0;
    const bool same = a == b;
    ++a;
    return alone && same;
  }
  bool leave(bool shared) {
    if (shared) return readers.fetch_sub(1, std::memory_order_relaxed) > 0 && a == b;
    ++b;
    return writers.fetch_sub(1, std::memory_order_relaxed) == 1 && a == b;
  }
  // A writer becomes a reader. It is still alone.
  bool downgrade() {
    ++b;
    readers.fetch_add(1, std::memory_order_relaxed);
    return writers.fetch_sub(1, std::memory_order_relaxed) == 1 && a == b;
  }
  // The only reader becomes a writer.
  bool upgrade() {
    const bool alone = readers.fetch_sub(1, std::memory_order_relaxed) == 1 &&
                       writers.fetch_add(1, std::memory_order_relaxed) == 0;
    ++a;
    return alone && a == b + 1;
  }
};

template <class List>
struct World {
  World() {
    if constexpr (requires { list.begin(4); }) list.begin(4);  // units of a segment
  }
  List list{};
  Unit units[kUnits];
  std::atomic<long> bad{0};
  std::atomic<long> errors[4]{};  // EBUSY, ETIMEDOUT, EDEADLK, another
  void expect(bool good) {
    if (!good) bad.fetch_add(1, std::memory_order_relaxed);
  }
};

template <class List>
class Thread {
 public:
  Thread(World<List>& world, RangeOptions options, unsigned seed)
      : world_(world), options_(options), random_(seed) {}

  void step() {
    const unsigned what = random_() % 100;
    Held first = acquire(0, kUnits, what);
    if (!first.node) return;
    // A second range behind the first: the order of all threads, so nobody waits for ever, unless
    // a waiter is in the way of others, too.
    if (List::kHoldsMany && what % 5 == 0 && first.end < kUnits) {
      Held second = acquire(first.end, kUnits, random_() % 100);
      if (second.node) leave(second);
    }
    if (what % 7 == 0 && !first.shared) own(first);
    leave(first);
  }

 private:
  struct Held {
    typename List::Node* node = nullptr;
    std::uint64_t start = 0, end = 0;
    bool shared = false;
  };

  Held acquire(std::uint64_t from, std::uint64_t to, unsigned what) {
    Held h;
    const std::uint64_t longest = what == 0 ? kUnits : 8;
    h.start = from + random_() % (to - from);
    h.end = h.start + 1 + random_() % std::min(longest, to - h.start);
    h.shared = random_() % 100 < 60;
    const Deadline soon = deadline_in(Native::now(), 50'000);
    const RangeRequest r{h.start, h.end, h.shared, what % 4 == 1, what % 4 == 2 ? &soon : nullptr};
    const int result = acquire_range(world_.list, r, options_, h.node);
    h.shared &= List::kCanShare;
    if (result != 0) {
      const int i = result == EBUSY ? 0 : result == ETIMEDOUT ? 1 : result == EDEADLK ? 2 : 3;
      world_.errors[i].fetch_add(1, std::memory_order_relaxed);
      world_.expect(i == 0 ? r.only_try : i == 1 && r.deadline != nullptr);
      h.node = nullptr;
      return h;
    }
    for (std::uint64_t u = h.start; u < h.end; ++u)
      world_.expect(world_.units[u].enter(h.shared));
    return h;
  }
  // A range that overlaps one's own exclusive one is refused, and changes nothing.
  void own(const Held& h) {
    typename List::Node* n = nullptr;
    const int result =
        acquire_range(world_.list, {h.start, h.start + 1, false, false, nullptr}, options_, n);
    world_.expect(result == EDEADLK);
  }
  void leave(Held& h) {
    if constexpr (requires { world_.list.try_upgrade(h.node); }) {
      if (h.shared && random_() % 8 == 0 && world_.list.try_upgrade(h.node) == 0) {
        for (std::uint64_t u = h.start; u < h.end; ++u)
          world_.expect(world_.units[u].upgrade());
        h.shared = false;
      }
    }
    if constexpr (List::kCanShare) {
      if (!h.shared && random_() % 8 == 0) {
        for (std::uint64_t u = h.start; u < h.end; ++u)
          world_.expect(world_.units[u].downgrade());
        world_.list.downgrade(h.node);
        h.shared = true;
      }
    }
    for (std::uint64_t u = h.start; u < h.end; ++u)
      world_.expect(world_.units[u].leave(h.shared));
    release_range(world_.list, h.node);
  }

  World<List>& world_;
  RangeOptions options_;
  std::mt19937 random_;
};

template <class List>
void stress(const char* name, RangeOptions options, int milliseconds) {
  World<List> world;
  std::atomic<bool> stop{false};
  std::atomic<long> steps{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Thread<List> thread(world, options, t);
      long mine = 0;
      do {
        for (int i = 0; i < 64; ++i)
          thread.step();
        mine += 64;
      } while (!stop.load(std::memory_order_relaxed));
      steps.fetch_add(mine);
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  stop.store(true);
  for (auto& t : threads)
    t.join();
  const bool clean = world.bad.load() == 0 && !world.list.busy();
  std::printf("%-4s %-28s %8ld steps, %ld bad, %ld busy, %ld late, %ld own, %ld other\n",
              clean ? "ok" : "FAIL", name, steps.load(), world.bad.load(), world.errors[0].load(),
              world.errors[1].load(), world.errors[2].load(), world.errors[3].load());
  if (!clean) ++failures;
}

// Small pools make reuse frequent; a few lists make ranges meet.
struct Small : Native {
  static constexpr std::uint32_t kRangeNodes = 4;
  static constexpr std::uint32_t kRangePatience = 2;
  static constexpr std::uint32_t kRangeLists = 3;
};

// A line of range_list.def: those with a list take options, those without are as they are.
template <template <class, class> class LockOf, class W>
void line(const std::string& name, int milliseconds) {
  using Lock = LockOf<Native, W>;
  using SmallLock = LockOf<Small, W>;
  const auto run = [&]<class L>(const char* how, RangeOptions options) {
    stress<L>((name + how).c_str(), options, milliseconds);
  };
  if constexpr (!requires { &Lock::acquire_alone; }) {
    run.template operator()<Lock>("", {});
  } else {
    run.template operator()<Lock>(" fair", {.fair = true, .writers_first = false});
    run.template operator()<SmallLock>(", small", {.fair = false, .writers_first = false});
    if constexpr (Lock::kCanShare) {
      run.template operator()<Lock>(" fair writers first", {.fair = true, .writers_first = true});
      run.template operator()<SmallLock>(" fair, small", {.fair = true, .writers_first = true});
    }
    const PoolCounts c = SmallLock::Nodes::counts();
    std::printf("     %lu small nodes for %lu threads, %lu growths, %lu behind a walk\n", c.nodes,
                c.supplies, c.growths, c.blocked);
  }
}

template <class W>
void all(const char* wait, int milliseconds) {
  std::printf("%s\n", wait);
#define RANGE_LOCK(name, Class, header) line<Class, W>(name, milliseconds);
#define RANGE_OF_RWLOCKS(name, Class, header)
#include "registry/range_list.def"
#undef RANGE_LOCK
#undef RANGE_OF_RWLOCKS
}

}  // namespace

int main(int argc, char** argv) {
  const int milliseconds = argc > 1 ? std::atoi(argv[1]) : 300;
  if (milliseconds <= 0) {
    std::fprintf(stderr, "usage: range_stress [MILLISECONDS]\n");
    return 2;
  }
  ThreadExit::prepare(&watched_by_libc);
  all<Park<Native>>("park", milliseconds);
  all<Yield<Native>>("yield", milliseconds);
  all<Spin<Native>>("spin", milliseconds);
  std::printf("%d failed\n", failures);
  return failures == 0 ? 0 : 1;
}
