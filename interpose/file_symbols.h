// Where a file has what its symbol table names: read from the file once, the first time that an
// address in it is asked about. So also symbols that are not exported are known, unless the file is
// stripped.
#pragma once

#include "config/policy.h"
#include "interpose/modules.h"

namespace lockswap {

// Whether the address lies in the function (rule.site), or in the variable (rule.symbol), that the
// rule with this number names, in that module. False also where the file cannot be read.
enum class Named : unsigned char { site, symbol };
bool lies_in(const Policy& policy, int rule, Named what, const Module& module,
             const void* address) noexcept;

}  // namespace lockswap
