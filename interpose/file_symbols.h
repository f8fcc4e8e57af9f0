// Looks up names in a file's symbol table, which is read once, when the first address in that file
// is checked. So symbols that are not exported are found too, unless the file is stripped.
#pragma once

#include "config/policy.h"
#include "interpose/modules.h"

namespace lockswap {

// Returns whether the address is in the function (rule.site) or variable (rule.symbol) of that
// module which the rule with this number names. Returns false if the file cannot be read.
enum class Named : unsigned char { site, symbol };
bool lies_in(const Policy& policy, int rule, Named what, const Module& module,
             const void* address) noexcept;

}  // namespace lockswap
