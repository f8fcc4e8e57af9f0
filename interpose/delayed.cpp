// Makes the unlock of a chosen lock take longer, either before or after the release. Acquisitions
// are intercepted only because the first call on an object may decide whether it is chosen, as with
// a policy.
//
// The decisions are in a table here, by the object's address, because glibc's locks have no room
// for them. Each entry is one word: the address, with flags in its low bits. No other data depends
// on it, so all accesses are relaxed.
#include "interpose/delayed.h"

#include <cerrno>
#include <cstdint>

#include "interpose/modules.h"
#include "interpose/policy_rules.h"
#include "platform/atomic.h"
#include "platform/memory.h"
#include "platform/native.h"
#include "platform/say.h"
#include "platform/text.h"
#include "platform/ticks.h"

namespace lockswap::delayed {
namespace {

using Word = std::uintptr_t;
using Slot = NativeAtomic<Word>;

constexpr Word kChosen = 1;
constexpr Word kUndecided = 2;
// A writer holds this chosen rwlock. The writer sets and clears it during its hold, so readers see
// it clear, because the lock itself orders that.
constexpr Word kWritten = 4;
constexpr Word kFlags = kChosen | kUndecided | kWritten;

constexpr std::size_t kSlotBits = 18, kSlots = std::size_t{1} << kSlotBits;
constexpr std::size_t kMostProbes = 64;

constinit MutexOps mutex{};
constinit RwOps rwlock{};
constinit const Delay* the_delay = nullptr;
constinit Slot* slots = nullptr;  // zero: an empty slot
// relaxed, all: counters, which are read at the end.
constinit NativeAtomic<std::uint64_t> delays{0}, chosen{0}, left_out{0};

std::size_t place_of(Word address) noexcept {
  return (address >> 3) * 0x9e3779b97f4a7c15u >> (64 - kSlotBits);
}

// Returns the lock's slot, or nullptr if there is none or, with `make`, no room for one.
Slot* slot_of(const void* lock, bool make) noexcept {
  const auto address = reinterpret_cast<Word>(lock);
  if ((address & kFlags) != 0) return nullptr;  // no compiler places a lock there
  const std::size_t first = place_of(address);
  for (std::size_t i = 0; i < kMostProbes; ++i) {
    Slot& slot = slots[(first + i) % kSlots];
    Word seen = slot.load(relaxed);
    if (seen == 0) {
      if (!make) return nullptr;
      if (slot.compare_exchange(seen, address | kUndecided, relaxed)) return &slot;
    }
    if ((seen & ~kFlags) == address) return &slot;
  }
  if (make) left_out.fetch_add(1, relaxed);
  return nullptr;
}

Word decided(ObjectKind kind, const void* lock, const void* caller) noexcept {
  const bool is_met = first_rule_met(the_delay->policy, kind, lock, caller).rule >= 0;
  if (is_met) chosen.fetch_add(1, relaxed);
  return reinterpret_cast<Word>(lock) | (is_met ? kChosen : 0);
}

// Returns the slot of a chosen lock, and nullptr for others.
Slot* chosen_slot(ObjectKind kind, const void* lock, const void* caller) noexcept {
  Slot* slot = slot_of(lock, true);
  if (slot == nullptr) return nullptr;
  Word seen = slot->load(relaxed);
  if ((seen & kUndecided) != 0) {
    const Word mine = decided(kind, lock, caller);
    // Threads that come first together usually decide the same. If their call sites differ, the
    // first one wins.
    if (slot->compare_exchange(seen, mine, relaxed)) seen = mine;
  }
  return (seen & kChosen) != 0 ? slot : nullptr;
}

void decide_anew(ObjectKind kind, const void* lock, const void* caller) noexcept {
  Slot* slot = slot_of(lock, true);
  if (slot != nullptr) slot->store(decided(kind, lock, caller), relaxed);
}

void forget(const void* lock) noexcept {
  Slot* slot = slot_of(lock, false);
  if (slot != nullptr) slot->store(reinterpret_cast<Word>(lock) | kUndecided, relaxed);
}

// Busy-waits by the clock, as a longer hold would.
void spend() noexcept {
  delays.fetch_add(1, relaxed);
  const std::uint64_t begin = Ticks::now();
  while (Ticks::ns_between(begin, Ticks::now()) < the_delay->ns)
    Native::relax();
}

bool is_acquired(int error) noexcept { return error == 0 || error == EOWNERDEAD; }

template <ObjectKind kKind>
struct Delayed {
  static int on(InitCall auto call, auto* lock, auto* attributes) noexcept {
    decide_anew(kKind, lock, call.caller);
    return call.next(lock, attributes);
  }
  static int on(DestroyCall auto call, auto* lock) noexcept {
    const int error = call.next(lock);
    if (error == 0) forget(lock);
    return error;
  }
  template <LockCall C>
  static int on(C call, auto* lock, auto... args) noexcept {
    Slot* slot = chosen_slot(kKind, lock, call.caller);
    const int error = call.next(lock, args...);
    if (kKind == ObjectKind::rwlock && !C::kReads && slot != nullptr && is_acquired(error))
      slot->fetch_or(kWritten, relaxed);
    return error;
  }
  static int on(UnlockCall auto call, auto* lock) noexcept {
    Slot* slot = chosen_slot(kKind, lock, call.caller);
    if (slot == nullptr || !is_delayed(*slot)) return call.next(lock);
    if (!the_delay->after) spend();
    const int error = call.next(lock);  // the object may be gone afterwards
    if (the_delay->after) spend();
    return error;
  }

 private:
  static bool is_delayed(Slot& slot) noexcept {
    if (kKind == ObjectKind::mutex) return true;
    const bool written = (slot.load(relaxed) & kWritten) != 0;
    if (written) slot.fetch_and(~kWritten, relaxed);
    return written ? the_delay->writes : the_delay->reads;
  }
};

}  // namespace

bool begin(const Delay& delay) noexcept {
  the_delay = &delay;
  slots = static_cast<Slot*>(map_pages(kSlots * sizeof(Slot)));
  if (slots == nullptr) return false;
  prepare_modules();
  Ticks::calibrate();
  return true;
}

MutexOps over_mutex(const MutexOps& behind) noexcept {
  mutex = behind;
  return around<Delayed<ObjectKind::mutex>, mutex>;
}
RwOps over_rwlock(const RwOps& behind) noexcept {
  rwlock = behind;
  return around<Delayed<ObjectKind::rwlock>, rwlock>;
}

void forked() noexcept {
  delays.store(0, relaxed);
  chosen.store(0, relaxed);
  left_out.store(0, relaxed);
}

void report() noexcept {
  char line[256];
  Text text(line, sizeof line);
  text << "lockswap: LOCKSWAP_DELAY: " << delays.load(relaxed) << " delays of " << the_delay->ns
       << " ns " << (the_delay->after ? "after" : "in") << " holds, of " << chosen.load(relaxed)
       << " objects";
  if (left_out.load(relaxed) != 0)
    text << "; the table is full, so " << left_out.load(relaxed) << " calls were not delayed";
  text << "\n";
  say(line);
}

}  // namespace lockswap::delayed
