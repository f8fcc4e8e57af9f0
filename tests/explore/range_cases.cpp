// The cases of range locks. Pools of one node, so that each node is used again as soon as it may.
#include <algorithm>
#include <type_traits>

#include "cases.h"
#include "multicore/explore/wait_at.h"
#include "range_script.h"
#include "registry/range_list_headers.h"  // written by src/lists.cmake
#include "segments_under_test.h"
#include "wait/park.h"
#include "wait/spin.h"

namespace lockswap::explore {
namespace {

constexpr Bounds kFull{2, 2, 1, 1};
constexpr Bounds kSmall{1, 1, 1, 1};
// A node in use is found by two switches: to the thread that walks, and away from it.
constexpr Bounds kWalk{2, 1, 0, 0};
// The queue has many steps.
constexpr Bounds kQueue{1, 0, 0, 1};
// Switches in the quick bounds of locks whose lists are list-rw's, where they are explored further,
// and of waiters that sleep, since nobody waits in a walk.
constexpr int kBriefly = 1;
// For three threads, because the locks inside are explored by themselves.
constexpr Bounds kOutside{1, 0, 0, 1};

struct Script {
  const char* name;
  std::vector<std::string> threads;
  Bounds quick = kSmall;
  Bounds full = kFull;
};

// Exclusive ranges alone, for every lock.
const Script kExclusive[] = {
    {"overlap", {"E0-4 u", "E2-6 u"}},
    {"overlap-3", {"E0-4 u", "E2-6 u", "E3-5 u"}},
    {"twice", {"E0-4 u E0-4 u", "E2-6 u E2-6 u"}},
    {"thrice", {"E0-2 u E0-2 u E0-2 u", "E0-2 u"}},
    // Ranges that touch do not wait for each other.
    {"adjacent", {"E0-2 +1 ?2 u", "?1 E2-4 +2 u"}},
    {"adjacent-before", {"E2-4 +1 ?2 u", "?1 E0-2 +2 u"}},
    {"try", {"E0-4 u", "tryE2-6 u", "E4-6 u"}},
    {"try-free", {"tryE0-4=0 u tryE2-6=0 u lateE0-1=0 u +1", "?1 tryE0-4=0 u"}},
    {"timed", {"E0-4 u", "timedE2-6 u", "E0-2 u"}},
    {"timed-out", {"E0-4 +1 ?2 u", "?1 timedE2-6=late +2"}},
    {"late", {"E0-4 u", "lateE2-6 u"}},
    {"exit", {"E0-4 u exit E2-3 u", "E2-6 u exit E0-1 u"}},
    // After a time-out; a wait that nothing but a release may end, beside another one.
    {"timed-out-then", {"E0-4 +1 ?2 u", "?1 timedE2-6=late +2 E2-6 u u"}},
    {"timed-out-then-others", {"E0-4 +1 ?2 u", "?1 timedE2-6=late +2 u", "?2 E3-5 u"}},
    {"far", {"E0-4 u", "farE2-6 u", "E3-5 u"}},
};
// What asks for more than a queue can give, or is about a list's nodes.
const Script kListExclusive[] = {
    // The paper's A, B, C (section 3): C does not wait for B.
    {"abc", {"E1-4 +1 ?2 u", "?1 E2-8 u", "?1 E4-6 +2 u"}},
    {"hold-two", {"E4-6 E0-2 u u", "E0-6 u"}},
    {"hold-two-crossed", {"E0-2 E4-6 U u", "E1-5 u"}},
    // Ranges of the thread's own that touch the one it asks for, and another's in the way.
    {"own-adjacent", {"E0-2 E6-8 ?1 E2-6=0 u u u", "E4-5 +1 u"}},
    {"own-adjacent-first", {"?1 E2-4 E4-6=0 u u", "E5-7 +1 u"}},
    // A walk takes a node out through the link of one that is released meanwhile.
    {"unlink-released", {"E2-3 E0-1 E8-9 U U u", "E4-5 u"}, kWalk},
    {"unlink-released-again", {"E2-3 E0-1 E8-9 U U E2-3 E0-1 u u u", "E4-5 u"}, kWalk},
    {"unlink-released-3", {"E4-5 E2-3 E0-1 E8-9 U U U u", "E6-7 u"}, kWalk},
    {"own", {"E2-4 E3-5=dead E1-3=dead E0-2=0 tryE2-3=busy E4-6=0 u u u u u u", "E0-6 u"}},
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
    // The waiter for [0, 2) goes on looking at its node, which must not become [4, 5) meanwhile.
    {"recycle-wait", {"E8-9 E0-2 u E2-3 u E4-5 ?1 u u", "E1-2 u +1"}, kWalk},
    // One thread takes out what another has put in, until it has too much, and the other too
    // little.
    {"recycle-spare",
     {"E8-9 +1 ?2 E10-11 u ?3 E10-11 u u", "?1 E0-1 E2-3 E4-5 +2 u u u +3 E0-1 u"},
     kWalk},
    {"recycle-3", {"E8-9 E0-1 u E2-3 u u", "E4-5 u", "E6-7 u"}},
    {"alone", {"E0-2 u E4-6 u", "E8-9 u E2-3 u"}},
    // The thread that takes kAlone away may have seen it in an earlier use of the node.
    {"alone-again", {"E0-1 ?1 u E2-3 ?2 u", "+1 E4-5 +2 u"}},
};
const Script kShared[] = {
    {"1w2r", {"E2-6 u", "S0-4 u", "S3-8 u"}},
    {"2w1r", {"E0-4 u", "E3-8 u", "S2-6 u"}},
    {"read-together", {"S0-4 +1 ?2 u", "?1 S2-6 +2 u"}},
    {"adjacent-shared", {"E4-8 +1 ?2 u", "?1 S0-4 +2 u"}},
    {"downgrade", {"E0-4 down u", "S2-6 u", "E3-5 u"}},
    {"downgrade-wakes", {"E0-4 +1 down ?2 u", "?1 S2-6 +2 u"}},
    {"downgrade-writer", {"E0-4 down +1 u", "E2-6 u", "S1-2 u"}},
    {"try-rw", {"S0-4 u", "tryE2-6 u", "tryS3-8 u"}},
    {"try-readers", {"S0-4 +1 ?2 u", "?1 tryS2-6=0 +2 u"}},
    {"timed-rw", {"E0-4 u", "timedS2-6 u", "timedE3-8 u"}},
    {"far-rw", {"E0-4 u", "farS2-6 u", "farE3-8 u"}},
};
const Script kListShared[] = {
    {"own-adjacent-shared", {"S0-2 S6-8 ?1 E2-6=0 u u u", "S4-5 +1 u"}},
    {"own-adjacent-reads", {"E0-2 ?1 S2-6=0 u u", "E4-5 +1 u"}},
    {"own-adjacent-readers", {"E0-2 E2-6=0 u u", "S4-8 u", "S3-5 u"}},
    {"unlink-released-reader", {"S2-3 S0-1 S8-9 U U u", "S0-6 u"}, kWalk},
    {"unlink-released-back", {"S2-3 S0-1 S8-9 U U u", "E4-6 u"}, kWalk},
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
    {"adjacent-reader", {"S2-3 +1 ?2 u", "?1 E4-8 +2 ?3 u", "?2 S0-4 +3 u"}},
    // Somebody sleeps for the first node, whose link changes because the second one is taken out.
    {"drops-flags", {"S0-2 S4-5 u S6-7 u u", "E1-2 u"}},
    {"own-shared", {"E4-8 S0-4=0 S0-5=dead u u u", "S0-8 u"}},
    {"own-readers", {"S0-4 S2-6=0 E3-5=dead E6-8=0 u u u u", "E0-8 u"}},
    {"timed-figure-1", {"S4-5 +1 ?2 ?3 u", "?1 timedS3-9 u +2", "?1 timedE6-8 u +3"}},
};
// As many ranges as it takes for a tree to have more than a root and leaves.
const Script kManyHeld[] = {
    {"many-held",
     {"E0-1 E1-2 E2-3 E3-4 E4-5 E5-6 E6-7 E7-8 U U +1 ?2 U U U U U U",
      "?1 tryE7-8=busy tryE2-3=busy tryE1-2=0 +2 u u u"}},
    {"many-held-back",
     {"E7-8 E6-7 E5-6 E4-5 E3-4 E2-3 E1-2 E0-1 U U +1 ?2 U U U U U U",
      "?1 tryE0-1=busy tryE5-6=busy tryE6-7=0 +2 u u u"}},
};
// kernel-rw alone.
const Script kUpgrade[] = {
    {"upgrade", {"S0-4 up u", "S2-6 u"}},
    {"upgrade-both", {"S0-4 up u", "S2-6 up u"}},
    {"upgrade-own", {"S0-4 S2-6 up=busy u up=0 u", "tryE0-4 u"}},
    {"upgrade-held", {"S0-4 +1 ?2 up=busy u +3", "?1 S3-5 up=busy +2 ?3 up=0 u"}},
    {"upgrade-writer", {"S0-4 up u", "E2-6 u"}},
    // A reader that waits behind a writer now waits for what was another reader, too.
    {"upgrade-waiting", {"S0-4 up u", "E2-6 u", "S3-8 u"}},
    {"upgrade-waiting-late", {"S0-4 up u", "timedE2-6 u", "timedS3-8 u"}},
    {"upgrade-down", {"S0-4 up down u", "E5-6 u", "S3-6 u"}},
    // A reader that came before, and waits for a third, has the better right.
    {"upgrade-behind", {"E6-8 u", "S2-7 u", "S0-4 up u"}},
};
// Every thread that comes is impatient at once.
const Script kFair[] = {
    {"fair-overlap", {"E0-4 u", "E2-6 u", "E3-5 u"}, kQueue},
    {"fair-rw", {"E0-4 u", "S2-6 u", "S3-8 u"}, kQueue},
    // A thread that holds a range passes the gate: the keeper waits for it.
    {"fair-held", {"E0-2 +1 E4-6 u u", "?1 E0-3 u", "?1 E8-9 u"}, kQueue},
    {"fair-held-in-the-way", {"E0-2 +1 E2-4 u u", "?1 E0-5 u", "?1 E4-6 u"}, kQueue},
    {"fair-held-elsewhere", {"E0-2 +1 2E0-2 u u", "?1 E0-3 u", "?1 2E0-3 u"}, kQueue},
    // The keeper itself holds one.
    {"fair-keeper-holds", {"E0-2 E6-9 u u", "E4-7 u", "E5-6 E8-10 u u"}, kQueue},
    // One that wants other units passes, and so does one in line behind another keeper.
    {"fair-apart", {"E0-4 +1 ?2 u", "?1 E2-6 u", "?1 E8-9 +2 u"}, kQueue},
    {"fair-apart-again", {"E0-4 ?1 u", "E2-6 u", "E6-8 +1 u"}, kQueue},
    {"fair-try", {"E0-4 u", "E2-6 u", "tryE5-8 u"}, kQueue},
    {"fair-timed", {"E0-4 u", "timedE2-6 u", "timedE5-8 u"}, kQueue},
    // A keeper that gives up opens the gate.
    {"fair-timed-out", {"E0-4 +1 ?2 u", "?1 timedE2-6 u", "?1 E5-8 +2 u"}, kQueue},
    // One that gives up behind the gate leaves it closed. No stale reads: a thread that
    // reads an earlier keeper's range passes.
    {"fair-timed-out-behind",
     {"E0-4 +1 ?2 u", "?1 E2-6 u", "?1 nap timedE5-8=late tryE5-8=busy +2"},
     kQueue,
     {2, 0, 1, 1}},
    // A child has no keeper.
    {"fair-fork", {"E8-9 fork u E8-9 u", "E6-9 u", "E10-11 u"}, kQueue},
};
// The holder of a range waits, by other means, for a thread behind the gate.
const Script kStuck[] = {
    {"fair-stuck", {"E0-2 +1 ?2 u", "?1 E0-4 u", "?1 E3-5 +2 u"}, kQueue},
    {"fair-stuck-timed", {"E0-2 +1 ?2 u", "?1 farE0-4 u", "?1 farE3-5 +2 u"}, kQueue},
};
// What is exclusive, shared or tried over several segments; a thread holds one range.
const Script kSegments[] = {
    {"overlap", {"E0-4 u", "E2-6 u"}},
    {"overlap-3", {"E0-4 u", "E2-6 u", "E3-5 u"}, kOutside},
    {"twice", {"E0-4 u E0-4 u", "E2-6 u E2-6 u"}},
    // Round the end: both need the first and the last lock.
    {"round", {"E6-10 u", "E0-8 u"}},
    {"try", {"E0-4 u", "tryE2-6 u", "E4-6 u"}, kOutside},
    // A try that fails at its second lock leaves nothing behind.
    {"try-half", {"E2-4 +1 ?2 u", "?1 tryE0-4=busy tryE0-2=0 u +2"}},
    {"timed", {"E0-4 u", "timedE2-6 u", "E0-2 u"}, kOutside},
    {"timed-out", {"E2-4 +1 ?2 u", "?1 timedE0-4=late E0-2 u +2"}},
    {"1w2r", {"E2-6 u", "S0-4 u", "S3-8 u"}, kOutside},
    {"2w1r", {"E0-4 u", "E3-8 u", "S2-6 u"}, kOutside},
    {"read-together", {"S0-4 +1 ?2 u", "?1 S2-6 +2 u"}},
    {"timed-rw", {"E0-4 u", "timedS2-6 u", "timedE3-8 u"}, kOutside},
};
const Script kManySegments[] = {
    {"adjacent", {"E0-2 +1 ?2 u", "?1 E2-4 +2 u"}},
};
const Script kOneSegment[] = {
    {"overlap", {"E0-4 u", "E2-6 u"}},
    {"try-free", {"tryE0-4=0 u tryE2-6=0 u lateE0-1=0 u +1", "?1 tryE0-4=0 u"}},
    {"timed-out", {"E0-4 +1 ?2 u", "?1 timedE6-8=late +2"}},
    {"1w2r", {"E2-6 u", "S0-4 u", "S3-8 u"}},
    {"read-together", {"S0-4 +1 ?2 u", "?1 S2-6 +2 u"}},
};
// A range with nodes in several lists. (So have most of the others.)
const Script kParts[] = {
    // A node in the first list is in nobody's way while its owner waits for the second.
    {"parts-pending", {"E2-4 +1 ?2 u", "?1 E0-4 u", "?1 E0-2 +2 u"}},
    {"parts-pending-reader", {"E2-4 +1 ?2 u", "?1 S0-4 u", "?1 E0-2 +2 u"}},
    {"parts-try", {"E2-4 +1 ?2 u", "?1 tryE0-4=busy tryE0-2=0 u +2"}},
    {"parts-timed", {"E2-4 +1 ?2 u", "?1 timedE0-4=late E0-2 u +2"}},
    // A thread's own range is in its way behind another thread's.
    {"parts-own", {"E4-6 +1 ?2 E0-6=dead u u", "?1 E0-2 +2 E4-6 u u"}},
    {"parts-round", {"E0-8 u", "E4-12 u"}},
    // They meet in one list of two each, the last of the one and the first of the other.
    {"parts-crossed", {"S0-4 u", "E2-6 u"}},
    // Each of its nodes becomes a shared one.
    {"parts-downgrade", {"E0-6 +1 down ?2 u", "?1 S0-2 +2 u"}},
    {"parts-downgrade-middle", {"E0-6 +1 down ?2 u", "?1 S2-4 +2 u"}},
    {"parts-downgrade-last", {"E0-6 +1 down ?2 u", "?1 S4-6 +2 u"}},
};
const Script kFork[] = {
    {"fork-free", {"fork E0-2 u", "E8-9 u | E4-5 u", "E10-11 u | E4-5 u"}},
    {"fork-held", {"E0-2 fork E4-6 u u", "E8-9 u | E0-2 u", "E10-11 u"}},
    {"fork-again", {"E0-2 fork fork u", "E8-9 u | E0-1 u | E4-5 u", "E10-11 u | E6-7 u"}},
};
// A child that finds the spin lock of a tree held by a thread that it does not have.
const Script kTreeFork[] = {
    {"fork-tree", {"E0-1 fork E4-5 u u", "E8-9 E6-7 u u | E0-3 u", "E10-11 u | E4-6 u"}},
    {"fork-tree-waiting", {"E2-4 fork u tryE2-3 u", "E3-6 u | E0-1 u", "E10-11 u | E0-2 u"}},
};

constexpr RangeOptions kPlain{.fair = false, .writers_first = false};
constexpr RangeOptions kWritersFirst{.fair = false, .writers_first = true};
constexpr RangeOptions kFairly{.fair = true, .writers_first = false};

// Four segments of two units in turn; one of all.
template <class Home, template <class> class Wait>
using LocksOf =
    std::conditional_t<Home::kCount == 1, SegmentsUnderTest<WaitAt<Wait<Explored>>, 1, kUnits>,
                       SegmentsUnderTest<WaitAt<Wait<Explored>>, 4, 2>>;

class Builder {
 public:
  // A line of range_list.def. What a lock can do says what is asked of it.
  template <template <class, class> class LockOf, template <class> class Wait>
  void add(const std::string& name, const std::string& wait) {
    using Lock = LockOf<Explored, WaitAt<Wait<Explored>>>;
    using Node = typename Lock::Node;
    constexpr bool kShares = Lock::kCanShare;
    constexpr bool kWalks = requires { &Lock::acquire_alone; };  // through lists
    constexpr bool kManyLists = requires(Lock & l) { l.begin(2); };
    constexpr bool kUpgrades = requires(Lock & l, Node * n) { l.try_upgrade(n); };
    constexpr bool kIsBrief = kManyLists || (kWalks && Wait<Explored>::kParks);
    constexpr int kSwitches = kIsBrief ? kBriefly : kWalk.preemptions;
    static RangeLockUnderTest<Lock> plain(kPlain);
    const std::string own = name + '/' + wait;
    add_all<kSwitches>(own, plain, kExclusive);
    if constexpr (kWalks) add_all<kSwitches>(own, plain, kListExclusive);
    if constexpr (!kWalks) add_all<kSwitches>(own, plain, kManyHeld, kFork, kTreeFork);
    if constexpr (kShares) add_all<kSwitches>(own, plain, kShared);
    if constexpr (kManyLists) add_all<kSwitches>(own, plain, kParts);
    if constexpr (kUpgrades) add_all<kSwitches>(own, plain, kUpgrade);
    if constexpr (kWalks && kShares) {
      add_all<kSwitches>(own, plain, kListShared, kFork);
      static RangeLockUnderTest<Lock> writers(kWritersFirst);
      if constexpr (kManyLists) {
        add_all(name + "-writers/" + wait, writers, kShared, kParts);
      } else {
        add_all<kBriefly>(name + "-writers/" + wait, writers, kShared, kListShared);
      }
    }
    if constexpr (kWalks) {
      static RangeLockUnderTest<Lock> fair(kFairly);
      add_all(name + "-fair/" + wait, fair, kFair);
      gates_open_ = true;
      add_all(name + "-fair/" + wait, fair, kStuck);
      gates_open_ = false;
    }
  }
  template <class Home, template <class> class Wait>
  void add_of_rwlocks(const std::string& name, const std::string& wait) {
    static LocksOf<Home, Wait> locks;
    if constexpr (Home::kCount == 1) {
      add_all(name + '/' + wait, locks, kOneSegment);
    } else {
      add_all(name + '/' + wait, locks, kSegments, kManySegments);
    }
  }
  Cases take() { return std::move(cases_); }

 private:
  template <int kSwitches = kWalk.preemptions, class... Tables>
  void add_all(const std::string& lock_name, RangeUnderTest& lock, const Tables&... tables) {
    const auto add_table = [&](const auto& table) {
      for (const Script& s : table) {
        add_case(lock_name, lock, s);
        int& switches = cases_.back().quick_bounds.preemptions;
        switches = std::min(switches, kSwitches);
      }
    };
    (add_table(tables), ...);
  }
  void add_case(const std::string& lock_name, RangeUnderTest& lock, const Script& s) {
    Case c;
    c.name = lock_name + '/' + s.name;
    c.threads = s.threads;
    c.bounds = s.full;
    c.quick_bounds = s.quick;
    c.other = [&lock, threads = s.threads, gates_open = gates_open_] {
      return range_scenario(lock, threads, gates_open);
    };
    cases_.push_back(std::move(c));
  }
  Cases cases_;
  bool gates_open_ = false;
};

}  // namespace

Cases range_cases() {
  Builder b;
#define RANGE_LOCK(name, Class, header) \
  b.add<Class, Spin>(name, "spin");     \
  b.add<Class, Park>(name, "park");
#define RANGE_OF_RWLOCKS(name, Class, header)  \
  b.add_of_rwlocks<Class, Spin>(name, "spin"); \
  b.add_of_rwlocks<Class, Park>(name, "park");
#include "registry/range_list.def"
#undef RANGE_LOCK
#undef RANGE_OF_RWLOCKS
  return b.take();
}

}  // namespace lockswap::explore
