// The functions that this library interposes: glibc's, or those of the next library that defines
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

// Fills in system_rwlock, system_mutex and the tables beside them, all at once and without the
// loader's lock, because the first lock call may come while another thread holds that. Returns the
// name of a function that does not exist, or nullptr.
const char* resolve_real_symbols() noexcept;

// Returns glibc's flag for processes with a single thread, or nullptr if it has none, or none that
// can be trusted here.
const char* find_single_threaded() noexcept;

// Looks up the functions of semaphores, barriers and joins. If this glibc lacks one, the program
// cannot call it.
void resolve_real_waits(WaitOps& waits) noexcept;

// Returns the function of this name behind this library, at this version or at any, or nullptr. It
// does not take the loader's lock either, unless dlopen loaded this library.
void* find_real_function(const char* name, const char* version) noexcept;

// Fills in all of `functions` from another copy of this library, which the program's calls reach
// before this one. Two copies must not both keep readers tables, so this one forwards its calls to
// the other. Returns false if there is no other copy.
bool resolve_first_copy(Functions& functions) noexcept;

}  // namespace lockswap
