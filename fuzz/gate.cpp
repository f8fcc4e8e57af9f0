#include "fuzz/gate.h"

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/futex.h"

namespace lockswap::fuzz {
namespace {

constexpr int kPlaces = 128;
// In nanoseconds.
constexpr std::uint64_t kOverdue = 50'000'000;  // longer than holders are delayed
constexpr std::uint64_t kLongest = 1'000'000'000;
constexpr std::uint64_t kLook = 1'000'000;  // how often a thread whose turn it is rechecks
constexpr std::uint32_t kAllChannels = ~std::uint32_t{0};

struct Place {
  NativeAtomic<const void*> lock{nullptr};
  NativeAtomic<std::uint64_t> number{0};
  NativeAtomic<std::uint64_t> until{0};  // after it the place is free
};
constinit Place places[kPlaces];
constinit NativeAtomic<int> inside{0};
// Counts releases; those in the gate sleep on it.
constinit NativeAtomic<std::uint32_t> releases{0};

}  // namespace

// All orders are relaxed: a number that is read too early or too late chooses another thread, and
// what the lock guards is handed on by the lock.

Gate::Gate(const void* lock, std::uint64_t number, bool is_timed) noexcept
    : lock_(lock), number_(number) {
  const std::uint64_t now = monotonic_ns();
  overdue_ = now + kOverdue;
  until_ = is_timed ? overdue_ : now + kLongest;
  // seq_cst, as the load in open_gate: either that sees this thread, or the try that follows comes
  // after the release.
  inside.fetch_add(1, seq_cst);
  seen_ = releases.load(relaxed);
  for (int i = 0; i < kPlaces && place_ < 0; ++i) {
    const std::uint64_t end = places[i].until.load(relaxed);
    std::uint64_t expected = end;
    if (end >= now || !places[i].until.compare_exchange(expected, until_, relaxed)) continue;
    places[i].number.store(number, relaxed);
    places[i].lock.store(lock, relaxed);
    place_ = i;
  }
}

bool Gate::turn() noexcept {
  for (;;) {
    const std::uint64_t now = monotonic_ns();
    if (place_ < 0 || now >= until_) return false;
    bool first = true;
    for (int i = 0; i < kPlaces && first && now < overdue_; ++i) {
      if (i == place_ || places[i].lock.load(relaxed) != lock_) continue;
      first = places[i].until.load(relaxed) < now || places[i].number.load(relaxed) < number_;
    }
    // Once after each release, and now and then.
    if (first && !tried_) {
      tried_ = true;
      return true;
    }
    futex_wait_for(&releases, seen_, kLook);
    seen_ = releases.load(relaxed);
    tried_ = false;
  }
}

Gate::~Gate() {
  // Unless another thread has the place, since this one's time is over. One that takes it in
  // between is overlooked by others, who then go before it.
  if (place_ >= 0 && places[place_].until.load(relaxed) == until_) {
    places[place_].lock.store(nullptr, relaxed);
    std::uint64_t mine = until_;
    places[place_].until.compare_exchange(mine, 0, relaxed);
  }
  inside.fetch_sub(1, relaxed);
  open_gate();  // where this one is in as a reader, others may be, too
}

void open_gate() noexcept {
  if (inside.load(seq_cst) <= 0) return;
  releases.fetch_add(1, relaxed);
  futex_wake(&releases, kAllChannels);
}

}  // namespace lockswap::fuzz
