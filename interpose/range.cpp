// The exported functions of range_lock.h. They check arguments and leave the rest to the registry.

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>

#include "interpose/exports.h"
#include "interpose/start.h"
#include "lockswap/range_lock.h"
#include "platform/clock.h"
#include "registry/range_locks.h"

using lockswap::active_range;
using lockswap::Deadline;
using lockswap::RangeFrame;
using lockswap::RangeHandle;
using lockswap::RangeKind;
using lockswap::RangeMode;
using lockswap::RangeOps;

static_assert(sizeof(lockswap_range_lock) == sizeof(RangeFrame));
static_assert(sizeof(lockswap_range) == sizeof(RangeHandle));
static_assert(LOCKSWAP_RANGE_EXCLUSIVE == static_cast<int>(RangeMode::exclusive));
static_assert(LOCKSWAP_RANGE_SHARED == static_cast<int>(RangeMode::shared));

namespace {

struct Attributes {
  std::uint32_t kind;     // the implementation, with its name's options; 0: the default
  std::uint32_t options;  // the values of those in `chosen`
  std::uint64_t segment;  // units; 0: the default
  std::uint64_t chosen;   // the options that the program has set
  std::uint64_t unused;

  void choose(std::uint32_t option, bool on) noexcept {
    chosen |= option;
    options = on ? options | option : options & ~option;
  }
};
static_assert(sizeof(Attributes) == sizeof(lockswap_range_lock_attr));

RangeFrame& frame(lockswap_range_lock* l) noexcept { return *reinterpret_cast<RangeFrame*>(l); }
RangeHandle& handle(lockswap_range* r) noexcept { return *reinterpret_cast<RangeHandle*>(r); }
Attributes& attributes(lockswap_range_lock_attr* a) noexcept {
  return *reinterpret_cast<Attributes*>(a);
}

// Chooses a lock's kind on its first use. This starts the library, so no lock is used before its
// wait policy is known.
std::uint32_t bind(RangeFrame& f) noexcept {
  lockswap::ensure_started();
  std::uint32_t kind = 0;
  // relaxed: all threads find the same, so it doesn't matter which is first.
  return f.kind.compare_exchange(kind, active_range.default_kind, lockswap::relaxed)
             ? active_range.default_kind
             : kind;
}

const RangeOps& ops_of(std::uint32_t kind) noexcept {
  return active_range.ops[(kind & RangeKind::kNumber) - 1];
}
// relaxed: the program has handed the lock on, or this is the first use.
std::uint32_t range_kind(const RangeFrame& f) noexcept { return f.kind.load(lockswap::relaxed); }
const RangeOps& ops_of_any(RangeFrame& f) noexcept {
  const std::uint32_t kind = range_kind(f);
  return ops_of(kind != 0 ? kind : bind(f));
}

// Called for a lock that no thread has used before.
[[gnu::noinline, gnu::cold]] int acquire_first(RangeFrame& f, RangeHandle& h, std::uint64_t start,
                                               std::uint64_t end, RangeMode mode) noexcept {
  return ops_of(bind(f)).acquire(f, h, start, end, mode);
}
[[gnu::always_inline]] inline int acquire(lockswap_range_lock* lock, lockswap_range* range,
                                          std::uint64_t start, std::uint64_t end,
                                          int mode) noexcept {
  RangeFrame& f = frame(lock);
  const std::uint32_t kind = range_kind(f);
  const auto m = static_cast<RangeMode>(mode);
  if (kind == 0) [[unlikely]]
    return acquire_first(f, handle(range), start, end, m);
  return ops_of(kind).acquire(f, handle(range), start, end, m);
}
int acquire_within(lockswap_range_lock* lock, lockswap_range* range, std::uint64_t start,
                   std::uint64_t end, int mode, const Deadline* deadline) noexcept {
  handle(range).node = nullptr;
  const bool shared = mode == LOCKSWAP_RANGE_SHARED;
  if (start >= end || (!shared && mode != LOCKSWAP_RANGE_EXCLUSIVE)) return EINVAL;
  RangeFrame& f = frame(lock);
  return ops_of_any(f).acquire_within(f, handle(range),
                                      {.start = start,
                                       .end = end,
                                       .shared = shared,
                                       .only_try = deadline == nullptr,
                                       .deadline = deadline});
}

}  // namespace

extern "C" {

LOCKSWAP_EXPORTED int lockswap_range_lock_attr_init(lockswap_range_lock_attr* attr) {
  attributes(attr) = {};
  return 0;
}
LOCKSWAP_EXPORTED int lockswap_range_lock_attr_set_implementation(lockswap_range_lock_attr* attr,
                                                                  const char* name) {
  lockswap::ensure_started();
  const std::uint32_t kind = lockswap::find_range_lock(name);
  if (kind == 0) return EINVAL;
  if (lockswap::make_ready(kind) != nullptr) return ENOTSUP;
  attributes(attr).kind = kind;
  return 0;
}
LOCKSWAP_EXPORTED int lockswap_range_lock_attr_set_segment(lockswap_range_lock_attr* attr,
                                                           uint64_t units) {
  if (units == 0) return EINVAL;
  attributes(attr).segment = units;
  return 0;
}
LOCKSWAP_EXPORTED int lockswap_range_lock_attr_set_fair(lockswap_range_lock_attr* attr, int fair) {
  if (fair != 0 && fair != 1) return EINVAL;
  attributes(attr).choose(RangeKind::kFair, fair == 1);
  return 0;
}
LOCKSWAP_EXPORTED int lockswap_range_lock_attr_set_preference(lockswap_range_lock_attr* attr,
                                                              int preference) {
  if (preference != LOCKSWAP_RANGE_PREFER_READERS && preference != LOCKSWAP_RANGE_PREFER_WRITERS) {
    return EINVAL;
  }
  attributes(attr).choose(RangeKind::kWritersFirst, preference == LOCKSWAP_RANGE_PREFER_WRITERS);
  return 0;
}

LOCKSWAP_EXPORTED int lockswap_range_lock_init(lockswap_range_lock* lock,
                                               const lockswap_range_lock_attr* attr) {
  lockswap::ensure_started();
  RangeFrame& f = *new (lock) RangeFrame{};
  Attributes a{};
  if (attr != nullptr) std::memcpy(&a, attr, sizeof a);
  const std::uint32_t named = a.kind != 0 ? a.kind : active_range.default_kind;
  const std::uint32_t kind = (named & ~static_cast<std::uint32_t>(a.chosen)) | a.options;
  ops_of(kind).begin(f, a.segment);
  f.kind.store(kind, lockswap::relaxed);  // relaxed: the program hands the lock on
  return 0;
}
LOCKSWAP_EXPORTED int lockswap_range_lock_destroy(lockswap_range_lock* lock) {
  RangeFrame& f = frame(lock);
  const RangeOps& ops = ops_of_any(f);
  if (ops.busy(f)) return EBUSY;
  ops.end(f);
  return 0;
}

LOCKSWAP_EXPORTED int lockswap_range_acquire(lockswap_range_lock* lock, lockswap_range* range,
                                             uint64_t start, uint64_t end, int mode) {
  return acquire(lock, range, start, end, mode);
}
LOCKSWAP_EXPORTED int lockswap_range_acquire_full(lockswap_range_lock* lock, lockswap_range* range,
                                                  int mode) {
  return acquire(lock, range, 0, UINT64_MAX, mode);
}
LOCKSWAP_EXPORTED int lockswap_range_try_acquire(lockswap_range_lock* lock, lockswap_range* range,
                                                 uint64_t start, uint64_t end, int mode) {
  return acquire_within(lock, range, start, end, mode, nullptr);
}
LOCKSWAP_EXPORTED int lockswap_range_clock_acquire(lockswap_range_lock* lock, lockswap_range* range,
                                                   uint64_t start, uint64_t end, int mode,
                                                   int clock, const timespec* until) {
  handle(range).node = nullptr;
  if (!lockswap::is_valid_clock(clock) || !lockswap::is_valid_time(*until)) return EINVAL;
  const Deadline deadline{clock, *until};
  return acquire_within(lock, range, start, end, mode, &deadline);
}
LOCKSWAP_EXPORTED int lockswap_range_timed_acquire(lockswap_range_lock* lock, lockswap_range* range,
                                                   uint64_t start, uint64_t end, int mode,
                                                   const timespec* until) {
  return lockswap_range_clock_acquire(lock, range, start, end, mode, CLOCK_REALTIME, until);
}

// A lock that has a handle has its kind already.
LOCKSWAP_EXPORTED int lockswap_range_release(lockswap_range* range) {
  RangeHandle& h = handle(range);
  if (h.node == nullptr) [[unlikely]]
    return EINVAL;
  return ops_of(range_kind(*h.lock)).release(h);
}
LOCKSWAP_EXPORTED int lockswap_range_downgrade(lockswap_range* range) {
  RangeHandle& h = handle(range);
  if (h.node == nullptr) return EINVAL;
  return ops_of(range_kind(*h.lock)).downgrade(h);
}
LOCKSWAP_EXPORTED int lockswap_range_try_upgrade(lockswap_range* range) {
  RangeHandle& h = handle(range);
  if (h.node == nullptr) return EINVAL;
  return ops_of(range_kind(*h.lock)).try_upgrade(h);
}

LOCKSWAP_EXPORTED int lockswap_range_get_counts(lockswap_range_counts* counts) {
  const lockswap::PoolCounts c = lockswap::range_counts();
  *counts = {.nodes = c.nodes, .growths = c.growths, .blocked = c.blocked, .threads = c.supplies};
  return 0;
}

}  // extern "C"
