// What start-up does for threads that exit, in a program that has the library's sources compiled
// in.
#include "platform/libc_watch.h"
#include "platform/thread.h"

__attribute__((constructor)) static void on_load() {
  lockswap::ThreadExit::prepare(&lockswap::watched_by_libc);
}
