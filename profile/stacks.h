// Stacks: unwound where they have to be, known again where they can be, and kept once in the file.
#pragma once

#include <cstdint>

#include "profile/record.h"
#include "profile/world.h"

namespace lockswap::profile {

// The calling thread's, from the exported function's caller on. Returns where it is in the file;
// 0: it found no room. `caller`: what that function returns to. `now`: if not 0, the thread is
// about to wait, and 0 comes back where an unwinding would cost too large a share of its time.
std::uint32_t take_stack(Thread& t, const void* caller, std::uint64_t now = 0) noexcept;
// The first frames of one, as a stack of its own.
std::uint32_t first_frames(std::uint32_t stack, std::uint32_t count) noexcept;
// One frame alone.
std::uint32_t stack_of(const void* caller) noexcept;

// The place of a static object; its module is noted in the file.
Place place_of(const void* object) noexcept;

// The calling thread's outermost ones: with what it began. 0: they are too far away.
std::uint32_t outermost_frames() noexcept;

}  // namespace lockswap::profile
