// The cases of the address-space engine (src/address_space), each design by itself. The locks
// inside are toys: the shipped ones are explored by themselves.
//
// The answers of all operations, and the regions at the end, must be those of one order of the
// operations, in which each comes after those that it knows of, by the declared orders. Tables,
// regions and frames that are freed may not be touched.
//
// What threads do, as words; ranges are [0, 4), protections r and w (nothing: none):
//   m0-4rw s0-4rw f0-4rw   maps anonymous memory; a file, shared; a file, private
//   g0-4rw                 maps memory as a stack, which grows downwards when it is accessed there
//   u0-4 p0-4r d0-4        unmaps, protects, discards
//   R1 W1                  reads, writes page 1 (what is written says which operation it was)
//   b3                     the heap, which begins at page 1, ends at 3
//   F cR1 cu0-4            forks; what begins with c the thread that forked does in the child
#include <algorithm>
#include <memory>
#include <new>
#include <sstream>
#include <type_traits>

#include "../address_space/model.h"
#include "address_space/designs.h"
#include "explored_machine.h"
#include "structures_cases.h"

namespace lockswap::explore {
namespace {

using namespace address_space_test;

// Two entries a table, or more. The engine of one level has two pages, of two, four, of three,
// eight.
template <int levels, int table_bits = 1>
struct ToyMachine : ExploredMachine<true> {
  using Word = ExploredAtomic<std::uint64_t>;
  static constexpr int kLevels = levels;
  static constexpr int kTableBits = table_bits;
  static constexpr std::size_t kGarbage = 1;

  // Four bits a page: so many readers, or 15, a writer.
  class RangeLock {
   public:
    void take(std::uint64_t start, std::uint64_t end, bool shared) {
      for (;;) {
        Explored::await(Pause::spin, word_, relaxed,
                        [&](std::uint64_t v) { return is_free(v, start, end, shared); });
        std::uint64_t now = word_.load(relaxed);  // the exchange judges it
        if (!is_free(now, start, end, shared)) continue;
        if (word_.compare_exchange(now, now + bits(start, end, shared), acquire)) return;
      }
    }
    void leave(std::uint64_t start, std::uint64_t end, bool shared) {
      word_.fetch_add(~bits(start, end, shared) + 1, release);
    }

   private:
    static std::uint64_t bits(std::uint64_t start, std::uint64_t end, bool shared) {
      std::uint64_t all = 0;
      for (std::uint64_t p = start; p < end; ++p)
        all |= std::uint64_t{shared ? 1U : 15U} << (4 * p);
      return all;
    }
    static bool is_free(std::uint64_t v, std::uint64_t start, std::uint64_t end, bool shared) {
      for (std::uint64_t p = start; p < end; ++p) {
        const std::uint64_t page = v >> (4 * p) & 15;
        if (shared ? page == 15 : page != 0) return false;
      }
      return true;
    }
    Word word_;
  };
  using ListLock = RangeLock;
  using TreeLock = RangeLock;
  class Range {
   public:
    Range(RangeLock& lock, std::uint64_t start, std::uint64_t end, bool shared)
        : lock_(lock), start_(start), end_(end), shared_(shared) {
      lock_.take(start_, end_, shared_);
    }
    ~Range() { lock_.leave(start_, end_, shared_); }
    Range(const Range&) = delete;

   private:
    RangeLock& lock_;
    std::uint64_t start_, end_;
    bool shared_;
  };
  class RwLock {
   public:
    void lock() { all_.take(0, 1, false); }
    void unlock() { all_.leave(0, 1, false); }
    void lock_shared() { all_.take(0, 1, true); }
    void unlock_shared() { all_.leave(0, 1, true); }

   private:
    RangeLock all_;
  };
  using Lock = RwLock;
  using ChangeLock = Lock;
  using IndexLock = RwLock;
  static void take_when_zero(Word& word, std::uint64_t value) {
    for (std::uint64_t zero = 0; !word.compare_exchange(zero, value, acquire); zero = 0)
      Explored::await(Pause::spin, word, relaxed, [](std::uint64_t v) { return v == 0; });
  }
};

// Two levels; for designs that never write a region's bounds in place. Bounds are no atoms then, of
// which an execution may have 56, and the race detector watches them.
struct FixedBounds : ToyMachine<2> {
  class Bound {
   public:
    std::uint64_t load(std::memory_order) const { return value_.get(); }
    void store(std::uint64_t v, std::memory_order) { value_.set(v); }

   private:
    ExploredPlain<std::uint64_t> value_;
  };
};

constexpr std::uint64_t kHeap = 1;

struct Word : Step {
  bool forks = false, in_child = false;
};

Word parse(std::string word, std::uint64_t number) {
  Word op{};
  if (word[0] == 'c') {
    op.in_child = true;
    word.erase(0, 1);
  }
  op.forks = word[0] == 'F';
  char* rest = nullptr;
  op.start = std::strtoul(word.c_str() + 1, &rest, 10);
  op.end = *rest == '-' ? std::strtoul(rest + 1, &rest, 10) : op.start + 1;
  for (; *rest != 0; ++rest)
    op.protection |= *rest == 'r' ? kRead : kWrite;
  op.value = number;
  const char kind = word[0];
  op.kind = kind == 'R'   ? Step::read
            : kind == 'W' ? Step::write
            : kind == 'u' ? Step::unmap
            : kind == 'p' ? Step::protect
            : kind == 'd' ? Step::discard
            : kind == 'b' ? Step::brk
                          : Step::map;
  if (kind == 's' || kind == 'f') op.file = 0;
  op.shared = kind == 's';
  op.stack = kind == 'g';
  return op;
}

struct Script {
  const char* name;
  const char* first;  // before the threads begin
  std::vector<std::string> threads;
};

// The region that was found last is kept; pages may be large; stacks grow; reverse maps have to
// know of each region.
enum class Extra : std::uint8_t { none, kept, large, stacks, prepared };
// A stack has three pages at most, and leaves one below it free.
constexpr std::uint64_t kStackMost = 3, kStackGap = 1;

// The engine of a case, its child, its file and the threads' hands, whatever machine and design
// they have.
class Engines {
 public:
  virtual ~Engines() = default;
  // What is made is destroyed before more is made.
  virtual void make(Extra extra, std::size_t threads, bool forks) = 0;
  virtual void destroy() = 0;
  // By that thread; what is done in the child has one hand.
  virtual Result take(std::size_t thread, const Word& op) = 0;
  virtual std::vector<Model::Run> runs() = 0;
  virtual std::vector<Model::Run> child_runs() = 0;
  virtual bool has_strays() = 0;  // in one of both
  virtual bool is_prepared() = 0;
};

template <class M, template <class> class Design>
class EnginesOf final : public Engines {
  using Engine = Space<M, Design>;
  using Hand = typename Engine::Hand;

 public:
  void make(Extra extra, std::size_t threads, bool forks) override {
    file_ = new (file_bytes_) File<M>(first_of(0));
    engine_ = made(engine_bytes_);
    if constexpr (requires { engine_->sync().index().keep_last(); }) {
      if (extra == Extra::kept) engine_->sync().index().keep_last();
    }
    if (extra == Extra::large) engine_->use_large_pages();
    if (extra == Extra::stacks) engine_->use_stacks(kStackMost, kStackGap);
    if (extra == Extra::prepared) engine_->use_reverse_maps();
    threads_ = threads;
    for (std::size_t i = 0; i < threads; ++i)
      hands_[i] = new (hand_bytes_[i]) Hand(engine_->sync());
    child_ = nullptr;
    if (!forks) return;
    child_ = made(child_bytes_);
    child_hand_ = new (child_hand_bytes_) Hand(child_->sync());
  }
  void destroy() override {
    if (child_ != nullptr) {
      child_hand_->~Hand();
      child_->~Engine();
    }
    for (std::size_t i = 0; i < threads_; ++i)
      hands_[i]->~Hand();
    engine_->~Engine();
    file_->~File<M>();
  }
  Result take(std::size_t thread, const Word& op) override {
    if (op.in_child) return apply<Engine, M>(*child_, *child_hand_, op, &file_);
    if (!op.forks) return apply<Engine, M>(*engine_, *hands_[thread], op, &file_);
    engine_->fork_to(*hands_[thread], *child_);
    return {};
  }
  std::vector<Model::Run> runs() override { return runs_of<Engine, M>(*engine_, &file_, 1); }
  std::vector<Model::Run> child_runs() override { return runs_of<Engine, M>(*child_, &file_, 1); }
  bool has_strays() override {
    return engine_->strays() != 0 || (child_ != nullptr && child_->strays() != 0);
  }
  bool is_prepared() override { return engine_->unprepared() == 0; }

 private:
  static Engine* made(std::byte* bytes) {
    auto* e = new (bytes) Engine;
    e->begin_heap(kHeap);
    return e;
  }

  File<M>* file_ = nullptr;
  Engine* engine_ = nullptr;
  Engine* child_ = nullptr;
  Hand* child_hand_ = nullptr;
  std::size_t threads_ = 0;
  std::array<Hand*, kMaxThreads> hands_{};
  alignas(File<M>) std::byte file_bytes_[sizeof(File<M>)];
  alignas(Engine) std::byte engine_bytes_[sizeof(Engine)];
  alignas(Engine) std::byte child_bytes_[sizeof(Engine)];
  alignas(Hand) std::byte child_hand_bytes_[sizeof(Hand)];
  alignas(Hand) std::byte hand_bytes_[kMaxThreads][sizeof(Hand)];
};

// Makes the engines of a case.
using Maker = std::unique_ptr<Engines> (*)();
template <class M, template <class> class Design>
std::unique_ptr<Engines> engines_of() {
  return std::make_unique<EnginesOf<M, Design>>();
}

class World {
  struct Done {
    int thread;
    std::uint8_t when;  // in its thread's time
    Word op;
    Result result;
    std::vector<bool> before;  // which operations it knew of
  };
  struct Models {
    Model parent{kHeap}, child{kHeap};
    Files files;

    Result apply(const Word& op) {
      if (op.forks) child = parent;
      return op.forks ? Result{} : (op.in_child ? child : parent).apply(op, files);
    }
  };

 public:
  World(const Script& s, Extra extra, Maker engines) : engines_(engines()), extra_(extra) {
    first_ = words(s.first);
    for (const std::string& t : s.threads)
      threads_.push_back(words(t));
    for (const auto& t : threads_)
      for (const Word& op : t)
        forks_ = forks_ || op.forks;
  }
  void setup() {
    done_.clear();
    models_ = {};
    if (extra_ == Extra::stacks) models_.parent.use_stacks(kStackMost, kStackGap);
    engines_->make(extra_, threads_.size(), forks_);
    for (const Word& op : first_) {
      if (engines_->take(0, op) != models_.apply(op))
        machine.fail("what comes first is wrong already");
    }
  }
  void body(int thread) {
    const auto me = static_cast<std::size_t>(thread);
    for (const Word& op : threads_[me]) {
      Done d{thread, 0, op, {}, {}};
      for (const Done& o : done_)
        d.before.push_back(o.when <= machine.view().clock(o.thread));
      d.result = engines_->take(me, op);
      d.when = machine.view().clock(thread);
      machine.note("%llu-%llu: %d %llu", static_cast<unsigned long long>(op.start),
                   static_cast<unsigned long long>(op.end), d.result.ok,
                   static_cast<unsigned long long>(d.result.value));
      done_.push_back(d);
    }
  }
  void finish() {
    runs_ = engines_->runs();
    std::vector<bool> used(done_.size());
    if (forks_) child_runs_ = engines_->child_runs();
    if (!explained(models_, used, 0))
      machine.fail("no order of the operations gives these answers and these regions");
    if (engines_->has_strays()) machine.fail("an entry where no region is");
    if (extra_ == Extra::prepared && !engines_->is_prepared())
      machine.fail("reverse maps do not know of a region that has a page");
    engines_->destroy();
  }

 private:
  static std::vector<Word> words(const std::string& text) {
    std::vector<Word> all;
    std::istringstream in(text);
    static std::uint64_t number = 0;
    for (std::string word; in >> word;)
      all.push_back(parse(word, ++number));
    return all;
  }
  bool explained(const Models& models, std::vector<bool>& used, std::size_t count) {
    if (count == done_.size())
      return models.parent.runs() == runs_ && (!forks_ || models.child.runs() == child_runs_);
    for (std::size_t i = 0; i < done_.size(); ++i) {
      if (used[i]) continue;
      bool ready = true;
      for (std::size_t j = 0; j < done_[i].before.size(); ++j)
        ready = ready && (used[j] || !done_[i].before[j]);
      if (!ready) continue;
      Models next = models;
      if (next.apply(done_[i].op) != done_[i].result) continue;
      used[i] = true;
      const bool good = explained(next, used, count + 1);
      used[i] = false;
      if (good) return true;
    }
    return false;
  }

  const std::unique_ptr<Engines> engines_;
  std::vector<Word> first_;
  std::vector<std::vector<Word>> threads_;
  Extra extra_;
  bool forks_ = false;
  std::vector<Done> done_;
  std::vector<Model::Run> runs_, child_runs_;
  Models models_;
};

// For all designs; two levels.
const Script kScripts[] = {
    // A region is split while a fault is at it: the rest of it may seem unmapped (Bonsai, 5.2).
    {"split", "m0-4rw W3", {"u1-2", "W0 R3"}},
    // A fault fills an entry in a region that goes (5.2): the page must not come back.
    {"fill", "m0-4rw", {"u0-4", "W2 R2"}},
    {"refill", "m0-4rw", {"u0-4 m0-4r", "W2 R2"}},
    // A table goes while a fault is on its way into it (5.2): of the region that goes, of another.
    {"table", "m0-4rw W2 W0", {"u0-2", "W1 W2"}},
    {"table-beside", "m0-1r m1-2rw R0", {"u0-1", "W1 R1"}},
    {"fresh-table", "m0-2rw", {"W0 R1", "W1 R0"}},
    {"protect", "m0-4rw W1", {"p0-4r", "W1 R1"}},
    {"replace", "m0-4rw W1", {"f0-4rw", "R1 W1 R1"}},
    {"shared", "s0-4rw", {"W1 R1", "R1 W1"}},
    {"discard", "m0-4rw W1 W2", {"d0-4", "R1 R2"}},
    {"brk", "b3 W1", {"b2", "W2 R1"}},
    {"brk-twice", "b3", {"b2 W1", "b4 W3"}},
};
// Stacks that grow: twice at once, beside an operation on what it has or needs, or past its end.
// A stack grows before the access that made it grow, so another thread may find it grown already.
const Script kStackScripts[] = {
    {"stack", "g3-4rw", {"W1 R2", "W2 R1"}},        {"stack-unmap", "g2-4rw", {"W1 R1", "u1-3 R3"}},
    {"stack-map", "g3-4rw", {"W2 R1", "m1-2r R1"}}, {"stack-protect", "g2-4rw", {"W1 R1", "p2-4r"}},
    {"stack-limit", "g3-4rw", {"W2 R0", "W1"}},
};
// The first fault in a region has to make it known, and parts of one that was known are.
const Script kPreparedScripts[] = {
    {"prepare", "m0-4rw", {"W0 R1", "W2 R0"}},
    {"prepare-split", "m0-4rw W0", {"u1-2", "W0 W3"}},
    {"prepare-boundary", "m0-2rw m2-4r W1", {"p1-2r", "W0 R1"}},
    {"prepare-replaced", "m0-4rw", {"u0-4 m0-4rw", "W1 R1"}},
};
// Three threads.
const Script kThreeScripts[] = {
    // A fault beside two operations: one of its region, one of another, or both of its own.
    {"fault-beside-two", "m0-2rw m2-4rw W1", {"u0-2", "p2-4r", "W1 W3"}},
    {"fault-in-parts", "m0-4rw W3", {"u1-2", "p0-1r", "R3 W0"}},
    {"fault-in-turn", "m0-4rw W1", {"u0-4", "m0-2r", "R1 W1"}},
    // Two faults that fill, in one table or two, beside an operation that empties it.
    {"two-fill-one", "m0-2rw", {"u0-2", "W0 R1", "W1"}},
    {"two-fill", "m0-4rw", {"u0-4", "W1", "W2 R1"}},
    {"two-refill", "m0-4rw W1", {"d0-4", "R1 W0", "W1"}},
};
// The same, of designs that move bounds in place; three levels.
const Script kThreeInPlaceScripts[] = {
    {"boundary-fault-both", "m1-4r m4-7rw", {"p3-4rw", "p4-5r", "W4 R3"}},
    {"speculation-fault", "m1-3r m3-6rw", {"p2-3rw", "u4-6", "W3 W5"}},
    {"cut-fault", "m0-8rw W6", {"u0-2", "u6-8", "W2 R6"}},
    {"grow-fault", "m2-3rw m5-6rw", {"m3-4rw", "m4-5rw", "W3"}},
    // Visits of the page table in one another's way: each takes its tables out below the root.
    {"discards-fault", "m0-8rw W1 W4", {"d0-2", "d4-6", "W5 R1"}},
};
// Three levels: a table goes that is not a leaf.
const Script kDirectory = {"directory", "m0-2r m2-4rw R0", {"u0-2", "W2 R2"}};
// One level: a child has as many atoms as its parent, and an execution may have 56.
const Script kForkScripts[] = {
    // The child has what was written before the fork, and each its own after it.
    {"fork", "m0-2rw W0", {"F cR0 cW0 cR0", "W0 R0"}},
    {"fork-copies", "m0-2rw W0", {"F cW0", "R0 W0 R0"}},
    {"fork-shared", "s0-2rw W0", {"F cW0 cR0", "W0 R0"}},
    {"fork-leave", "m0-2rw W0", {"F cR0 cu0-2", "R0 u0-2"}},
    {"fork-unmap", "m0-2rw W1", {"F u0-2 cR1", "R1 W1"}},
};
// Two levels. What was written first may not be missing in the child when what came later is there.
const Script kForkFills = {"fork-fills", "m0-4rw W1 W3", {"F cR3 cR0", "W0 W3"}};
// The same with fewer atoms, for where regions stand in a Bonsai tree. The fork lets go of the root
// while it is in the first leaf, which is there for page 1.
const Script kSmallForkFills = {"fork-fills", "m0-3rw W1", {"F cR2 cR0", "W0 W2"}};
// For designs with locks alone, which move bounds in place; three levels.
const Script kInPlaceScripts[] = {
    // mprotect moves the boundary of two regions, beside another at the other end.
    {"boundaries", "m1-3r m3-6rw m6-8r", {"p2-3rw", "p6-7rw W6"}},
    // Both move the same boundary.
    {"boundary-twice", "m1-4r m4-7rw", {"p3-4rw", "p4-5r"}},
    {"boundary-fault", "m1-4r m4-7rw", {"p3-4rw W3", "W4 R3"}},
    {"speculation", "m1-3r m3-6rw", {"p2-3rw", "u1-6 m2-8r"}},
    {"speculation-split", "m1-3r m3-8rw", {"p2-3rw", "p5-6r"}},
    // Both change the tree, and their regions are far from each other.
    {"structures", "m0-2r m5-8rw", {"p0-1rw", "p6-7r"}},
    // A mapping continues one, and is cut off one, beside faults and other operations.
    {"grow", "m1-3rw", {"m3-5rw W4", "W3 R2"}},
    {"grow-to-meet", "m0-2rw m4-6rw", {"m2-3rw", "m3-4rw"}},
    {"grow-apart", "m2-3rw m5-6rw", {"m1-2rw W1", "m6-7rw W6"}},
    {"grow-over", "m1-3r m3-6rw W3", {"m3-4r R3", "W4 W3"}},
    {"cut", "m1-6rw W4", {"u4-6", "W4 R3"}},
    {"cut-both-ends", "m0-8rw", {"u0-2", "u6-8 W5"}},
    {"cut-and-protect", "m0-3rw m3-6r", {"u5-6", "p3-4rw W3"}},
    {"cut-off", "m1-4rw W2", {"u2-4", "p2-3r R2"}},
    // A directory whose other pages may be in use.
    {"discard-beside", "m0-8rw W4", {"d4-6", "W7 R7"}},
    {"heap-beside", "b4", {"b6 W5", "m6-8rw"}},
    {"heap-twice", "b5 W4", {"b4 b6", "b3 W2"}},
    {"heap-thrice", "b5", {"b6 W5", "b3 b2"}},
};
// With the region that was found last kept.
const Script kKeptScripts[] = {
    {"kept-replaced", "m0-2rw W1", {"u0-2 m0-1r", "R1 R0 W0"}},
    {"kept-boundary", "m0-2r m2-4rw R1 W3", {"p1-2rw W1", "W3 R1 W2"}},
};

// Large pages, of two pages each; two levels.
const Script kLargeScripts[] = {
    // A part of it goes while faults are at both; what is left has what it had.
    {"large-split", "m0-4rw W0 W1", {"u1-2", "W0 R1 R0"}},
    {"large-protect", "m0-2rw W0 W1", {"p1-2r", "W0 R1"}},
    // mprotect that allows more splits it, too.
    {"large-allow", "m0-2r R0", {"p1-2rw W1", "R0 W1"}},
    {"large-discard", "m0-2rw W0 W1", {"d1-2", "R1 R0"}},
    // All of it goes, and a fault may not bring it back.
    {"large-fill", "m0-4rw", {"u0-4", "W2 R3"}},
    {"large-refill", "m0-2rw W1", {"u0-2 m0-2r", "W0 R1"}},
    // Two faults make one.
    {"large-fresh", "m0-2rw", {"W0 R1", "W1 R0"}},
    // A region ends within one, and then has all of it.
    {"large-edge", "m0-3rw W2", {"W0 R2", "R3"}},
    {"large-whole", "m0-1rw W0", {"m1-2rw W1", "W0 R0"}},
    // A fault puts a table where another one is about to fill a large page.
    {"large-table", "m0-1rw", {"m1-2rw R1 W1", "W0 R0"}},
};
// The same; both change a part of one.
const Script kLargePartsScripts[] = {
    {"large-end", "m0-4rw W2", {"u3-4", "W2 R2"}},
    {"large-parts", "m1-3r m3-7rw W4 W5", {"p3-4r", "u6-7 W5"}},
    {"large-boundary", "m0-3r m3-8rw W5 W4", {"p3-5r R4", "W5 R5"}},
};
// A large page has four pages: an operation locks fewer than a fault that fills it.
const Script kLargeCut = {"large-cut", "m0-8rw", {"u7-8", "W4 R4"}};
const Script kLargeForks[] = {
    {"large-fork", "m0-2rw W0", {"F cR0 cW1 cR0", "W0 R0"}},
    {"large-fork-split", "m0-2rw W0 W1", {"F cu0-1 cW1", "R1 W1"}},
};
const Script kSmallLargeForks[] = {
    {"large-fork", "m0-2rw W0", {"F cR0 cW1", "W0"}},
    {"large-fork-split", "m0-2rw W1", {"F cu0-1 cR1", "W1"}},
};

void add_case(Cases& cases, const char* design, Maker engines, const Script& s,
              Extra extra = Extra::none) {
  Case c;
  c.name = std::string("address-space/") + design + '/' + s.name;
  c.threads = s.threads;
  c.bounds = {2, 1, 0, 0};
  c.quick_bounds = {1, 1, 0, 0};
  c.other = [&s, extra, engines] {
    const auto world = std::make_shared<World>(s, extra, engines);
    Scenario scenario;
    scenario.threads = static_cast<int>(s.threads.size());
    scenario.setup = [world] { world->setup(); };
    scenario.body = [world](int i) { world->body(i); };
    scenario.finish = [world] { world->finish(); };
    return scenario;
  };
  cases.push_back(std::move(c));
}

template <template <class> class Design>
void add_design(Cases& cases, const char* design) {
  using Wide = ToyMachine<3>;
  for (const Script& s : kScripts)
    add_case(cases, design, engines_of<ToyMachine<2>, Design>, s);
  for (const Script& s : kForkScripts)
    add_case(cases, design, engines_of<ToyMachine<1>, Design>, s);
  using Flat = ToyMachine<2>;
  constexpr bool kHasBonsai = std::is_same_v<typename Design<Flat>::Index, RcuIndex<Flat>>;
  using Fixed = std::conditional_t<kHasBonsai, FixedBounds, Flat>;  // or some have too many atoms
  add_case(cases, design, engines_of<Fixed, Design>, kHasBonsai ? kSmallForkFills : kForkFills);
  for (const Script& s : kStackScripts)
    add_case(cases, design, engines_of<Fixed, Design>, s, Extra::stacks);
  for (const Script& s : kPreparedScripts)
    add_case(cases, design, engines_of<Fixed, Design>, s, Extra::prepared);
  for (const Script& s : kThreeScripts)
    add_case(cases, design, engines_of<Flat, Design>, s);
  add_case(cases, design, engines_of<Wide, Design>, kDirectory);
  for (const Script& s : kLargeScripts)
    add_case(cases, design, engines_of<Flat, Design>, s, Extra::large);
  for (const Script& s : kHasBonsai ? kSmallLargeForks : kLargeForks)
    add_case(cases, design, engines_of<Fixed, Design>, s, Extra::large);
  if constexpr (Design<Wide>::kInPlace) {
    for (const Script& s : kInPlaceScripts)
      add_case(cases, design, engines_of<Wide, Design>, s);
    for (const Script& s : kThreeInPlaceScripts)
      add_case(cases, design, engines_of<Wide, Design>, s);
    for (const Script& s : kLargePartsScripts)
      add_case(cases, design, engines_of<Wide, Design>, s, Extra::large);
    add_case(cases, design, engines_of<ToyMachine<2, 2>, Design>, kLargeCut, Extra::large);
    for (const Script& s : kKeptScripts)
      add_case(cases, design, engines_of<ToyMachine<2>, Design>, s, Extra::kept);
  }
}

}  // namespace

void add_address_space_cases(Cases& cases) {
#define DESIGN(name, Class) add_design<Class>(cases, name);
#include "address_space/designs.def"
#undef DESIGN
}

}  // namespace lockswap::explore
