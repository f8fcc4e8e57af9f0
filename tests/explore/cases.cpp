#include "cases.h"

#include <algorithm>
#include <iterator>

#include "lock_under_test.h"
#include "locks/rw/ba.h"
#include "locks/rw/cohort.h"
#include "locks/rw/per-cpu.h"
#include "locks/rw/pf-t.h"
#include "locks/rw/pthread.h"
#include "locks/rw/rlu.h"
#include "wait/park.h"
#include "wait/spin.h"
#include "wait/yield.h"

namespace lockswap::explore {
namespace {

struct Script {
  const char* name;
  std::vector<std::string> threads;
};

// Each lock, each wait policy.
const Script kGeneral[] = {
    {"1w2r", {"W u", "R u", "R u"}},
    {"2w1r", {"W u", "W u", "R u"}},
    {"3w", {"W u", "W u", "W u"}},
    {"twice", {"W u W u", "R u R u"}},
    {"try-read", {"W u", "tryR u", "R u"}},
    {"try-write", {"W u", "tryW u", "R u"}},
    {"try-write-2", {"tryW u", "tryW u", "R u"}},
    {"timed-read", {"W u", "timedR u", "R u"}},
    {"timed-read-2w", {"W u", "W u", "timedR u"}},
    {"timed-write", {"W u", "timedW u", "R u"}},
    {"timed-write-r", {"timedW u", "R u", "R u"}},
    {"timed-write-2", {"timedW u", "timedW u", "R u"}},
    // Who must time out: the other waits until it has.
    {"timed-read-out", {"W +1 ?2 u", "?1 timedR! +2"}},
    {"timed-write-out", {"W +1 ?2 u", "?1 timedW! +2"}},
    {"timed-write-out-r", {"R +1 ?2 u", "?1 timedW! +2"}},
    // Nobody may sleep on a free lock until the deadline.
    {"far-1w1r", {"W u", "farR u"}},
    {"far-2w", {"W u", "farW u"}},
    {"far-1r1w", {"R u", "farW u"}},
    // What is free must be had, also by a try and by one who comes late.
    {"idle", {"tryW=0 u tryR=0 u lateW=0 u lateR=0 u +1", "?1 tryW=0 u lateR=0 u"}},
    {"late", {"W u", "lateR u", "lateW u"}},
    {"exit", {"R u W u exit W u R u", "W u R u"}},
};
constexpr const char* kEach[] = {"1w2r", "2w1r"};  // of these, for every lock and wait policy

// Too many threads for all executions.
const Script kMany[] = {
    {"4t", {"W u W u", "W u", "R u R u", "R u"}},
    {"4t-timed", {"W u", "timedW u", "tryR u R u", "timedR u"}},
    {"5t", {"W u", "W u R u", "R u", "R u", "timedR u"}},
    {"6t", {"W u", "W u", "R u R u", "R u", "tryW u", "timedR u"}},
};
// Both readers on one of the two CPUs or nodes.
const Script kSamePlace = {"same-place", {"R u", "W u", "R u"}};
// A reader of the first CPU waits for a writer that gives up at the second one, where there is a
// hold. Another thread releases that hold, and writers come round to the reader's phase.
const Script kComesRound = {"foreign-comes-round",
                            {"?1 lateW u free lateW u lateW u", "R +1", "?1 timedR u"}};
constexpr Bounds kComesRoundBounds{2, 0, 0, 1, 0};
// Who ends with `destroy` knows that the other has the lock or had it.
const Script kDestroy[] = {
    {"destroy-after-w", {"W +1 u", "?1 W u destroy"}},
    {"destroy-after-r", {"R +1 u", "?1 W u destroy"}},
    {"destroy-by-r", {"W +1 u", "?1 R u destroy"}},
    {"destroy-timed", {"W +1 u", "?1 timedW u W u destroy"}},
};
// What the contract of POSIX adds.
const Script kContract[] = {
    {"recursive", {"R R u x u", "W u"}},
    {"recursive-3", {"R R u x u", "W u", "R u"}},
    {"recursive-deep", {"R R R u x u u", "W u"}},
    {"recursive-try", {"R tryR=0 u x u", "W u"}},
    {"recursive-timed-w", {"R R u x u", "timedW u"}},
    {"recursive-try-w", {"R R u x u", "tryW u"}},
    // A reads, B releases it.
    {"foreign", {"R +1", "?1 free", "W u"}},
    {"foreign-beside", {"R +1", "?1 free", "R u"}},
    {"foreign-of-extra", {"R +1", "?1 free", "R R u x u"}},
    // BRAVO: a reader publishes itself late, when the writer has come and gone; the release by
    // another thread takes its slot for the hold that it means.
    {"foreign-back-out", {"W u +2 ?1 free", "?2 R +1", "R u"}},
    // A reads, B releases that, C writes, A reads: A has a stale record and waits.
    {"foreign-stale", {"R +1 ?2 R u", "?1 free +2", "W u"}},
    {"foreign-stale-w", {"R +1 ?3 R u", "?1 free +2", "?2 W +3 x u"}},
    // A has a stale record and releases a writer's hold.
    {"foreign-stale-write", {"R +1 ?3 free", "?1 free +2", "?2 W +3"}},
    // A reads twice, B releases one.
    {"foreign-one-of-two", {"R R +1 x u", "?1 free", "W u"}},
    // B's release races a recursive read and its release.
    {"foreign-races-recursion", {"R +1 R x u", "?1 free", "W u"}},
    {"foreign-races-recursion-2", {"R +1 R u x ?2", "?1 free +2"}},
    // B releases A's hold while others read, fast or slow.
    {"foreign-beside-reader", {"R +1", "?1 free", "R x u", "W u"}},
    {"foreign-beside-recursion", {"R +1", "?1 free", "R R u x u", "W u"}},
    {"foreign-then-timed", {"R +1", "?1 free", "timedW u", "timedR u"}},
    {"foreign-write", {"W +1", "?1 free", "R u"}},
    // The lock dies with the stale record about it; another is born at its address.
    {"foreign-reborn", {"R +1 ?2 R x u", "?1 free destroy init +2", "?2 W x u"}},
    {"foreign-reborn-2", {"R R +1 ?2 R u", "?1 free free destroy init +2 W u"}},
    {"foreign-try", {"R +1 ?2 tryR u", "?1 free +2", "tryW u"}},
    {"foreign-destroy", {"R +1", "?1 free +2", "?2 W u destroy"}},
    // A lock that is made anew while it is held is free.
    {"remade", {"R init tryW=0 u R u +1", "?1 tryW=0 u R u"}},
    // The thread that acquired has ended; in its place, with its slot, is another.
    {"exit-reading", {"R +1 exit R u", "?1 free W u"}},
    {"exit-reading-3", {"R +1 exit ?2 R u", "?1 free +2", "W u"}},
    {"exit-writing", {"W +1 exit R u", "?1 free"}},
};
// In a forked child: what stays, and who is gone. The other threads are anywhere.
const Script kFork[] = {
    {"fork-reader", {"fork tryW u tryR u tryW u", "R u R u"}},
    {"fork-writer", {"fork tryR u tryW u", "W u W u"}},
    {"fork-1w1r", {"fork tryW u tryR u", "W u", "R u"}},
    {"fork-2w", {"fork tryR u tryW u", "W u", "W u"}},
    {"fork-timed", {"fork tryW u tryR u", "W u", "timedR u"}},
    {"fork-timed-w", {"fork tryW u tryR u", "R u", "timedW u"}},
    {"fork-recursive", {"fork tryW u tryR u", "R R u u", "W u"}},
    {"fork-hold", {"R fork R tryW! u u u tryW u", "W u", "R u"}},
    {"fork-hold-2w", {"R fork tryR=0 tryW! u u u tryW=0 u", "W u", "W u"}},
    {"fork-hold-timed", {"R fork u tryW u tryR u", "timedW u", "timedR u"}},
    {"fork-hold-stays", {"R +2 ?1 fork tryW! u u tryW! u tryR=0 u tryW!", "?2 R +1", "?1 W u"}},
    // Nobody else can hold what the survivor writes.
    {"fork-write", {"W fork x u W u R u", "R u", "W u"}},
    {"fork-write-1r", {"W fork u W u", "R u"}},
    {"fork-write-2r", {"W fork u W u R u", "R u", "R u"}},
    {"fork-write-2w", {"W fork u R u W u", "W u", "W u"}},
    {"fork-write-timed", {"W fork u W u R u", "timedR u", "timedW u"}},
    // Threads of the child come to the lock at once.
    {"fork-crowd-w", {"W fork u W u", "R u | W u R u", "W u | R u"}},
    {"fork-crowd-r", {"R fork u", "W u | tryW u tryR u", "R u | tryR u"}},
    {"fork-crowd", {"fork", "W u | tryW u", "R u | tryW u tryR u"}},
    // While the child's threads clear it up, it forks again.
    {"fork-again", {"fork fork tryW u tryR u", "R u | tryR u", "W u | tryW u"}},
    {"fork-again-w", {"W fork fork u W u R u", "R u | tryR! u timedW!", "W u | tryW!"}},
    {"fork-again-r", {"R fork fork u tryW u", "W u | tryW! u tryR u", "R u"}},
    // A release by another thread, before and after.
    {"fork-foreign", {"R +1 ?2 fork tryR u tryW u", "?1 free +2 W u", "R u"}},
    {"fork-foreign-w", {"R +1 ?2 W fork u W u", "?1 free +2 R u", "?2 W u"}},
    {"fork-foreign-r", {"R +1 ?2 fork tryR u tryW u", "?1 free +2", "?2 W u"}},
    // What an earlier writer has told is not what the one has to tell that has just come: one with
    // the same node; one in the child.
    {"fork-recorded", {"?3 fork tryW!", "W u +1 ?3 W u", "?1 R +3"}},
    {"fork-recorded-again", {"R +1 fork ?3 fork u tryW!", "?1 W u | ?3 timedW u", "| R +3"}},
    {"fork-init", {"R fork init W u R u", "W u", "R u"}},
};
// Nobody has used it: another thread is about to adopt it.
const Script kForkNew = {"fork-new", {"fork tryW u tryR u", "R u", "W u | tryR u"}};
// The same over glibc's lock, of which only what it does itself can be asked.
constexpr const char* kForkSystems[] = {"fork-reader", "fork-recursive", "fork-hold-stays",
                                        "fork-write",  "fork-crowd-w",   "fork-again-w"};
const Script kManyContract[] = {
    {"4t-recursive", {"R R u u", "R u R R u u", "W u", "timedW u"}},
    {"4t-foreign", {"R +1 R u", "?1 free R u", "W u", "R u"}},
};

// Whether the lock is gone at the end.
bool destroys(const Script& s) {
  for (const std::string& t : s.threads) {
    if (t.ends_with("destroy")) return true;
  }
  return false;
}

// How far to go: the full run, and the one with each change.
constexpr Bounds kFull{2, 2, 1, 1};
constexpr Bounds kSmall{1, 1, 1, 1};
constexpr Bounds kSmallLarge{1, 1, 0, 1};
constexpr Bounds kSmallLargeFork{1, 0, 0, 1, 0};
static_assert(kFull.preemptions >= 2 && kFull.stale >= 2);

class Builder {
 public:
  // A lock of the registry, and the same under BRAVO. Name: lock/wait policy.
  template <template <class, class> class Core, template <class> class Wait>
  void add(const std::string& name) {
    static CoreLock<Core, Wait> core;
    static ContractLock<Core, Wait, Over::direct> contract;
    is_large_ = requires { &Core<Explored, Wait<Explored>>::block_bytes; };
    has_tokens_ = ReadTokens<Core<Explored, Wait<Explored>>>::kHasTokens;
    for (const Script& s : kGeneral)
      add_case("core/" + name, &core, s);
    for (const Script& s : kDestroy)
      add_case("core/" + name, &core, s);
    // A reader that gets into BA's queue as the writer leaves it: four preemptions. Where reads
    // have tokens these are too many executions.
    if (!has_tokens_) {
      Case& deep = add_case("core/" + name, &core, {"1w2r-deep", general("1w2r").threads});
      deep.bounds = {4, 2, 1, 1};
      deep.quick_bounds = {4, 1, 0, 0};
    }
    for (const Script& s : kMany)
      add_case("core/" + name, &core, s).sampled = true;
    add_each<Core, Wait>(name);
    if (is_large_) add_case("core/" + name, &core, kSamePlace);
    for (const Script& s : kContract)
      add_case(name, &contract, s);
    for (const Script& s : kDestroy)
      add_case(name, &contract, s);
    if (is_large_) add_case(name, &contract, kComesRound).quick_bounds = kComesRoundBounds;
    for (const Script& s : kManyContract)
      add_case(name, &contract, s).sampled = true;
    for (const char* script : kEach)
      add_case(name + "-zeroed", &contract, general(script)).zeroed = true;
    for (const Script& s : kFork)
      add_case(name, &contract, s);
    add_case(name + "-zeroed", &contract, kForkNew).zeroed = true;
    add_bravo<Core, Wait>("bravo-" + name);
    add_bravo_forks<Core, Wait, Over::bravo>("bravo-" + name);
    is_large_ = has_tokens_ = false;
  }
  // The core alone, of a lock that differs from another one there.
  template <template <class, class> class Core, template <class> class Wait>
  void add_core(const std::string& name) {
    static CoreLock<Core, Wait> core;
    is_large_ = requires { &Core<Explored, Wait<Explored>>::block_bytes; };
    for (const Script& s : kGeneral)
      add_case("core/" + name, &core, s);
    for (const Script& s : kDestroy)
      add_case("core/" + name, &core, s);
    for (const Script& s : kMany)
      add_case("core/" + name, &core, s).sampled = true;
    add_each<Core, Wait>(name);
    is_large_ = false;
  }
  // The least that a lock and a wait policy need.
  template <template <class, class> class Core, template <class> class Wait>
  void add_each(const std::string& name) {
    static ContractLock<Core, Wait, Over::direct> contract;
    for (const char* script : kEach)
      add_case(name, &contract, general(script));
  }
  template <template <class, class> class Core, template <class> class Wait,
            Over kOver = Over::bravo>
  void add_each_bravo(const std::string& name) {
    static ContractLock<Core, Wait, kOver> bravo;
    is_asym_ = kOver == Over::bravo_asym;
    is_large_ = requires { &Core<Explored, Wait<Explored>>::block_bytes; };
    has_tokens_ = ReadTokens<Core<Explored, Wait<Explored>>>::kHasTokens;
    for (const char* script : kEach)
      add_biased(name, &bravo, general(script));
    is_asym_ = is_large_ = has_tokens_ = false;
  }
  // The same BRAVO over another lock, with readers in rows.
  template <template <class, class> class Core>
  void add_each_bravo_asym(const std::string& name) {
    add_each_bravo<Core, Spin, Over::bravo_asym>(name + "/spin");
    add_each_bravo<Core, Yield, Over::bravo_asym>(name + "/yield");
    add_each_bravo<Core, Park, Over::bravo_asym>(name + "/park");
  }
  template <template <class, class> class Core, template <class> class Wait>
  void add_bravo_asym(const std::string& name) {
    is_asym_ = true;
    add_bravo<Core, Wait, Over::bravo_asym>(name);
    add_bravo_forks<Core, Wait, Over::bravo_asym>(name);
    is_asym_ = false;
  }
  template <template <class, class> class Core, template <class> class Wait, Over kOver>
  void add_bravo_forks(const std::string& name) {
    static ContractLock<Core, Wait, kOver> bravo;
    for (const Script& s : kFork) {
      // A second block would be too many atoms for an execution.
      if (!is_large_ || s.name != std::string("fork-init")) add_biased(name, &bravo, s);
    }
    for (const char* script : {"fork-1w1r", "fork-write", "fork-crowd-w"}) {
      add_biased(name + "-cold", &bravo, fork(script)).biased = false;
    }
  }
  template <template <class, class> class Core, template <class> class Wait,
            Over kOver = Over::bravo>
  void add_bravo(const std::string& name) {
    static ContractLock<Core, Wait, kOver> bravo;
    for (const Script& s : kGeneral)
      add_biased(name, &bravo, s);
    for (const Script& s : kDestroy)
      add_biased(name, &bravo, s);
    for (const Script& s : kContract)
      add_biased(name, &bravo, s);
    for (const Script& s : kMany)
      add_biased(name, &bravo, s).sampled = true;
    for (const Script& s : kManyContract)
      add_biased(name, &bravo, s).sampled = true;
    for (const char* script : kEach) {
      const Script& s = general(script);
      // Readers that want the same slot; a lock whose bias is off; one that nobody initialised; a
      // bias that stays off for a while.
      add_biased(name + "-ticks", &bravo, s).ticks = true;
      if (!is_asym_) add_biased(name + "-collide", &bravo, s).slots = {0, 1, 1, 1};
      add_biased(name + "-cold", &bravo, s).biased = false;
      Case& zeroed = add_biased(name + "-zeroed", &bravo, s);
      zeroed.biased = false;
      zeroed.zeroed = true;
    }
    if constexpr (std::is_same_v<Core<Explored, Wait<Explored>>,
                                 Pthread<Explored, Wait<Explored>>>) {
      for (const char* script : kForkSystems)
        add_biased(name, &bravo, fork(script));
    }
    // Two readers at once find a lock whose bias never was on.
    add_biased(name + "-cold", &bravo, {"start", {"R u R u", "R u", "W u"}}).biased = false;
  }

  std::vector<Case> take() { return std::move(cases_); }

 private:
  static const Script& general(const std::string& name) {
    return *std::find_if(std::begin(kGeneral), std::end(kGeneral),
                         [&](const Script& s) { return name == s.name; });
  }
  static const Script& fork(const std::string& name) {
    return *std::find_if(std::begin(kFork), std::end(kFork),
                         [&](const Script& s) { return name == s.name; });
  }
  // With a state on each CPU or node two threads are many; under BRAVO also with tokens of two
  // kinds.
  Bounds quick_bounds(const std::string& lock_name, const Script& s) const {
    const bool many = is_large_ || (has_tokens_ && lock_name.starts_with("bravo-"));
    if (!many) return s.threads.size() > 2 ? kSmall : kFull;
    if (lock_name.starts_with("core/")) return kSmall;
    return std::string(s.name).starts_with("fork") ? kSmallLargeFork : kSmallLarge;
  }
  Case& add_case(const std::string& lock_name, LockUnderTest* lock, const Script& s) {
    cases_.push_back({.name = lock_name + '/' + s.name,
                      .lock = lock,
                      .threads = s.threads,
                      .bounds = kFull,
                      .quick_bounds = quick_bounds(lock_name, s),
                      .sampled = false,
                      .slots = {},
                      .biased = false,
                      .ticks = false,
                      .zeroed = false,
                      .destroys = destroys(s)});
    return cases_.back();
  }
  Case& add_biased(const std::string& lock_name, LockUnderTest* lock, const Script& s) {
    Case& c = add_case(lock_name, lock, s);
    if (!is_asym_) c.slots = {0, 1, 2, 3, 0, 1};
    c.biased = true;
    if (is_large_) c.quick_bounds.moves = 0;  // without BRAVO they move
    return c;
  }

  std::vector<Case> cases_;
  bool is_large_ = false;    // its state is a block beside it
  bool has_tokens_ = false;  // its reads have tokens
  bool is_asym_ = false;     // its fast readers have rows, not slots
};

}  // namespace

std::vector<Case> all_cases() {
  Builder b;
  b.add<PfT, Spin>("pf-t/spin");
  b.add<PfT, Park>("pf-t/park");
  b.add<Ba, Spin>("ba/spin");
  b.add<Ba, Park>("ba/park");
  b.add<CohortRw, Spin>("cohort/spin");
  b.add<CohortRw, Park>("cohort/park");
  // Here the same as cohort: writers in a row are one.
  b.add_each<CohortRwNeutral, Spin>("cohort-n/spin");
  b.add_each<CohortRwNeutral, Park>("cohort-n/park");
  b.add_core<CohortRwReaders, Spin>("cohort-rp/spin");
  b.add_core<CohortRwReaders, Park>("cohort-rp/park");
  b.add<PerCpu, Spin>("per-cpu/spin");
  b.add<PerCpu, Park>("per-cpu/park");
  b.add<Rlu, Spin>("rlu/spin");
  b.add<Rlu, Park>("rlu/park");
  b.add<RluAsym, Spin>("rlu-asym/spin");
  b.add<RluAsym, Park>("rlu-asym/park");
  // The same source as spin but for what the processor does meanwhile.
  b.add_each<PfT, Yield>("pf-t/yield");
  b.add_each<Ba, Yield>("ba/yield");
  b.add_each<CohortRw, Yield>("cohort/yield");
  b.add_each<CohortRwNeutral, Yield>("cohort-n/yield");
  b.add_each<CohortRwReaders, Yield>("cohort-rp/yield");
  b.add_each<PerCpu, Yield>("per-cpu/yield");
  b.add_each<Rlu, Yield>("rlu/yield");
  b.add_each<RluAsym, Yield>("rlu-asym/yield");
  b.add_each_bravo<PfT, Yield>("bravo-pf-t/yield");
  b.add_each_bravo<Ba, Yield>("bravo-ba/yield");
  b.add_each_bravo<CohortRw, Yield>("bravo-cohort/yield");
  b.add_each_bravo<PerCpu, Yield>("bravo-per-cpu/yield");
  b.add_each_bravo<Rlu, Yield>("bravo-rlu/yield");
  b.add_each_bravo<RluAsym, Yield>("bravo-rlu-asym/yield");
  b.add_bravo_asym<PfT, Spin>("bravo-asym-pf-t/spin");
  b.add_bravo_asym<PfT, Park>("bravo-asym-pf-t/park");
  b.add_each_bravo<PfT, Yield, Over::bravo_asym>("bravo-asym-pf-t/yield");
  b.add_each_bravo_asym<Ba>("bravo-asym-ba");
  b.add_each_bravo_asym<CohortRw>("bravo-asym-cohort");
  b.add_each_bravo_asym<PerCpu>("bravo-asym-per-cpu");
  b.add_each_bravo_asym<Rlu>("bravo-asym-rlu");
  b.add_each_bravo_asym<Pthread>("bravo-asym-pthread");
  // glibc's lock is a model here; how it waits is its own affair, so the policy is BRAVO's.
  b.add_bravo<Pthread, Spin>("bravo-pthread/spin");
  b.add_bravo<Pthread, Park>("bravo-pthread/park");
  b.add_each_bravo<Pthread, Yield>("bravo-pthread/yield");
  std::vector<Case> cases = b.take();
  std::ranges::move(range_cases(), std::back_inserter(cases));
  add_mutex_cases(cases);
  add_block_cases(cases);
  return cases;
}

}  // namespace lockswap::explore
