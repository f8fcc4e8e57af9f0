// A torture of the RLU library in the manner of rcutorture (the paper's section 4.7): elements go
// through a pipeline of ages while readers look at them.
//
//     torture [SECONDS [SEED [DEFERRAL [STAY]]]]
//
// Updaters replace the element that a shared object points to, and age the old one by a step at
// each grace period (by synchronize, by callbacks, by frees of the library's own). A reader that
// sees an element of an age above 1 has been given one too late. Writers move an amount between
// accounts, whose sum each section must find unchanged, and which is the same at the end. Fake
// writers synchronize, flush and wait for callbacks at random. Threads come and go all the time;
// some exit in a section that has locked objects. Children of forks at any moment find the sum, go
// on, and end. With deferral, threads must have helped each other. STAY threads only have a context
// and stay to the end, so that the contexts of those that come and go are in later groups.
//
// WITHOUT_EXIT_HOOKS: no exits in sections, which would last for ever then, and no helpers. With a
// sanitizer, whose own locks a fork does not take: no forks.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "lockswap/rlu.hpp"

namespace {

namespace rlu = lockswap::rlu;
using Random = std::minstd_rand;

#if defined(WITHOUT_EXIT_HOOKS)
constexpr bool kExits = false;
#else
constexpr bool kExits = true;
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kForks = false;
#else
constexpr bool kForks = true;
#endif

std::atomic<bool> stop{false};
std::atomic<long> failures{0};
std::atomic<long> reads{0}, updates{0}, moves{0}, lives{0}, exits{0}, forks{0};

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

lockswap_rlu_counts counts() {
  lockswap_rlu_counts c;
  lockswap_rlu_get_counts(&c);
  return c;
}

// As half of a transfer, which the exit of the thread undoes.
void stay_in_a_section() {
  lockswap_rlu_reader_lock();
  auto* const b = static_cast<Bank*>(lockswap_rlu_dereference(bank));
  auto* const giver = static_cast<Account*>(lockswap_rlu_try_lock(b->accounts[0].get()));
  if (giver != nullptr) --giver->amount;
  ++exits;
}

// In a child there is no other thread: all that had been committed is there, and the rest is gone.
[[noreturn]] void live_in_child(Random& random) {
  const auto is_right = [] {
    const rlu::section here;
    const Current* const c = here.read(current);
    return sum() == kAccounts * kEach && c->number == c->again;
  };
  bool right = is_right();
  for (int i = 0; i < 20; ++i)
    transfer(random);
  right &= is_right();
  lockswap_rlu_flush_all();
  right &= is_right();
  _exit(right ? 0 : 1);
}
void fork_once(Random& random) {
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
  const bool in_section = random() % 4 == 0;
  if (in_section) lockswap_rlu_reader_lock();
  const pid_t child = fork();
  if (in_section) lockswap_rlu_reader_unlock();
  if (child == 0) live_in_child(random);
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
    fail("a child ended with the status", status, 0);
  ++forks;
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
      if (kExits && random() % 4 == 0) stay_in_a_section();
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
  const long stay = argc > 4 ? std::atol(argv[4]) : 0;
  for (long i = 0; i < stay; ++i) {
    threads.emplace_back([] {
      { const rlu::section here; }
      stop.wait(false);
    });
  }
  while (static_cast<long>(counts().threads) < stay)
    std::this_thread::yield();
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
  if (kForks) add(fork_once);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  // Beside other work a commit may wait long for a reader that does not run.
  const auto worked = [deferral] {
    const bool enough = reads > 100 && updates > 10 && moves > 10 && lives > 8;
    return enough && (!kExits || exits > 0) && (!kForks || forks > 2) &&
           (deferral == 1 || !kExits || counts().helps > 0);
  };
  constexpr std::clock_t kMost = 300 * CLOCKS_PER_SEC;  // of CPU time
  for (const std::clock_t end = std::clock() + kMost; std::clock() < end && !worked();)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  stop = true;
  stop.notify_all();
  for (auto& t : threads)
    t.join();
  lockswap_rlu_flush_all();
  lockswap_rlu_barrier();
  if (const long s = sum(); s != kAccounts * kEach)
    fail("the sum at the end", s, kAccounts * kEach);

  const lockswap_rlu_counts c = counts();
  std::printf(
      "%ld reads, %ld updates, %ld moves, %ld threads (%lu at once), %ld exits in sections, %ld "
      "forks; commits %lu, aborts %lu, "
      "syncs "
      "%lu, helps %lu, synchronizes %lu, loops %lu, steals %lu, log bytes %lu; %ld failures\n",
      reads.load(), updates.load(), moves.load(), lives.load(), c.threads, exits.load(),
      forks.load(), c.commits, c.aborts, c.syncs, c.helps, c.synchronizes, c.wait_loops, c.steals,
      c.log_bytes, failures.load());
  if (!worked()) std::fprintf(stderr, "torture: too little was done\n");
  return failures == 0 && worked() ? 0 : 1;
}
