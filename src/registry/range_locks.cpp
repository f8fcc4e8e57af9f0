#include "registry/range_locks.h"

#include <cerrno>
#include <iterator>

#include "platform/native.h"
#include "registry/text.h"
#include "wait/park.h"
#include "wait/spin.h"
#include "wait/yield.h"

namespace lockswap {
namespace {

constexpr RangeLockInfo kRangeLocks[] = {
    {"list-ex", "a sorted list of held ranges, all of them exclusive",
     "Kogan, Dice, Issa, EuroSys 2020, 4.1",
     "who comes at the right moment; who fails eight times goes first"},
    {"list-rw", "a sorted list of held ranges, shared and exclusive",
     "Kogan, Dice, Issa, EuroSys 2020, 4.2",
     "the same; readers before writers, or the other way round"},
};
constexpr const char* kDefault = "list-rw";

template <class List>
struct Ops {
  using Node = typename List::Node;
  static_assert(sizeof(List) <= sizeof RangeFrame::state);

  static List& list(RangeFrame& f) noexcept { return *reinterpret_cast<List*>(f.state); }
  static Node* node(const RangeHandle& h) noexcept { return static_cast<Node*>(h.node); }

  static int acquire(RangeFrame& f, RangeHandle& h, std::uint64_t start, std::uint64_t end,
                     RangeMode mode) {
    if (start >= end || mode > RangeMode::shared) [[unlikely]] {
      h.node = nullptr;
      return EINVAL;
    }
    Node* n;
    if (!list(f).acquire_alone(start, end, mode == RangeMode::shared, n)) {
      return acquire_slowly(f, h, start, end, mode);
    }
    h = {n, &f};
    return 0;
  }
  [[gnu::noinline]] static int acquire_slowly(RangeFrame& f, RangeHandle& h, std::uint64_t start,
                                              std::uint64_t end, RangeMode mode) {
    return acquire_within(f, h, {start, end, mode == RangeMode::shared, false, nullptr});
  }
  static int acquire_within(RangeFrame& f, RangeHandle& h, const RangeRequest& r) {
    // relaxed: a bound lock stays what it is.
    const RangeOptions options = RangeKind::options(f.kind.load(relaxed));
    Node* n = nullptr;
    const int result = list(f).acquire_range(r, options, n);
    h = {n, &f};
    return result;
  }
  static int release(RangeHandle& h) {
    Node* n = node(h);
    if (!List::is_mine(n)) [[unlikely]]
      return EPERM;
    h.node = nullptr;
    if (!list(*h.lock).release_alone(n)) return release_slowly(*h.lock, n);
    return 0;
  }
  [[gnu::noinline]] static int release_slowly(RangeFrame& f, Node* n) {
    list(f).release_slowly(n);
    return 0;
  }
  static int downgrade(RangeHandle& h) {
    Node* n = node(h);
    if (!List::is_mine(n)) return EPERM;
    if constexpr (List::kCanShare) {
      if (List::is_shared(n)) return EINVAL;
      list(*h.lock).downgrade(n);
      return 0;
    } else {
      return ENOTSUP;
    }
  }
  static bool busy(RangeFrame& f) { return list(f).busy(); }
};

template <class List>
constexpr RangeOps ops_of() {
  using O = Ops<List>;
  return {&O::acquire, &O::acquire_within, &O::release, &O::downgrade, &O::busy};
}

template <class W>
constexpr RangeOps kOps[] = {
    ops_of<RangeList<Native, W, false>>(),
    ops_of<RangeList<Native, W, true>>(),
};
static_assert(std::size(kOps<Park<Native>>) == std::size(kRangeLocks));

using Nodes = RangeList<Native, Park<Native>, true>::Nodes;  // the same for all of them

}  // namespace

constinit ActiveRange active_range{kOps<Park<Native>>, 0};

RangeLocks range_locks() noexcept {
  return {kRangeLocks, static_cast<int>(std::size(kRangeLocks))};
}

std::uint32_t find_range_lock(const char* name) noexcept {
  for (std::uint32_t i = 0; i < std::size(kRangeLocks); ++i) {
    if (same_name(kRangeLocks[i].name, name)) return i + 1;
  }
  return 0;
}

void prepare_range(const Config& config) noexcept {
  ThreadExit::prepare();
  Nodes::prepare();
  Native::set_spin_budget(config.spin);
  if (same_name(config.wait, "spin")) active_range.ops = kOps<Spin<Native>>;
  if (same_name(config.wait, "yield")) active_range.ops = kOps<Yield<Native>>;
  const char* name = config.range == nullptr ? kDefault : config.range;
  active_range.default_kind = find_range_lock(name) | RangeKind::kFair;
}

void range_forked() noexcept { Nodes::forked(); }
PoolCounts range_counts() noexcept { return Nodes::counts(); }

}  // namespace lockswap
