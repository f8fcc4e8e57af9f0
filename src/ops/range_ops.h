// The API's functions for range locks: for those whose ranges are nodes, and for those made of
// reader-writer locks.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "locks/common/lock_info.h"
#include "ops/range_frame.h"
#include "platform/memory.h"
#include "platform/native.h"
#include "range/concept.h"
#include "range/request.h"
#include "range/segments.h"
#include "range/stages.h"

namespace lockswap {

// For lists and trees.
template <RangeLock Lock>
class RangeNodeOps {
  using Node = typename Lock::Node;
  static_assert(sizeof(Lock) <= sizeof RangeFrame::state);
  static constexpr bool kFastPath = FastRangeLock<Lock>;

  static Lock& lock(RangeFrame& f) noexcept { return *reinterpret_cast<Lock*>(f.state); }
  // A handle's `node` is the node's address plus its turn, modulo this, so that a copy of a handle
  // that was released can be told apart. The bits below the alignment have room for it.
  static constexpr std::uint32_t kTurns = alignof(Node);
  static Node* node(const RangeHandle& h) noexcept {
    return reinterpret_cast<Node*>(reinterpret_cast<std::uintptr_t>(h.node) &
                                   -std::uintptr_t{kTurns});
  }
  static RangeHandle handle_of(Node& n, RangeFrame& f) noexcept {
    return {reinterpret_cast<std::byte*>(&n) + n.turn % kTurns, &f};
  }
  static RangeHandle handle_if_any(Node* n, RangeFrame& f) noexcept {
    return n == nullptr ? RangeHandle{nullptr, &f} : handle_of(*n, f);
  }
  // Returns 0, or why the calling thread can't use the handle, whose node is n.
  static int refuse(const RangeHandle& h, const Node* n) noexcept {
    if (!Lock::is_mine(n)) [[unlikely]]
      return EPERM;
    return (reinterpret_cast<std::uintptr_t>(h.node) ^ n->turn) % kTurns == 0 ? 0 : EINVAL;
  }
  // relaxed: a bound lock never changes its kind.
  static RangeOptions options(const RangeFrame& f) noexcept {
    return RangeKind::options(f.kind.load(relaxed));
  }

  static int acquire(RangeFrame& f, RangeHandle& h, std::uint64_t start, std::uint64_t end,
                     RangeMode mode) {
    if (start >= end || mode > RangeMode::shared) [[unlikely]] {
      h.node = nullptr;
      return EINVAL;
    }
    if (acquire_alone(f, h, start, end, mode == RangeMode::shared)) return 0;
    return acquire_slowly(f, h, start, end, mode);
  }
  // The fast path, if there is one.
  [[gnu::always_inline]] static bool acquire_alone(RangeFrame& f, RangeHandle& h,
                                                   std::uint64_t start, std::uint64_t end,
                                                   bool shared) noexcept {
    if constexpr (kFastPath) {
      Node* n;
      if (!lock(f).acquire_alone(start, end, shared, n)) return false;
      h = handle_of(*n, f);
      return true;
    } else {
      return false;
    }
  }
  [[gnu::noinline]] static int acquire_slowly(RangeFrame& f, RangeHandle& h, std::uint64_t start,
                                              std::uint64_t end, RangeMode mode) {
    Node* n = nullptr;
    const bool shared = mode == RangeMode::shared;
    const int result = lock(f).acquire_slowly({start, end, shared, false, nullptr}, options(f), n);
    h = handle_if_any(n, f);
    return result;
  }
  static int acquire_within(RangeFrame& f, RangeHandle& h, const RangeRequest& r) {
    Node* n = nullptr;
    const int result = acquire_range(lock(f), r, options(f), n);
    h = handle_if_any(n, f);
    return result;
  }
  static int release(RangeHandle& h) {
    Node* n = node(h);
    if (const int error = refuse(h, n); error != 0) [[unlikely]]
      return error;
    h.node = nullptr;
    ++n->turn;
    if constexpr (kFastPath) {
      if (lock(*h.lock).release_alone(n)) return 0;
    }
    return release_slowly(*h.lock, n);
  }
  [[gnu::noinline]] static int release_slowly(RangeFrame& f, Node* n) {
    lock(f).release_slowly(n);
    return 0;
  }
  static int downgrade(RangeHandle& h) {
    Node* n = node(h);
    if (const int error = refuse(h, n); error != 0) return error;
    if constexpr (SharingRangeLock<Lock>) {
      if (Lock::is_shared(n)) return EINVAL;
      lock(*h.lock).downgrade(n);
      return 0;
    } else {
      return ENOTSUP;
    }
  }
  static int try_upgrade(RangeHandle& h) {
    Node* n = node(h);
    if (const int error = refuse(h, n); error != 0) return error;
    if constexpr (UpgradableRangeLock<Lock>) {
      return Lock::is_shared(n) ? lock(*h.lock).try_upgrade(n) : EINVAL;
    } else {
      return ENOTSUP;
    }
  }
  static bool busy(RangeFrame& f) { return lock(f).busy(); }
  static void begin(RangeFrame& f, std::uint64_t segment) {
    if constexpr (SegmentedRangeLock<Lock>) lock(f).begin(segment);
  }
  static void end(RangeFrame& f) {
    if constexpr (SegmentedRangeLock<Lock>) lock(f).end();
  }

 public:
  static constexpr RangeOps table{acquire,     acquire_within, release, downgrade,
                                  try_upgrade, busy,           begin,   end};
};

// Returns the functions of the reader-writer lock in that row, which is ready for use.
const RwOps& inner_rwlock(std::uint32_t row) noexcept;

// Two ways to store the locks.

// One lock, in the object.
struct OneRwLock {
  static constexpr LockInfo kInfo{.summary = "one reader-writer lock for all units",
                                  .source = "what programs without range locks do",
                                  .fairness = "that of the reader-writer lock"};
  static constexpr std::uint32_t kCount = 1;
  static_assert(sizeof(pthread_rwlock_t) <= sizeof RangeFrame::state);

  static pthread_rwlock_t* locks(RangeFrame& f) noexcept {
    return reinterpret_cast<pthread_rwlock_t*>(f.state);
  }
  static pthread_rwlock_t* locks_if_any(RangeFrame& f) noexcept { return locks(f); }
  static std::uint64_t segment(RangeFrame&) noexcept { return ~std::uint64_t{0}; }
  static void begin(RangeFrame&, std::uint64_t) noexcept {}
  static void end(RangeFrame&) noexcept {}
};

// A lock for each segment, mapped when the first range is acquired.
struct ManyRwLocks {
  static constexpr LockInfo kInfo{
      .summary = "256 segments in turn, each a reader-writer lock",
      .source = "Kogan, Dice, Issa, EuroSys 2020, 7.1, after pNOVA 2019",
      .fairness = "that of the reader-writer locks"};
  static constexpr std::uint32_t kCount = SegmentLocks::kSegments;
  static constexpr std::size_t kMapped = kCount * sizeof(pthread_rwlock_t);
  struct State {
    NativeAtomic<std::uint64_t> locks;
    std::uint64_t segment;  // units; 0: the default
  };

  static State& state(RangeFrame& f) noexcept { return *reinterpret_cast<State*>(f.state); }

  // Returns nullptr if there is no memory.
  static pthread_rwlock_t* locks(RangeFrame& f) noexcept {
    pthread_rwlock_t* there = locks_if_any(f);
    return there != nullptr ? there : map_locks(f);
  }
  // Returns nullptr if no range has ever been acquired.
  static pthread_rwlock_t* locks_if_any(RangeFrame& f) noexcept {
    // acquire: pairs with map_locks().
    return reinterpret_cast<pthread_rwlock_t*>(state(f).locks.load(acquire));
  }
  static std::uint64_t segment(RangeFrame& f) noexcept {
    return state(f).segment != 0 ? state(f).segment : default_range_segment;
  }
  static void begin(RangeFrame& f, std::uint64_t units) noexcept { state(f).segment = units; }
  static void end(RangeFrame& f) noexcept {
    // relaxed: nobody else uses the lock.
    if (const std::uint64_t there = state(f).locks.exchange(0, relaxed); there != 0)
      unmap_pages(reinterpret_cast<void*>(there), kMapped);
  }

 private:
  [[gnu::noinline]] static pthread_rwlock_t* map_locks(RangeFrame& f) noexcept {
    void* fresh = map_pages(kMapped);
    if (fresh == nullptr) return nullptr;
    std::uint64_t there = 0;
    // release: pairs with locks(). acquire: another thread's locks.
    if (!state(f).locks.compare_exchange(there, reinterpret_cast<std::uintptr_t>(fresh), acq_rel)) {
      unmap_pages(fresh, kMapped);
      return locks(f);
    }
    return static_cast<pthread_rwlock_t*>(fresh);
  }
};

// The `node` of a handle is not a pointer here. It has the number of the range's first lock from
// bit 1 on, then the number of its locks, then the thread that holds it.
template <class Home>
class RangeSegmentOps {
  static constexpr std::uintptr_t kRange = 1;  // so that it is never 0
  static constexpr unsigned kFirstAt = 1, kCountAt = 9, kOwnerAt = 18;
  static_assert(Home::kCount <= 1u << (kCountAt - kFirstAt));
  // P::self() is an address of at most 49 bits, with zeroes in the low ones.
  static constexpr unsigned kOwnerZeroes = 3;
  static_assert(sizeof(std::uintptr_t) == 8);

  static const RwOps& ops(RangeFrame& f) noexcept {
    return inner_rwlock(RangeKind::inner(f.kind.load(relaxed)));  // relaxed: it never changes
  }
  static std::uintptr_t self() noexcept { return Native::self() << (kOwnerAt - kOwnerZeroes); }
  static void* name_of(const Segments& s) noexcept {
    return reinterpret_cast<void*>(kRange | std::uintptr_t{s.first} << kFirstAt |
                                   std::uintptr_t{s.count} << kCountAt | self());
  }
  static bool is_mine(const RangeHandle& h) noexcept {
    return reinterpret_cast<std::uintptr_t>(h.node) >> kOwnerAt == self() >> kOwnerAt;
  }
  static Segments segments_of(const RangeHandle& h) noexcept {
    const auto name = reinterpret_cast<std::uintptr_t>(h.node);
    return {static_cast<std::uint32_t>(name >> kFirstAt & ((1u << (kCountAt - kFirstAt)) - 1)),
            static_cast<std::uint32_t>(name >> kCountAt & ((1u << (kOwnerAt - kCountAt)) - 1)),
            Home::kCount};
  }
  static RangesHeld& held() noexcept { return Native::local<RangesHeld>(); }

  static int acquire(RangeFrame& f, RangeHandle& h, std::uint64_t start, std::uint64_t end,
                     RangeMode mode) {
    if (start >= end || mode > RangeMode::shared) [[unlikely]]
      return refuse(h, EINVAL);
    if constexpr (Home::kCount == 1) {
      const RwOps& o = ops(f);
      const int result =
          mode == RangeMode::shared ? o.rdlock(Home::locks(f)) : o.wrlock(Home::locks(f));
      return result == 0 ? have(f, h, {0, 1, 1}) : refuse(h, result);
    }
    return acquire_within(f, h, {start, end, mode == RangeMode::shared, false, nullptr});
  }
  static int acquire_within(RangeFrame& f, RangeHandle& h, const RangeRequest& r) {
    pthread_rwlock_t* locks = Home::locks(f);
    if (locks == nullptr) return refuse(h, ENOMEM);
    Segments s{0, 1, 1};
    if constexpr (Home::kCount > 1)
      s = Segments::of_range(r.start, r.end, Home::segment(f), Home::kCount);
    const int result = SegmentLocks(ops(f), locks).take(s, r);
    return result == 0 ? have(f, h, s) : refuse(h, result);
  }
  static int have(RangeFrame& f, RangeHandle& h, const Segments& s) {
    ++held().count;
    h = {name_of(s), &f};
    return 0;
  }
  static int refuse(RangeHandle& h, int result) {
    h.node = nullptr;
    return result;
  }
  static int release(RangeHandle& h) {
    if (!is_mine(h)) return EPERM;
    if constexpr (Home::kCount == 1) {
      ops(*h.lock).unlock(Home::locks(*h.lock));
    } else {
      SegmentLocks(ops(*h.lock), Home::locks(*h.lock)).give_back(segments_of(h));
    }
    --held().count;
    h.node = nullptr;
    return 0;
  }
  static int downgrade(RangeHandle& h) { return is_mine(h) ? ENOTSUP : EPERM; }
  static int try_upgrade(RangeHandle& h) { return is_mine(h) ? ENOTSUP : EPERM; }
  static bool busy(RangeFrame& f) {
    pthread_rwlock_t* locks = Home::locks_if_any(f);
    return locks != nullptr && SegmentLocks(ops(f), locks).busy(Home::kCount);
  }
  static void end(RangeFrame& f) {
    pthread_rwlock_t* locks = Home::locks_if_any(f);
    if (locks == nullptr) return;
    for (std::uint32_t i = 0; i < Home::kCount; ++i)
      ops(f).destroy(&locks[i]);
    Home::end(f);
  }

 public:
  static constexpr RangeOps table{acquire,     acquire_within, release,     downgrade,
                                  try_upgrade, busy,           Home::begin, end};
};

}  // namespace lockswap
