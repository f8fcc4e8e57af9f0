// The cases of deferred updates (include/lockswap/ldu.hpp, ldu_stamped.hpp). The structure behind
// them is a bit for each object, plain data, so what the lock does not order is found as a race;
// the lock is a toy, since the shipped ones are explored by themselves.
//
// A read must show each object as it was after some update of it: none older than the last that the
// reader knows of, by the declared orders, and none older than what it has seen. With time stamps
// a read must also show one state of all objects. At the end everything must have been applied in
// order, and what was retired freed once; what is freed may not be touched any more.
//
// What threads do, as words; objects 1 to 3 are of one structure, 11 to 13 of another one, and both
// share each thread's slot:
//   i1 r1 x1 f1  insert, remove, retire, free object 1; si1, ...: by the structure's own log
//   get getB     read; exclusive hold and apply: ex exB; both, the second within the first: both
//   endB         ends the second structure
//   +1 ?1        sets event 1; waits for it
//   new leave    the thread gets its place only now; gives it up
//   fork         with before_fork() and what follows it; the words after `|` are what new threads
//                do in the first child, beside the rest of this thread's
//   u1           updates object 1 of the first structure as it is found there: in, or out
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <sstream>

#include "explored_machine.h"
#include "lockswap/ldu.hpp"
#include "lockswap/ldu_stamped.hpp"
#include "structures_cases.h"

namespace lockswap::explore {
namespace {

constexpr std::size_t kObjects = 4;  // of each structure; the first is not used
constexpr std::size_t kSets = 2;
constexpr std::size_t kEvents = 4;

template <std::size_t threads>
struct LduMachine : ExploredMachine<false> {
  static constexpr std::size_t kThreads = threads;
  static constexpr std::size_t kSlots = 1;

  template <std::size_t kN>
  static void fail(const char (&why)[kN]) {
    machine.fail("%s", why);
  }
};

class Exclusive {
 public:
  void lock() {
    for (;;) {
      Explored::await(Pause::spin, word_, relaxed, [](std::uint32_t v) { return v == 0; });
      if (try_lock()) return;
    }
  }
  bool try_lock() {
    std::uint32_t free = 0;
    return word_.compare_exchange(free, kWriter, acquire);
  }
  void unlock() { word_.store(0, release); }

 protected:
  static constexpr std::uint32_t kWriter = 256;
  ExploredAtomic<std::uint32_t> word_;
};
class Shared : public Exclusive {
 public:
  void lock_shared() {
    for (;;) {
      Explored::await(Pause::spin, word_, relaxed, [](std::uint32_t v) { return v < kWriter; });
      std::uint32_t now = word_.load(relaxed);  // the exchange judges it
      if (now < kWriter && word_.compare_exchange(now, now + 1, acquire)) return;
    }
  }
  void unlock_shared() { word_.fetch_sub(1, release); }
};

template <class P>
struct Bits {
  struct object {
    std::size_t number = 0;
    ExploredPlain<int> content;
    basic_ldu_hook<P> hook{};
  };
  static basic_ldu_hook<P>& hook(object& o) { return o.hook; }

  void insert(object& o) {
    if (there[o.number].get())
      machine.fail("object %d is inserted twice", static_cast<int>(o.number));
    there[o.number].set(true);
  }
  void remove(object& o) {
    if (!there[o.number].get()) {
      machine.fail("object %d is removed, and was not there", static_cast<int>(o.number));
    }
    there[o.number].set(false);
  }
  void free(object& o) {
    if (there[o.number].get()) {
      machine.fail("object %d is freed while it is there", static_cast<int>(o.number));
    }
    freed[o.number].set(freed[o.number].get() + 1);
    o.content.set(0);  // as a destructor does
    machine.poison(&o, sizeof o);
  }
  std::array<ExploredPlain<bool>, kObjects> there;
  std::array<ExploredPlain<int>, kObjects> freed;
};

// What became of an object.
struct History {
  struct Done {
    int thread;
    std::uint8_t when;  // in that thread's time
  };
  std::size_t begun = 0;
  std::vector<Done> done;
  bool retired = false;
  std::array<std::size_t, kMaxThreads> seen{};
  std::array<std::size_t, kEvents> at_event{};

  // The last update that this thread knows of; odd: it is there.
  std::size_t known() const {
    std::size_t last = seen[machine.current()];
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (done[i].when <= machine.view().clock(done[i].thread)) last = std::max(last, i + 1);
    }
    return last;
  }
};

// kIsOneState: a read must be one state of all objects. Updates follow each other there.
template <class Set, class P, bool kIsOneState>
class World {
  using Structure = Bits<P>;
  using Object = typename Set::object;
  using Logs = typename Set::logs;
  using Thread = typename Logs::thread;

 public:
  void setup(const std::vector<std::vector<std::string>>& words, std::uint32_t limit) {
    logs_ = new (logs_bytes_) Logs;
    for (std::size_t s = 0; s < kSets; ++s) {
      sets_[s] = new (Explored::map(sizeof(Set))) Set(*logs_);
      if constexpr (requires { sets_[s]->set_limit(limit); }) sets_[s]->set_limit(limit);
      for (std::size_t i = 0; i < kObjects; ++i) {
        objects_[s][i] = new (Explored::map(sizeof(Object))) Object;
        objects_[s][i]->number = i;
        histories_[s][i] = {};
      }
    }
    forked_ = false;
    states_.assign(1, {});
    state_seen_.fill(0);
    ended_ = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      threads_[i] = nullptr;
      if (std::ranges::find(words[i], "new") == words[i].end()) join(i);
    }
    for (auto& e : events_)
      new (&e) ExploredAtomic<std::uint32_t>{};
  }

  void body(int thread, const std::vector<std::string>& words) {
    const auto me = static_cast<std::size_t>(thread);
    for (const std::string& word : words) {
      if (word == "new") {
        join(me);
      } else if (word == "leave") {
        threads_[me]->~Thread();
      } else if (word == "get" || word == "getB") {
        read(word == "get" ? 0 : 1);
      } else if (word == "ex" || word == "exB") {
        check(word == "ex" ? 0 : 1, [&](Set& s, auto f) { s.exclusive(f); });
      } else if (word == "both") {
        sets_[0]->exclusive([this](Structure&) { sets_[1]->apply(); });
      } else if (word == "fork") {
        logs_->before_fork();
        machine.fork([] {});
        logs_->forked(*threads_[me]);
        forked_ = true;
      } else if (word == "endB") {
        ended_ = true;
        sets_[1]->~Set();
        machine.poison(sets_[1], sizeof(Set));
      } else if (word[0] == '+') {
        for (auto& set : histories_) {
          for (History& h : set)
            h.at_event[number(word)] = h.known();
        }
        events_[number(word)].store(1, release);
      } else if (word[0] == '?') {
        Explored::await(Pause::spin, events_[number(word)], acquire,
                        [](std::uint32_t v) { return v != 0; });
        for (auto& set : histories_) {
          for (History& h : set)
            h.seen[me] = std::max(h.seen[me], h.at_event[number(word)]);
        }
      } else {
        update(*threads_[me], word);
      }
    }
  }

  void finish() {
    for (std::size_t s = 0; s < kSets; ++s) {
      if (s == 1 && ended_) continue;
      sets_[s]->exclusive([&](Structure& all) {
        for (std::size_t i = 0; i < kObjects; ++i) {
          const History& h = histories_[s][i];
          // A fork may have cut the last one short: then it has not begun, or it is whole.
          const bool may_be_cut = forked_ && h.begun > h.done.size();
          if (all.there[i].get() != (h.begun % 2 == 1) && !may_be_cut)
            machine.fail("an update is lost");
          if (all.freed[i].get() != (h.retired ? 1 : 0) && !(may_be_cut && !all.freed[i].get())) {
            machine.fail("object %d was freed %d times", static_cast<int>(i), all.freed[i].get());
          }
        }
      });
    }
  }

 private:
  using State = std::array<bool, kObjects>;

  static std::size_t number(const std::string& word) {
    return static_cast<std::size_t>(std::stoul(word.substr(1)));
  }
  void join(std::size_t i) { threads_[i] = new (thread_bytes_[i]) Thread(*logs_); }

  void update(Thread& me, std::string word) {
    if (word[0] == 'u') {
      History& found = histories_[0][number(word)];
      found = {};
      sets_[0]->exclusive([&](Structure& all) {
        if (!all.there[number(word)].get()) return;
        found.begun = 1;
        found.done.push_back({machine.current(), machine.view().clock(machine.current())});
      });
      word[0] = found.begun == 1 ? 'r' : 'i';
    }
    const bool own = word[0] == 's';
    if (own) word.erase(0, 1);
    const std::size_t s = number(word) / 10;
    const std::size_t i = number(word) % 10;
    Object& o = *objects_[s][i];
    History& h = histories_[s][i];
    if (word[0] == 'x' || word[0] == 'f') h.retired = true;
    (void)o.content.get();
    if (word[0] != 'f') ++h.begun;
    if (kIsOneState && s == 0 && word[0] != 'f') {
      states_.push_back(states_.back());
      states_.back()[i] = h.begun % 2 == 1;
    }
    apply_word(*sets_[s], me, o, word[0], own);
    if (word[0] != 'f') {
      h.done.push_back({machine.current(), machine.view().clock(machine.current())});
    }
  }
  static void apply_word(Set& set, Thread& me, Object& o, char kind, bool own) {
    if constexpr (requires { set.insert(o); }) {
      if (own) {
        if (kind == 'i') set.insert(o);
        if (kind == 'r') set.remove(o);
        if (kind == 'x') set.retire(o);
        if (kind == 'f') set.free(o);
        return;
      }
    }
    if (kind == 'i') set.insert(me, o);
    if (kind == 'r') set.remove(me, o);
    if (kind == 'x') set.retire(me, o);
    if (kind == 'f') set.free(me, o);
  }

  void read(std::size_t s) {
    check(s, [](Set& set, auto f) { set.read(f); });
  }
  template <class Look>
  void check(std::size_t s, Look look) {
    std::array<std::size_t, kObjects> known{};
    for (std::size_t i = 0; i < kObjects; ++i)
      known[i] = histories_[s][i].known();
    State there{};
    look(*sets_[s], [&](const Structure& all) {
      for (std::size_t i = 0; i < kObjects; ++i)
        there[i] = all.there[i].get();
    });
    for (std::size_t i = 0; i < kObjects; ++i) {
      History& h = histories_[s][i];
      const std::size_t shown = known[i] + ((known[i] % 2 == 1) != there[i] ? 1 : 0);
      if (shown > h.begun) {
        machine.fail("a read shows object %d %s, but its update %d was known", static_cast<int>(i),
                     there[i] ? "there" : "gone", static_cast<int>(known[i]));
      }
      h.seen[machine.current()] = shown;
    }
    if (kIsOneState && s == 0) check_state(there);
  }
  void check_state(const State& there) {
    std::size_t& seen = state_seen_[machine.current()];
    for (std::size_t n = seen; n < states_.size(); ++n) {
      if (states_[n] != there) continue;
      seen = n;
      return;
    }
    machine.fail("a read shows what was no state");
  }

  Logs* logs_ = nullptr;
  std::array<Set*, kSets> sets_{};
  std::array<Thread*, kMaxThreads> threads_{};
  std::array<std::array<Object*, kObjects>, kSets> objects_{};
  alignas(Logs) std::byte logs_bytes_[sizeof(Logs)];
  alignas(Thread) std::byte thread_bytes_[kMaxThreads][sizeof(Thread)];
  ExploredAtomic<std::uint32_t> events_[kEvents];
  std::array<std::array<History, kObjects>, kSets> histories_;
  std::vector<State> states_;
  std::array<std::size_t, kMaxThreads> state_seen_{};
  bool ended_ = false;
  bool forked_ = false;
};

struct Script {
  const char* name;
  std::vector<std::string> threads;
  std::uint32_t limit = 8;
};

template <class Set, class P, bool kIsOneState>
Scenario scenario(const Script& script) {
  using Words = std::vector<std::vector<std::string>>;
  const auto words = std::make_shared<Words>();
  const auto in_child = std::make_shared<Words>();
  for (const std::string& t : script.threads) {
    std::istringstream in(t);
    words->emplace_back();
    in_child->emplace_back();
    Words* to = words.get();
    for (std::string word; in >> word;)
      word == "|" ? void(to = in_child.get()) : to->back().push_back(word);
  }
  const auto world = std::make_shared<World<Set, P, kIsOneState>>();
  Scenario s;
  s.threads = static_cast<int>(script.threads.size());
  s.setup = [world, words, &script] { world->setup(*words, script.limit); };
  s.body = [world, words](int i) { world->body(i, (*words)[static_cast<std::size_t>(i)]); };
  s.after_fork = [world, in_child](int i) {
    if (machine.process() == 1) world->body(i, (*in_child)[static_cast<std::size_t>(i)]);
  };
  s.finish = [world] { world->finish(); };
  return s;
}

constexpr Bounds kFull{3, 2, 0, 0};
constexpr Bounds kQuick{2, 1, 0, 0};

// For every form.
const Script kScripts[] = {
    {"insert", {"i1 i2", "get get"}},
    {"told", {"i1 +1 r1", "?1 get get"}},
    {"absorb", {"i1 r1 i1", "get get"}},
    {"absorb-remove", {"i1 +1 ?2 r1 i1 r1", "?1 get +2 get"}},
    // An insert in one thread, the remove in another one; a reader beside them, and after them.
    {"across", {"i1 +1", "?1 r1 +2", "get ?2 get"}},
    {"across-and-back", {"i1 +1 ?2 i1", "?1 r1 +2", "get"}},
    // What a reader has applied is applied no second time by another one.
    {"two-readers", {"i1 +1 r1", "get get", "?1 get"}},
    {"told-by-reader", {"i1 r1", "get +1", "?1 get"}},
    {"exclusive", {"i1 r1", "ex get"}},
    // Freed when nobody looks at it, whether it was applied before or not.
    {"retire", {"i1 x1", "get get"}},
    {"retire-across", {"i1 +1", "?1 x1", "get get"}},
    {"free", {"i1 r1 f1", "get get"}},
};
const Script kLogs[] = {
    // Nothing is announced a second time while a log has something, and a reader takes it.
    {"announced", {"i1 i2 +1", "get ?1 get"}},
    {"announced-to-third", {"i1 i2 +1", "get", "?1 get"}},
    {"emptied", {"i1 +1 ?2 i2 +3", "?1 get +2 ?3 get", "get"}},
    // An object is logged again while the log that it stood in is applied.
    {"again", {"i1 r1 i1 +1", "get ?1 get"}},
    {"again-across", {"i1 +1", "?1 r1 i1", "get get"}},
    {"below", {"i1 i2 r2 i2", "get get"}},
    // A slot goes from one structure to another.
    {"slot", {"i11 +1 ?2 i1 +3", "?1 getB +2", "?3 get"}},
    {"slot-of-two", {"i1 +1", "i11 +2", "?1 ?2 get getB"}},
    {"slot-in-use", {"i11 i1 i12", "getB", "get"}},
    {"slot-taken", {"i11 i12 i1", "getB getB"}},
    {"slot-and-back", {"i11 +1 ?2 i1 i12", "?1 getB +2 getB"}},
    {"slot-ends", {"i11 +1 i1", "?1 endB", "get"}},
    // Full logs: the first two need the lock now and then, the third at each update.
    {"full", {"i1 i2 r1", "get"}, 2},
    {"full-beside", {"i1 i2", "i3 r3", "get"}, 2},
    {"full-waits", {"i1 i2", "get get"}, 1},
    {"full-at-once", {"i1 r1", "get get"}, 1},
    // The structure's own log.
    {"own", {"si1 sr1", "si2", "get get"}},
    {"own-told", {"si1 +1 sr1", "?1 get get"}},
    {"own-readers", {"si1 +1", "?1 get", "get"}},
    {"own-across", {"si1 +1", "?1 r1", "get get"}},
    {"own-full", {"si1 si2 sr1", "get"}, 2},
    {"own-full-beside", {"si1 si2", "si3", "get"}, 1},
    {"own-retire", {"si1 sx1", "get get"}},
    // Threads end, and begin.
    {"leave", {"i1 leave +1", "?1 get", "get"}},
    {"leave-two", {"i1 i11 leave", "getB", "get"}},
    {"heir", {"i1 leave +1", "?1 new i2 r1", "get get"}},
};
// A thread has the second update when the first was finished.
const Script kOneState[] = {
    {"one-state", {"i1 +1", "?1 i2", "get get"}},
    {"one-state-back", {"i1 i2 +1 ?2 r1", "?1 r2 +2", "get"}},
};
// A fork at any moment of another thread's. Each object goes on in the child as it is found there.
const Script kForks[] = {
    {"fork", {"fork u1 get", "i1 r1"}},
    {"fork-applied", {"i1 +1 fork u1 get", "?1 get r1"}},
    {"fork-read", {"i1 +1 fork u1 get", "?1 get"}},
    {"fork-full", {"fork u1 get", "i1 i2"}, 1},
    {"fork-twice", {"fork u1 fork u1 get", "i1 | new i2"}},
    {"fork-threads", {"i2 fork u1 +1 get", "i1 | new ?1 r2 get"}},
    {"fork-retire", {"fork get", "i1 x1"}},
    {"fork-leaves", {"fork u1 get", "i1 leave"}},
    {"fork-ends", {"i1 fork u1 get", "i11 endB"}},
};
const Script kForksOfLogs[] = {
    {"fork-slot", {"fork u1 get", "i11 i1 r1"}},
    {"fork-own", {"fork u1 get", "si1 sr1"}},
    {"fork-own-twice", {"fork u1 fork u1 get", "si1"}},
    {"fork-own-full", {"fork u1 get", "si1 si2"}, 1},
    // A thread that holds one structure's lock, and waits for another's.
    {"fork-two-locks", {"fork get getB", "both ex"}},
};
// Two rows for three threads.
const Script kFewRows[] = {
    {"few-rows", {"i1 +1", "?1 r1 i2", "get i3 get"}},
    {"new-rows", {"new i1", "new i2"}},
    {"row-again", {"i1 leave", "new i2", "get"}},
};

template <class Set, class P, bool kIsOneState, std::size_t kN>
void add_table(Cases& cases, const char* form, const Script (&table)[kN]) {
  for (const Script& s : table) {
    Case c;
    c.name = std::string("ldu/") + form + '/' + s.name;
    c.threads = s.threads;
    c.bounds = kFull;
    c.quick_bounds = kQuick;
    c.other = [&s] { return scenario<Set, P, kIsOneState>(s); };
    cases.push_back(std::move(c));
  }
}

}  // namespace

void add_ldu_cases(Cases& cases) {
  using P = LduMachine<3>;
  using Shares = ldu<Bits<P>, Shared, P>;
  add_table<Shares, P, false>(cases, "logs", kScripts);
  add_table<Shares, P, false>(cases, "logs", kLogs);
  add_table<Shares, P, false>(cases, "logs", kForks);
  add_table<Shares, P, false>(cases, "logs", kForksOfLogs);
  using F = LduMachine<2>;
  add_table<ldu<Bits<F>, Shared, F>, F, false>(cases, "logs", kFewRows);
  add_table<ldu<Bits<P>, Exclusive, P>, P, false>(cases, "logs-mutex", kScripts);
  add_table<ldu_stamped<Bits<P>, Shared, P, 2>, P, true>(cases, "stamps", kScripts);
  add_table<ldu_stamped<Bits<P>, Shared, P, 2>, P, true>(cases, "stamps", kOneState);
  add_table<ldu_stamped<Bits<P>, Shared, P, 2>, P, false>(cases, "stamps", kForks);
}

}  // namespace lockswap::explore
