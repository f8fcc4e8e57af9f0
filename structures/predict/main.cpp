// lockswap-model-structures: the structures on a modelled machine (predict/session.h).
#include "address_space/designs.h"
#include "compared_sets.h"
#include "predict/session.h"
#include "reverse_maps.h"
#include "rlu_sets.h"
#include "space.h"

namespace lockswap::predict {
namespace {

AllOperated all_structures() {
  AllOperated all;
#define DESIGN(name, Class) add<ModelledSpace<address_space::Class>>(all, name, "design");
#include "address_space/designs.def"
#undef DESIGN
  add<RluSet<1>>(all, "rlu", "set");
  add<RluSet<10>>(all, "rlu-deferred", "set");  // the paper's number
  add<HarrisSet<false>>(all, "harris-leaky", "set");
  add<HarrisSet<true>>(all, "harris-hazard", "set");
  add<RcuSet>(all, "rcu-memb-call", "set");
  add_reverse_maps(all);
  return all;
}

}  // namespace
}  // namespace lockswap::predict

int main() {
  lockswap::predict::serve({}, lockswap::predict::all_structures());
  return 0;
}
