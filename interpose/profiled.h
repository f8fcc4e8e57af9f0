// What profile/ asks about loaded files.
#pragma once

#include "profile/modules.h"

namespace lockswap {

profile::ModuleFunctions functions_for_profile() noexcept;

}  // namespace lockswap
