// Finds objects whose calls of lock functions bypass this library. Such an object was loaded with
// RTLD_DEEPBIND, so it prefers its own dependencies, or by dlmopen into a namespace of its own. If
// it takes a lock that others take through this library, mutual exclusion is broken. If it has
// locks of its own, they are glibc's.
#pragma once

#include "interpose/load_order.h"
#include "report/report.h"

namespace lockswap {

// Checks what the references of all loaded objects are bound to now. It misses objects that have
// been unloaded, pointers from dlsym, and lazily bound functions that have not been called yet.
// Called when a process ends. Takes some microseconds, or a millisecond for objects with many
// relocations. Always checks rwlock functions, and those of mutexes and condition variables if they
// are swapped.
void find_bypasses(Bypasses& found, Swapped swapped) noexcept;

}  // namespace lockswap
