// liburcu's lists link nodes by volatile words between fences, which ThreadSanitizer takes for races.
// With --param=tsan-distinguish-volatile=1 the compiler calls these functions before such accesses
// instead, and they say what liburcu means: a store publishes, a load takes. All other accesses, so
// all that a node holds, are judged as ever.
#include <sanitizer/tsan_interface.h>

extern "C" {

// The names and types are the compiler's (kernels define them, too).
#define LOCKSWAP_VOLATILE(size)                                               \
  void __tsan_volatile_read##size(void* at) { __tsan_acquire(at); }           \
  void __tsan_unaligned_volatile_read##size(void* at) { __tsan_acquire(at); } \
  void __tsan_volatile_write##size(void* at) { __tsan_release(at); }          \
  void __tsan_unaligned_volatile_write##size(void* at) { __tsan_release(at); }
LOCKSWAP_VOLATILE(1)
LOCKSWAP_VOLATILE(2)
LOCKSWAP_VOLATILE(4)
LOCKSWAP_VOLATILE(8)
LOCKSWAP_VOLATILE(16)
#undef LOCKSWAP_VOLATILE

}  // extern "C"
