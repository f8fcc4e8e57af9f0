// The cases of range locks. Pools of one node, so that each node is used again as soon as it may.
#include "cases.h"
#include "range_script.h"
#include "wait/park.h"
#include "wait/spin.h"
#include "wait/yield.h"

namespace lockswap::explore {
namespace {

constexpr Bounds kFull{2, 2, 1, 1};
constexpr Bounds kSmall{1, 1, 1, 1};
// A node in use is found by two switches: to the thread that walks, and away from it.
constexpr Bounds kWalk{2, 1, 0, 0};
// The queue has many steps.
constexpr Bounds kQueue{1, 0, 0, 1};

struct Script {
  const char* name;
  std::vector<std::string> threads;
  Bounds quick = kSmall;
};

// Exclusive ranges alone: for list-ex and list-rw.
const Script kExclusive[] = {
    {"overlap", {"E0-4 u", "E2-6 u"}},
    {"overlap-3", {"E0-4 u", "E2-6 u", "E3-5 u"}},
    {"twice", {"E0-4 u E0-4 u", "E2-6 u E2-6 u"}},
    {"thrice", {"E0-2 u E0-2 u E0-2 u", "E0-2 u"}},
    // Ranges that touch do not wait for each other.
    {"adjacent", {"E0-2 +1 ?2 u", "?1 E2-4 +2 u"}},
    {"adjacent-before", {"E2-4 +1 ?2 u", "?1 E0-2 +2 u"}},
    // The paper's A, B, C (section 3): C does not wait for B.
    {"abc", {"E1-4 +1 ?2 u", "?1 E2-8 u", "?1 E4-6 +2 u"}},
    {"hold-two", {"E4-6 E0-2 u u", "E0-6 u"}},
    {"hold-two-crossed", {"E0-2 E4-6 U u", "E1-5 u"}},
    {"own", {"E2-4 E3-5=dead E1-3=dead E0-2=0 tryE2-3=busy E4-6=0 u u u u u u", "E0-6 u"}},
    {"try", {"E0-4 u", "tryE2-6 u", "E4-6 u"}},
    {"try-free", {"tryE0-4=0 u tryE2-6=0 u lateE0-1=0 u +1", "?1 tryE0-4=0 u"}},
    {"timed", {"E0-4 u", "timedE2-6 u", "E0-2 u"}},
    {"timed-out", {"E0-4 +1 ?2 u", "?1 timedE2-6=late +2"}},
    {"late", {"E0-4 u", "lateE2-6 u"}},
    // The list is not empty, so nodes are marked, walked by and used again.
    {"recycle", {"E8-9 E0-1 u E2-3 u E0-1 u u", "E4-5 u"}, kWalk},
    // [0, 1) is taken out by a walk that changes nothing else at that place.
    {"recycle-later", {"E8-9 E0-1 u E10-11 u E0-1 u u", "E4-5 u"}, kWalk},
    // The node that is used again is not the first one that a walk comes to.
    {"recycle-behind", {"E0-1 E8-9 E2-3 u E3-4 u E2-3 u u u", "E4-5 u"}, kWalk},
    // It is used again in another lock, whose user never comes back to the first one's list.
    {"recycle-two-locks", {"E8-9 E0-1 u ?1 E10-11 u 2E4-5 u u", "+1 E4-5 u"}, kWalk},
    // A thread looks for ranges of its own before it waits.
    {"recycle-refusal",
     {"E2-3 E3-4 E4-5 u +1 ?2 E5-6 u E4-5 u u u", "E10-11 ?1 +2 E2-8 u u"},
     kWalk},
    // A walk that leaves nothing behind but its end.
    {"recycle-try", {"E8-9 E0-1 u E2-3 u E0-1 u u", "tryE0-2 u"}, kWalk},
    // Who waits for [0, 2) goes on looking at its node, which must not become [4, 5) meanwhile.
    {"recycle-wait", {"E8-9 E0-2 u E2-3 u E4-5 ?1 u u", "E1-2 u +1"}, kWalk},
    // One thread takes out what another has put in, until it has too much, and the other too
    // little.
    {"recycle-spare",
     {"E8-9 +1 ?2 E10-11 u ?3 E10-11 u u", "?1 E0-1 E2-3 E4-5 +2 u u u +3 E0-1 u"},
     kWalk},
    {"recycle-3", {"E8-9 E0-1 u E2-3 u u", "E4-5 u", "E6-7 u"}},
    {"alone", {"E0-2 u E4-6 u", "E8-9 u E2-3 u"}},
    // Who takes kAlone away may have seen it in the node's life before.
    {"alone-again", {"E0-1 ?1 u E2-3 ?2 u", "+1 E4-5 +2 u"}},
    {"exit", {"E0-4 u exit E2-3 u", "E2-6 u exit E0-1 u"}},
};
const Script kShared[] = {
    {"1w2r", {"E2-6 u", "S0-4 u", "S3-8 u"}},
    {"2w1r", {"E0-4 u", "E3-8 u", "S2-6 u"}},
    {"read-together", {"S0-4 +1 ?2 u", "?1 S2-6 +2 u"}},
    // A reader that cannot get in is no obstacle for the writer that it waits for.
    {"pending", {"E5-9 +1 ?2 E0-1 u u", "?1 S1-2 +2 S0-8 u u"}},
    {"pending-own", {"E5-9 +1 ?2 E5-6=dead S6-7=dead u u u", "?1 S1-2 +2 S0-8 u u"}},
    {"pending-writer", {"S5-9 +1 ?2 E0-1 u u", "?1 S1-2 +2 u E0-8 u"}},
    {"read-same", {"S0-4 +1 ?2 u", "?1 S0-4 +2 u", "E3-4 u"}},
    // Figure 1: a reader and a writer that go in at different places.
    {"figure-1", {"S4-5 +1 ?2 ?3 u", "?1 S3-9 u +2", "?1 E6-8 u +3"}},
    // The same behind another node.
    {"figure-1-behind", {"S0-1 S4-5 +1 ?2 ?3 u u", "?1 S3-9 u +2", "?1 E6-8 u +3"}},
    {"figure-1-twice", {"S4-5 +1 ?2 ?3 u", "?1 S3-9 u S3-9 u +2", "?1 E6-8 u E6-8 u +3"}},
    // A reader waits in the list, and what follows it is used again meanwhile.
    {"recycle-stays", {"S4-5 +1 u E10-11 u S0-1 u", "?1 S3-9 u", "?1 E6-8 u"}, kWalk},
    {"adjacent-shared", {"E4-8 +1 ?2 u", "?1 S0-4 +2 u"}},
    {"adjacent-reader", {"S2-3 +1 ?2 u", "?1 E4-8 +2 ?3 u", "?2 S0-4 +3 u"}},
    // Somebody sleeps for the first node, whose link changes because the second one is taken out.
    {"drops-flags", {"S0-2 S4-5 u S6-7 u u", "E1-2 u"}},
    {"own-shared", {"E4-8 S0-4=0 S0-5=dead u u u", "S0-8 u"}},
    {"own-readers", {"S0-4 S2-6=0 E3-5=dead E6-8=0 u u u u", "E0-8 u"}},
    {"downgrade", {"E0-4 down u", "S2-6 u", "E3-5 u"}},
    {"downgrade-wakes", {"E0-4 +1 down ?2 u", "?1 S2-6 +2 u"}},
    {"downgrade-writer", {"E0-4 down +1 u", "E2-6 u", "S1-2 u"}},
    {"try-rw", {"S0-4 u", "tryE2-6 u", "tryS3-8 u"}},
    {"try-readers", {"S0-4 +1 ?2 u", "?1 tryS2-6=0 +2 u"}},
    {"timed-rw", {"E0-4 u", "timedS2-6 u", "timedE3-8 u"}},
    {"timed-figure-1", {"S4-5 +1 ?2 ?3 u", "?1 timedS3-9 u +2", "?1 timedE6-8 u +3"}},
};
// Whoever comes is impatient at once.
const Script kFair[] = {
    {"fair-overlap", {"E0-4 u", "E2-6 u", "E3-5 u"}, kQueue},
    {"fair-rw", {"E0-4 u", "S2-6 u", "S3-8 u"}, kQueue},
    // Who holds a range is let by: the impatient one waits for it.
    {"fair-held", {"E0-2 +1 E4-6 u u", "?1 E0-3 u", "?1 E8-9 u"}, kQueue},
};
const Script kFork[] = {
    {"fork-free", {"fork E0-2 u", "E8-9 u | E4-5 u", "E10-11 u | E4-5 u"}},
    {"fork-held", {"E0-2 fork E4-6 u u", "E8-9 u | E0-2 u", "E10-11 u"}},
};

constexpr RangeSizes kOneNode{.pool = 1, .patience = 8};
constexpr RangeSizes kImpatient{.pool = 1, .patience = 0};

class Builder {
 public:
  template <template <class> class Wait>
  void add(const std::string& wait) {
    constexpr RangeOptions kPlain{.fair = false, .writers_first = false};
    static RangeListUnderTest<Wait, false, kOneNode> exclusive(kPlain);
    static RangeListUnderTest<Wait, true, kOneNode> readers(kPlain);
    static RangeListUnderTest<Wait, true, kOneNode> writers({.fair = false, .writers_first = true});
    static RangeListUnderTest<Wait, true, kImpatient> fair({.fair = true, .writers_first = false});
    for (const Script& s : kExclusive) {
      add_case("list-ex/" + wait, exclusive, s);
      add_case("list-rw/" + wait, readers, s);
    }
    for (const Script& s : kShared) {
      add_case("list-rw/" + wait, readers, s);
      add_case("list-rw-writers/" + wait, writers, s);
    }
    for (const Script& s : kFair)
      add_case("list-rw-fair/" + wait, fair, s);
    for (const Script& s : kFork)
      add_case("list-rw/" + wait, readers, s);
  }
  // The same source as spin but for what the processor does meanwhile.
  template <template <class> class Wait>
  void add_each(const std::string& wait) {
    constexpr RangeOptions kPlain{.fair = false, .writers_first = false};
    static RangeListUnderTest<Wait, false, kOneNode> exclusive(kPlain);
    static RangeListUnderTest<Wait, true, kOneNode> readers(kPlain);
    add_case("list-ex/" + wait, exclusive, kExclusive[0]);
    add_case("list-rw/" + wait, readers, kExclusive[0]);
    add_case("list-rw/" + wait, readers, kShared[0]);
  }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  void add_case(const std::string& lock_name, RangeUnderTest& lock, const Script& s) {
    Case c;
    c.name = lock_name + '/' + s.name;
    c.threads = s.threads;
    c.bounds = kFull;
    c.quick_bounds = s.quick;
    c.other = [&lock, threads = s.threads] { return range_scenario(lock, threads); };
    cases_.push_back(std::move(c));
  }
  std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> range_cases() {
  Builder b;
  b.add<Spin>("spin");
  b.add<Park>("park");
  b.add_each<Yield>("yield");
  return b.take();
}

}  // namespace lockswap::explore
