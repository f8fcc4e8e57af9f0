// The cases of a mutex of mutex_list.def. Each mutex has a translation unit of its own for them,
// which CMake writes from mutex_cases.cpp.in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "cases.h"
#include "mutex_under_test.h"
#include "registry/list_words.h"
#include "wait/park.h"
#include "wait/spin.h"
#include "wind.h"

namespace lockswap::explore::mutex {

// How far quick runs go.
constexpr Bounds kFull{2, 2, 1, 1};
constexpr Bounds kSmall{1, 1, 1, 1};
// Where smaller scripts look at orders, or at stray wake-ups.
constexpr Bounds kNoStale{1, 0, 1, 1};
constexpr Bounds kNoStray{1, 1, 0, 1};
constexpr Bounds kNoStrayNoStale{1, 0, 0, 0};
// Threads run until they wait.
constexpr Bounds kOnlyStale{0, 3, 0, 0};
// As in rw_scripts.h.
constexpr Bounds kSequence{1, 0, 0, 1};
constexpr Bounds kSwitches{2, 0, 0, 1};
constexpr Bounds kStraySwitches{2, 0, 1, 0};
constexpr Bounds kRationedBounds{2, 1, 1, 2};
constexpr Bounds kRationedSwitches{2, 0, 0, 0};
constexpr Bounds kOldestBounds{3, 0, 0, 2};
constexpr Bounds kOldestQuick{2, 0, 0, 1};
// Where time passes at any moment, and each step is many.
constexpr Bounds kTimes{0, 0, 0, 2};

// For queues, at full length.
constexpr Bounds kQueue{3, 1, 0, 1};

struct MutexScript {
  const char* name;
  std::vector<std::string> threads;
  const Bounds* quick = nullptr;  // nullptr means by the number of threads
  bool gives_back_nodes = false;  // see Case
};
using MutexScripts = std::vector<MutexScript>;

extern const MutexScripts kGeneral;
extern const MutexScripts kGiveUp;
extern const MutexScripts kMany;
extern const MutexScripts kDestroy;
extern const MutexScripts kContract;
extern const MutexScripts kRecursive;
extern const MutexScript kForkRecursiveTwo;
extern const MutexScripts kFork;
extern const MutexScripts kZeroed;
extern const MutexScripts kCond;
extern const MutexScripts kCondStop;
extern const MutexScripts kCondPriority;
extern const MutexScripts kCondFork;
extern const MutexScripts kManyCond;
extern const MutexScripts kAfterTimeOut;
extern const MutexScripts kFar;
extern const MutexScripts kMoreContract;
extern const MutexScripts kAlone;
extern const MutexScripts kTwoLocks;
extern const MutexScripts kMoreFork;
extern const MutexScripts kWound;
extern const MutexScript kChannels;
extern const MutexScripts kMoreCond;
extern const MutexScripts kMoreManyCond;
extern const MutexScripts kCondQueue;
extern const MutexScripts kCondSpin;
// For mutexes that ration hand-offs.
extern const MutexScripts kRationed;
extern const MutexScript kOldest;
extern const MutexScripts kRationedMany;
extern const MutexScripts kUrgent;
extern const MutexScript kLifted;
// A set of channels has 32 bits, of which a lock may use some for other sleepers.
constexpr std::uint64_t kChannelsBefore = 26;
// The widths, in bits, of the numbers with which locks count.
constexpr int kWoundBits[] = {24, 28, 30, 31, 32};

class MutexBuilder {
 public:
  explicit MutexBuilder(Cases& cases) : cases_(cases) {}

  // A line of mutex_list.def; of yield, see RwBuilder::add_line.
  template <template <class, class> class Core, ListWords kWords>
  void add_line(const std::string& name) {
    const std::string mutex = "mutex/" + name;
    constexpr bool kSameContract = has(kWords, SAME_CONTRACT);
    add<Core, Spin, kSameContract>(mutex + "/spin");
    add<Core, Park, kSameContract>(mutex + "/park");
    if constexpr (has(kWords, SHOWS_CONDS)) {
      add_cond<Core, Park>("cond/" + name + "/park");
    } else if constexpr (!has(kWords, WAITS_AS_ANOTHER)) {
      add_each_cond<Core, Park>("cond/" + name + "/park");
    }
  }

  // All that is asked of condition variables, over this mutex.
  void add_conds(const std::string& name, LockUnderTest& mutex, LockUnderTest& second);

 private:
  template <template <class, class> class Core, template <class> class Wait, bool kSameContract>
  void add(const std::string& name) {
    static MutexCore<Core, Wait> core;
    static MutexLock<Core, Wait> contract, second(1);
    static MutexLock<Core, Wait, mutex_kind::kRecursive> recursive;
    [[maybe_unused]] const std::size_t first = cases_.size();
    for (const MutexScript& s : kGeneral)
      add_case("core/" + name, &core, s);
    for (const MutexScript& s : kFar)
      add_case("core/" + name, &core, s);
    for (const MutexScript& s : kDestroy)
      add_case("core/" + name, &core, s);
    for (const MutexScript& s : kMany)
      add_case("core/" + name, &core, s).sampled = true;
    [[maybe_unused]] const std::size_t rest = cases_.size();
    for (const MutexScript& s : kGiveUp)
      add_case("core/" + name, &core, s);
    for (const MutexScript& s : kAfterTimeOut)
      add_case("core/" + name, &core, s);
    add_wound(name, core);
    if constexpr (kSameContract) {
      for (std::size_t i = first; i < cases_.size(); ++i)
        cases_[i].quick_bounds = i < rest ? kSmall : kNoStale;
      add_each<Core, Wait>(name);
      return;
    }
    if constexpr (requires { Core<Explored, Wait<Explored>>::kRationsHandOffs; }) {
      add_rationed(name, core);
      if (sleeps(name)) {
        Case& c = add_case(name, &contract, kLifted);
        c.impatient = c.takes_back = true;
      }
    }
    add_each<Core, Wait>(name);
    for (const MutexScript& s : kContract)
      add_case(name, &contract, s);
    for (const MutexScript& s : kMoreContract)
      add_case(name, &contract, s);
    for (const MutexScript& s : kAlone) {
      add_case("core/" + name, &core, s);
      add_case(name, &contract, s);
    }
    for (const MutexScript& s : kTwoLocks)
      add_case(name, &contract, s).second = &second;
    for (const MutexScript& s : kDestroy)
      add_case(name, &contract, s);
    for (const MutexScript& s : kRecursive)
      add_case(name, &recursive, s);
    add_case(name, &recursive, kForkRecursiveTwo).second = &second;
    for (const MutexScript& s : kFork)
      add_case(name, &contract, s);
    for (const MutexScript& s : kMoreFork)
      add_case(name, &contract, s);
    for (const MutexScript& s : kZeroed)
      add_case(name + "-zeroed", &contract, s).zeroed = true;
    // One that is made of several locks takes many times the steps. It has no orders of its own.
    if constexpr (requires { &Core<Explored, Wait<Explored>>::block_bytes; }) {
      for (std::size_t i = first; i < cases_.size(); ++i) {
        const bool rationed = cases_[i].impatient || cases_[i].at_once;
        const Bounds& most = rationed           ? kTimes
                             : i < rest         ? kSmall
                             : cases_[i].second ? kSequence
                                                : kNoStale;
        cases_[i].quick_bounds = least(cases_[i].quick_bounds, most);
      }
    }
  }
  // Where acquisitions leave anything behind: numbers in the lock that wrap around.
  void add_wound(const std::string& name, LockUnderTest& core) {
    if (!counts_acquisitions(core)) return;
    if (sleeps(name)) add_case("core/" + name, &core, kChannels).wound_writes = kChannelsBefore;
    for (const int bits : kWoundBits) {
      for (const MutexScript& s : kWound) {
        Case& c = add_case("core/" + name + "-2^" + std::to_string(bits), &core, s);
        c.wound_writes = (std::uint64_t{1} << bits) - 2;
      }
    }
  }
  // The time of the thread that is next passes at any moment, or at once; and that of a lock that
  // is kept for it passes, too.
  void add_rationed(const std::string& name, LockUnderTest& core) {
    const auto add_all = [&](const MutexScripts& scripts, bool sampled) {
      for (const MutexScript& s : scripts) {
        add_case("core/" + name + "-impatient", &core, s).impatient = true;
        cases_.back().sampled = sampled;
        add_case("core/" + name + "-at-once", &core, s).at_once = true;
        cases_.back().sampled = sampled;
        Case& c = add_case("core/" + name + "-taken-back", &core, s);
        c.sampled = sampled;
        c.at_once = c.impatient = c.takes_back = true;
        c.bounds.timeouts = 3;
        c.quick_bounds = {s.threads.size() > 3 ? 0 : 1, 0, 0, 2};
        if (!sleeps(name)) continue;  // nobody naps
        Case& one = add_case("core/" + name + "-one-at-a-time", &core, s);
        one.sampled = sampled;
        one.impatient = one.leaves_to_one = true;
        one.quick_bounds = c.quick_bounds;
      }
    };
    const std::size_t first = cases_.size();
    add_all(kRationed, false);
    add_all(kRationedMany, true);
    for (std::size_t i = first; i < cases_.size(); ++i)
      cases_[i].wakes_one_at_a_time = !has_urgent(cases_[i]);
    if (!sleeps(name)) return;  // nobody has an age, or is urgent
    add_oldest("core/" + name + "-impatient", core).impatient = true;
    add_oldest("core/" + name + "-at-once", core).at_once = true;
    add_all(kUrgent, false);
    for (const MutexScript& s : kUrgent)
      add_case("core/" + name, &core, s);
  }
  // The claim about sleepers.
  Case& add_oldest(const std::string& name, LockUnderTest& core) {
    Case& c = add_case(name, &core, kOldest);
    c.wakes_in_order = true;
    c.bounds = kOldestBounds;
    c.quick_bounds = kOldestQuick;
    return c;
  }
  static Bounds least(const Bounds& a, const Bounds& b) {
    return {std::min(a.preemptions, b.preemptions), std::min(a.stale, b.stale),
            std::min(a.spurious, b.spurious), std::min(a.timeouts, b.timeouts),
            std::min(a.moves, b.moves)};
  }
  // A thread with a real-time policy may ask for the wake-up that another one has had.
  static bool has_urgent(const Case& c) {
    return std::ranges::any_of(c.threads,
                               [](const std::string& t) { return t.find("fifo") != t.npos; });
  }
  static bool sleeps(const std::string& name) { return name.find("/park") != std::string::npos; }
  // The least that a mutex and a wait policy need.
  template <template <class, class> class Core, template <class> class Wait>
  void add_each(const std::string& name) {
    static MutexLock<Core, Wait> contract;
    for (const MutexScript& s : {kGeneral[1], kGeneral[5]})
      add_case(name, &contract, s);
  }
  // A condition variable; over other mutexes only what the two share.
  template <template <class, class> class Core, template <class> class Wait>
  void add_cond(const std::string& name) {
    static MutexLock<Core, Wait> contract, second(1);
    add_conds(name, contract, second);
  }
  template <template <class, class> class Core, template <class> class Wait>
  void add_each_cond(const std::string& name) {
    static MutexLock<Core, Wait> contract;
    for (const MutexScript& s : {kCond[0], kCond[4], kCond[7]})
      add_case(name, &contract, s);
  }

  Case& add_case(const std::string& lock_name, LockUnderTest* lock, const MutexScript& s);

  Cases& cases_;
};

}  // namespace lockswap::explore::mutex
