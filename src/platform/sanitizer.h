// LOCKSWAP_TSAN: ThreadSanitizer watches this build.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define LOCKSWAP_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSWAP_TSAN 1
#endif
#endif
