// What makes a function one of glibc's to the programs: it is visible, and has the symbol versions
// that glibc has it at. The oldest version is named after the architecture's first glibc; 2.34
// moved the functions from libpthread to libc.
#pragma once

// The oldest glibc that the preload libraries run on, whatever they are built with. Documents name it,
// and scripts/check_symbols.py reads it here and holds the libraries to it.
#define LOCKSWAP_OLDEST_GLIBC "2.31"
// The same of liblockswap_api.so, which programs are linked with.
#define LOCKSWAP_OLDEST_GLIBC_OF_API "2.34"

#define LOCKSWAP_EXPORTED __attribute__((visibility("default")))

#if defined(__x86_64__)
#define LOCKSWAP_OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define LOCKSWAP_OLDEST "GLIBC_2.17"
#else
#error "lockswap knows x86-64 and aarch64"
#endif

#define LOCKSWAP_SYMVER(function, name, version) asm(".symver " #function "," #name version);

#define LOCKSWAP_VERSIONED(function, name)        \
  LOCKSWAP_SYMVER(function, name, "@@GLIBC_2.34") \
  LOCKSWAP_SYMVER(function, name, "@" LOCKSWAP_OLDEST)
#define LOCKSWAP_VERSIONED_SINCE_2_30(function, name) \
  LOCKSWAP_SYMVER(function, name, "@@GLIBC_2.34")     \
  LOCKSWAP_SYMVER(function, name, "@GLIBC_2.30")
#define LOCKSWAP_VERSIONED_SINCE_2_28(function, name) \
  LOCKSWAP_SYMVER(function, name, "@@GLIBC_2.34")     \
  LOCKSWAP_SYMVER(function, name, "@GLIBC_2.28")
#define LOCKSWAP_OLDEST_IS_DEFAULT(function, name) \
  LOCKSWAP_SYMVER(function, name, "@@" LOCKSWAP_OLDEST)
#define LOCKSWAP_OLD_ONLY(function, name) LOCKSWAP_SYMVER(function, name, "@" LOCKSWAP_OLDEST)

// Condition variables: those of 2.2.5 have another layout.
#if defined(__x86_64__)
#define LOCKSWAP_OLDEST_COND "GLIBC_2.3.2"
#define LOCKSWAP_OLD_COND(function, name) LOCKSWAP_OLD_ONLY(function, name)
#define LOCKSWAP_OLDEST_TIMEDJOIN "GLIBC_2.3.3"
#else
#define LOCKSWAP_OLDEST_COND LOCKSWAP_OLDEST
#define LOCKSWAP_OLD_COND(function, name)
#define LOCKSWAP_OLDEST_TIMEDJOIN LOCKSWAP_OLDEST
#endif
#define LOCKSWAP_COND(function, name) LOCKSWAP_SYMVER(function, name, "@@" LOCKSWAP_OLDEST_COND)
