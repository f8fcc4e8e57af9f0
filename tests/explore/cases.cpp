#include "cases.h"

#include "locks/rw/ba.h"
#include "locks/rw/pf-t.h"
#include "wait/park.h"
#include "wait/spin.h"

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
};
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

class Builder {
 public:
  template <template <class, class> class Core, template <class> class Wait>
  void add(const std::string& name) {
    static CoreLock<Core, Wait> core;
    static ContractLock<Core, Wait, false> contract;
    static ContractLock<Core, Wait, true> bravo;
    for (const Script& s : kGeneral)
      add_case("core/" + name, &core, s);
    for (const Script& s : kDestroy)
      add_case("core/" + name, &core, s);
    for (const Script& s : kContract)
      add_case(name, &contract, s);
    for (const Script& s : kDestroy)
      add_case(name, &contract, s);
    for (const Script& s : kGeneral)
      add_biased("bravo-" + name, &bravo, s, {0, 1, 2, 3});
    for (const Script& s : kDestroy)
      add_biased("bravo-" + name, &bravo, s, {0, 1, 2, 3});
    for (const Script& s : kContract)
      add_biased("bravo-" + name, &bravo, s, {0, 1, 2, 3});
    for (const Script& s : {kGeneral[0], kGeneral[1]}) {
      add_case(name + "-zeroed", &contract, s).zeroed = true;
      // Readers that want the same slot; a lock whose bias is off; one that nobody initialised.
      add_biased("bravo-" + name + "-collide", &bravo, s, {0, 1, 1, 1});
      add_biased("bravo-" + name + "-cold", &bravo, s, {0, 1, 2, 3}).biased = false;
      Case& zeroed = add_biased("bravo-" + name + "-zeroed", &bravo, s, {0, 1, 2, 3});
      zeroed.biased = false;
      zeroed.zeroed = true;
    }
  }

  std::vector<Case> take() { return std::move(cases_); }

 private:
  Case& add_case(const std::string& lock_name, LockUnderTest* lock, const Script& s) {
    cases_.push_back({.name = lock_name + '/' + s.name,
                      .lock = lock,
                      .threads = s.threads,
                      .bounds = kFull,
                      .quick_bounds = s.threads.size() > 2 ? kSmall : kFull,
                      .large = s.threads.size() > 3,
                      .slots = {},
                      .biased = false,
                      .zeroed = false,
                      .destroys = destroys(s)});
    return cases_.back();
  }
  Case& add_biased(const std::string& lock_name, LockUnderTest* lock, const Script& s,
                   std::vector<int> slots) {
    Case& c = add_case(lock_name, lock, s);
    c.slots = std::move(slots);
    c.biased = true;
    return c;
  }

  std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> all_cases() {
  Builder b;
  b.add<PfT, Spin>("pf-t/spin");
  b.add<PfT, Park>("pf-t/park");
  b.add<Ba, Spin>("ba/spin");
  b.add<Ba, Park>("ba/park");
  return b.take();
}

}  // namespace lockswap::explore
