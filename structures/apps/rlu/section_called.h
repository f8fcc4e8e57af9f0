// liburcu's flavour memb as other code than LGPL's has it: its readers are called.
#pragma once

#include <cstdint>

namespace bench {

void memb_called(std::uint64_t pairs);

}  // namespace bench
