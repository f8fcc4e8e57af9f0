/* Which sanitizer the program is compiled with, for the headers here: gcc says it by a macro, clang
 * by a feature. Defines LOCKSWAP_TSAN, LOCKSWAP_ASAN or neither. */
#ifndef LOCKSWAP_SANITIZERS_H
#define LOCKSWAP_SANITIZERS_H

#if defined(__SANITIZE_THREAD__)
#define LOCKSWAP_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define LOCKSWAP_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSWAP_TSAN 1
#elif __has_feature(address_sanitizer)
#define LOCKSWAP_ASAN 1
#endif
#endif

#if defined(LOCKSWAP_TSAN)
#include <sanitizer/tsan_interface.h>
#elif defined(LOCKSWAP_ASAN)
#include <sanitizer/asan_interface.h>
#endif

#endif
