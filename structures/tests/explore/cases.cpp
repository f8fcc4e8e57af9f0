// The cases of the explorer of the structures.
#include "structures_cases.h"

namespace lockswap::explore {

Cases all_cases() {
  Cases cases;
  add_bonsai_cases(cases);
  add_ldu_cases(cases);
  add_address_space_cases(cases);
  add_rlu_cases(cases);
  add_variant_cases(cases);
  mark_contained(cases);
  return cases;
}

}  // namespace lockswap::explore
