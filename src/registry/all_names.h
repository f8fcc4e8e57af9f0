// The names of the library's locks, for reading the configuration.
#pragma once

#include "config/names.h"

namespace lockswap {

Names all_names() noexcept;

}  // namespace lockswap
