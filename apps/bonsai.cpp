// bonsai: threads that look for, insert and erase regions of one ordered map (A. Clements,
// F. Kaashoek, N. Zeldovich, ASPLOS 2012, section 3).
//
// --structure path: the Bonsai tree with full path copying; rotations: with the paper's
// optimisation; map: std::map under a pthread_rwlock_t; ranges, nodes: the skip lists of skiplist.
// Readers of the first two take no lock; their writers take a pthread_mutex_t.
// The map is filled with --regions random keys of twice as many; then each operation takes a random
// key. Of the updates half insert and half erase.
//
// Prints the lines of common/report.h, in which reads are searches and writes are updates that were
// tried, and "regions N height H garbage G": what is there at the end, the height of a Bonsai tree
// and the nodes that an update leaves to a grace period (both 0: another structure). Exit status 1:
// the structure is not what the operations made of it. --help shows the options.

#include "lockswap/bonsai.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>

#include "common/random.h"
#include "common/report.h"
#include "skip_list/node_locks.h"
#include "skip_list/ranges.h"

namespace {

using namespace bench;
using lockswap::copies;

struct Shape {
  std::uint64_t regions = 0;
  int height = 0;
  double garbage = 0;
};

// Each structure: a Hand for each thread, contains, insert, erase, shape.
template <copies kCopies>
class Bonsai {
  using Domain = lockswap::quiescence<>;

 public:
  class Hand {
   public:
    Hand(Bonsai& of, unsigned) : reader(of.domain_) {}
    Domain::reader reader;
  };
  bool contains(Hand& h, std::uint32_t key) { return map_.find(h.reader, key).has_value(); }
  bool insert(Hand&, std::uint32_t key) {
    must(pthread_mutex_lock(&mutex_), "pthread_mutex_lock");
    const bool done = map_.insert(key, key);
    must(pthread_mutex_unlock(&mutex_), "pthread_mutex_unlock");
    return done;
  }
  bool erase(Hand&, std::uint32_t key) {
    must(pthread_mutex_lock(&mutex_), "pthread_mutex_lock");
    const bool done = map_.erase(key);
    must(pthread_mutex_unlock(&mutex_), "pthread_mutex_unlock");
    return done;
  }
  Shape shape() {
    Shape s;
    if (!map_.is_whole(s.height)) wrong_result("the tree is out of order, or out of balance");
    for ([[maybe_unused]] const auto& e : map_.exclusive())
      ++s.regions;
    const auto c = map_.counts();
    s.garbage = static_cast<double>(c.garbage) / static_cast<double>(c.updates);
    return s;
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Domain domain_;
  lockswap::bonsai_map<std::uint32_t, std::uint32_t, Domain, kCopies> map_{domain_};
};

class LockedMap {
 public:
  struct Hand {
    Hand(LockedMap&, unsigned) {}
  };
  bool contains(Hand&, std::uint32_t key) {
    must(pthread_rwlock_rdlock(&lock_), "pthread_rwlock_rdlock");
    const bool found = map_.find(key) != map_.end();
    must(pthread_rwlock_unlock(&lock_), "pthread_rwlock_unlock");
    return found;
  }
  bool insert(Hand&, std::uint32_t key) {
    must(pthread_rwlock_wrlock(&lock_), "pthread_rwlock_wrlock");
    const bool done = map_.emplace(key, key).second;
    must(pthread_rwlock_unlock(&lock_), "pthread_rwlock_unlock");
    return done;
  }
  bool erase(Hand&, std::uint32_t key) {
    must(pthread_rwlock_wrlock(&lock_), "pthread_rwlock_wrlock");
    const bool done = map_.erase(key) == 1;
    must(pthread_rwlock_unlock(&lock_), "pthread_rwlock_unlock");
    return done;
  }
  Shape shape() { return {.regions = map_.size()}; }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
  std::map<std::uint32_t, std::uint32_t> map_;
};

template <class List>
class SkipList {
 public:
  using ListHand = typename List::Hand;
  struct Hand : ListHand {
    Hand(SkipList& of, unsigned number) : ListHand(of.list_, number) {}
  };
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

template <class Structure>
void run(const Plan& plan, std::uint32_t regions, double update_share) {
  using Hand = typename Structure::Hand;
  const std::uint32_t keys = 2 * regions;
  const auto structure = std::make_unique<Structure>();
  std::deque<Hand> hands;
  Hand& first = hands.emplace_back(*structure, 1);
  Random random(0);
  for (std::uint32_t there = 0; there < regions;)
    there += structure->insert(first, 1 + random.below(keys)) ? 1 : 0;

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
  const Shape shape = structure->shape();
  if (static_cast<std::int64_t>(shape.regions) != expected) {
    wrong_result(std::to_string(expected) + " regions should be there, " +
                 std::to_string(shape.regions) + " are");
  }
  std::printf("regions %" PRIu64 " height %d garbage %.2f\n", shape.regions, shape.height,
              shape.garbage);
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  double update_share = 0.05;
  int regions = 1000;
  std::string structure = "path";
  Options options("bonsai", "Threads look for, insert and erase regions of one ordered map.");
  add_plan_options(options, plan);
  options.choice("--structure", structure, {"path", "rotations", "map", "ranges", "nodes"},
                 "what holds the regions");
  options.number("--regions", regions, 1, 1 << 24, "regions that are there at first");
  options.number("--updates", update_share, 0, 1, "share of insertions and erasures");
  options.parse(argc, argv);

  lockswap::Native::set_spin_budget(50);  // of the locks in the nodes of a skip list
  const auto n = static_cast<std::uint32_t>(regions);
  if (structure == "path") {
    run<Bonsai<copies::path>>(plan, n, update_share);
  } else if (structure == "rotations") {
    run<Bonsai<copies::rotations>>(plan, n, update_share);
  } else if (structure == "map") {
    run<LockedMap>(plan, n, update_share);
  } else if (structure == "ranges") {
    run<SkipList<RangesSkipList>>(plan, n, update_share);
  } else {
    run<SkipList<NodeLocksSkipList>>(plan, n, update_share);
  }
  return 0;
}
