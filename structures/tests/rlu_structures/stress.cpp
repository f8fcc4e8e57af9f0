// All structures under Read-Log-Update under load at once, for the sanitizers:
//
//   stress SECONDS SEED DEFERRAL
//
// Threads insert and remove keys of their own in all structures and find what they did; each
// section that moves a key between two structures has it in one of them; a table is resized again
// and again; threads end and others begin. Exit status 1: something was not found, or found twice.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "lockswap/rlu_cache.hpp"
#include "lockswap/rlu_citrus.hpp"
#include "lockswap/rlu_double_list.hpp"
#include "lockswap/rlu_hash.hpp"
#include "lockswap/rlu_list.hpp"
#include "lockswap/rlu_resizable_hash.hpp"

namespace {

using lockswap::rlu::section;

struct Structures {
  lockswap::rlu::list<int> list;
  lockswap::rlu::hash_set<int> hash{7};
  lockswap::rlu::double_list<int> both_ways;
  lockswap::rlu::resizable_hash_set<int> table{8};
  lockswap::rlu::citrus<int> tree;
  lockswap::rlu::cache database{{.buckets = 4}};
};
std::atomic<bool> over{false};
std::atomic<int> wrong{0};
std::atomic<long> operations{0};

void need(bool right, const char* what) {
  if (!right && wrong.fetch_add(1) == 0) std::fprintf(stderr, "wrong: %s\n", what);
}

template <class Set>
void come_and_go(Set& set, int key, const char* what) {
  need(set.insert(key), what);
  need(set.contains(key), what);
  need(set.remove(key), what);
  need(!set.contains(key), what);
}

void come_and_go_in_database(lockswap::rlu::cache& database, int key, int i) {
  const std::string name = std::to_string(key);
  const std::string content = name + " " + std::to_string(i);
  std::string got;
  need(database.add(name, "first"), "a new record");
  const lockswap::rlu::cache::pair both[] = {
      {name, content}, {"last", content}, {"again", content}};
  database.set_all(both);
  need(database.get(name, got) && got == content, "a record that was set");
  need(database.remove(name), "a record that is removed");
  need(!database.get(name, got), "a record that was removed");
}

// What a thread does until it ends; the key is no other thread's.
void live(Structures& s, int key, unsigned seed) {
  std::mt19937 random(seed);
  need(s.list.insert(key), "a key of its own in the list");
  for (int i = 0; i < 200 && !over.load(); ++i) {
    come_and_go(s.hash, key, "hash table");
    come_and_go(s.both_ways, key, "list both ways");
    come_and_go(s.table, key, "resizable table");
    come_and_go(s.tree, key, "tree");
    // From the list to the tree, and back.
    lockswap::rlu::citrus<int>::entry in_tree(key);
    lockswap::rlu::list<int>::entry in_list(key);
    const bool there = lockswap::rlu::update([&](section& here) -> std::optional<bool> {
      const auto gone = s.list.remove(here, key);
      if (!gone || !*gone) return gone;
      return s.tree.insert(here, in_tree);
    });
    need(there, "from the list to the tree");
    if (there) in_tree.inserted();
    if (random() % 8 == 0) lockswap_rlu_flush();
    const bool back = lockswap::rlu::update([&](section& here) -> std::optional<bool> {
      const auto gone = s.tree.remove(here, key);
      if (!gone || !*gone) return gone;
      return s.list.insert(here, in_list);
    });
    need(back, "from the tree to the list");
    if (back) in_list.inserted();
    come_and_go_in_database(s.database, key, i);
    operations += 23;
  }
  need(s.list.remove(key), "its key in the end");
}

// `key` is in the list or in the tree.
void watch(Structures& s) {
  while (!over.load()) {
    const section here;
    int sum[2] = {0, 0};
    s.both_ways.for_each([&](int k) { sum[0] += k; });
    s.both_ways.for_each_from_end([&](int k) { sum[1] += k; });
    need(sum[0] == sum[1], "the same list both ways");
    int last = -2;  // -1 is there now and then
    bool is_rising = true;
    s.list.for_each([&](int k) {
      is_rising = is_rising && k > last;
      last = k;
    });
    need(is_rising, "a sorted list");
    std::string last_set;
    std::string again;
    need(s.database.get("last", last_set) == s.database.get("again", again) && last_set == again,
         "records that are set together");
    need(s.list.contains(here, -1) != s.tree.contains(here, -1), "a key that moves");
  }
}

// The key -1 goes to and fro.
void move(Structures& s) {
  while (!over.load()) {
    lockswap::rlu::citrus<int>::entry in_tree(-1);
    lockswap::rlu::list<int>::entry in_list(-1);
    lockswap::rlu::update([&](section& here) -> std::optional<bool> {
      const auto gone = s.list.remove(here, -1);
      return !gone || !*gone ? gone : s.tree.insert(here, in_tree);
    });
    in_tree.inserted();
    lockswap::rlu::update([&](section& here) -> std::optional<bool> {
      const auto gone = s.tree.remove(here, -1);
      return !gone || !*gone ? gone : s.list.insert(here, in_list);
    });
    in_list.inserted();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s SECONDS SEED DEFERRAL\n", argv[0]);
    return 2;
  }
  const auto seed = static_cast<unsigned>(std::atoi(argv[2]));
  lockswap_rlu_set_deferral(static_cast<unsigned>(std::atoi(argv[3])));
  constexpr int kThreads = 3;
  {
    Structures s;
    s.list.insert(-1);
    lockswap_rlu_flush();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&s, t, seed] {
        for (unsigned life = 0; !over.load(); ++life)
          std::thread(live, std::ref(s), t, seed + life).join();
      });
    }
    threads.emplace_back(watch, std::ref(s));
    threads.emplace_back(move, std::ref(s));
    threads.emplace_back([&s] {
      for (unsigned i = 0; !over.load(); ++i) {
        s.table.resize(std::size_t{1} << i * 5 % 7);
        // A table that is resized again at once leaves other writers next to nothing.
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(argv[1])));
    // On a busy machine the threads may not have run yet.
    while (operations.load() == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    over = true;
    for (auto& t : threads)
      t.join();
  }
  std::printf("operations %ld wrong %d\n", operations.load(), wrong.load());
  return wrong.load() == 0 && operations.load() > 0 ? 0 : 1;
}
