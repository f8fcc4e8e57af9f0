// A library that begins a thread when it is loaded, as those do that log or measure in the
// background. The thread takes the mutex that the program shows it, which is held meanwhile.
#include <pthread.h>

extern pthread_mutex_t shown_mutex;
extern int shown_counter;
int late_thread_join(void);

static pthread_t thread;

static void* count(void* nothing) {
  for (int i = 0; i < 1000; ++i) {
    pthread_mutex_lock(&shown_mutex);
    ++shown_counter;
    pthread_mutex_unlock(&shown_mutex);
  }
  return nothing;
}

__attribute__((constructor)) static void begin(void) { pthread_create(&thread, NULL, count, NULL); }

int late_thread_join(void) { return pthread_join(thread, NULL); }
