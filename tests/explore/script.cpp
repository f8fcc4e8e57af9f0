#include "script.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>

#include <sys/mman.h>

#include "multicore/explore/platform.h"
#include "observer.h"
#include "readers/readers_table.h"

namespace lockswap::explore {

namespace {
constexpr std::size_t kFixedBytes = 4096;
}

void* fixed_memory() {
  static void* const memory = [] {
    void* p = mmap(reinterpret_cast<void*>(0x10'0000'0000), kFixedBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED) {
      std::perror("lockswap-explore: cannot map memory at a fixed address");
      std::exit(2);
    }
    return p;
  }();
  return memory;
}

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
  signal,
  broadcast,
  destroy_cond,
};
struct Step {
  Do what;
  bool is_write = false;
  How how = How::wait;
  enum Must { any, succeed, fail } must = any;
  int number = 0;            // set, wait: the event; acquire, take: where to go on if it failed
  bool cancellable = false;  // take
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
    } else if (w == "u") {
      if (open.empty()) bad(word, script);
      s.what = Do::release;
      s.is_write = steps[open.back()].is_write;
      steps[open.back()].number = static_cast<int>(steps.size()) + 1;
      open.pop_back();
      for (int i : waits)
        steps[i].number = static_cast<int>(steps.size());
      waits.clear();
    } else if (w == "free") {
      s.what = Do::release_foreign;
    } else if (w == "x") {
      s.what = Do::access;
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
    } else if (w == "take" || w == "see") {
      s.what = Do::take;
      s.subtracts = w == "take";
      waits.push_back(static_cast<int>(steps.size()));
    } else if (w == "signal") {
      s.what = Do::signal;
    } else if (w == "broadcast") {
      s.what = Do::broadcast;
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

struct World {
  Plain data;
  int count = 0;  // part of the data
  bool got_in = false;
  Observer observer;
  ExploredAtomic<std::uint32_t> events[10];
  ExploredAtomic<std::uint64_t> slots[kTableSlots];
};

void access(World& w, bool is_write) { is_write ? w.data.write() : w.data.read(); }

void run_steps(const Steps& steps, LockUnderTest& lock, World& world) {
  for (std::size_t i = 0; i < steps.size();) {
    const Step& s = steps[i++];
    switch (s.what) {
      case Do::acquire: {
        machine.note("%s%s ...",
                     s.how == How::only_try ? "try"
                     : s.how == How::timed  ? "timed"
                     : s.how == How::late   ? "late"
                     : s.how == How::far    ? "far"
                                            : "",
                     s.is_write ? "write" : "read");
        world.observer.begins(s.is_write, s.how);
        const int error = s.is_write ? lock.write(s.how) : lock.read(s.how);
        machine.note("... %s", error == 0 ? "acquired" : "not acquired");
        const bool gives_up = s.how == How::timed || s.how == How::late;
        const int allowed = s.how == How::only_try ? EBUSY : gives_up ? ETIMEDOUT : 0;
        if (error != 0 && error != allowed) machine.fail("acquisition returned errno %d", error);
        if (s.must == Step::succeed && error != 0)
          machine.fail("an acquisition failed that must not");
        if (s.must == Step::fail && error == 0)
          machine.fail("an acquisition succeeded that must not");
        error != 0 ? world.observer.failed() : world.observer.acquired();
        if (error != 0) {
          i = static_cast<std::size_t>(s.number);
        } else {
          world.got_in = true;
          access(world, s.is_write);
        }
        break;
      }
      case Do::release:
      case Do::release_foreign:
        machine.note("release%s ...", s.what == Do::release ? "" : " of another's hold");
        s.what == Do::release ? world.observer.begins_release(s.is_write)
                              : world.observer.lose_track();
        if (const int error = lock.unlock(s.is_write); error != 0) {
          machine.fail("release returned errno %d", error);
        }
        if (s.what == Do::release) world.observer.released();
        machine.note("... released");
        break;
      case Do::access:
        access(world, s.is_write);
        break;
      case Do::set:
        world.events[s.number].store(1, release);
        break;
      case Do::wait:
        Explored::await(Pause::spin, world.events[s.number], acquire,
                        [](std::uint32_t v) { return v != 0; });
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
        break;
      case Do::fork:
        machine.fork([&world] { world.observer.forks(); });
        break;
      case Do::put:
        world.data.write();
        ++world.count;
        break;
      case Do::take: {
        world.observer.lose_track();  // the mutex is released meanwhile
        int error = 0;
        while (error == 0 && world.count == 0) {
          machine.note("waits on the condition variable ...");
          error = lock.cond_wait(s.how, s.cancellable);
          machine.note("... %s", error == 0 ? "woken" : "gives up");
          world.data.write();
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
          --world.count;
        }
        break;
      }
      case Do::signal:
        machine.note("signals");
        lock.cond_signal();
        break;
      case Do::broadcast:
        machine.note("broadcasts");
        lock.cond_broadcast();
        break;
      case Do::destroy_cond:
        machine.note("destroys the condition variable");
        lock.cond_destroy();
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
  const auto* memory = static_cast<const std::byte*>(fixed_memory());
  const auto* p = static_cast<const std::byte*>(atom);
  return std::less_equal<>{}(memory, p) && std::less<>{}(p, memory + kFixedBytes) ? "lock" : "";
}

// Finds a thread identity whose fast holds go to that slot.
std::uint64_t identity_for(const ReadersTable<Explored>& table, std::uint64_t key, int slot) {
  static std::map<int, std::uint64_t> known;
  if (auto it = known.find(slot); it != known.end()) return it->second;
  for (std::uint64_t id = 1;; ++id) {
    Explored::identities[Machine::kMain] = id;
    table.token_of(key + 64);  // the thread remembers its last key: let it forget ours
    if (table.token_of(key) == static_cast<std::size_t>(slot) + 1) return known[slot] = id;
  }
}

}  // namespace

Scenario Case::scenario() const {
  if (other) return other();
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
  Scenario s;
  s.threads = static_cast<int>(threads.size());
  s.setup = [this, world] {
    world->data.reset();
    world->count = 0;
    world->got_in = false;
    // The first thread to find zeroed memory makes it a lock: an update before the lock's doorway.
    world->observer.reset(zeroed ? Claims{} : lock->claims());
    machine.what_is = [world](const void* atom) { return what_is(*world, atom); };
    machine.on_doorway = [world](int thread) { world->observer.at_doorway(thread); };
    Explored::global<ReadersTable<Explored>>() = {world->slots, kTableSlots - 1, 9};
    Explored::tick = ticks ? 1 : 0;
    Explored::patience = patient || impatient ? 1 : 0;
    machine.patience_is_short = impatient;
    zeroed ? lock->begin_zeroed() : lock->begin();
    if (!slots.empty()) {
      const auto& table = Explored::global<ReadersTable<Explored>>();
      for (std::size_t i = 0; i < threads.size(); ++i) {
        Explored::identities[i] = identity_for(table, lock->key(), slots[i]);
      }
    }
    if (biased) {
      // A slow read switches the bias on, so the next one is fast.
      if (lock->read(How::wait) != 0 || lock->unlock(false) != 0) machine.fail("no first read");
      if (lock->read(How::wait) != 0) machine.fail("no second read");
      if (!lock->has_fast_readers()) machine.fail("no fast read");
      if (lock->unlock(false) != 0) machine.fail("no release");
      // Without slots of a table readers have rows, of which there are few.
      if (slots.empty()) machine.end_and_begin_thread();
    }
  };
  s.body = [this, world, steps](int i) { run_steps((*steps)[i].at(0), *lock, *world); };
  s.after_fork = [this, world, steps](int i) {
    const auto process = static_cast<std::size_t>(machine.process());
    if (process < (*steps)[i].size()) run_steps((*steps)[i][process], *lock, *world);
  };
  if (!destroys) {
    s.finish = [this, world] {
      if (world->observer.has_ghosts()) return;
      if (somebody_gets_in && !world->got_in) machine.fail("nobody got a lock that was free");
      if (!lock->at_rest()) machine.fail("at the end the lock is not at rest");
      if (gives_back_nodes && nodes_in_use() != 0) {
        machine.fail("at the end the free lock keeps %d queue nodes", nodes_in_use());
      }
      if (lock->write(How::only_try) != 0) machine.fail("at the end a try to write fails");
      world->data.write();
      if (lock->tells_deadlocks() &&
          (lock->read(How::wait) != EDEADLK || lock->write(How::wait) != EDEADLK)) {
        machine.fail("at the end a writer that locks again is not told");
      }
      if (lock->unlock(true) != 0) machine.fail("at the end a writer cannot release");
      if (lock->read(How::only_try) != 0) machine.fail("at the end a try to read fails");
      if (lock->unlock(false) != 0) machine.fail("at the end a reader cannot release");
      if (lock->has_fast_readers()) machine.fail("at the end somebody is published");
      for (const auto& slot : world->slots) {
        if (slot.load(relaxed) != 0) machine.fail("at the end a slot is not free");
      }
    };
  }
  return s;
}

}  // namespace lockswap::explore
