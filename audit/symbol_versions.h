// Versions of functions that only the audit stands before.
#pragma once

#include "interpose/symbol_versions.h"

#if defined(__x86_64__)
// 2.2.5 has condition variables of another layout; who asks for those gets glibc's.
#define LOCKSWAP_COND(function, name) LOCKSWAP_SYMVER(function, name, "@@GLIBC_2.3.2")
#else
#define LOCKSWAP_COND(function, name) LOCKSWAP_OLDEST_IS_DEFAULT(function, name)
#endif
