// What a line of list.def wraps around a core, in the shapes that rw_contract.h needs (unbiased.h).
#pragma once

#include "locks/common/events.h"
#include "locks/rw/bravo.h"
#include "locks/rw/unbiased.h"
#include "variants/bias_policies.h"
#include "variants/bravo_passing.h"
#include "variants/grid_slots.h"
#include "variants/probing_slots.h"
#include "variants/sized_slots.h"

namespace lockswap::variants {

struct NoBravo {
  template <class P, class W, class Core, class Count>
  using Lock = Unbiased<P, Core, Count>;
};
struct OneTableForAll {
  template <class P, class W, class Core, class Count>
  using Lock = Bravo<P, W, Core, Count>;
};
template <template <class, class> class SlotsOf, class Bias = InhibitedBias>
struct WithSlots {
  template <class P, class W, class Core, class Count>
  using Lock = Bravo<P, W, Core, Count, SlotsOf<P, W>, Bias>;
};
struct WithoutBias {
  template <class P, class W, class Core, class Count>
  using Lock = Bravo<P, W, Core, Count, TableSlots<P, W>, NeverBias>;
};
struct Passing {  // a type whose core is always the same
  template <class P, class W, class Core, class Count>
  using Lock = BravoPassing<P, W, Count>;
};

using Grid = WithSlots<GridSlots>;
using Probing = WithSlots<SecondProbe>;
using Sectors = WithSlots<NodeSectors>;
using Sized = WithSlots<SlotsOfProcessors>;
using Growing = WithSlots<GrowingSlots>;
using Bernoulli = WithSlots<UnguardedSlots, OneIn100>;

}  // namespace lockswap::variants
