// The cases of the RLU library (src/rlu): sections over objects of one word each, of which writers
// add 1 to several at once.
//
// What threads do, as words:
//   ( )      begin a section, end it; they may be nested. Other words have a section of their own
//            if none is open
//   [ ]      the same with the text that programs have inlined (lockswap/rlu_inline.h)
//   r01      read objects 0 and 1: all have the same value, and the same as at the first time in
//            this section
//   w01      lock objects 0 and 1, add 1 to each; again, if a lock fails, until it succeeds
//   c01      the same under the writer lock: no lock fails
//   t01      the same as w01, once, in the open section; if a lock fails, the section is aborted
//   abort    abort the open section
//   s01      lock object 0 without a copy; if it is 0, lock object 1 and make it 1; again, if a
//            lock fails
//   k01      lock objects 0 and 1 without a copy; again, if a lock fails
//   x        replace the item that the root points to, and free it
//   p        read that item
//   i        lock that item, and write into the copy what it was
//   q g      read the item of a plain atom in a section; replace it, and free it by a callback
//   o01      read objects that this thread alone changes: as often as it has
//   flush sync barrier all   as in rlu.h (all: flush_all)
//   on off   sections have fences from now on, or commits barriers; nothing if another thread
//            commits at that moment
//   *        look whether as many callbacks have been called as were given by `g`
//   G L      acquire, release the writer lock
//   +1 ?1    set event 1; wait for event 1 (release, acquire: the program's own order)
//   exit     the thread ends, another begins in its place
//   fork     as in script.h; after `|`: the other threads in the child
//   _fork    the same without handlers, as _Fork(3)
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "multicore/explore/platform.h"
#include "multicore/explore/shadow.h"
#include "multicore/explore/wait_at.h"
#include "rlu/callbacks.h"
#include "rlu/section.h"
#include "rlu/writer_lock.h"
#include "rlu_inline.h"
#include "structures_cases.h"
#include "wait/park.h"

namespace lockswap::explore {
namespace {

using rlu::Header;

// Nothing is used again, so a thread that looks at what is gone is found.
struct ExploredHeap {
  static void* take(std::size_t bytes) { return Explored::map(bytes); }
  static void give(void* memory) {
    auto* const h = static_cast<Header<Explored>*>(memory);
    machine.poison(h, sizeof *h + h->size);
  }
};
using Section = rlu::Section<Explored, ExploredHeap>;
using Inlined = inlined::Sections<ExploredHeap>;
using Commit = rlu::Commit<Explored, ExploredHeap>;
using Callbacks = rlu::Callbacks<Explored, ExploredHeap>;
using Threads = rlu::Threads<Explored, ExploredHeap>;
using WriterLock = rlu::WriterLock<Explored, WaitAt<Park<Explored>>>;
using Context = rlu::Context<Explored>;

constexpr int kObjects = 7;  // the last one is larger than a chunk of a log
constexpr std::size_t kLarge = Explored::kLogChunk + rlu::kAlignment;
constexpr std::uint64_t kNever = ~std::uint64_t{0};

using Words = std::vector<std::string>;
struct World {
  std::array<std::uint64_t*, kObjects> objects;
  std::uint64_t* root;
  ExploredAtomic<std::uint64_t> slot;         // an item's address
  std::array<std::uint64_t, kObjects> added;  // by sections that have been committed
  std::array<ExploredAtomic<std::uint32_t>, 4> events;
  WriterLock* writers;
  std::vector<std::vector<Words>> words;  // by process, by thread
  std::uint64_t called;                   // callbacks
  bool skews = false;                     // `s` is used
  bool forks = false;
};

std::uint64_t* new_object(std::uint64_t value, std::size_t size = sizeof(std::uint64_t)) {
  void* const memory = ExploredHeap::take(sizeof(Header<Explored>) + rlu::rounded(size));
  auto* const h = new (memory) Header<Explored>{};
  h->size = size;
  auto* const object = reinterpret_cast<std::uint64_t*>(h + 1);
  Shadow::write(object);
  *object = value;
  return object;
}
std::uint64_t value_of(const std::uint64_t* p) {
  Shadow::read(p);
  return *p;
}
void set(std::uint64_t* p, std::uint64_t value) {
  Shadow::write(p);
  *p = value;
}
template <class T>
T* seen(T* p) {
  return static_cast<T*>(Section::dereference(const_cast<std::remove_const_t<T>*>(p)));
}

class Thread {
 public:
  explicit Thread(World& w) : w_(w) { forget(); }

  void run(const Words& words) {
    for (const std::string& word : words)
      step(word);
  }

 private:
  void forget() { first_.fill(kNever); }
  bool is_in() const { return Threads::current() != nullptr && Threads::current()->depth != 0; }
  void begin() {
    if (!is_in()) forget();
    Section::begin();
  }
  void abort() {
    Section::abort();
    machine.note("aborted");
    pending_.clear();
  }

  void step(const std::string& word) {
    const std::string rest = word.substr(1);
    if (word == "(") {
      begin();
    } else if (word == "[") {
      if (!is_in()) forget();
      Inlined::lockswap_rlu_enter();
    } else if (word == ")" || word == "]") {
      if (word == ")") {
        Section::end();
      } else {
        Inlined::lockswap_rlu_leave();
      }
      if (is_in()) return;
      for (const char c : pending_)
        ++w_.added.at(c - '0');
      pending_.clear();
    } else if (word == "abort") {
      abort();
    } else if (word == "flush") {
      Section::flush(*Threads::attach());
    } else if (word == "all") {
      Section::flush_all(*Threads::attach());
    } else if (word == "sync") {
      Commit::synchronize(*Threads::attach());
    } else if (word == "barrier") {
      Callbacks::barrier(*Threads::attach());
    } else if (word == "on") {
      in_a_turn([](auto& fence) { fence.turn_on(); });
    } else if (word == "off") {
      in_a_turn([](auto& fence) { fence.turn_off(); });
    } else if (word == "exit") {
      machine.end_and_begin_thread();
      pending_.clear();
    } else if (word == "fork" || word == "_fork") {
      machine.fork([] {});
      if (word == "fork") Threads::forked();
    } else if (word == "G") {
      Section::before_writer_lock(*Threads::attach());
      w_.writers->acquire_by(*Threads::attach());
    } else if (word == "L") {
      w_.writers->release_by(*Threads::attach());
    } else if (word[0] == '+') {
      w_.events.at(word[1] - '0').store(1, release);
    } else if (word[0] == '?') {
      Explored::await(Pause::spin, w_.events.at(word[1] - '0'), acquire,
                      [](std::uint32_t v) { return v != 0; });
    } else if (word[0] == 'r') {
      within([&] { read(rest); });
    } else if (word[0] == 'w') {
      until_done([&] { return add(rest); });
      for (const char c : rest)
        ++w_.added.at(c - '0');
    } else if (word[0] == 'c') {
      begin();
      if (!add(rest)) machine.fail("under a writer lock a lock of an object failed");
      Section::end();
      for (const char c : rest)
        ++w_.added.at(c - '0');
    } else if (word[0] == 't') {
      if (add(rest)) {
        pending_ += rest;
      } else {
        abort();
      }
    } else if (word[0] == 's') {
      until_done([&] { return skew(rest[0] - '0', rest[1] - '0'); });
    } else if (word[0] == 'k') {
      until_done([&] { return keep(rest); });
    } else if (word == "p") {
      within([&] { read_item(); });
    } else if (word == "x") {
      until_done([&] { return replace(); });
    } else if (word == "i") {
      until_done([&] { return rewrite_item(); });
    } else if (word == "*") {
      Shadow::read(&w_.called);
      if (w_.called == 0) machine.fail("a barrier has not waited for a callback");
    } else if (word == "g") {
      give_to_callback();
    } else if (word == "q") {
      within([&] { look_at(reinterpret_cast<std::uint64_t*>(w_.slot.load(acquire))); });
    } else if (word[0] == 'o') {
      within([&] { read_own(rest); });
    } else {
      std::fprintf(stderr, "lockswap-explore: bad word '%s'\n", word.c_str());
      std::exit(2);
    }
  }

  template <class F>
  static void in_a_turn(const F& change) {
    Threads::attach();  // a child repairs the turns of threads that it knows
    auto& clock = rlu::shared<Explored>().clock;
    clock.try_turn([&] { change(clock.fence()); });
  }
  template <class F>
  void within(const F& f) {
    begin();
    f();
    Section::end();
  }
  template <class F>
  void until_done(const F& f) {
    for (;;) {
      begin();
      if (f()) break;
      abort();
    }
    Section::end();
    machine.note("committed");
  }

  void read(const std::string& which) {
    std::uint64_t common = kNever;
    for (const char c : which) {
      const std::uint64_t v = value_of(seen(w_.objects.at(c - '0')));
      std::uint64_t& first = first_.at(c - '0');
      if (first == kNever) first = v;
      if (v != first)
        machine.fail("object %c is %lu, and was %lu in the same section", c, v, first);
      if (common == kNever) common = v;
      if (v != common) machine.fail("of one commit a part is seen: %lu and %lu", common, v);
    }
  }
  bool add(const std::string& which) {
    std::vector<std::uint64_t*> copies;
    for (const char c : which) {
      copies.push_back(static_cast<std::uint64_t*>(Section::try_lock(w_.objects.at(c - '0'))));
      if (copies.back() == nullptr) return false;
    }
    for (std::uint64_t* p : copies)
      set(p, value_of(p) + 1);
    forget();  // the section sees what it has changed
    return true;
  }
  bool skew(int look, int change) {
    const auto* p = static_cast<std::uint64_t*>(Section::try_lock_const(w_.objects.at(look)));
    if (p == nullptr) return false;
    if (value_of(p) != 0) return true;
    auto* const mine = static_cast<std::uint64_t*>(Section::try_lock(w_.objects.at(change)));
    if (mine == nullptr) return false;
    set(mine, 1);
    return true;
  }
  bool keep(const std::string& which) {
    return std::ranges::all_of(which, [this](char c) {
      return Section::try_lock_const(w_.objects.at(c - '0')) != nullptr;
    });
  }
  void read_own(const std::string& which) {
    for (const char c : which) {
      const std::uint64_t mine =
          w_.added.at(c - '0') + static_cast<std::uint64_t>(std::ranges::count(pending_, c));
      const std::uint64_t v = value_of(seen(w_.objects.at(c - '0')));
      if (v != mine) machine.fail("object %c is %lu, and this thread made it %lu", c, v, mine);
    }
  }
  static void look_at(const std::uint64_t* item) {
    if (value_of(seen(item)) != kItem) machine.fail("an item is none");
  }
  void read_item() { look_at(reinterpret_cast<std::uint64_t*>(value_of(seen(w_.root)))); }
  bool replace() {
    auto* root = static_cast<std::uint64_t*>(Section::try_lock(w_.root));
    if (root == nullptr) return false;
    auto* const gone = reinterpret_cast<std::uint64_t*>(value_of(root));
    if (Section::try_lock_const(gone) == nullptr) return false;
    if (Section::free(gone) != rlu::Result::done) return false;
    set(root, reinterpret_cast<std::uintptr_t>(new_object(kItem)));
    return true;
  }
  bool rewrite_item() {
    auto* const item = reinterpret_cast<std::uint64_t*>(value_of(seen(w_.root)));
    auto* const mine = static_cast<std::uint64_t*>(Section::try_lock(item));
    if (mine == nullptr) return false;
    set(mine, kItem);
    return true;
  }
  void give_to_callback() {
    const auto mine = reinterpret_cast<std::uintptr_t>(new_object(kItem));
    auto* const gone = reinterpret_cast<std::uint64_t*>(w_.slot.exchange(mine, acq_rel));
    struct Freeing : rlu::Callback {
      std::uint64_t* item;
      World* world;
    };
    auto* const c = new (Explored::map(sizeof(Freeing))) Freeing{};
    c->function = [](rlu::Callback* self) {
      Shadow::read(self);
      auto& me = *static_cast<Freeing*>(self);
      ExploredHeap::give(&rlu::header_of<Explored>(me.item));
      Shadow::write(&me.world->called);
      ++me.world->called;
    };
    c->item = gone;
    c->world = &w_;
    Shadow::write(c);
    Callbacks::call(*Threads::attach(), c);
    Callbacks::look_after(*Threads::attach());
  }

 public:
  static constexpr std::uint64_t kItem = 77;

 private:
  World& w_;
  std::array<std::uint64_t, kObjects> first_{};  // what the section has read first
  std::string pending_;                          // what it has added to, and not committed
};

void check_at_end(World& w) {
  Section::flush_all(*Threads::attach());
  Callbacks::barrier(*Threads::attach());
  for (int i = 0; i < kObjects; ++i) {
    if (rlu::header_of<Explored>(w.objects[i]).lock.load(relaxed) != rlu::kUnlocked)
      machine.fail("at the end object %d is locked", i);
    const std::uint64_t v = value_of(w.objects[i]);
    if (w.skews) continue;
    // In a forked child a thread may have committed, and not come to count it.
    if (v != w.added[i] && !w.forks)
      machine.fail("object %d is %lu after %lu commits", i, v, w.added[i]);
  }
  if (w.skews && value_of(w.objects[0]) + value_of(w.objects[1]) != 1)
    machine.fail("both have found the other's object unchanged");
  if (w.forks && value_of(w.objects[0]) != value_of(w.objects[1]))
    machine.fail("after a fork a part of a commit is there");
  rlu::each_context<Explored>([](const Context& c) {
    if (c.user.load(relaxed) != Context::kFree) machine.fail("at the end logs are in use");
  });
}

struct Script {
  const char* name;
  std::vector<std::string> threads;
  std::uint32_t limit = 1;  // of deferral
  Bounds quick{2, 1, 0, 0};
  bool fenced = false;  // sections have fences from the start
  Bounds full{3, 2, 0, 0};
};

Scenario rlu_scenario(const Script& script) {
  const auto world = std::make_shared<World>();
  for (std::size_t i = 0; i < script.threads.size(); ++i) {
    std::istringstream parts(script.threads[i]);
    std::string part;
    for (std::size_t process = 0; std::getline(parts, part, '|'); ++process) {
      if (world->words.size() <= process) world->words.resize(process + 1);
      world->words[process].resize(script.threads.size());
      std::istringstream in(part);
      for (std::string word; in >> word;) {
        world->words[process][i].push_back(word);
        world->skews |= word[0] == 's' && word != "sync";
        world->forks |= word == "fork" || word == "_fork";
      }
    }
  }
  Scenario s;
  s.threads = static_cast<int>(script.threads.size());
  s.setup = [world, limit = script.limit, fenced = script.fenced] {
    for (std::size_t i = 0; i < Explored::identities.size(); ++i)
      Explored::identities[i] = i + 1;
    Explored::tick = 0;
    Explored::patience = 0;
    for (auto& object : world->objects)
      object = new_object(0, &object == &world->objects.back() ? kLarge : sizeof(std::uint64_t));
    world->root = new_object(reinterpret_cast<std::uintptr_t>(new_object(Thread::kItem)));
    world->slot.store(reinterpret_cast<std::uintptr_t>(new_object(Thread::kItem)), relaxed);
    world->added.fill(0);
    world->called = 0;
    world->writers = new (Explored::map(sizeof(WriterLock))) WriterLock{};
    rlu::shared<Explored>().limit.store(limit, relaxed);
    if (fenced) rlu::shared<Explored>().clock.fence().turn_on();
  };
  s.body = [world](int i) { Thread(*world).run(world->words[0][static_cast<std::size_t>(i)]); };
  s.after_fork = [world](int i) {
    const auto process = static_cast<std::size_t>(machine.process());
    if (process < world->words.size())
      Thread(*world).run(world->words[process][static_cast<std::size_t>(i)]);
  };
  s.finish = [world] { check_at_end(*world); };
  return s;
}

constexpr Bounds kFew{1, 1, 0, 0};
constexpr std::uint32_t kLater = 9;  // so many commits are deferred

const Script kScripts[] = {
    // Readers see all of a commit or none, and the same all through a section.
    {"1w1r", {"w01", "r01"}},
    {"1w2r", {"w01", "r01", "r01"}},
    {"snapshot", {"w01", "( r01 r01 )"}},
    {"nested", {"( w01 r01 )", "( ( r01 ) r01 )"}},
    // Sections without a call: first, later, nested, that commit, in an order with those that call.
    {"inlined", {"w01", "[ r01 r01 ] [ r01 ]"}},
    {"inlined-apart", {"w01", "w23", "[ ] [ r01 r23 ]"}, 1, kFew},
    {"inlined-nested", {"w01", "[ ] [ ( r01 ) [ r01 ] r01 ] ( [ r01 ] r01 ]"}},
    {"inlined-writes", {"[ ] [ t01 ] [ r01 ]", "[ ] [ t01 r01 ]"}},
    {"inlined-reuse", {"w01 w01 w01", "[ ] [ r01 ] [ r01 ]"}, 1, kFew},
    {"inlined-free", {"x", "[ ] [ p p ]"}},
    {"inlined-deferred", {"[ ] [ t01 ] [ t01 ] flush", "[ ] [ r01 r01 ]"}, kLater},
    {"inlined-fork", {"[ ] fork [ r01 ] w01 [ r01 ]", "[ ] w01"}},
    {"inlined-fork-no-handlers", {"[ ] _fork +1 [ r01 r01 ]", "[ ] | ?1 w01"}},
    {"inlined-fork-in-section", {"[ ] [ r01 fork r01 ] w01 r01", "w01"}},
    {"inlined-exit", {"[ r01 ] exit [ r01 ] w01 [ r01 ]", "w01"}, kLater, kFew},
    // Sections have fences, begin to have them, or have none any more.
    {"fences", {"w01", "( r01 r01 )"}, 1, {2, 1, 0, 0}, true},
    {"fences-begin", {"on w01", "( r01 r01 )"}},
    {"fences-begin-beside", {"w01", "on", "( r01 r01 )"}, 1, kFew},
    {"fences-begin-inlined", {"on w01", "[ ] [ r01 r01 ]"}},
    {"fences-end", {"w0", "off", "r0"}, 1, {1, 2, 0, 0}, true, {1, 2, 0, 0}},
    {"fences-end-first", {"off w01", "( r01 r01 )"}, 1, {2, 1, 0, 0}, true},
    {"fences-end-beside", {"w01", "off", "r01"}, 1, kFew, true, {2, 1, 0, 0}},
    {"fences-end-inlined", {"off w01", "[ ] [ r01 r01 ]"}, 1, {2, 1, 0, 0}, true},
    {"fences-again", {"on w01 off w01", "( r01 r01 )"}, 1, kFew},
    {"fences-2w", {"on w01", "w01", "r01"}, 1, kFew},
    {"fences-free", {"on x", "p p"}},
    {"fences-fork", {"fork r01 w01 r01", "on w01"}},
    // Two commits at once: each has a time of its own.
    {"2w1r-apart", {"w01", "w23", "( r01 r23 )"}},
    {"2w1r", {"w01", "w01", "r01"}, 1, kFew},
    // A section begins anew while the clock moves on, and a commit still waits for the one before.
    {"begin-again", {"?1 w01", "+2 w23", "( r01 +1 ?2 r01 ) r01"}, 1, kFew},
    {"inlined-begin-again", {"?1 w01", "+2 w23", "[ r01 +1 ?2 r01 ] [ r01 ]"}, 1, kFew},
    {"2w-crossed", {"w01", "w10"}},
    // A log is filled again when its readers have left, and an aborted one at once.
    {"log-reuse", {"w01 w23 w01", "( r01 r01 )"}},
    {"log-reuse-thrice", {"w01 w01 w01", "r01 r01"}},
    {"abort-reuse", {"( t0 abort w12", "( r0 r12 )"}},
    {"abort", {"( t01 abort w01", "w01"}},
    {"two-chunks", {"w012345", "r012345"}},
    // The room of a large object that was given up, filled with others and with records.
    {"abort-large", {"( t6 abort w012345 r5"}},
    {"abort-large-record", {"( t6 abort k0 w12345 w0 flush r0"}, kLater},
    {"abort-large-records", {"( t6 abort k0 w1 k2 w345 w01 flush r3"}, kLater},
    {"behind-large", {"w601", "r0 w01"}, 1, kFew},
    // Locks without a copy.
    {"skew", {"s01", "s10"}},
    {"skew-deferred", {"s01", "s10"}, kLater},
    {"skew-reader", {"s01", "( r1 r1 )"}},
    // What is deferred is seen at once and in full, by its own thread before.
    {"deferred", {"w01 w01", "r01"}, 2},
    {"deferred-flush", {"w01 w23 flush", "( r01 r23 )"}, kLater},
    {"deferred-own", {"w01 r01 w01 r01 flush", "r01"}, kLater},
    {"deferred-own-abort", {"w01 ( t01 abort r01 w01", "r01"}, kLater},
    {"deferred-own-reads", {"w01 o01 ( t01 o01 ) o01 flush", "r01"}, kLater},
    {"deferred-skew", {"w01 ( t0 abort flush", "w01"}, kLater},
    // A thread helps one that has deferred what it wants.
    {"help", {"w01", "w01"}, kLater},
    {"help-each-other", {"w0 +1 ?2 w1", "w1 +2 ?1 w0"}, kLater},
    {"help-each-other-apart", {"w01 w23", "w23 w01"}, kLater, kFew},
    {"help-reader", {"w01", "w01", "( r01 r01 )"}, kLater, kFew},
    {"help-owner-reads", {"w01 ( +1 r01 r01 )", "?1 w01"}, kLater},
    {"help-owner-aborts", {"w0 ( +1 t0 abort w0", "?1 w0"}, kLater},
    {"help-owner-writes", {"w01 ( +1 r01 t23 )", "?1 w01"}, kLater},
    // Memory.
    {"free", {"x", "p"}},
    {"free-twice", {"x x", "p p"}},
    {"free-deferred", {"x x", "p p"}, kLater},
    {"free-2w", {"x", "x", "p"}, 1, kFew},
    // An object of two deferred commits is unlocked once: then another thread may free it.
    {"free-unlocked", {"i i flush", "x flush"}, kLater},
    {"callback", {"g g", "q"}},
    {"callback-others", {"g g", "g", "q"}, 1, {2, 0, 0, 0}},
    {"callback-barrier", {"g barrier", "q", "g"}},
    {"callback-commit", {"g w01", "q", "barrier"}, 1, kFew},
    {"barrier-others", {"g +1 barrier", "?1 barrier *"}},
    {"sync", {"w01 +1", "( r01 ?1 ) sync", "r01"}, kLater},
    // Writer locks: nothing is aborted.
    {"coarse", {"G c01 L", "G c01 L", "r01"}, kLater, kFew},
    {"coarse-helped", {"w01 +1 G c23 L", "?1 w01"}, kLater},
    {"coarse-flushed", {"w01 +1 G c23 L", "?1 all"}, kLater},
    // Threads that end.
    {"exit", {"w01 exit r01 w01", "r01"}, kLater},
    {"exit-coarse", {"G exit r01 w01", "r01"}, kLater},
    {"exit-in-section", {"( t01 exit w01", "w01"}},
    // A writer passes by the row of a thread that has ended, and still comes after what that read.
    {"exit-reader", {"w01", "r01 exit r01"}},
    {"exit-beside", {"w01 exit w01", "( r01 r01 )"}},
    {"exit-many", {"w01", "r01 exit r01 exit r01", "r01 exit"}, 1, kFew},
    {"exit-flushed", {"w01 exit r01", "all"}, kLater},
    {"exit-others-context", {"w01 exit w01", "w01 exit r01"}, 1, kFew},
    // The third thread's row is in the second group, and then the row of one that comes after it.
    {"behind", {"( ) +1 ?2 w01", "?1 ( ) +2 ?3", "?2 ( r01 r01 ) +3"}, 1, kFew},
    {"behind-exit", {"( ) +1 ?2 w01", "?1 ( ) +2 ?3", "?2 r01 exit +3"}, 1, kFew},
    {"behind-again", {"( ) +1 ?2 w01", "?1 ( ) +2 ?3", "?2 ( ) exit ( r01 r01 ) +3"}, 1, kFew},
    {"behind-fork", {"( ) +1 ?2 fork w01 r01", "?1 ( ) +2 ?3", "?2 r01 exit +3"}, 1, kFew},
    // Forks at any moment of another thread's.
    {"fork", {"fork r01 w01 r01", "w01"}},
    {"fork-half", {"fork r01 w01 r01", "( t0 t1 )"}},
    {"fork-deferred", {"fork r01 w01 r01", "w01 w01 flush"}, kLater},
    {"fork-in-section", {"( r01 fork r01 ) w01 r01", "w01"}},
    {"fork-writing", {"( t01 fork +1 ) r01", "w23 | ?1 r01"}},
    {"fork-threads", {"fork +1 r01 w01", "( ) | ?1 r01 w01"}, 1, kFew},
    {"fork-threads-reads", {"fork +1 r01 w01", "w01 | ?1 r01"}, 1, kFew},
    // A thread puts in order what the fork has left as the one that forked comes back. If it took
    // that one's context for free, its next one could be the same.
    {"fork-comes-back",
     {"( ) _fork w01 +1", "| r01 exit ( r01 ?1 r01 )"},
     kLater,
     {1, 3, 0, 0},
     false,
     {2, 3, 0, 0}},
    {"fork-helped", {"w01 +1 fork r01 w01 r01", "?1 w01"}, kLater},
    {"fork-readers", {"fork w01 r01", "( r01 r01 )"}},
    {"fork-free", {"fork p x p", "x"}},
    {"fork-freed", {"i", "x", "fork p"}, 1, kFew},
    {"fork-freed-deferred", {"i i flush", "x", "fork p"}, kLater, kFew},
    {"fork-coarse", {"w01 +1 G ( fork t23 )", "?1 all"}, kLater},
};

}  // namespace

void add_rlu_cases(Cases& cases) {
  for (const Script& s : kScripts) {
    Case c;
    c.name = std::string("rlu-log/") + s.name;
    c.threads = s.threads;
    c.bounds = s.full;
    c.quick_bounds = s.quick;
    c.other = [&s] { return rlu_scenario(s); };
    cases.push_back(std::move(c));
  }
}

}  // namespace lockswap::explore
