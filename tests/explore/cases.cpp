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
    // A reads, B releases that, C writes, A reads: A has a stale record and waits.
    {"foreign-stale", {"R +1 ?2 R u", "?1 free +2", "W u"}},
    {"foreign-stale-w", {"R +1 ?3 R u", "?1 free +2", "?2 W +3 x u"}},
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
    {"foreign-destroy", {"R +1", "?1 free +2", "?2 W u destroy"}},
};

bool destroys(const Script& s) {
  for (const std::string& t : s.threads) {
    if (t.find("destroy") != std::string::npos) return true;
  }
  return false;
}

class Builder {
 public:
  void add(const std::string& lock_name, LockUnderTest* lock, const Script& s, Bounds bounds = {},
           std::vector<int> slots = {}, bool biased = false) {
    cases_.push_back({.name = lock_name + '/' + s.name,
                      .lock = lock,
                      .threads = s.threads,
                      .bounds = bounds,
                      .slots = std::move(slots),
                      .biased = biased,
                      .destroys = destroys(s)});
  }

  template <template <class, class> class Core, template <class> class Wait>
  void of_core(const std::string& name) {
    static CoreLock<Core, Wait> lock;
    for (const Script& s : kGeneral)
      add("core/" + name, &lock, s);
    for (const Script& s : kDestroy)
      add("core/" + name, &lock, s);
  }
  template <template <class, class> class Core, template <class> class Wait>
  void of_contract(const std::string& name) {
    static ContractLock<Core, Wait, false> lock;
    static ContractLock<Core, Wait, true> bravo;
    for (const Script& s : kContract)
      add(name, &lock, s);
    for (const Script& s : kDestroy)
      add(name, &lock, s);
    for (const auto* scripts : {&kGeneral}) {
      for (const Script& s : *scripts)
        add("bravo-" + name, &bravo, s, {}, {0, 1, 2, 3}, true);
    }
    for (const Script& s : kDestroy)
      add("bravo-" + name, &bravo, s, {}, {0, 1, 2, 3}, true);
    for (const Script& s : kContract)
      add("bravo-" + name, &bravo, s, {}, {0, 1, 2, 3}, true);
    // Two readers that want the same slot; and a lock whose bias is off.
    for (const Script& s : {kGeneral[0], kGeneral[1]}) {
      add("bravo-" + name + "-collide", &bravo, s, {}, {0, 1, 1, 1}, true);
      add("bravo-" + name + "-cold", &bravo, s, {}, {0, 1, 2, 3}, false);
    }
  }

  std::vector<Case> take() { return std::move(cases_); }

 private:
  std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> all_cases() {
  Builder b;
  b.of_core<PfT, Spin>("pf-t/spin");
  b.of_core<PfT, Park>("pf-t/park");
  b.of_core<Ba, Spin>("ba/spin");
  b.of_core<Ba, Park>("ba/park");
  b.of_contract<PfT, Spin>("pf-t/spin");
  b.of_contract<PfT, Park>("pf-t/park");
  b.of_contract<Ba, Spin>("ba/spin");
  b.of_contract<Ba, Park>("ba/park");
  return b.take();
}

}  // namespace lockswap::explore
