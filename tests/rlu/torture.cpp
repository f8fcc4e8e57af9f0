// A torture of the RLU library in the manner of rcutorture (the paper's section 4.7): elements go
// through a pipeline of ages while readers look at them.
//
//     torture [SECONDS [SEED [DEFERRAL]]]
//
// Updaters replace the element that a shared object points to, and age the old one by a step at
// each grace period (by synchronize, by callbacks, by frees of the library's own). A reader that
// sees an element of an age above 1 has been given one too late. Writers move an amount between
// accounts, whose sum each section must find unchanged, and which is the same at the end. Fake
// writers synchronize, flush and wait for callbacks at random. Threads come and go all the time.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "lockswap/rlu.hpp"

namespace {

namespace rlu = lockswap::rlu;
using Random = std::minstd_rand;

std::atomic<bool> stop{false};
std::atomic<long> failures{0};
std::atomic<long> reads{0}, updates{0}, moves{0}, lives{0};

void fail(const char* what, long a, long b) {
  if (failures.fetch_add(1) < 10) std::fprintf(stderr, "torture: %s: %ld, %ld\n", what, a, b);
}

// --- the pipeline. An element is not freed but handed back, so that a look that comes too late
// finds an age, and not just anything.
constexpr int kOldest = 10;
struct Element {
  lockswap_rlu_callback callback{};
  std::atomic<int> age{0};
  std::atomic<bool> free{true};
};
struct Current {
  Element* element;
  long number;
  long again;  // the same number
};
std::vector<Element> pool(2000);
Current* current = nullptr;

Element* take(Random& random) {
  for (;;) {
    Element& e = pool[random() % pool.size()];
    bool yes = true;
    if (e.free.compare_exchange_strong(yes, false)) {
      e.age = 0;
      return &e;
    }
  }
}
void grow_older(Element& e);
void by_callback(lockswap_rlu_callback* c) { grow_older(*reinterpret_cast<Element*>(c)); }
void grow_older(Element& e) {
  if (++e.age < kOldest && !stop) {
    lockswap_rlu_call(&e.callback, by_callback);
  } else {
    e.free = true;
  }
}

void replace(Random& random) {
  Element* const mine = take(random);
  Element* const old = rlu::update([&](rlu::section& here) -> std::optional<Element*> {
    Current* c = current;
    if (!here.lock(c)) return std::nullopt;
    Element* const was = c->element;
    c->element = mine;
    ++c->number;
    ++c->again;
    return was;
  });
  lockswap_rlu_flush();  // the new one is seen
  ++updates;
  if (random() % 2 == 0) {
    old->age = 1;
    lockswap_rlu_call(&old->callback, by_callback);
  } else {
    old->age = 1;
    lockswap_rlu_synchronize();
    old->age = 2;
    old->free = true;
  }
}

void look(Random& random) {
  const rlu::section here;
  const Current* const c = here.read(current);
  if (c->number != c->again) fail("half of a commit", c->number, c->again);
  const long before = c->number;
  for (auto i = random() % 100; i != 0; --i) {
    if (const int age = c->element->age; age > 1) fail("an element of an age", age, 1);
    if (random() % 64 == 0) std::this_thread::yield();
  }
  if (const Current* const again = here.read(current); again->number != before)
    fail("another object in the same section", again->number, before);
  ++reads;
}

// --- accounts; each is an object that a link in an object leads to, and is replaced at times.
constexpr int kAccounts = 8;
constexpr long kEach = 1000;
struct Account {
  long amount;
  char padding[24] = {};
};
struct Bank {
  rlu::link<Account> accounts[kAccounts];
};
Bank* bank = nullptr;

void transfer(Random& random) {
  const auto from = random() % kAccounts;
  const auto to = random() % kAccounts;
  const bool replaces = random() % 4 == 0;
  if (from == to) return;
  Account* made = replaces ? rlu::make<Account>() : nullptr;
  const bool used = rlu::update([&](rlu::section& here) -> std::optional<bool> {
    Bank* b = here.read(bank);
    Account* giver = b->accounts[from].get();
    Account* taker = b->accounts[to].get();
    if (!here.lock(giver) || !here.lock(taker)) return std::nullopt;
    --giver->amount;
    ++taker->amount;
    if (!replaces) return false;
    if (!here.lock(b)) return std::nullopt;
    *made = *giver;
    b->accounts[from] = made;
    here.free(giver);
    return true;
  });
  if (!used && made != nullptr) rlu::discard(made);
  ++moves;
}
long sum() {
  const rlu::section here;
  const Bank* const b = here.read(bank);
  long s = 0;
  for (const auto& account : b->accounts)
    s += account.read()->amount;
  return s;
}

template <class F>
void live(unsigned seed, const F& f) {
  // A thread does so much, and another follows.
  for (unsigned life = 0; !stop; ++life) {
    std::thread([&] {
      Random random(seed + 1000 * life + 1);
      for (auto n = 200 + random() % 2000; n != 0 && !stop; --n)
        f(random);
      ++lives;
    }).join();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  const auto seed = static_cast<unsigned>(argc > 2 ? std::atol(argv[2]) : 1);
  const unsigned deferral = argc > 3 ? static_cast<unsigned>(std::atol(argv[3])) : 1;
  if (lockswap_rlu_set_deferral(deferral) != 0) return 2;
  Random first(seed);
  current = rlu::make<Current>(take(first), 0L, 0L);
  bank = rlu::make<Bank>();
  for (auto& account : bank->accounts)
    account = rlu::make<Account>(kEach);

  std::vector<std::thread> threads;
  unsigned number = seed;
  const auto add = [&](auto f) { threads.emplace_back([f, s = ++number * 7919] { live(s, f); }); };
  add(replace);
  add(look);
  add(look);
  add(transfer);
  add(transfer);
  for (int i = 0; i < 2; ++i) {
    add([](Random&) {
      if (const long s = sum(); s != kAccounts * kEach) fail("the sum", s, kAccounts * kEach);
      ++reads;
    });
  }
  add([](Random& random) {  // fake writer
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    switch (random() % 4) {
      case 0:
        lockswap_rlu_synchronize();
        break;
      case 1:
        lockswap_rlu_flush_all();
        break;
      case 2:
        lockswap_rlu_barrier();
        break;
      default:
        const rlu::section here;
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
    }
  });
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  // Beside other work a commit may wait long for a reader that does not run.
  const auto worked = [] { return reads > 100 && updates > 10 && moves > 10 && lives > 8; };
  for (int i = 0; i < 600 && !worked(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  stop = true;
  for (auto& t : threads)
    t.join();
  lockswap_rlu_flush_all();
  lockswap_rlu_barrier();
  if (const long s = sum(); s != kAccounts * kEach)
    fail("the sum at the end", s, kAccounts * kEach);

  lockswap_rlu_counts c;
  lockswap_rlu_get_counts(&c);
  std::printf(
      "%ld reads, %ld updates, %ld moves, %ld threads (%lu at once); commits %lu, aborts %lu, "
      "syncs "
      "%lu, helps %lu, synchronizes %lu, loops %lu, steals %lu, log bytes %lu; %ld failures\n",
      reads.load(), updates.load(), moves.load(), lives.load(), c.threads, c.commits, c.aborts,
      c.syncs, c.helps, c.synchronizes, c.wait_loops, c.steals, c.log_bytes, failures.load());
  if (!worked()) std::fprintf(stderr, "torture: too little was done\n");
  return failures == 0 && worked() ? 0 : 1;
}
