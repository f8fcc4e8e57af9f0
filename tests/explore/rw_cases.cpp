// How far the cases of reader-writer locks go, and which they are; see script.h.
#include "rw_cases.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "rationed_cases.h"
#include "wind.h"

namespace lockswap::explore::rw {
namespace {

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
// The widths, in bits, of the numbers with which locks count.
constexpr int kWoundBits[] = {24, 27, 30, 31, 32};
constexpr std::uint64_t kMostGenerations = (1u << 24) - 4;
static_assert(kFull.preemptions >= 2 && kFull.stale >= 2);

}  // namespace

void RwBuilder::add_all(const std::string& name, const Traits& traits, LockUnderTest& core,
                        LockUnderTest& contract, LockUnderTest& second) {
  traits_ = traits;
  for (const Script& s : kGeneral)
    add_case("core/" + name, core, s).gives_back_nodes = true;
  for (const Scripts* scripts : {&kFar, &kAfterTimeOut, &kDestroy}) {
    for (const Script& s : *scripts)
      add_case("core/" + name, core, s);
  }
  add_give_ups("core/" + name, core);
  add_wound(name, core);
  if (traits.rations_hand_offs) add_rationed(name, core);
  // A reader that gets into BA's queue as the writer leaves it: four preemptions. Where reads
  // have tokens these are too many executions.
  if (!traits.has_tokens) {
    Case& deep = add_case("core/" + name, core, {"1w2r-deep", general("1w2r").threads});
    deep.bounds = {4, 2, 1, 1};
    deep.quick_bounds = {sleeps(name) ? 3 : 4, 1, 0, 0};
    for (const Script& s : kAgain)
      add_case("core/" + name, core, s);
  }
  for (const Script& s : kMany)
    add_case("core/" + name, core, s).sampled = true;
  add_each(name, traits_, contract);
  if (traits.is_large) add_case("core/" + name, core, kSamePlace);
  for (const Scripts* scripts : {&kContract, &kMoreContract, &kDestroy}) {
    for (const Script& s : *scripts)
      add_case(name, contract, s);
  }
  // Two blocks would be too many atoms for an execution.
  for (const Script& s : traits.is_large ? Scripts{} : kTwoLocks)
    add_case(name, contract, s).second = &second;
  for (const Script& s : kWoundGenerations)
    add_case(name + "-2^24", contract, s).wound_locks = kMostGenerations;
  if (traits.is_large) add_case(name, contract, kComesRound).quick_bounds = kComesRoundBounds;
  for (const Script& s : kManyContract)
    add_case(name, contract, s).sampled = true;
  for (const char* script : kEach)
    add_case(name + "-zeroed", contract, general(script)).zeroed = true;
  for (const Scripts* scripts : {&kFork, &kMoreFork}) {
    for (const Script& s : *scripts) {
      Case& c = add_case(name, contract, s);
      // Readers that stay until others are in need their patience there.
      c.patient = traits.readers_exclude && s.readers_meet;
    }
  }
  add_case(name + "-zeroed", contract, kForkNew).zeroed = true;
  add_patience(name, contract, traits.is_large ? nullptr : &second);
}

void RwBuilder::add_core(const std::string& name, const Traits& traits, LockUnderTest& core,
                         LockUnderTest& contract) {
  traits_ = traits;
  traits_.has_tokens = false;  // the contract with them is another lock's
  for (const Script& s : kGeneral)
    add_case("core/" + name, core, s).gives_back_nodes = true;
  for (const Scripts* scripts : {&kFar, &kAfterTimeOut, &kDestroy}) {
    for (const Script& s : *scripts)
      add_case("core/" + name, core, s);
  }
  add_give_ups("core/" + name, core);
  add_wound(name, core);
  for (const Script& s : kMany)
    add_case("core/" + name, core, s).sampled = true;
  add_each(name, traits_, contract);
}

// What gives up, and what only tries.
void RwBuilder::add_give_ups(const std::string& lock_name, LockUnderTest& lock) {
  for (const Script& s : kGiveUp) {
    Case& c = add_case(lock_name, lock, s);
    c.gives_back_nodes = true;
    // Where nobody sleeps the same script looks at the orders.
    if (traits_.is_large && sleeps(lock_name)) c.quick_bounds = kNoStale;
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

void RwBuilder::add_each(const std::string& name, const Traits& traits, LockUnderTest& contract) {
  traits_ = traits;
  for (const char* script : kEach)
    add_case(name, contract, general(script));
  for (const char* script : kPatienceEach)
    make_patient(add_case(name, contract, patience(script)));
}

void RwBuilder::add_bravo_forks(const std::string& name, const Traits& traits,
                                LockUnderTest& bravo) {
  traits_ = traits;
  for (const Script& s : kFork) {
    // A second block would be too many atoms for an execution.
    if (!traits.is_large || s.name != std::string("fork-init")) add_case(name, bravo, s);
  }
  // A marked lock's bias has ended: that one is about the contract word.
  for (const Script& s : kMoreFork) {
    if (s.name != std::string("fork-marked-again")) add_case(name, bravo, s);
  }
  for (const char* script : {"fork-1w1r", "fork-write", "fork-crowd-w"}) {
    add_case(name + "-cold", bravo, fork(script)).biased = false;
  }
}

void RwBuilder::add_bravo(const std::string& name, const Traits& traits, LockUnderTest& bravo,
                          LockUnderTest& second) {
  traits_ = traits;
  for (const Scripts* scripts :
       {&kGeneral, &kFar, &kAfterTimeOut, &kDestroy, &kContract, &kMoreContract}) {
    for (const Script& s : *scripts)
      add_case(name, bravo, s);
  }
  // The model of the system's lock is one lock, and what glibc does itself is not asked.
  if (!traits.is_systems) {
    for (const Script& s : traits.is_large ? Scripts{} : kTwoLocks)
      add_case(name, bravo, s).second = &second;
    for (const Script& s : kTries)
      add_case(name, bravo, s);
  }
  for (const Script& s : kMany)
    add_case(name, bravo, s).sampled = true;
  for (const Script& s : kManyContract)
    add_case(name, bravo, s).sampled = true;
  for (const char* script : kEach) {
    const Script& s = general(script);
    // Readers that want the same slot; a lock whose bias is off; one that nobody initialised; a
    // bias that stays off for a while.
    add_case(name + "-ticks", bravo, s).ticks = true;
    if (!traits.is_asym) add_case(name + "-collide", bravo, s).slots = {0, 1, 1, 1};
    add_case(name + "-cold", bravo, s).biased = false;
    Case& zeroed = add_case(name + "-zeroed", bravo, s);
    zeroed.biased = false;
    zeroed.zeroed = true;
  }
  // Readers that leave an unbiased lock's bias alone.
  if (traits.leaves_bias) {
    for (const char* script : kEach)
      add_case(name + "-seldom", bravo, general(script)).seldom = true;
    for (const Script& s : kContract) {
      // A slot of the lock that was there before stays until the bias is on.
      if (s.name == std::string("remade")) continue;
      Case& c = add_case(name + "-seldom", bravo, s);
      c.seldom = true;
      c.biased = false;
    }
    for (const Script& s : kUnbiased)
      add_case(name + "-seldom", bravo, s).seldom = true;
    if (!traits.is_asym) add_case(name + "-collide", bravo, kForkAbove).slots = {0, 1, 0, 1};
  }
  // glibc's own.
  if (traits.is_systems) {
    for (const char* script : kForkSystems)
      add_case(name, bravo, fork(script));
  }
  // The claim about sleepers is passed on. More than that is for the lock itself.
  if (traits.rations_hand_offs && sleeps(name)) {
    add_oldest(
        name, kOldest, kOldestQuick, kSequence,
        [&](const std::string& of, const Script& s) -> Case& { return add_case(of, bravo, s); });
  }
  add_patience(name, bravo, traits.is_systems || traits.is_large ? nullptr : &second);
  // A hold of the lock below, of a thread that is gone, and one of a slot.
  for (const Script& s : kContract) {
    if (s.name == std::string("exit-reading")) add_case(name + "-cold", bravo, s).biased = false;
  }
  // Two readers at once find a lock whose bias never was on.
  add_case(name + "-cold", bravo, {"start", {"R u R u", "R u", "W u"}}).biased = false;
}

// Readers with patience, over a lock with a contract. After a fork glibc's may have a writer of the
// parent's that it does not name. `second` is nullptr if two locks are too many.
void RwBuilder::add_patience(const std::string& name, LockUnderTest& lock, LockUnderTest* second) {
  const auto is_left_out = [this](const std::string& script) {
    return traits_.is_systems && script.starts_with("fork");
  };
  for (const Script& s : kPatience) {
    if (!is_left_out(s.name)) make_patient(add_case(name, lock, s));
  }
  // A writer of many locks waits for the readers of one after the other.
  if (sleeps(name) && lock.claims().phase_fair && !traits_.is_large) {
    for (const Script& s : kPriorities)
      make_patient(add_case(name, lock, s));
  }
  for (const Script& s : kPatienceMany) {
    Case& c = make_patient(add_case(name, lock, s));
    c.bounds = kPatienceSmall;
    c.quick_bounds = kPatienceManySmall;
    // A timed writer of many locks looks at the time too often for all executions.
    c.sampled = traits_.is_large && std::ranges::any_of(s.threads, [](const std::string& t) {
                  return t.find("timed") != std::string::npos;
                });
  }
  if (second != nullptr) {
    for (const Script& s : kCrossed) {
      Case& c = make_patient(add_case(name, lock, s));
      c.second = second;
      c.bounds = kPatienceSmall;
      c.quick_bounds = kPatienceManySmall;
    }
  }
  for (const char* script : kImpatient) {
    if (is_left_out(script)) continue;
    make_patient(add_case(name + "-impatient", lock, contract(script))).impatient = true;
  }
}

Case& RwBuilder::make_patient(Case& c) const {
  c.patient = true;
  c.bounds = kPatienceFull;
  c.quick_bounds = traits_.is_large || traits_.has_tokens ? kPatienceLarge : kPatienceSmall;
  return c;
}

void RwBuilder::add_rationed(const std::string& name, LockUnderTest& core) {
  explore::add_rationed(
      "core/" + name, RationedScripts<Script>{kRationed, kRationedMany, kUrgent, kOldest},
      [&](const std::string& of, const Script& s) -> Case& { return add_case(of, core, s); });
  if (!sleeps(name)) return;
  Case& two = add_case("core/" + name, core, kTwoHandOffs);
  two.bounds = kTwoHandOffsBounds;
  two.quick_bounds = kTwoHandOffsQuick;
}

// Numbers in the lock that wrap around, if it counts at all.
void RwBuilder::add_wound(const std::string& name, LockUnderTest& core) {
  if (!counts_acquisitions(core)) return;
  if (sleeps(name)) add_case("core/" + name, core, kChannels).wound_writes = kChannelsBefore;
  for (const int bits : kWoundBits) {
    for (const Script& s : kWound) {
      Case& c = add_case("core/" + name + "-2^" + std::to_string(bits), core, s);
      c.wound_writes = c.wound_reads = (std::uint64_t{1} << bits) - 2;
    }
  }
}

// With a state on each CPU or node two threads are many; under BRAVO also with tokens of two
// kinds.
Bounds RwBuilder::quick_bounds(const std::string& lock_name, const Script& s) const {
  if (s.quick != nullptr) {
    Bounds own = *s.quick;
    // A second switch among three threads is for the lock itself.
    const bool is_itself = !lock_name.starts_with("bravo-") && !sleeps(lock_name);
    if (!is_itself && (s.threads.size() > 2 || s.quick == &kSwitchesInTime))
      own.preemptions = std::min(own.preemptions, 1);
    if (traits_.is_large) own = {std::min(own.preemptions, 1), 0, 0, own.timeouts, own.moves};
    if (traits_.is_large && std::string(s.name).starts_with("fork")) own.moves = 0;
    return own;
  }
  const bool many = traits_.is_large || (traits_.has_tokens && lock_name.starts_with("bravo-"));
  if (!many) return s.threads.size() > 2 ? kSmall : kFull;
  if (lock_name.starts_with("core/")) return kSmall;
  if (!std::string(s.name).starts_with("fork")) return kSmallLarge;
  return s.threads.size() > 2 ? kSmallLargeFork : kLargeForkOfTwo;
}

Case& RwBuilder::add_case(const std::string& lock_name, LockUnderTest& lock, const Script& s) {
  Case& c = cases_.emplace_back();
  c.name = lock_name + '/' + s.name;
  c.lock = &lock;
  c.threads = s.threads;
  c.bounds = kFull;
  c.quick_bounds = quick_bounds(lock_name, s);
  c.destroys = destroys(s);
  c.somebody_gets_in = s.somebody_gets_in;
  if (traits_.is_bravo) {
    c.biased = true;
    if (!traits_.is_asym) c.slots = {0, 1, 2, 3, 0, 1};
    if (traits_.is_large) c.quick_bounds.moves = 0;  // without BRAVO they move
  }
  return c;
}

}  // namespace lockswap::explore::rw
