#include "fuzz/gate.h"

#include "fuzz/disturb.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/futex.h"

namespace lockswap::fuzz {
namespace {

constexpr int kPlaces = 128;
// All in nanoseconds.
constexpr std::uint64_t kLongestOverdue = 1'000'000'000;
constexpr std::uint64_t kLook = 1'000'000;  // how often a thread rechecks that has the turn
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint32_t kAllChannels = ~std::uint32_t{0};

struct Place {
  NativeAtomic<const void*> lock{nullptr};
  NativeAtomic<std::uint64_t> number{0};
  NativeAtomic<std::uint64_t> until{0};  // after that time the place is free
};
constinit Place places[kPlaces];
constinit NativeAtomic<int> inside{0};
// Counts releases. The threads in the gate sleep on it.
constinit NativeAtomic<std::uint32_t> releases{0};

}  // namespace

// All orders are relaxed: a number that is read too early or too late only selects another thread,
// and the lock itself orders what it protects.

Gate::Gate(const void* lock, std::uint64_t number, bool is_timed) noexcept
    : lock_(lock), number_(number) {
  const std::uint64_t now = monotonic_ns();
  overdue_ = now + settings.turn_ms * kMillisecond;
  until_ = is_timed ? overdue_ : overdue_ + kLongestOverdue;
  // seq_cst, as the load in open_gate: either that load sees this thread, or the try that follows
  // comes after the release.
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
    // Polls once after each release, and now and then.
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
  // Not if another thread has the place because this one's time is over. If one takes it between
  // the load and the store, others don't see it and go first.
  if (place_ >= 0 && places[place_].until.load(relaxed) == until_) {
    places[place_].lock.store(nullptr, relaxed);
    std::uint64_t mine = until_;
    places[place_].until.compare_exchange(mine, 0, relaxed);
  }
  inside.fetch_sub(1, relaxed);
  open_gate();  // if this one got it as a reader, others may as well
}

void open_gate() noexcept {
  if (inside.load(seq_cst) <= 0) return;
  releases.fetch_add(1, relaxed);
  futex_wake(&releases, kAllChannels);
}

}  // namespace lockswap::fuzz
