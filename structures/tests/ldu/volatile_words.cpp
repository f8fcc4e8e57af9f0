// liburcu's lists publish nodes by volatile stores after a fence, which ThreadSanitizer takes for
// races. With --param=tsan-distinguish-volatile=1 the compiler calls these functions before such
// accesses instead, and a store says what liburcu means: what came before is published.
// rcu_dereference(), its reader, is an atomic load that acquires. A volatile load says nothing: it
// would do so before it loads, and so could miss the store that it sees. All other accesses, so all
// that a node holds, are judged as ever.

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the compiler's and the sanitizer's.
void __tsan_release(void* at);

#define LOCKSWAP_VOLATILE(size)                                      \
  void __tsan_volatile_read##size(void*) {}                          \
  void __tsan_unaligned_volatile_read##size(void*) {}                \
  void __tsan_volatile_write##size(void* at) { __tsan_release(at); } \
  void __tsan_unaligned_volatile_write##size(void* at) { __tsan_release(at); }
LOCKSWAP_VOLATILE(1)
LOCKSWAP_VOLATILE(2)
LOCKSWAP_VOLATILE(4)
LOCKSWAP_VOLATILE(8)
LOCKSWAP_VOLATILE(16)
#undef LOCKSWAP_VOLATILE
// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
