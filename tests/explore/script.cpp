#include "script.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>

#include <sys/mman.h>

#include "multicore/explore/platform.h"
#include "nap.h"
#include "observer.h"
#include "overdue.h"
#include "readers/readers_table.h"
#include "wind.h"

namespace lockswap::explore {

namespace {
constexpr std::size_t kFixedBytes = 2 * kPlaces * kPlaceBytes;
#if defined(__SANITIZE_ADDRESS__)
constexpr std::uintptr_t kFixedAddress = 0x2000'0000'0000;  // beyond the sanitizer's own memory
#else
constexpr std::uintptr_t kFixedAddress = 0x10'0000'0000;
#endif
}  // namespace

namespace {
std::byte* fixed_memory() {
  static void* const memory = [] {
    void* p = mmap(reinterpret_cast<void*>(kFixedAddress), kFixedBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED) {
      std::perror("lockswap-explore: cannot map memory at a fixed address");
      std::exit(2);
    }
    return p;
  }();
  return static_cast<std::byte*>(memory);
}
}  // namespace

void* lock_memory(int place) { return fixed_memory() + 2 * kPlaceBytes * place; }
void* cond_memory(int place) { return fixed_memory() + kPlaceBytes * (2 * place + 1); }

namespace {

enum class Do {
  acquire,
  release,
  release_foreign,
  access,
  set,
  wait,
  exit,
  destroy,
  init,
  fork,
  put,
  take,  // `see`, too
  stray,
  signal,
  broadcast,
  destroy_cond,
  nap,
  set_priority,
  lift,
  stand_alone,
  begin_others,
};
struct Step {
  Do what;
  bool is_write = false;
  How how = How::wait;
  enum Must { any, succeed, fail } must = any;
  int lock = 0;              // which of the two
  int cond = 0;              // the same, of condition variables
  int number = 0;            // set, wait: the event; acquire, take: where to go on if it failed
  bool cancellable = false;  // take
  bool stops = false;        // take: before it sleeps
  bool halts = false;        // take: when it has been woken
  bool forks = false;        // take
  bool subtracts = false;    // take
};
using Steps = std::vector<Step>;

[[noreturn]] void bad(const std::string& word, const std::string& script) {
  std::fprintf(stderr, "lockswap-explore: bad word '%s' in \"%s\"\n", word.c_str(), script.c_str());
  std::exit(2);
}

Steps parse(const std::string& script) {
  Steps steps;
  std::vector<int> open;
  std::vector<int> waits;
  std::istringstream words(script);
  for (std::string word; words >> word;) {
    Step s{};
    std::string w = word;
    if (w.size() > 2 && w.ends_with("=0")) {
      s.must = Step::succeed;
      w.resize(w.size() - 2);
    } else if (w.size() > 1 && w.ends_with("!")) {
      s.must = Step::fail;
      w.pop_back();
    }
    const bool second = w.size() > 1 && w[0] == '2';
    if (second) {
      s.lock = s.cond = 1;
      w.erase(0, 1);
    }
    if (w.starts_with("stop")) {
      s.stops = true;
      w.erase(0, 4);
    } else if (w.starts_with("halt")) {
      s.halts = true;
      w.erase(0, 4);
    } else if (w.starts_with("fork") && w != "fork") {
      s.forks = true;
      w.erase(0, 4);
    }
    const int innermost = open.empty() ? 0 : steps[open.back()].lock;
    if (w.starts_with("try")) {
      s.how = How::only_try;
      w.erase(0, 3);
    } else if (w.starts_with("timed")) {
      s.how = How::timed;
      w.erase(0, 5);
    } else if (w.starts_with("late")) {
      s.how = How::late;
      w.erase(0, 4);
    } else if (w.starts_with("far")) {
      s.how = How::far;
      w.erase(0, 3);
    } else if (w.starts_with("cancel")) {
      s.cancellable = true;
      w.erase(0, 6);
    }
    if (w == "R" || w == "W") {
      s.what = Do::acquire;
      s.is_write = w == "W";
      open.push_back(static_cast<int>(steps.size()));
    } else if (w == "u" || w == "U") {
      if (open.empty()) bad(word, script);
      const auto ended = w == "u" ? open.end() - 1 : open.begin();
      Step& begun = steps[*ended];
      s.what = Do::release;
      s.is_write = begun.is_write;
      s.lock = begun.lock;
      begun.number = static_cast<int>(steps.size()) + 1;
      open.erase(ended);
      for (int i : waits)
        steps[i].number = static_cast<int>(steps.size());
      waits.clear();
    } else if (w == "free") {
      s.what = Do::release_foreign;
    } else if (w == "x") {
      s.what = Do::access;
      s.lock = innermost;
      s.is_write = !open.empty() && steps[open.back()].is_write;
    } else if (w == "exit") {
      s.what = Do::exit;
    } else if (w == "destroy") {
      s.what = Do::destroy;
    } else if (w == "init") {
      s.what = Do::init;
    } else if (w == "fork") {
      s.what = Do::fork;
    } else if (w == "put") {
      s.what = Do::put;
      s.lock = innermost;
    } else if (w == "take" || w == "see") {
      s.what = Do::take;
      s.lock = innermost;
      s.subtracts = w == "take";
      waits.push_back(static_cast<int>(steps.size()));
    } else if (w == "stray") {
      s.what = Do::stray;
    } else if (w == "signal") {
      s.what = Do::signal;
    } else if (w == "broadcast") {
      s.what = Do::broadcast;
    } else if (w == "nap") {
      s.what = Do::nap;
    } else if (w.size() == 5 && w.starts_with("fifo")) {
      s.what = Do::set_priority;
      s.number = w[4] - '0';
    } else if (w.size() == 5 && w.starts_with("lift")) {
      s.what = Do::lift;
      s.number = w[4] - '0';
    } else if (w == "alone") {
      s.what = Do::stand_alone;
    } else if (w == "begin") {
      s.what = Do::begin_others;
    } else if (w == "cdestroy") {
      s.what = Do::destroy_cond;
    } else if (w.size() == 2 && (w[0] == '+' || w[0] == '?')) {
      s.what = w[0] == '+' ? Do::set : Do::wait;
      s.number = w[1] - '0';
    } else {
      bad(word, script);
    }
    steps.push_back(s);
  }
  // An acquisition that another thread releases: nothing is skipped.
  for (int i : open)
    steps[i].number = i + 1;
  if (!waits.empty()) bad("u", script);
  return steps;
}

// A lock, and what it protects.
struct Guarded {
  LockUnderTest* lock = nullptr;  // nullptr if the script has only one
  Plain data;
  int counts[kPlaces] = {};  // part of the data; by condition variable
  Observer observer;
};
struct World {
  Guarded guarded[kPlaces];
  Overdue overdue;
  bool got_in = false;
  ExploredAtomic<std::uint32_t> events[10];
  ExploredAtomic<std::uint32_t> nowhere;  // where naps sleep
  ExploredAtomic<std::uint64_t> slots[kTableSlots];
};

void access(Guarded& g, bool is_write) { is_write ? g.data.write() : g.data.read(); }

void wait_for_event(World& w, int number) {
  Explored::await(Pause::spin, w.events[number], acquire, [](std::uint32_t v) { return v != 0; });
}

void observe_fork(World& w) {
  for (Guarded& g : w.guarded)
    g.observer.forks();
  w.overdue.forks();
}

Interruption interruption_of(const Step& s, LockUnderTest& lock, World& w) {
  constexpr int kLetGo = 9;
  Interruption i{.cancellable = s.cancellable};
  if (s.stops || s.halts) {
    i.handler = [&w] {
      w.overdue.handler_begins();
      wait_for_event(w, kLetGo);
      w.overdue.handler_ends();
    };
    i.before = s.stops;
    i.after = s.halts;
  }
  if (s.forks) {
    i.handler = [&lock, &w] {
      // A hold of a thread that is gone would never end.
      if (lock.write(How::only_try) != 0) return;
      machine.fork([&w] { observe_fork(w); });
      if (lock.unlock(true) != 0) machine.fail("a child cannot release its hold");
    };
  }
  return i;
}

void run_steps(const Steps& steps, World& world) {
  for (std::size_t i = 0; i < steps.size();) {
    const Step& s = steps[i++];
    Guarded& own = world.guarded[s.lock];
    LockUnderTest& lock = *own.lock;
    int& count = own.counts[s.cond];
    switch (s.what) {
      case Do::acquire: {
        machine.note("%s%s ...",
                     s.how == How::only_try ? "try"
                     : s.how == How::timed  ? "timed"
                     : s.how == How::late   ? "late"
                     : s.how == How::far    ? "far"
                                            : "",
                     s.is_write ? "write" : "read");
        own.observer.begins(s.is_write, s.how);
        world.overdue.begins(s.lock, s.is_write, s.how == How::timed || s.how == How::late);
        const int error = s.is_write ? lock.write(s.how) : lock.read(s.how);
        machine.note("... %s", error == 0 ? "acquired" : "not acquired");
        const bool gives_up = s.how == How::timed || s.how == How::late;
        const int allowed = s.how == How::only_try ? EBUSY : gives_up ? ETIMEDOUT : 0;
        if (error != 0 && error != allowed) machine.fail("acquisition returned errno %d", error);
        if (s.must == Step::succeed && error != 0)
          machine.fail("an acquisition failed that must not");
        if (s.must == Step::fail && error == 0)
          machine.fail("an acquisition succeeded that must not");
        error != 0 ? own.observer.failed() : own.observer.acquired();
        error != 0 ? world.overdue.failed() : world.overdue.acquired(s.lock, s.is_write);
        if (error != 0) {
          i = static_cast<std::size_t>(s.number);
        } else {
          world.got_in = true;
          access(own, s.is_write);
        }
        break;
      }
      case Do::release:
      case Do::release_foreign:
        machine.note("release%s ...", s.what == Do::release ? "" : " of another's hold");
        if (s.what == Do::release) {
          own.observer.begins_release(s.is_write);
          world.overdue.begins_release(s.lock);
        } else {
          own.observer.lose_track();
          world.overdue.lose_track(s.lock);
        }
        if (const int error = lock.unlock(s.is_write); error != 0) {
          machine.fail("release returned errno %d", error);
        }
        if (s.what == Do::release) {
          own.observer.released();
          world.overdue.released(s.lock, s.is_write);
        }
        machine.note("... released");
        break;
      case Do::access:
        access(own, s.is_write);
        break;
      case Do::set:
        world.events[s.number].store(1, release);
        break;
      case Do::wait:
        wait_for_event(world, s.number);
        break;
      case Do::stand_alone:
        machine.set_one_thread(true);
        break;
      case Do::begin_others:
        machine.set_one_thread(false);
        world.events[0].store(1, release);
        break;
      case Do::exit:
        machine.end_and_begin_thread();
        break;
      case Do::destroy:
        machine.note("destroys the lock");
        lock.destroy();
        break;
      case Do::init:
        machine.note("makes a new lock");
        lock.begin();
        own.observer.made_anew();
        world.overdue.lose_track(s.lock);
        break;
      case Do::fork:
        machine.fork([&world] { observe_fork(world); });
        break;
      case Do::put:
        own.data.write();
        ++count;
        break;
      case Do::take: {
        own.observer.lose_track();  // the mutex is released meanwhile
        int error = 0;
        while (error == 0 && count == 0) {
          machine.note("waits on the condition variable ...");
          world.overdue.begins_to_wait(s.lock, s.cond);
          error = lock.cond_wait(s.cond, s.how, interruption_of(s, lock, world));
          world.overdue.comes_back(s.lock);
          machine.note("... %s", error == 0 ? "woken" : "gives up");
          own.data.write();
        }
        const bool has_end = s.how == How::timed || s.how == How::late;
        if (error == ETIMEDOUT && !(has_end && machine.deadline_is_over())) {
          machine.fail("ETIMEDOUT before the deadline");
        }
        if (error != 0 && error != ETIMEDOUT && error != ECANCELED) {
          machine.fail("the condition variable returned errno %d", error);
        }
        if (error == 0 && s.must == Step::fail) machine.fail("a wait succeeded that must not");
        if (error != 0) {
          i = static_cast<std::size_t>(s.number);
        } else if (s.subtracts) {
          --count;
        }
        break;
      }
      case Do::stray:
        machine.note("waits without the mutex ...");
        if (lock.cond_wait(s.cond, How::wait, {.has_mutex = false}) != EPERM) {
          machine.fail("a wait without the mutex does not say so");
        }
        machine.note("... and is told");
        break;
      case Do::nap:
        nap(world.nowhere);
        break;
      case Do::set_priority:
        Explored::set_priority(machine.current(), static_cast<std::uint32_t>(s.number));
        break;
      case Do::lift:
        Explored::set_priority(s.number, 1);
        break;
      case Do::signal:
        machine.note("signals");
        world.overdue.signals(s.cond, false);
        lock.cond_signal(s.cond);
        break;
      case Do::broadcast:
        machine.note("broadcasts");
        world.overdue.signals(s.cond, true);
        lock.cond_broadcast(s.cond);
        break;
      case Do::destroy_cond:
        machine.note("destroys the condition variable");
        lock.cond_destroy(s.cond);
        break;
    }
  }
}

// What an atom is, for traces.
std::string what_is(const World& w, const void* atom) {
  const auto among = [atom](const auto& atoms) {
    const auto* first = static_cast<const void*>(std::begin(atoms));
    const auto* last = static_cast<const void*>(std::end(atoms));
    return std::less_equal<>{}(first, atom) && std::less<>{}(atom, last);
  };
  const auto index = [atom](const auto& atoms) {
    using Atom = std::remove_reference_t<decltype(atoms[0])>;
    return std::to_string(static_cast<Atom*>(atom) - std::begin(atoms));
  };
  if (among(w.events)) return "event " + index(w.events);
  if (among(w.slots)) return "slot " + index(w.slots);
  const auto* p = static_cast<const std::byte*>(atom);
  for (int place = 0; place < kPlaces; ++place) {
    const auto lies_in = [p](const void* memory) {
      const auto* first = static_cast<const std::byte*>(memory);
      return std::less_equal<>{}(first, p) && std::less<>{}(p, first + kPlaceBytes);
    };
    const char* const number = place == 0 ? "" : " 2";
    if (lies_in(lock_memory(place))) return std::string("lock") + number;
    if (lies_in(cond_memory(place))) return std::string("condition") + number;
  }
  return "";
}

// Finds a thread identity whose fast holds go to that slot.
std::uint64_t identity_for(const ReadersTable<Explored>& table, std::uint64_t key, int slot) {
  static std::map<int, std::uint64_t> known;
  if (auto it = known.find(slot); it != known.end()) return it->second;
  for (std::uint64_t id = 1;; ++id) {
    Explored::identities[Machine::kMain] = id;
    // The thread remembers keys: let it forget ours.
    table.token_of(key + table.kRecent * table.kLine);
    if (table.token_of(key) == static_cast<std::size_t>(slot) + 1) return known[slot] = id;
  }
}

// Slow reads switch the bias on, so the next one is fast.
void switch_bias_on(LockUnderTest& lock) {
  const auto expect = [](const char* which, int error) {
    if (error != 0) machine.fail("before the threads begin: %s returned errno %d", which, error);
  };
  expect("the first read, which switches the bias on,", lock.read(How::wait));
  expect("the release of the first read", lock.unlock(false));
  expect("the second read, which should be a fast one,", lock.read(How::wait));
  if (!lock.has_fast_readers()) {
    machine.fail("before the threads begin: the second read is not a fast one");
  }
  expect("the release of the second read", lock.unlock(false));
}

// At the end, when all threads have ended and nobody holds the lock.
void check_at_rest(Guarded& g) {
  LockUnderTest& lock = *g.lock;
  if (!lock.at_rest()) machine.fail("at the end the lock is not at rest");
  if (lock.write(How::only_try) != 0) machine.fail("at the end a try to write fails");
  g.data.write();
  if (lock.tells_deadlocks() &&
      (lock.read(How::wait) != EDEADLK || lock.write(How::wait) != EDEADLK)) {
    machine.fail("at the end a writer that locks again is not told");
  }
  if (lock.unlock(true) != 0) machine.fail("at the end a writer cannot release");
  if (lock.read(How::only_try) != 0) machine.fail("at the end a try to read fails");
  if (lock.unlock(false) != 0) machine.fail("at the end a reader cannot release");
  if (lock.has_fast_readers()) machine.fail("at the end somebody is published");
}

}  // namespace

Scenario Case::scenario() const {
  machine.presets.clear();
  if (other) return other();
  if (wound_writes != 0 || wound_reads != 0 || wound_locks != 0)
    machine.presets = wind(*lock, wound_writes, wound_reads, wound_locks);
  auto world = std::make_shared<World>();
  // What each thread does in each process: the scripts' parts between `|`.
  auto steps = std::make_shared<std::vector<std::vector<Steps>>>();
  for (const std::string& t : threads) {
    steps->emplace_back();
    std::istringstream parts(t);
    for (std::string part; std::getline(parts, part, '|');)
      steps->back().push_back(parse(part));
    if (t.empty()) steps->back().push_back({});  // it only takes a place
  }
  const bool some_give_up = std::ranges::any_of(threads, [](const std::string& t) {
    return t.find("try") != t.npos || t.find("timed") != t.npos;
  });
  Scenario s;
  s.threads = static_cast<int>(threads.size());
  s.setup = [this, world, some_give_up] {
    LockUnderTest* const both[kPlaces] = {lock, second};
    std::array<bool, kPlaces> readers_exclude{};
    world->got_in = false;
    for (int i = 0; i < kPlaces; ++i) {
      Guarded& g = world->guarded[i];
      g.lock = both[i];
      g.data.reset();
      std::fill_n(g.counts, kPlaces, 0);
      // The first thread to find zeroed memory makes it a lock: an update before the lock's
      // doorway.
      Claims claims = zeroed || g.lock == nullptr ? Claims{} : g.lock->claims();
      if (patient || impatient) claims.readers_exclude = false;  // a reader's patience may be over
      if (!wakes_in_order) claims.sleepers_in_order = false;
      // Elsewhere the explorer does not know which readers have waited for their time.
      if (!at_once || takes_back || some_give_up) claims.sleeping_readers_next = false;
      g.observer.reset(claims);
      readers_exclude[i] = g.lock != nullptr && g.lock->readers_wait_for_readers();
    }
    world->overdue.reset(readers_exclude);
    machine.what_is = [world](const void* atom) { return what_is(*world, atom); };
    machine.on_doorway = [world](int thread) {
      for (Guarded& g : world->guarded)
        g.observer.at_doorway(thread);
    };
    Explored::global<ReadersTable<Explored>>() = {world->slots, kTableSlots - 1, 9};
    Explored::tick = ticks ? 1 : 0;
    Explored::slow_reads_per_clock = 1;
    Explored::patience = patient || impatient ? 1 : 0;
    machine.patience_is_short = impatient;
    machine.wakes_in_order = wakes_in_order;
    machine.wakes_one_at_a_time = wakes_one_at_a_time;
    Explored::hand_off_time = at_once ? 0 : 1;
    Explored::take_back_after = takes_back ? 1 : 0;
    Explored::leaves_locks_to_one = leaves_to_one;
    Explored::may_begin_systems = may_switch_off;
    Explored::spins_for_events = spins;
    // A thread that looks by itself finds a lock kept, finds it kept still, and takes it.
    machine.most_patience = takes_back && threads.size() > 3 ? 3 : Machine::kMostPatience;
    for (LockUnderTest* l : both) {
      if (l != nullptr) zeroed ? l->begin_zeroed() : l->begin();
    }
    if (!slots.empty()) {
      const auto& table = Explored::global<ReadersTable<Explored>>();
      for (std::size_t i = 0; i < threads.size(); ++i) {
        Explored::identities[i] = identity_for(table, lock->key(), slots[i]);
      }
    }
    if (biased) {
      for (LockUnderTest* l : both) {
        if (l != nullptr) switch_bias_on(*l);
      }
      // Without slots of a table readers have rows, of which there are few.
      if (slots.empty()) machine.end_and_begin_thread();
    }
    if (seldom) Explored::slow_reads_per_clock = 2;
  };
  s.body = [world, steps](int i) { run_steps((*steps)[i].at(0), *world); };
  s.after_fork = [world, steps](int i) {
    const auto process = static_cast<std::size_t>(machine.process());
    if (process < (*steps)[i].size()) run_steps((*steps)[i][process], *world);
  };
  s.overdue = [world] { return world->overdue.find(); };
  s.state = [world] {
    const std::uint64_t h = mix(world->guarded[0].observer.state(), world->overdue.state());
    return mix(h, world->guarded[1].observer.state());
  };
  if (!destroys) {
    s.finish = [this, world] {
      const bool ghosts = world->guarded[0].observer.has_ghosts();
      if (!ghosts && somebody_gets_in && !world->got_in) {
        machine.fail("nobody got a lock that was free");
      }
      if (!ghosts && gives_back_nodes && nodes_in_use() != 0) {
        machine.fail("at the end the free lock keeps %d queue nodes", nodes_in_use());
      }
      for (Guarded& g : world->guarded) {
        if (g.lock != nullptr && !g.observer.has_ghosts()) check_at_rest(g);
      }
      // A thread that is gone may have a slot.
      if (ghosts) return;
      for (const auto& slot : world->slots) {
        if (slot.load(relaxed) != 0) machine.fail("at the end a slot is not free");
      }
    };
  }
  return s;
}

}  // namespace lockswap::explore
