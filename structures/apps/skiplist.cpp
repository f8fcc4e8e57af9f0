// skiplist: threads that look for, insert and remove keys of one skip list (A. Kogan, D. Dice,
// S. Issa, EuroSys 2020, sections 6 and 7.1).
//
// --locks nodes: the optimistic skip list of Herlihy and others, with a lock in each node (the
// paper's orig). --locks ranges: a range of keys is acquired instead, from the lock that
// LOCKSWAP_RANGE chooses (range-list: list-ex; range-lustre: lustre-ex). Searches take no lock.
// Without --locks: ranges if LOCKSWAP_RANGE is set, else nodes, so that a campaign's baselines are
// the paper's orig.
// The list is filled with --fill random keys of --keys by random insertions; then each operation
// takes a random key. Half of the updates insert, and half remove.
//
// Prints the lines of common/report.h, in which reads are searches and writes are updates that were
// tried, and "nodes N node_bytes B": nodes at the end and bytes of one, links included. Exit
// status 1: the list is not what the operations made of it. --help shows the options.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <thread>

#include "common/random.h"
#include "common/report.h"
#include "skip_list/node_locks.h"
#include "skip_list/ranges.h"

namespace {

using namespace bench;

template <class List>
class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  Worker(List& list, typename List::Hand& hand, std::uint32_t keys, double update_share,
         unsigned number)
      : list_(&list),
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
        watch.read([&] { keep(list_->contains(*hand_, key)); });
        ++reads;
      } else {
        const bool inserts = (writes & 1) == 0;
        watch.write(
            [&] { keep(inserts ? list_->insert(*hand_, key) : list_->remove(*hand_, key)); });
        ++writes;
      }
    }
  }

 private:
  List* list_;
  typename List::Hand* hand_;
  std::uint32_t keys_;
  std::uint64_t update_share_;
  Random random_;
};

template <class List>
void run(const Plan& plan, std::uint32_t keys, std::uint32_t fill, double update_share) {
  List list;
  typename List::Hand first(list, 1);
  Random random(0);
  while (first.nodes < fill)
    list.insert(first, 1 + random.below(keys));

  std::deque<typename List::Hand> hands;
  std::vector<Worker<List>> workers;
  for (int i = 0; i < plan.threads; ++i) {
    const auto number = static_cast<unsigned>(i);
    hands.emplace_back(list, number + 2);
    workers.emplace_back(list, hands.back(), keys, update_share, number + 1);
  }
  run_and_print(plan, workers, "find", "update");

  std::int64_t nodes = first.nodes;
  std::int64_t bytes = first.bytes;
  for (const auto& hand : hands) {
    nodes += hand.nodes;
    bytes += hand.bytes;
  }
  std::int64_t there = 0;
  std::uint32_t last = 0;
  list.for_each([&](std::uint32_t key) {
    if (key <= last)
      wrong_result("key " + std::to_string(key) + " is behind " + std::to_string(last));
    last = key;
    ++there;
  });
  if (there != nodes) {
    wrong_result(std::to_string(nodes) + " keys should be there, " + std::to_string(there) +
                 " are");
  }
  std::int64_t bytes_there = 0;
  if (!list.is_whole(bytes_there)) wrong_result("a level is no part of the one below");
  if (bytes_there != bytes) {
    wrong_result(std::to_string(bytes) + " bytes should be there, " + std::to_string(bytes_there) +
                 " are");
  }
  std::printf("nodes %" PRId64 " node_bytes %.2f\n", nodes,
              nodes == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(nodes));
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  double update_share = 0.2;
  int keys = 8 << 20;
  int fill = 4 << 20;
  std::string locks = std::getenv("LOCKSWAP_RANGE") != nullptr ? "ranges" : "nodes";
  Options options("skiplist", "Threads look for, insert and remove keys of one skip list.");
  add_plan_options(options, plan);
  options.choice("--locks", locks, {"nodes", "ranges"}, "what an update locks");
  options.number("--keys", keys, 2, 1 << 30, "keys to choose from");
  options.number("--fill", fill, 0, 1 << 28, "keys that are there at first");
  options.number("--updates", update_share, 0, 1, "share of insertions and removals");
  options.parse(argc, argv);
  if (fill > keys / 4 * 3) options.refuse("--fill takes at most three quarters of --keys");

  // For the nodes' locks; that of the range locks is LOCKSWAP_SPIN.
  lockswap::Native::set_most_pauses(50, {.allowed = std::thread::hardware_concurrency()});
  const auto k = static_cast<std::uint32_t>(keys);
  const auto f = static_cast<std::uint32_t>(fill);
  if (locks == "nodes") {
    run<NodeLocksSkipList>(plan, k, f, update_share);
  } else {
    run<RangesSkipList>(plan, k, f, update_share);
  }
  return 0;
}
