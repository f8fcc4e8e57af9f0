// Uses of locks that need a process of their own or a moment outside main: before main, at exit,
// and in a process without the library.
#pragma once

#include "support.h"

namespace conformance {

// Runs one scenario in this process; the status is the process's. See lifecycle.cpp for the names.
int run_lifecycle(const char* scenario);

// This executable again with one scenario, with the environment as it is. Returns the wait status.
int run_self(const char* scenario);
// The same without LD_PRELOAD and LOCKSWAP_*; `fd` is open in it as kSharedFd.
int run_self_without_preload(const char* scenario, int fd);
constexpr int kSharedFd = 100;

// Readers and writers of a lock that processes share; 0 when no call failed.
int hammer_shared(Guarded* guarded, int ms);

// What happened in .preinit_array and in a constructor of the program itself, and the holds taken
// there.
int preinit_call_count();
int preinit_failure_count();
int constructor_failure_count();
pthread_rwlock_t* preinit_read_held();
pthread_rwlock_t* preinit_write_held();
pthread_rwlock_t* constructor_read_held();

}  // namespace conformance

// libearly.so (early.cpp): its constructor runs before a preloaded library's.
extern "C" {
struct EarlyReport {
  int constructor_failures;  // calls that did not return what they should
  int constructor_calls;
  pthread_rwlock_t read_held;   // held for reading since the constructor
  pthread_rwlock_t write_held;  // held for writing since the constructor
  int hammer_failures;
  long hammer_rounds;
};
extern EarlyReport early_report;
void early_hammer_stop(void);  // ends the thread that has used locks since the constructor
}
