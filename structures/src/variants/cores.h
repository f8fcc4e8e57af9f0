// The cores that list.def names.
#pragma once

#include "locks/rw/ba.h"
#include "locks/rw/exclusive.h"
#include "variants/queued.h"

namespace lockswap::variants {

using lockswap::Ba;
using lockswap::Exclusive;

}  // namespace lockswap::variants
