// Start-up of liblockswap_structures.so, an ordinary library that programs are linked with. It
// shares nothing with liblockswap.so and works the same with or without it: libc calls this library
// when a thread ends, and after a fork. In a child of _Fork or clone no handler runs, so the first
// section there notices the change by the process's stamp (platform/process.h).
#include <pthread.h>

#include "library/rlu_library.h"
#include "platform/libc_watch.h"
#include "platform/process.h"
#include "platform/thread.h"

namespace lockswap {
namespace {

void in_forked_child() noexcept {
  Process::forked();
  thread_id();  // the survivor must be known before there are other threads
  RluLibrary::Threads::forked();
}

__attribute__((constructor)) void on_load() {
  ThreadExit::prepare(&watched_by_libc);
  Process::stamp();
  thread_id();
  pthread_atfork(nullptr, nullptr, in_forked_child);
}

}  // namespace
}  // namespace lockswap
