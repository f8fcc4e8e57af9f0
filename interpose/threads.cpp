// The exported functions that begin and end threads. A thread's function is called in a stack frame
// of this library (thread_frame.h), so that what the thread keeps is freed when it ends.
//
// Threads that do not come through here keep nothing: those that libc makes itself (for timers,
// asynchronous I/O and name look-ups), those of a raw clone, and those of programs that call libc's
// functions directly.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <threads.h>

#include "interpose/exports.h"
#include "interpose/real_function.h"
#include "interpose/start.h"
#include "interpose/thread_frame.h"
#include "platform/atomic.h"
#include "platform/memory.h"
#include "platform/process.h"

namespace lockswap {
namespace {

// Libraries may create threads in their constructors, before this library's own has run. So nothing
// here relies on the start.
using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
constinit RealFunction<Create> create("pthread_create", LOCKSWAP_OLDEST);
constinit RealFunction<decltype(&thrd_create)> create_c11("thrd_create", "GLIBC_2.28");
constinit RealFunction<decltype(&pthread_exit)> leave("pthread_exit", LOCKSWAP_OLDEST);
constinit RealFunction<decltype(&thrd_exit)> leave_c11("thrd_exit", "GLIBC_2.28");

// Before glibc 2.34 these may be missing until the start has loaded libpthread.
template <class F>
F get(RealFunction<F>& real) noexcept {
  if (const F f = real.get(); f != nullptr) return f;
  ensure_started();
  return real.get();
}

// What a new thread must call, handed over by the thread that creates it. It is not from malloc,
// which may be the program's own and take locks.
struct Beginning {
  NativeAtomic<std::uint32_t> process;  // whose it is (Process::worker); 0: free
  void (*routine)();                    // Result (*)(void*)
  void* argument;
};
constexpr std::size_t kBeginnings = 64;
constinit Beginning beginnings[kBeginnings]{};

// Takes a free one, from a new page if that many threads have been made and have not begun. Returns
// nullptr if there is no memory.
Beginning* take_beginning() noexcept {
  static constinit NativeAtomic<std::uint32_t> next{0};
  const std::uint32_t here = Process::worker(), first = next.fetch_add(1, relaxed);
  for (std::uint32_t i = 0; i < kBeginnings; ++i) {
    Beginning& b = beginnings[(first + i) % kBeginnings];
    std::uint32_t of = b.process.load(relaxed);  // relaxed: the update rechecks
    // One that a thread of the parent had taken is free. acquire: pairs with give_back.
    if (of != here && b.process.compare_exchange(of, here, acquire)) return &b;
  }
  return static_cast<Beginning*>(map_pages(sizeof(Beginning)));
}
void give_back(Beginning& b) noexcept {
  if (&b < beginnings || &b >= beginnings + kBeginnings) {
    unmap_pages(&b, sizeof(Beginning));
  } else {
    b.process.store(0, release);  // pairs with take_beginning
  }
}

template <class Result>
Result begin(void* p) {
  auto& b = *static_cast<Beginning*>(p);
  auto* const routine = reinterpret_cast<Result (*)(void*)>(b.routine);
  void* const argument = b.argument;
  give_back(b);
  return call_in_frame(routine, argument);
}

// make(routine, argument) returns 0 if it has made a thread.
template <class Result, class Make>
int create_in_frame(Result (*routine)(void*), void* argument, const Make& make) noexcept {
  Beginning* const b = take_beginning();
  if (b == nullptr) return make(routine, argument);
  b->routine = reinterpret_cast<void (*)()>(routine);
  b->argument = argument;
  const int error = make(&begin<Result>, b);  // the new thread sees what is stored there
  if (error != 0) give_back(*b);
  return error;
}

}  // namespace

void resolve_thread_functions() noexcept {
  create.get();
  create_c11.get();
  leave.get();
  leave_c11.get();
}

}  // namespace lockswap

using namespace lockswap;

extern "C" {

LOCKSWAP_EXPORTED int lockswap_thread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                             void* (*routine)(void*), void* argument) {
  const auto real = get(create);
  if (real == nullptr) return EAGAIN;
  return create_in_frame(routine, argument, [=](void* (*r)(void*), void* a) {
    return real(thread, attributes, r, a);
  });
}

LOCKSWAP_EXPORTED int lockswap_thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  const auto real = get(create_c11);
  if (real == nullptr) return thrd_error;
  return create_in_frame(routine, argument,
                         [=](thrd_start_t r, void* a) { return real(thread, r, a); });
}

// Both unwind the stack through these functions up to the thread's frame. The main thread has none.
LOCKSWAP_EXPORTED void lockswap_thread_exit(void* result) {
  ThreadExit::end_main();
  get(leave)(result);
  __builtin_unreachable();
}
LOCKSWAP_EXPORTED void lockswap_thrd_exit(int result) {
  ThreadExit::end_main();
  get(leave_c11)(result);
  __builtin_unreachable();
}

}  // extern "C"

LOCKSWAP_SYMBOLS(lockswap_thread_create)
LOCKSWAP_SYMBOLS(lockswap_thrd_create)
LOCKSWAP_SYMBOLS(lockswap_thread_exit)
LOCKSWAP_SYMBOLS(lockswap_thrd_exit)
