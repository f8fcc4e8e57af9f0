// Cases for the explorer under AddressSanitizer: a lock of each list, and one with a block beside
// it.
#include "cases.h"

namespace lockswap::explore {

namespace rw {
void add_EventualRw(Cases& cases);
void add_CohortRw(Cases& cases);
}  // namespace rw
namespace mutex {
void add_EventualMutex(Cases& cases);
}

Cases all_cases() {
  Cases cases;
  rw::add_EventualRw(cases);
  rw::add_CohortRw(cases);
  mutex::add_EventualMutex(cases);
  mark_contained(cases);
  return cases;
}

}  // namespace lockswap::explore
