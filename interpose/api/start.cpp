// Start-up of liblockswap_api.so, which has the functions that programs call by name and none of
// pthread's.
#include "interpose/start.h"

#include <pthread.h>

#include "config/config.h"
#include "interpose/first_call.h"
#include "platform/libc_watch.h"
#include "platform/process.h"
#include "platform/say.h"
#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"
#include "platform/text.h"
#include "platform/thread.h"
#include "registry/all_names.h"
#include "registry/range_locks.h"

namespace lockswap {
namespace {

void start() noexcept {
  static constinit Config config{};
  static constinit char message[2048];
  if (!read_config(config, all_names(), message, sizeof message)) refuse(message);
  // The functions that range locks made of reader-writer locks may use.
  system_rwlock = {
      pthread_rwlock_init,        pthread_rwlock_destroy,     pthread_rwlock_rdlock,
      pthread_rwlock_tryrdlock,   pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock,
      pthread_rwlock_wrlock,      pthread_rwlock_trywrlock,   pthread_rwlock_timedwrlock,
      pthread_rwlock_clockwrlock, pthread_rwlock_unlock};
  system_mutex.lock = pthread_mutex_lock;
  system_mutex.unlock = pthread_mutex_unlock;
  ThreadExit::prepare(&watched_by_libc);
  Process::stamp();
  thread_id();
  if (const char* why = prepare_range(config); why != nullptr) {
    Text(message, sizeof message) << "lockswap: LOCKSWAP_RANGE: " << why;
    refuse(message);
  }
}

void in_forked_child() noexcept {
  Process::forked();
  thread_id();  // the survivor must be known before there are other threads
  range_forked();
}

__attribute__((constructor)) void on_load() {
  started<start>();
  pthread_atfork(nullptr, nullptr, in_forked_child);
}

}  // namespace

void ensure_started() noexcept { started<start>(); }

}  // namespace lockswap
