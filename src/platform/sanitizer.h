// LOCKSWAP_TSAN and LOCKSWAP_ASAN say that this build runs under ThreadSanitizer, AddressSanitizer.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define LOCKSWAP_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSWAP_TSAN 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#define LOCKSWAP_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOCKSWAP_ASAN 1
#endif
#endif
