// What makes programs take a function for one of glibc's: it is visible, and has the same symbol
// versions as glibc's. symbols.txt lists them.
#pragma once

#include "interpose/exported_symbols.h"  // written by symbols.cmake

// The oldest glibc that the preload libraries run on, whatever they are built with. The documents
// state it, and scripts/check_symbols.py reads it here and checks the libraries against it.
#define LOCKSWAP_OLDEST_GLIBC "2.31"
// The same for liblockswap_api.so, which programs are linked with.
#define LOCKSWAP_OLDEST_GLIBC_OF_API "2.34"

#define LOCKSWAP_EXPORTED __attribute__((visibility("default")))

// Gives the function all symbols that symbols.txt lists for it.
#define LOCKSWAP_SYMBOLS(function) LOCKSWAP_SYMBOLS_OF_##function

// The version of functions of glibc that x86-64 has had since then. LOCKSWAP_OLDEST is the version
// of those that were there from the beginning.
#if defined(__x86_64__)
#define LOCKSWAP_SINCE_2_3_2 "GLIBC_2.3.2"
#define LOCKSWAP_SINCE_2_3_3 "GLIBC_2.3.3"
#define LOCKSWAP_SINCE_2_12 "GLIBC_2.12"
#else
#define LOCKSWAP_SINCE_2_3_2 LOCKSWAP_OLDEST
#define LOCKSWAP_SINCE_2_3_3 LOCKSWAP_OLDEST
#define LOCKSWAP_SINCE_2_12 LOCKSWAP_OLDEST
#endif
