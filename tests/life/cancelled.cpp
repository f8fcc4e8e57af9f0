// A cancellation comes before each instruction of a wait on a condition variable that ends at its
// deadline: the thread has its mutex when it ends, and nothing of it stays in the condition
// variable.
//
// usage: cancelled N
// Every Nth instruction has a process of its own. Prints how many instructions there were.
// Status: 0; 1 and a line on stderr; 77: this cannot be asked here.

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <sys/syscall.h>
#include <sys/wait.h>

#include "stepping.h"

namespace {

pthread_mutex_t mutex;  // an errorcheck one, which says whose it is
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
long stop_at;
bool came, returned, cleaned, is_set;
sem_t waiter_has_mutex;

// write() is a cancellation point, where a thread that is being cancelled may wait forever.
[[noreturn]] void fail(const char* what) {
  char line[200];
  const int n =
      std::snprintf(line, sizeof line, "cancelled: before instruction %ld: %s\n", stop_at, what);
  syscall(SYS_write, STDERR_FILENO, line, n);
  _exit(1);
}
void need(bool is_right, const char* what) {
  if (!is_right) fail(what);
}

bool cancel(long number, const unsigned char*) {
  if (number != stop_at) return true;
  came = true;
  pthread_cancel(pthread_self());
  return false;
}

void clean_up(void*) {
  need(pthread_mutex_lock(&mutex) == EDEADLK, "the thread ends without its mutex");
  need(pthread_mutex_unlock(&mutex) == 0, "the mutex cannot be unlocked");
  cleaned = true;
}
void* wait_too_late(void*) {
  const timespec past{};
  need(pthread_mutex_lock(&mutex) == 0, "the mutex cannot be locked");
  pthread_cleanup_push(clean_up, nullptr);
  stepping::begin();
  const int error = pthread_cond_timedwait(&condition, &mutex, &past);
  stepping::end();
  need(error == ETIMEDOUT, "the wait ends otherwise");
  returned = true;
  pthread_testcancel();
  pthread_cleanup_pop(1);
  return nullptr;
}
void* wait_well(void*) {
  pthread_mutex_lock(&mutex);
  sem_post(&waiter_has_mutex);
  while (!is_set)
    pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return nullptr;
}

void* result_of(pthread_t thread) {
  void* result = nullptr;
  pthread_join(thread, &result);
  return result;
}
pthread_t begin(void* (*body)(void*)) {
  pthread_t thread;
  need(pthread_create(&thread, nullptr, body, nullptr) == 0, "no thread");
  return thread;
}

[[noreturn]] void in_process() {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&mutex, &kind);
  sem_init(&waiter_has_mutex, 0, 0);
  void* const result = result_of(begin(wait_too_late));
  need(cleaned, "the thread's handler has not run");
  if (!came) _exit(2);
  need(result == PTHREAD_CANCELED, "the cancellation is lost");

  // It took no part of what others wait for.
  const pthread_t waiter = begin(wait_well);
  sem_wait(&waiter_has_mutex);
  pthread_mutex_lock(&mutex);  // so it waits
  is_set = true;
  pthread_mutex_unlock(&mutex);
  pthread_cond_signal(&condition);
  result_of(waiter);
  need(pthread_cond_destroy(&condition) == 0, "the condition variable is in use");
  need(pthread_mutex_destroy(&mutex) == 0, "the mutex is in use");
  _exit(0);
}

// Returns false if the wait has fewer instructions.
bool came_before() {
  const pid_t child = fork();
  if (child == 0) in_process();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFSIGNALED(status)) fail("the process ended by a signal");
  if (WEXITSTATUS(status) == 1) _exit(1);
  return WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const long step = argc == 2 ? std::atol(argv[1]) : 0;
  if (step <= 0) {
    std::fprintf(stderr, "usage: cancelled N\n");
    return 2;
  }
  if (!stepping::kWorks) return 77;
  stepping::prepare();
  stepping::before = cancel;
  for (stop_at = 1; came_before(); stop_at += step) {}
  std::printf("instructions %ld\n", stop_at);
  return 0;
}
