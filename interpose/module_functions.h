// The functions by which recording/ learns about loaded files.
#pragma once

#include "recording/modules.h"

namespace lockswap {

recording::ModuleFunctions module_functions() noexcept;

}  // namespace lockswap
