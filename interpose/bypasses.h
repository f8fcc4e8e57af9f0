// Objects whose calls of lock functions do not come to this library: loaded with RTLD_DEEPBIND,
// which makes them prefer what they need themselves, or into a namespace of its own by dlmopen. If
// such an object takes a lock that others take through this library, exclusion is broken; if it
// has locks of its own, they are glibc's.
#pragma once

#include "interpose/load_order.h"
#include "report/report.h"

namespace lockswap {

// Looks at what the references of all loaded objects are bound to now. What was unloaded before,
// pointers from dlsym, and functions bound lazily and not called yet are not seen. Called when a
// process ends; takes some microseconds, or a millisecond for objects with many relocations.
// Always looks at rwlocks' functions, and at those of mutexes and conditions if they are swapped.
void find_bypasses(Bypasses& found, Swapped swapped) noexcept;

}  // namespace lockswap
