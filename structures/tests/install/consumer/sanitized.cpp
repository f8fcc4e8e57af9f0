// A program of somebody else, for ThreadSanitizer and AddressSanitizer: sanitized HOW.
//   right     uses most of Read-Log-Update by several threads
//   unlocked  two threads write into an object without a lock          ThreadSanitizer reports it
//   late      a thread reads objects after the end of its section      ThreadSanitizer reports it
//   kept      a thread uses a copy after it has aborted                AddressSanitizer reports it
//   freed     a thread uses an object after it was freed               AddressSanitizer reports it
//   beyond    a thread writes behind the end of a copy                 AddressSanitizer reports it
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <lockswap/rlu_citrus.hpp>
#include <lockswap/rlu_hash.hpp>
#include <lockswap/rlu_list.hpp>

namespace rlu = lockswap::rlu;

namespace {

struct pair {
  long left, right;
};
struct note {
  lockswap_rlu_callback callback;
  long value;
};

void by_threads(int count, const std::function<void(int)>& f) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    threads.emplace_back(f, i);
  for (auto& t : threads)
    t.join();
}

void change(pair* p) {
  rlu::update([p](rlu::section& here) -> std::optional<bool> {
    pair* mine = p;
    if (!here.lock(mine)) return std::nullopt;
    ++mine->left;
    --mine->right;
    return true;
  });
}

void change_under_a_writer_lock(rlu::writer_lock& writers, pair* p) {
  const std::lock_guard lock(writers);
  const rlu::section here;
  pair* mine = p;
  if (here.lock(mine)) ++mine->left;
}

void call_back() {
  static long calls = 0;
  auto* n = new note{{}, 1};
  lockswap_rlu_call(&n->callback, [](lockswap_rlu_callback* c) {
    auto* done = reinterpret_cast<note*>(c);
    __atomic_fetch_add(&calls, done->value, __ATOMIC_RELAXED);
    delete done;
  });
}

int right() {
  constexpr int kThreads = 3;
  rlu::domain deferred(10);
  rlu::list<int> list(deferred);
  rlu::hash_set<int> hash(8);
  rlu::citrus<int> tree;
  auto* const fine = rlu::make<pair>(pair{0, 0});
  auto* const coarse = rlu::make<pair>(pair{0, 0});
  rlu::writer_lock writers;
  by_threads(kThreads, [&](int seed) {
    for (int i = 0; i < 200; ++i) {
      const int item = (i * 7 + seed) % 32;
      list.insert(item);
      hash.insert_or_assign(item);
      tree.insert(item);
      list.for_each([&](int n) { static_cast<void>(hash.contains(n) || tree.contains(n)); });
      list.remove((item * 3) % 32);
      hash.remove(item + 1);
      tree.remove((item * 5) % 32);
      change(fine);
      change_under_a_writer_lock(writers, coarse);
      if (i % 50 == 0) call_back();
      const rlu::section here;
      const pair* seen = here.read(fine);
      if (seen->left + seen->right != 0) std::puts("half of a change");
    }
    lockswap_rlu_flush();
  });
  // Others take over what those threads have left.
  for (int i = 0; i < 10; ++i)
    by_threads(1, [&](int) { change(fine); });
  lockswap_rlu_barrier();
  const bool counted = fine->left == 200 * kThreads + 10 && coarse->left == 200 * kThreads;
  rlu::discard(fine);
  rlu::discard(coarse);
  std::puts(counted ? "right" : "lost a change");
  return counted ? 0 : 1;
}

int unlocked() {
  auto* const p = rlu::make<pair>(pair{0, 0});
  std::atomic<int> inside{0};
  by_threads(2, [&](int i) {
    const rlu::section here;
    // Relaxed, here and below, so that nothing but sections and commits orders the two threads.
    inside.fetch_add(1, std::memory_order_relaxed);
    while (inside.load(std::memory_order_relaxed) != 2)
      std::this_thread::yield();
    here.read(p)->left = i;
  });
  return 0;
}

int late() {
  auto* const p = rlu::make<pair>(pair{0, 0});
  std::atomic<int> step{0};
  const auto wait_for = [&step](int n) {
    while (step.load(std::memory_order_relaxed) != n)
      std::this_thread::yield();
  };
  by_threads(2, [&](int i) {
    if (i == 0) {
      wait_for(1);
      change(p);
      step.store(2, std::memory_order_relaxed);
      return;
    }
    const pair* seen = nullptr;
    {
      const rlu::section here;
      seen = here.read(p);
    }
    step.store(1, std::memory_order_relaxed);
    wait_for(2);
    if (seen->left == 2) std::puts("-");
  });
  return 0;
}

int kept() {
  pair* p = rlu::make<pair>(pair{0, 0});
  rlu::section here;
  if (!here.lock(p)) return 1;
  here.abort();
  return static_cast<int>(p->left);
}

int freed() {
  auto* const p = rlu::make<pair>(pair{0, 0});
  rlu::free(p);
  return static_cast<int>(p->left);
}

int beyond() {
  pair* p = rlu::make<pair>(pair{0, 0});
  const rlu::section here;
  if (!here.lock(p)) return 1;
  std::memset(p, 0, sizeof *p + 1);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const char* const how = count == 2 ? words[1] : "";
  struct {
    const char* name;
    int (*run)();
  } const all[] = {{"right", right}, {"unlocked", unlocked}, {"late", late},
                   {"kept", kept},   {"freed", freed},       {"beyond", beyond}};
  for (const auto& one : all) {
    if (std::strcmp(one.name, how) == 0) return one.run();
  }
  std::puts("sanitized right|unlocked|late|kept|freed|beyond");
  return 2;
}
