// The cases of the explorer under AddressSanitizer: a lock of each list.
#include "cases.h"

namespace lockswap::explore {

namespace rw {
void add_EventualRw(Cases& cases);
}
namespace mutex {
void add_EventualMutex(Cases& cases);
}

Cases all_cases() {
  Cases cases;
  rw::add_EventualRw(cases);
  mutex::add_EventualMutex(cases);
  mark_contained(cases);
  return cases;
}

}  // namespace lockswap::explore
