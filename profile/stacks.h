// Stacks: unwound if necessary, recognised if possible, and stored once in the file.
#pragma once

#include <cstdint>

#include "profile/record.h"
#include "profile/world.h"

namespace lockswap::profile {

// Returns the offset in the file of the calling thread's stack, from the caller of the exported
// function on, or 0 if there is no room. `caller` is the return address of that function. If `now`
// is not 0, the thread is about to wait, and 0 is also returned if unwinding would take too large a
// share of its time.
std::uint32_t take_stack(Thread& t, const void* caller, std::uint64_t now = 0) noexcept;
// Returns the first frames of a stack, as a stack of its own.
std::uint32_t first_frames(std::uint32_t stack, std::uint32_t count) noexcept;
// Returns a stack of a single frame.
std::uint32_t stack_of(const void* caller) noexcept;

// Returns the place of a static object, and stores its module in the file.
Place place_of(const void* object) noexcept;

// Returns the calling thread's outermost frames, where it began, or 0 if they are too far away.
std::uint32_t outermost_frames() noexcept;

}  // namespace lockswap::profile
