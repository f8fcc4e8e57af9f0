// bonsai: threads that look for, insert and erase regions of one ordered map (A. Clements,
// F. Kaashoek, N. Zeldovich, ASPLOS 2012, section 3).
//
// --structure path: the Bonsai tree with full path copying; rotations: with the paper's
// optimisation; map, map-mutex: std::map under a pthread_rwlock_t, or under a pthread_mutex_t;
// ranges, nodes: the skip lists of skiplist; citrus: the tree under Read-Log-Update. Where there is
// liburcu: path-memb, path-qsbr: the Bonsai tree with its grace periods; plain-memb, plain-qsbr: a
// tree of the same shape, on it alone. Readers of Bonsai trees take no lock; their writers take a
// mutex.
// The map is filled with --regions random keys of twice as many; then each operation takes a random
// key. Half of the updates insert, and half erase.
//
// Prints the lines of common/report.h, in which reads are searches and writes are updates that were
// tried, and "regions N height H garbage G": what is there at the end, the height of a Bonsai tree
// and the nodes that an update leaves to a grace period (both 0: another structure). Exit status 1:
// the structure is not what the operations made of it. --help shows the options.

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

#include "bonsai/shape.h"
#include "bonsai/trees.h"
#ifdef BONSAI_HAS_LIBURCU
#include "bonsai/over_liburcu.h"
#endif
#include "common/random.h"
#include "common/report.h"
#include "lockswap/rlu.h"
#include "rlu/rlu_sets.h"
#include "skip_list/node_locks.h"
#include "skip_list/ranges.h"

namespace {

using namespace bench;
using lockswap::copies;

class Rwlock {
 public:
  void lock_shared() { must(pthread_rwlock_rdlock(&lock_), "pthread_rwlock_rdlock"); }
  void lock() { must(pthread_rwlock_wrlock(&lock_), "pthread_rwlock_wrlock"); }
  void unlock() { must(pthread_rwlock_unlock(&lock_), "pthread_rwlock_unlock"); }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};
class Mutex {
 public:
  void lock_shared() { lock(); }
  void lock() { must(pthread_mutex_lock(&lock_), "pthread_mutex_lock"); }
  void unlock() { must(pthread_mutex_unlock(&lock_), "pthread_mutex_unlock"); }

 private:
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
};

template <class Lock>
class LockedMap {
 public:
  struct Hand {
    Hand(LockedMap&, unsigned) {}
  };
  static void attach() {}
  bool contains(Hand&, std::uint32_t key) {
    lock_.lock_shared();
    const bool found = map_.find(key) != map_.end();
    lock_.unlock();
    return found;
  }
  bool insert(Hand&, std::uint32_t key) {
    lock_.lock();
    const bool done = map_.emplace(key, key).second;
    lock_.unlock();
    return done;
  }
  bool erase(Hand&, std::uint32_t key) {
    lock_.lock();
    const bool done = map_.erase(key) == 1;
    lock_.unlock();
    return done;
  }
  Shape shape() { return {.regions = map_.size()}; }

 private:
  Lock lock_;
  std::map<std::uint32_t, std::uint32_t> map_;
};

template <class List>
class SkipList {
 public:
  using ListHand = typename List::Hand;
  struct Hand : ListHand {
    Hand(SkipList& of, unsigned number) : ListHand(of.list_, number) {}
  };
  static void attach() {}
  bool contains(Hand& h, std::uint32_t key) { return list_.contains(h, key); }
  bool insert(Hand& h, std::uint32_t key) { return list_.insert(h, key); }
  bool erase(Hand& h, std::uint32_t key) { return list_.remove(h, key); }
  Shape shape() {
    Shape s;
    list_.for_each([&](std::uint32_t) { ++s.regions; });
    return s;
  }

 private:
  List list_;
};

class Citrus {
 public:
  struct Hand {
    Hand(Citrus&, unsigned) {}
  };
  static void attach() { RluCitrus::attach(); }
  bool contains(Hand&, std::uint32_t key) { return tree_.contains(key); }
  bool insert(Hand&, std::uint32_t key) { return tree_.insert(key); }
  bool erase(Hand&, std::uint32_t key) { return tree_.remove(key); }
  Shape shape() {
    Shape s;
    tree_.for_each([&](Key) { ++s.regions; });
    return s;
  }

 private:
  RluCitrus tree_{0};
};

template <class Structure>
class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::int64_t gained = 0;  // regions

  Worker(Structure& of, typename Structure::Hand& hand, std::uint32_t keys, double update_share,
         unsigned number)
      : of_(&of),
        hand_(&hand),
        keys_(keys),
        update_share_(share_of_32_bits(update_share)),
        random_(number) {}

  void warm_up() { Structure::attach(); }

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    constexpr int kBatch = 8;
    for (int i = 0; i < kBatch; ++i) {
      const std::uint32_t key = 1 + random_.below(keys_);
      if (!random_.with_share(update_share_)) {
        watch.read([&] { keep(of_->contains(*hand_, key)); });
        ++reads;
        continue;
      }
      const bool inserts = (writes & 1) == 0;
      watch.write([&] {
        if (inserts) {
          gained += of_->insert(*hand_, key) ? 1 : 0;
        } else {
          gained -= of_->erase(*hand_, key) ? 1 : 0;
        }
      });
      ++writes;
    }
  }

 private:
  Structure* of_;
  typename Structure::Hand* hand_;
  std::uint32_t keys_;
  std::uint64_t update_share_;
  Random random_;
};

// In a thread of its own: liburcu wants to know each thread, and that it ends.
template <class F>
void in_a_thread(F f) {
  std::thread(f).join();
}

template <class Structure>
void run(const Plan& plan, std::uint32_t regions, double update_share) {
  using Hand = typename Structure::Hand;
  const std::uint32_t keys = 2 * regions;
  const auto structure = std::make_unique<Structure>();
  std::deque<Hand> hands;
  in_a_thread([&] {
    Structure::attach();
    Hand& first = hands.emplace_back(*structure, 1);
    Random random(0);
    for (std::uint32_t there = 0; there < regions;)
      there += structure->insert(first, 1 + random.below(keys)) ? 1 : 0;
  });

  std::vector<Worker<Structure>> workers;
  for (int i = 0; i < plan.threads; ++i) {
    const auto number = static_cast<unsigned>(i);
    workers.emplace_back(*structure, hands.emplace_back(*structure, number + 2), keys, update_share,
                         number + 1);
  }
  run_and_print(plan, workers, "find", "update");

  std::int64_t expected = regions;
  for (const auto& w : workers)
    expected += w.gained;
  Shape shape;
  in_a_thread([&] {
    Structure::attach();
    shape = structure->shape();
  });
  if (static_cast<std::int64_t>(shape.regions) != expected) {
    wrong_result(std::to_string(expected) + " regions should be there, " +
                 std::to_string(shape.regions) + " are");
  }
  std::printf("regions %" PRIu64 " height %d garbage %.2f\n", shape.regions, shape.height,
              shape.garbage);
}

struct Entry {
  const char* name;
  void (*run)(const Plan&, std::uint32_t, double);
};
const Entry kStructures[] = {
    {"path", run<Bonsai<copies::path, OwnPeriods>>},
    {"rotations", run<Bonsai<copies::rotations, OwnPeriods>>},
    {"map", run<LockedMap<Rwlock>>},
    {"map-mutex", run<LockedMap<Mutex>>},
    {"ranges", run<SkipList<RangesSkipList>>},
    {"nodes", run<SkipList<NodeLocksSkipList>>},
    {"citrus", run<Citrus>},
#ifdef BONSAI_HAS_LIBURCU
    {"path-memb", run<Bonsai<copies::path, MembPeriods>>},
    {"path-qsbr", run<Bonsai<copies::path, QsbrPeriods>>},
    {"plain-memb", run<PlainTree<Memb>>},
    {"plain-qsbr", run<PlainTree<Qsbr>>},
#endif
};

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  double update_share = 0.05;
  int regions = 1000;
  std::string structure = "path";
  Options options("bonsai", "Threads look for, insert and erase regions of one ordered map.");
  add_plan_options(options, plan);
  std::vector<std::string> names;
  for (const Entry& e : kStructures)
    names.emplace_back(e.name);
  options.choice("--structure", structure, names, "what holds the regions");
  options.number("--regions", regions, 1, 1 << 24, "regions that are there at first");
  options.number("--updates", update_share, 0, 1, "share of insertions and erasures");
  options.parse(argc, argv);

  // For the locks in the nodes of a skip list.
  lockswap::Native::set_most_pauses(50, {.allowed = std::thread::hardware_concurrency()});
  for (const Entry& e : kStructures) {
    if (structure == e.name) e.run(plan, static_cast<std::uint32_t>(regions), update_share);
  }
  return 0;
}
