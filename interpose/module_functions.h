// What recording/ asks about loaded files.
#pragma once

#include "recording/modules.h"

namespace lockswap {

recording::ModuleFunctions module_functions() noexcept;

}  // namespace lockswap
