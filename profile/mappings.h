// Code that lies in no file: what a compiler in the program has made (JIT).
#pragma once

#include "profile/record.h"

namespace lockswap::profile {

// Notes where such code lies at this moment. It reads /proc/self/maps, so it is for the end of a
// process.
void note_made_code(Record& r) noexcept;

}  // namespace lockswap::profile
