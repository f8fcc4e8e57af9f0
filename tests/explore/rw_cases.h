// The cases of a lock of rw_list.def. Each lock has a translation unit of its own for them, which
// CMake writes from rw_cases.cpp.in.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lock_under_test.h"
#include "locks/common/read_tokens.h"
#include "registry/list_words.h"
#include "registry/rw_forms.h"
#include "rw_scripts.h"
#include "wait/park.h"
#include "wait/spin.h"
#include "wind.h"

namespace lockswap::explore::rw {

// How far to go: the full run, and the one with each change.
constexpr Bounds kFull{2, 2, 1, 1};
constexpr Bounds kSmall{1, 1, 1, 1};
constexpr Bounds kSmallLarge{1, 1, 0, 1};
constexpr Bounds kSmallLargeFork{1, 0, 0, 1, 0};
constexpr Bounds kPatienceFull{2, 1, 0, 1, 0};
constexpr Bounds kPatienceSmall{1, 1, 0, 1, 0};
constexpr Bounds kPatienceLarge{1, 0, 0, 1, 0};
constexpr Bounds kPatienceManySmall{0, 1, 0, 1, 0};
// A thread that is forked amid its call has come while another one was in: two switches.
constexpr Bounds kLargeForkOfTwo{2, 0, 0, 1, 0};
// Numbers in locks have so many bits.
constexpr int kWoundBits[] = {24, 27, 30, 31, 32};
// A set of channels has 32 bits, of which a lock may use some for other sleepers.
constexpr std::uint64_t kChannelsBefore = 26;
constexpr std::uint64_t kMostGenerations = (1u << 24) - 4;
static_assert(kFull.preemptions >= 2 && kFull.stale >= 2);

class RwBuilder {
 public:
  // A line of rw_list.def, with all its forms. The wait policy yield is the source of spin and
  // differs below P::await alone, so nothing is explored under its name.
  template <template <class, class> class Core, ListWords kWords>
  void add_line(const std::string& name) {
    using Any = Core<Explored, Spin<Explored>>;
    constexpr bool kIsBriefly = has(kWords, SAME_EXPLORED) || has(kWords, SAME_CONTRACT);
    if constexpr (has_direct_form(kWords)) {
      if constexpr (has(kWords, SAME_EXPLORED)) {
        add_each<Core, Spin>(name + "/spin");
        add_each<Core, Park>(name + "/park");
      } else if constexpr (has(kWords, SAME_CONTRACT)) {
        add_core<Core, Spin>(name + "/spin");
        add_core<Core, Park>(name + "/park");
      } else {
        constexpr bool kBravo = has_bravo_form(kWords);
        add<Core, Spin, kBravo>(name + "/spin");
        add<Core, Park, kBravo>(name + "/park");
      }
    }
    if constexpr (has_bravo_form(kWords)) {
      if constexpr (kIsBriefly) {
        add_each_bravo<Core, Spin>("bravo-" + name + "/spin");
        add_each_bravo<Core, Park>("bravo-" + name + "/park");
      } else if constexpr (!has_direct_form(kWords)) {
        // glibc's lock is a model here; how it waits is its own affair, so the policy is BRAVO's.
        add_bravo<Core, Spin>("bravo-" + name + "/spin");
        add_bravo<Core, Park>("bravo-" + name + "/park");
      }
    }
    if constexpr (has_bravo_asym_form<Any>(kWords)) {
      const std::string asym = "bravo-asym-" + name;
      if constexpr (has(kWords, EXPLORES_ASYM)) {
        add_bravo_asym<Core, Spin>(asym + "/spin");
        add_bravo_asym<Core, Park>(asym + "/park");
      } else {
        add_each_bravo_asym<Core>(asym);
      }
    }
  }

  // The same core under another form of BRAVO, by all of BRAVO's cases or by the least of them.
  template <template <class, class> class Core, class Over>
  void add_form(const std::string& name) {
    add_bravo<Core, Spin, Over>(name + "/spin");
    add_bravo_forks<Core, Spin, Over>(name + "/spin");
    add_each_bravo<Core, Park, Over>(name + "/park");
  }
  template <template <class, class> class Core, class Over>
  void add_form_briefly(const std::string& name) {
    add_each_bravo<Core, Spin, Over>(name + "/spin");
    add_each_bravo<Core, Park, Over>(name + "/park");
  }
  // The least of a form whose bias never is on.
  template <template <class, class> class Core, class Over>
  void add_unbiased_form(const std::string& name) {
    add_each<Core, Spin, Over>(name + "/spin");
    add_each<Core, Park, Over>(name + "/park");
  }

  Cases take() { return std::move(cases_); }

 private:
  // A lock, and the same under BRAVO. Name: lock/wait policy.
  template <template <class, class> class Core, template <class> class Wait, bool kBravo>
  void add(const std::string& name) {
    static CoreLock<Core, Wait> core;
    static ContractLock<Core, Wait, Direct> contract, second(1);
    is_large_ = requires { &Core<Explored, Wait<Explored>>::block_bytes; };
    has_tokens_ = ReadTokens<Core<Explored, Wait<Explored>>>::kHasTokens;
    for (const Script& s : kGeneral)
      add_case("core/" + name, &core, s).gives_back_nodes = true;
    for (const Scripts* scripts : {&kFar, &kAfterTimeOut, &kDestroy}) {
      for (const Script& s : *scripts)
        add_case("core/" + name, &core, s);
    }
    add_give_ups("core/" + name, &core);
    add_wound(name, core);
    if constexpr (requires { Core<Explored, Wait<Explored>>::kRationsHandOffs; }) {
      add_rationed(name, core);
    }
    // A reader that gets into BA's queue as the writer leaves it: four preemptions. Where reads
    // have tokens these are too many executions.
    if (!has_tokens_) {
      Case& deep = add_case("core/" + name, &core, {"1w2r-deep", general("1w2r").threads});
      deep.bounds = {4, 2, 1, 1};
      deep.quick_bounds = {sleeps(name) ? 3 : 4, 1, 0, 0};
      for (const Script& s : kAgain)
        add_case("core/" + name, &core, s);
    }
    for (const Script& s : kMany)
      add_case("core/" + name, &core, s).sampled = true;
    add_each<Core, Wait>(name);
    if (is_large_) add_case("core/" + name, &core, kSamePlace);
    for (const Scripts* scripts : {&kContract, &kMoreContract, &kDestroy}) {
      for (const Script& s : *scripts)
        add_case(name, &contract, s);
    }
    // Two blocks would be too many atoms for an execution.
    for (const Script& s : is_large_ ? Scripts{} : kTwoLocks)
      add_case(name, &contract, s).second = &second;
    for (const Script& s : kWoundGenerations)
      add_case(name + "-2^24", &contract, s).wound_locks = kMostGenerations;
    if (is_large_) add_case(name, &contract, kComesRound).quick_bounds = kComesRoundBounds;
    for (const Script& s : kManyContract)
      add_case(name, &contract, s).sampled = true;
    for (const char* script : kEach)
      add_case(name + "-zeroed", &contract, general(script)).zeroed = true;
    for (const Scripts* scripts : {&kFork, &kMoreFork}) {
      for (const Script& s : *scripts) {
        Case& c = add_case(name, &contract, s);
        // Readers that stay until others are in need their patience there.
        c.patient = Core<Explored, Wait<Explored>>::kClaims.readers_exclude && s.readers_meet;
      }
    }
    add_case(name + "-zeroed", &contract, kForkNew).zeroed = true;
    add_patience(name, &contract, false, false, is_large_ ? nullptr : &second);
    if constexpr (kBravo) {
      add_bravo<Core, Wait>("bravo-" + name);
      add_bravo_forks<Core, Wait, UnderBravo>("bravo-" + name);
    }
    is_large_ = has_tokens_ = false;
  }
  // The core alone, of a lock that differs from another one there.
  template <template <class, class> class Core, template <class> class Wait>
  void add_core(const std::string& name) {
    static CoreLock<Core, Wait> core;
    is_large_ = requires { &Core<Explored, Wait<Explored>>::block_bytes; };
    for (const Script& s : kGeneral)
      add_case("core/" + name, &core, s).gives_back_nodes = true;
    for (const Scripts* scripts : {&kFar, &kAfterTimeOut, &kDestroy}) {
      for (const Script& s : *scripts)
        add_case("core/" + name, &core, s);
    }
    add_give_ups("core/" + name, &core);
    add_wound(name, core);
    for (const Script& s : kMany)
      add_case("core/" + name, &core, s).sampled = true;
    add_each<Core, Wait>(name);
    is_large_ = false;
  }
  // What gives up, and what only tries.
  void add_give_ups(const std::string& lock_name, LockUnderTest* lock) {
    for (const Script& s : kGiveUp) {
      Case& c = add_case(lock_name, lock, s);
      c.gives_back_nodes = true;
      // Where nobody sleeps the same script looks at the orders.
      if (is_large_ && sleeps(lock_name)) c.quick_bounds = kNoStale;
    }
    for (const Script& s : kTries)
      add_case(lock_name, lock, s);
    Case& twice = add_case(lock_name, lock, kGivenUpTwice);
    twice.bounds = {2, 1, 0, 3};
    twice.quick_bounds = kGivenUpTwiceBounds;
    twice.gives_back_nodes = true;
    Case& between = add_case(lock_name, lock, kOutBetween);
    between.bounds = between.quick_bounds = kOutBetweenBounds;
    between.gives_back_nodes = true;
  }
  // The least that a lock and a wait policy need.
  template <template <class, class> class Core, template <class> class Wait, class Over = Direct>
  void add_each(const std::string& name) {
    static ContractLock<Core, Wait, Over> contract;
    for (const char* script : kEach)
      add_case(name, &contract, general(script));
    for (const char* script : kPatienceEach)
      make_patient(add_case(name, &contract, patience(script)));
  }
  template <template <class, class> class Core, template <class> class Wait,
            class Over = UnderBravo>
  void add_each_bravo(const std::string& name) {
    static ContractLock<Core, Wait, Over> bravo;
    is_asym_ = std::same_as<Over, UnderBravoAsym>;
    is_large_ = requires { &Core<Explored, Wait<Explored>>::block_bytes; };
    has_tokens_ = ReadTokens<Core<Explored, Wait<Explored>>>::kHasTokens;
    for (const char* script : kEach)
      add_biased(name, &bravo, general(script));
    for (const char* script : kPatienceEach)
      make_patient(add_biased(name, &bravo, patience(script)));
    is_asym_ = is_large_ = has_tokens_ = false;
  }
  // The same BRAVO over another lock, with readers in rows.
  template <template <class, class> class Core>
  void add_each_bravo_asym(const std::string& name) {
    add_each_bravo<Core, Spin, UnderBravoAsym>(name + "/spin");
    add_each_bravo<Core, Park, UnderBravoAsym>(name + "/park");
  }
  template <template <class, class> class Core, template <class> class Wait>
  void add_bravo_asym(const std::string& name) {
    is_asym_ = true;
    is_large_ = requires { &Core<Explored, Wait<Explored>>::block_bytes; };
    has_tokens_ = ReadTokens<Core<Explored, Wait<Explored>>>::kHasTokens;
    add_bravo<Core, Wait, UnderBravoAsym>(name);
    add_bravo_forks<Core, Wait, UnderBravoAsym>(name);
    is_asym_ = is_large_ = has_tokens_ = false;
  }
  template <template <class, class> class Core, template <class> class Wait, class Over>
  void add_bravo_forks(const std::string& name) {
    static ContractLock<Core, Wait, Over> bravo;
    for (const Script& s : kFork) {
      // A second block would be too many atoms for an execution.
      if (!is_large_ || s.name != std::string("fork-init")) add_biased(name, &bravo, s);
    }
    // A marked lock's bias has ended: that one is about the contract word.
    for (const Script& s : kMoreFork) {
      if (s.name != std::string("fork-marked-again")) add_biased(name, &bravo, s);
    }
    for (const char* script : {"fork-1w1r", "fork-write", "fork-crowd-w"}) {
      add_biased(name + "-cold", &bravo, fork(script)).biased = false;
    }
  }
  template <template <class, class> class Core, template <class> class Wait,
            class Over = UnderBravo>
  void add_bravo(const std::string& name) {
    static ContractLock<Core, Wait, Over> bravo, second(1);
    constexpr bool kSystems = !requires(Core<Explored, Wait<Explored>> & core) { core.idle(); };
    for (const Scripts* scripts :
         {&kGeneral, &kFar, &kAfterTimeOut, &kDestroy, &kContract, &kMoreContract}) {
      for (const Script& s : *scripts)
        add_biased(name, &bravo, s);
    }
    // The model of the system's lock is one lock, and what glibc does itself is not asked.
    if constexpr (!kSystems) {
      for (const Script& s : is_large_ ? Scripts{} : kTwoLocks)
        add_biased(name, &bravo, s).second = &second;
      for (const Script& s : kTries)
        add_biased(name, &bravo, s);
    }
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
    // Readers that leave an unbiased lock's bias alone.
    if constexpr (OneUpdateReadCore<Core<Explored, Wait<Explored>>> ||
                  ReadIfFreeCore<Core<Explored, Wait<Explored>>>) {
      for (const char* script : kEach)
        add_biased(name + "-seldom", &bravo, general(script)).seldom = true;
      for (const Script& s : kContract) {
        // A slot of the lock that was there before stays until the bias is on.
        if (s.name == std::string("remade")) continue;
        Case& c = add_biased(name + "-seldom", &bravo, s);
        c.seldom = true;
        c.biased = false;
      }
      for (const Script& s : kUnbiased)
        add_biased(name + "-seldom", &bravo, s).seldom = true;
      if (!is_asym_) add_biased(name + "-collide", &bravo, kForkAbove).slots = {0, 1, 0, 1};
    }
    // glibc's own.
    if constexpr (kSystems) {
      for (const char* script : kForkSystems)
        add_biased(name, &bravo, fork(script));
    }
    // The claim about sleepers is passed on. More than that is for the lock itself.
    if constexpr (requires { Core<Explored, Wait<Explored>>::kRationsHandOffs; }) {
      const std::size_t first = cases_.size();
      if (sleeps(name)) {
        add_oldest(name + "-impatient", bravo).impatient = true;
        add_oldest(name + "-at-once", bravo).at_once = true;
      }
      for (std::size_t i = first; i < cases_.size(); ++i) {
        cases_[i].bounds = kOldestQuick;
        cases_[i].quick_bounds = kSequence;
      }
    }
    add_patience(name, &bravo, true, kSystems, kSystems || is_large_ ? nullptr : &second);
    // A hold of the lock below, of a thread that is gone, and one of a slot.
    for (const Script& s : kContract) {
      if (s.name == std::string("exit-reading"))
        add_biased(name + "-cold", &bravo, s).biased = false;
    }
    // Two readers at once find a lock whose bias never was on.
    add_biased(name + "-cold", &bravo, {"start", {"R u R u", "R u", "W u"}}).biased = false;
  }

  // Readers with patience, over a lock with a contract. `systems`: glibc's, which after a fork may
  // have a writer of the parent's that it does not name. `second`: nullptr if two are too many.
  void add_patience(const std::string& name, LockUnderTest* lock, bool biased, bool systems,
                    LockUnderTest* second) {
    const auto is_left_out = [systems](const std::string& script) {
      return systems && script.starts_with("fork");
    };
    const auto add_one = [&](const std::string& of, const Script& s) -> Case& {
      return biased ? add_biased(of, lock, s) : add_case(of, lock, s);
    };
    for (const Script& s : kPatience) {
      if (!is_left_out(s.name)) make_patient(add_one(name, s));
    }
    // A writer of many locks waits for the readers of one after the other.
    if (sleeps(name) && lock->claims().phase_fair && !is_large_) {
      for (const Script& s : kPriorities)
        make_patient(add_one(name, s));
    }
    for (const Script& s : kPatienceMany) {
      Case& c = make_patient(add_one(name, s));
      c.bounds = kPatienceSmall;
      c.quick_bounds = kPatienceManySmall;
      // A timed writer of many locks looks at the time too often for all executions.
      c.sampled = is_large_ && std::ranges::any_of(s.threads, [](const std::string& t) {
                    return t.find("timed") != std::string::npos;
                  });
    }
    if (second != nullptr) {
      for (const Script& s : kCrossed) {
        Case& c = make_patient(add_one(name, s));
        c.second = second;
        c.bounds = kPatienceSmall;
        c.quick_bounds = kPatienceManySmall;
      }
    }
    for (const char* script : kImpatient) {
      if (is_left_out(script)) continue;
      make_patient(add_one(name + "-impatient", contract(script))).impatient = true;
    }
  }
  Case& make_patient(Case& c) const {
    c.patient = true;
    c.bounds = kPatienceFull;
    c.quick_bounds = is_large_ || has_tokens_ ? kPatienceLarge : kPatienceSmall;
    return c;
  }
  // As MutexBuilder::add_rationed.
  void add_rationed(const std::string& name, LockUnderTest& core) {
    const auto add_all = [&](const Scripts& scripts, bool sampled) {
      for (const Script& s : scripts) {
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
    Case& two = add_case("core/" + name, &core, kTwoHandOffs);
    two.bounds = kTwoHandOffsBounds;
    two.quick_bounds = kTwoHandOffsQuick;
    add_oldest("core/" + name + "-impatient", core).impatient = true;
    add_oldest("core/" + name + "-at-once", core).at_once = true;
    add_all(kUrgent, false);
    for (const Script& s : kUrgent)
      add_case("core/" + name, &core, s);
  }
  // As MutexBuilder::add_oldest.
  Case& add_oldest(const std::string& name, LockUnderTest& core) {
    Case& c = add_case(name, &core, kOldest);
    c.wakes_in_order = true;
    c.bounds = kOldestBounds;
    c.quick_bounds = kOldestQuick;
    return c;
  }
  // Numbers in the lock that wrap around, if it counts at all.
  void add_wound(const std::string& name, LockUnderTest& core) {
    if (!counts_acquisitions(core)) return;
    if (sleeps(name)) add_case("core/" + name, &core, kChannels).wound_writes = kChannelsBefore;
    for (const int bits : kWoundBits) {
      for (const Script& s : kWound) {
        Case& c = add_case("core/" + name + "-2^" + std::to_string(bits), &core, s);
        c.wound_writes = c.wound_reads = (std::uint64_t{1} << bits) - 2;
      }
    }
  }

  // A thread with a real-time policy may ask for the wake-up that another one has had.
  static bool has_urgent(const Case& c) {
    return std::ranges::any_of(c.threads,
                               [](const std::string& t) { return t.find("fifo") != t.npos; });
  }
  static bool sleeps(const std::string& lock_name) {
    return lock_name.find("/park") != std::string::npos;
  }
  // With a state on each CPU or node two threads are many; under BRAVO also with tokens of two
  // kinds.
  Bounds quick_bounds(const std::string& lock_name, const Script& s) const {
    if (s.quick != nullptr) {
      Bounds own = *s.quick;
      // A second switch among three threads is for the lock itself.
      const bool is_itself = !lock_name.starts_with("bravo-") && !sleeps(lock_name);
      if (!is_itself && (s.threads.size() > 2 || s.quick == &kSwitchesInTime))
        own.preemptions = std::min(own.preemptions, 1);
      if (is_large_) own = {std::min(own.preemptions, 1), 0, 0, own.timeouts, own.moves};
      if (is_large_ && std::string(s.name).starts_with("fork")) own.moves = 0;
      return own;
    }
    const bool many = is_large_ || (has_tokens_ && lock_name.starts_with("bravo-"));
    if (!many) return s.threads.size() > 2 ? kSmall : kFull;
    if (lock_name.starts_with("core/")) return kSmall;
    if (!std::string(s.name).starts_with("fork")) return kSmallLarge;
    return s.threads.size() > 2 ? kSmallLargeFork : kLargeForkOfTwo;
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
                      .patient = false,
                      .impatient = false,
                      .ticks = false,
                      .zeroed = false,
                      .destroys = destroys(s),
                      .somebody_gets_in = s.somebody_gets_in});
    return cases_.back();
  }
  Case& add_biased(const std::string& lock_name, LockUnderTest* lock, const Script& s) {
    Case& c = add_case(lock_name, lock, s);
    if (!is_asym_) c.slots = {0, 1, 2, 3, 0, 1};
    c.biased = true;
    if (is_large_) c.quick_bounds.moves = 0;  // without BRAVO they move
    return c;
  }

  Cases cases_;
  bool is_large_ = false;    // its state is a block beside it
  bool has_tokens_ = false;  // its reads have tokens
  bool is_asym_ = false;     // its fast readers have rows, not slots
};

}  // namespace lockswap::explore::rw
