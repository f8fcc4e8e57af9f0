#pragma once

#include "cases.h"

namespace lockswap::explore {

void add_address_space_cases(Cases& cases);
void add_bonsai_cases(Cases& cases);
void add_ldu_cases(Cases& cases);
void add_rlu_cases(Cases& cases);
void add_variant_cases(Cases& cases);

}  // namespace lockswap::explore
