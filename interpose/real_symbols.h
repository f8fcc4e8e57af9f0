// The functions that this library stands before: glibc's, or those of the next library that has
// them.
#pragma once

#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"
#include "platform/system_waits.h"

namespace lockswap {

struct Functions {
  RwOps rwlock;
  MutexOps mutex;
  CondOps cond;
  CondOps old_cond;
};

// Fills in system_rwlock, system_mutex and the tables beside it, all of it at once and without the
// loader's lock: the first lock call may come while another thread holds that. Returns the name of
// a function that does not exist, or nullptr.
const char* resolve_real_symbols() noexcept;

// glibc's flag that says whether the process has one thread; nullptr if there is none, or none that
// can be trusted here.
const char* find_single_threaded() noexcept;

// Semaphores, barriers and joins. What this glibc lacks the program cannot call.
void resolve_real_waits(WaitOps& waits) noexcept;

// The function of this name behind this library, at this version or at any; nullptr if there is
// none. It takes no lock either, unless this library was loaded by dlopen.
void* find_real_function(const char* name, const char* version) noexcept;

// Another copy of this library that the program's calls reach before this one. Two copies must not
// both keep readers tables, so this one sends what comes to it there: fills in `functions`, all of
// it. Returns false if there is none.
bool resolve_first_copy(Functions& functions) noexcept;

}  // namespace lockswap
